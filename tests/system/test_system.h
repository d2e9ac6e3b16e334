#pragma once
// What every test in here needs: units written on the spot, systemctl, and an event loop with deadlines. The
// tests run as root inside a throw-away systemd, one boot a test (see in-systemd).
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/time.h"
#include "supervisor/ports/unit_manager.h"

namespace fireboss::system_test {

struct Output {
  int status = -1;   // exit status; 128+n when killed by a signal
  std::string text;  // stdout and stderr
};
// `command` is written by the tests themselves, never made of foreign text.
Output shell(const std::string& command);

// "[Service]..." text for demo_unit with these steps.
std::string demo_command(const std::string& steps);

class SystemTest : public testing::Test {
 protected:
  // Writes /run/systemd/system/NAME and reloads the manager.
  void write_unit(const std::string& name, const std::string& text);
  static std::string property(const std::string& unit, const std::string& name);

  // Runs the loop until `done` says so. False: `deadline` passed first.
  template <typename Done>
  bool until(Done done, Millis deadline = Millis{15'000}) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!done()) {
      loop_.restart();
      if (loop_.run_one_until(end) == 0 && std::chrono::steady_clock::now() >= end)
        return done();
    }
    return true;
  }

  template <typename T>
  T await(boost::asio::awaitable<T> work, Millis deadline = Millis{30'000}) {
    std::optional<T> out;
    boost::asio::co_spawn(loop_, std::move(work), [&](std::exception_ptr error, T value) {
      if (error)
        std::rethrow_exception(error);
      out = std::move(value);
    });
    EXPECT_TRUE(until([&] { return out.has_value(); }, deadline)) << "no result in time";
    return std::move(out).value();
  }

  boost::asio::io_context loop_{1};
};

// All news of one unit, in order.
struct News {
  std::vector<ports::UnitNews> all;
  void operator()(const ports::UnitNews& news) { all.push_back(news); }

  const ports::UnitSnapshot* last_snapshot() const;
  std::size_t count_snapshots() const;
  std::vector<ports::JobSeen> jobs() const;
  template <typename T>
  std::size_t count() const {
    std::size_t n = 0;
    for (const auto& news : all)
      n += std::holds_alternative<T>(news) ? 1 : 0;
    return n;
  }
};

}  // namespace fireboss::system_test
