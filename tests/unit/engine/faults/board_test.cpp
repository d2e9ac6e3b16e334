#include "engine/faults/board.h"

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

using namespace std::chrono_literals;

class FaultBoardTest : public testing::Test {
 protected:
  void set(const char* text) { board_.set(parse_fault(text).value()); }
  Spoil next() {
    return board_.on_request({.system_bytes = 17'000, .tools = true}, Drill::get().tokenizer).spoil;
  }

  Millis age_{0};
  FaultBoard board_{1, [this] { return age_; }};
};

TEST_F(FaultBoardTest, DoesNothingUntilAFaultIsSet) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(next(), Spoil::kNone);
  }
  for (const auto fault : all_faults()) {
    EXPECT_FALSE(board_.applies(fault));
  }
  EXPECT_EQ(board_.due_end(), std::nullopt);
  EXPECT_EQ(board_.pause(), 0ms);
}

TEST_F(FaultBoardTest, AppliesFromAfterUntilFor) {
  age_ = 10s;
  set("stall=after=5s,for=2s");
  age_ = 14'999ms;
  EXPECT_FALSE(board_.applies(Fault::kStall));
  age_ = 15s;
  EXPECT_TRUE(board_.applies(Fault::kStall));
  age_ = 16'999ms;
  EXPECT_TRUE(board_.applies(Fault::kStall));
  age_ = 17s;
  EXPECT_FALSE(board_.applies(Fault::kStall));
}

TEST_F(FaultBoardTest, SkipsAndCountsRequests) {
  set("error500=skip=2,count=1");
  EXPECT_EQ(next(), Spoil::kNone);
  EXPECT_EQ(next(), Spoil::kNone);
  EXPECT_EQ(next(), Spoil::kHttp500);
  EXPECT_EQ(next(), Spoil::kNone);
}

TEST_F(FaultBoardTest, HitsByChance) {
  set("repeat=chance=0.25");
  int hits = 0;
  for (int i = 0; i < 2000; ++i) {
    hits += next() == Spoil::kRepeat;
  }
  EXPECT_NEAR(hits, 500, 60);
}

TEST_F(FaultBoardTest, DegradesWithTheEnginesAge) {
  set("degrade=half-age=10s");
  age_ = 1s;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(next(), Spoil::kNone);
  }
  age_ = 60s;
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(next(), Spoil::kNone);
  }
}

TEST_F(FaultBoardTest, GivesTheLastReplyOfAnotherRequest) {
  board_.remember_reply("ECHO-77");
  set("other-text");
  const auto faults = board_.on_request({}, Drill::get().tokenizer);
  ASSERT_TRUE(faults.plan);
  EXPECT_EQ(faults.plan->tokens, Drill::get().tokenizer.encode("ECHO-77"));
}

TEST_F(FaultBoardTest, EndsTheProcessByTimeOrByRequest) {
  set("exit0=after=3s");
  age_ = 2'999ms;
  EXPECT_EQ(board_.due_end(), std::nullopt);
  age_ = 3s;
  EXPECT_EQ(board_.due_end(), Fault::kExit0);
  EXPECT_EQ(board_.on_request({}, Drill::get().tokenizer).end_process, std::nullopt);
  board_.clear_all();
  set("exit0=chance=0.5");
  EXPECT_EQ(board_.due_end(), std::nullopt);
  board_.clear_all();
  set("abort=skip=1");
  EXPECT_EQ(board_.due_end(), std::nullopt);
  EXPECT_EQ(board_.on_request({}, Drill::get().tokenizer).end_process, std::nullopt);
  EXPECT_EQ(board_.on_request({}, Drill::get().tokenizer).end_process, Fault::kAbort);
}

TEST_F(FaultBoardTest, ForgetsWhatIsCleared) {
  set("slow=pause=50ms");
  EXPECT_EQ(board_.pause(), 50ms);
  board_.clear(Fault::kSlow);
  EXPECT_EQ(board_.pause(), 0ms);
  EXPECT_TRUE(board_.list().empty());
}

}  // namespace
}  // namespace fireboss::engine
