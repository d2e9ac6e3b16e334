#include "tests/system/test_system.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fireboss::system_test {

Output shell(const std::string& command) {
  Output out;
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr)
    return out;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

std::string demo_command(const std::string& steps) {
  return std::string("ExecStart=") + DEMO_UNIT + " " + steps + "\n";
}

void SystemTest::write_unit(const std::string& name, const std::string& text) {
  std::ofstream file("/run/systemd/system/" + name);
  file << text;
  file.close();
  const auto reload = shell("systemctl daemon-reload");
  ASSERT_EQ(reload.status, 0) << reload.text;
}

std::string SystemTest::property(const std::string& unit, const std::string& name) {
  auto out = shell("systemctl show --value -p " + name + " " + unit);
  while (!out.text.empty() && out.text.back() == '\n')
    out.text.pop_back();
  return out.text;
}

const ports::UnitSnapshot* News::last_snapshot() const {
  const ports::UnitSnapshot* last = nullptr;
  for (const auto& news : all)
    if (const auto* snapshot = std::get_if<ports::UnitSnapshot>(&news))
      last = snapshot;
  return last;
}

std::size_t News::count_snapshots() const {
  return count<ports::UnitSnapshot>();
}

std::vector<ports::JobSeen> News::jobs() const {
  std::vector<ports::JobSeen> out;
  for (const auto& news : all)
    if (const auto* job = std::get_if<ports::JobSeen>(&news))
      out.push_back(*job);
  return out;
}

}  // namespace fireboss::system_test

// These tests restart units and reload managers: never on a machine that somebody uses.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests))
    return RUN_ALL_TESTS();
  std::ifstream comm("/proc/1/comm");
  std::string first;
  std::getline(comm, first);
  if (first != "systemd" || access("/run/sysdtest/cmd", F_OK) != 0) {
    std::fprintf(
        stderr,
        "refused: runs only inside a throw-away systemd (tests/system/in-systemd, or ctest -L system)\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
