#include "supervisor/config/exec_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fireboss::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

Engine engine() {
  Engine out;
  out.name = "vllm";
  out.unit = "vllm.service";
  return out;
}

TEST(ContainerClient, IsAMistakeWhileTheListenerIsChecked) {
  EXPECT_THAT(container_client_problem(engine(), {"/usr/bin/docker", "run", "--rm", "image"}),
              Optional(AllOf(HasSubstr("engine 'vllm'"), HasSubstr("vllm.service runs `docker`"),
                             HasSubstr("listener = \"any\""), HasSubstr("--cgroups=split"))));
  EXPECT_THAT(container_client_problem(engine(), {"/usr/bin/docker", "compose", "up"}),
              Optional(HasSubstr("docker")));
  EXPECT_THAT(container_client_problem(engine(), {"/usr/bin/docker", "start", "-a", "x"}),
              Optional(HasSubstr("docker")));
  EXPECT_THAT(container_client_problem(engine(), {"podman", "run", "image"}),
              Optional(HasSubstr("runs `podman`")));
}

TEST(ContainerClient, IsFoundBehindAShell) {
  EXPECT_TRUE(container_client_problem(engine(), {"/bin/sh", "-c", "exec /usr/bin/docker run image"}));
  EXPECT_TRUE(container_client_problem(engine(), {"/bin/bash", "-c", "cd /srv&&docker run x"}));
  EXPECT_TRUE(container_client_problem(engine(), {"/usr/bin/env", "docker", "run", "x"}));
}

TEST(ContainerClient, IsRightWhenNobodyAsksWhoListens) {
  auto unchecked = engine();
  unchecked.listener = ListenerCheck::kAny;
  EXPECT_EQ(container_client_problem(unchecked, {"/usr/bin/docker", "run", "image"}), std::nullopt);
}

TEST(ContainerClient, OfPodmanMayKeepTheContainerInTheUnit) {
  EXPECT_EQ(container_client_problem(engine(), {"/usr/bin/podman", "run", "--cgroups=split", "image"}),
            std::nullopt);
}

TEST(ContainerClient, IsNoneInAnOrdinaryUnit) {
  EXPECT_EQ(container_client_problem(engine(), {}), std::nullopt);
  EXPECT_EQ(container_client_problem(engine(), {"/opt/vllm/bin/vllm", "serve", "docker", "run"}),
            std::nullopt);
  EXPECT_EQ(container_client_problem(engine(), {"/usr/bin/docker", "version"}), std::nullopt);
  EXPECT_EQ(container_client_problem(engine(), {"/bin/sh", "-c", "exec llama-server -m model"}),
            std::nullopt);
}

}  // namespace
}  // namespace fireboss::config
