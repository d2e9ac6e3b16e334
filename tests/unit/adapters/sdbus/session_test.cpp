// A look at a unit that fails: systemd that does not answer in time, a dependent that vanished meanwhile.
#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "supervisor/adapters/sdbus/systemd_units.h"
#include "tests/unit/adapters/sdbus/fake_bus.h"

namespace fireboss::sdbus {
namespace {

class UnreadUnitTest : public testing::Test {
 protected:
  void watch() {
    units_.emplace(loop_.get_executor(),
                   Options{.address = bus_.address(), .backoff_min = Millis{1}, .backoff_max = Millis{20}});
    units_->watch("engine.service", [this](const ports::UnitNews& news) { news_.push_back(news); });
  }
  // Runs the loop until so much is known.
  bool until(std::size_t news) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (news_.size() < news && std::chrono::steady_clock::now() < end) {
      loop_.restart();
      loop_.run_one_until(end);
    }
    return news_.size() >= news;
  }
  bool snapshot(std::size_t at) const { return std::holds_alternative<ports::UnitSnapshot>(news_.at(at)); }
  const ports::UnitUnread* unread(std::size_t at) const {
    return std::get_if<ports::UnitUnread>(&news_.at(at));
  }

  FakeBus bus_;
  boost::asio::io_context loop_{1};
  std::vector<ports::UnitNews> news_;
  std::optional<SystemdUnits> units_;
};

TEST_F(UnreadUnitTest, IsLookedAtAgainUntilItIsReadAndToldOnce) {
  bus_.refuse(3);
  watch();
  ASSERT_TRUE(until(2));
  ASSERT_NE(unread(0), nullptr);
  EXPECT_NE(unread(0)->why.find("engine.service"), std::string::npos) << unread(0)->why;
  EXPECT_TRUE(snapshot(1));
  EXPECT_EQ(bus_.asked(), 4);
}

TEST_F(UnreadUnitTest, ChangeWhoseLookFailsIsNotLost) {
  watch();
  ASSERT_TRUE(until(1));
  EXPECT_TRUE(snapshot(0));
  bus_.refuse(2);
  bus_.announce_change();
  ASSERT_TRUE(until(3));
  EXPECT_NE(unread(1), nullptr) << "a new episode is told anew";
  EXPECT_TRUE(snapshot(2));
}

}  // namespace
}  // namespace fireboss::sdbus
