#pragma once
// One delivery of a sink to what a test plays.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "supervisor/ports/alert_sink.h"

namespace fireboss::alert {

inline ports::Notice a_notice() {
  return {.id = "0123",
          .host = "gpu1",
          .engine = "vllm",
          .key = "R3/chat",
          .severity = "critical",
          .text = "R3 never passed: 4 of 4 calls of chat failed (leak)",
          .raised = WallTime{Millis{1'786'431'458'000}},
          .resolved = std::nullopt,
          .test = false};
}

inline ports::Delivered deliver_now(boost::asio::io_context& io, ports::AlertSink& sink,
                                    ports::Notice notice) {
  std::optional<ports::Delivered> result;
  boost::asio::co_spawn(io, sink.deliver(std::move(notice)),
                        [&](const std::exception_ptr& thrown, ports::Delivered got) {
                          EXPECT_FALSE(thrown);
                          result = std::move(got);
                          io.stop();
                        });
  io.run();
  io.restart();
  if (!result)
    ADD_FAILURE() << "no result";
  return result.value_or(ports::Delivered());
}

// Credentials as systemd gives them, for the time of a test.
class Credentials {
 public:
  Credentials() {
    std::string name = (std::filesystem::temp_directory_path() / "fireboss-credentials-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      std::abort();
    folder_ = name;
    setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  }
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials() {
    unsetenv("CREDENTIALS_DIRECTORY");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }

 private:
  std::string folder_;
};

}  // namespace fireboss::alert
