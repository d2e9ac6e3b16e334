#include "engine/model/team.h"

#include <atomic>
#include <set>

#include <gtest/gtest.h>

namespace fireboss::engine {
namespace {

TEST(Team, DoesEveryPartOnce) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    Team team(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(17);
      team.each(done.size(), [&](std::size_t part) { ++done[part]; });
      for (const auto& count : done) {
        ASSERT_EQ(count, 1);
      }
    }
  }
}

}  // namespace
}  // namespace fireboss::engine
