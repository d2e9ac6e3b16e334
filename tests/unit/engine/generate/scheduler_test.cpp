#include "engine/generate/scheduler.h"

#include <atomic>
#include <chrono>
#include <future>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  std::string text;
  Finish finish;
  std::size_t cached = 0;
};

// Collects the events of one job.
class Collector {
 public:
  ReplySink sink() {
    return [this](ReplyEvent event) {
      outcome_.text += event.text;
      if (event.finish) {
        outcome_.finish = *event.finish;
        outcome_.cached = event.cached_tokens;
        done_.set_value(outcome_);
      }
    };
  }
  Outcome wait() {
    auto future = done_.get_future();
    EXPECT_EQ(future.wait_for(60s), std::future_status::ready);
    return future.get();
  }

 private:
  Outcome outcome_;
  std::promise<Outcome> done_;
};

class SchedulerTest : public testing::Test {
 protected:
  std::unique_ptr<Scheduler> scheduler(SchedulerOptions options, Scheduler::Drill drill = {}) {
    const auto& model = Drill::get();
    return std::make_unique<Scheduler>(model.weights, model.tokenizer, *usable_kernels().front(), options,
                                       std::move(drill));
  }
  static GenerateRequest request(std::size_t reference, std::string salt = "") {
    return {.prompt = references()[reference].prompt_ids, .max_tokens = 100, .cache_salt = std::move(salt)};
  }
  static Outcome ask(Scheduler& on, GenerateRequest what) {
    Collector collector;
    EXPECT_TRUE(on.submit(std::move(what), collector.sink()));
    return collector.wait();
  }
};

TEST_F(SchedulerTest, AnswersAndReusesAPrefixOfTheSameSaltOnly) {
  const auto engine = scheduler({.context = 4096});
  EXPECT_EQ(ask(*engine, request(0)).text, "PONG-7F3A");
  EXPECT_EQ(ask(*engine, request(0)).cached, 24U);
  const auto salted = ask(*engine, request(0, "x"));
  EXPECT_EQ(salted.cached, 0U);
  EXPECT_EQ(salted.text, "PONG-7F3A");
  // Nor does a salted sequence serve a request without a salt.
  EXPECT_EQ(ask(*engine, request(1, "y")).cached, 0U);
  EXPECT_EQ(ask(*engine, request(1)).cached, 1U);  // <|begin|> of the first request
  const auto& counters = engine->counters();
  EXPECT_EQ(counters.prompt_tokens, 3U * 25 + 2 * 39);
  EXPECT_EQ(counters.prompt_tokens_cached, 25U);
  EXPECT_EQ(counters.generation_tokens, 3U * 10 + 2 * 48);
  EXPECT_EQ(counters.finished[0], 5U);
  EXPECT_EQ(counters.running, 0U);
}

TEST_F(SchedulerTest, AnswersManyAtATimeAsIfAlone) {
  const auto engine = scheduler({.context = 4096, .slots = 3, .queue = 16, .chunk = 64});
  std::vector<std::unique_ptr<Collector>> collectors;
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t reference : {0U, 1U, 2U}) {
      collectors.push_back(std::make_unique<Collector>());
      ASSERT_TRUE(engine->submit(request(reference), collectors.back()->sink()));
    }
  }
  const char* const kExpected[] = {
      "PONG-7F3A", "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19",
      R"(<tool_call>{"name":"read_file","arguments":{"path":"src/main.cpp","limit":20}}</tool_call>)"};
  for (std::size_t i = 0; i < collectors.size(); ++i) {
    EXPECT_EQ(collectors[i]->wait().text, kExpected[i % 3]);
  }
}

TEST_F(SchedulerTest, RefusesWhenTheQueueIsFullAndGoesOnAfterAStall) {
  std::atomic<bool> stalled{true};
  const auto engine =
      scheduler({.context = 4096, .slots = 1, .queue = 1}, {.stalled = [&] { return stalled.load(); }});
  Collector first;
  Collector second;
  ASSERT_TRUE(engine->submit(request(0), first.sink()));
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (engine->counters().running == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(engine->submit(request(0), second.sink()));
  const auto refused = engine->submit(request(0), [](const ReplyEvent&) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_EQ(engine->counters().waiting, 1U);
  EXPECT_EQ(engine->counters().steps, 0U);
  stalled = false;
  EXPECT_EQ(first.wait().text, "PONG-7F3A");
  EXPECT_EQ(second.wait().text, "PONG-7F3A");
}

TEST_F(SchedulerTest, EndsACancelledJobAlsoDuringAStall) {
  const auto engine = scheduler({.context = 4096, .slots = 1}, {.stalled = [] { return true; }});
  Collector running;
  Collector waiting;
  const auto first = engine->submit(request(0), running.sink());
  const auto second = engine->submit(request(0), waiting.sink());
  engine->cancel(**second);
  EXPECT_EQ(waiting.wait().finish.reason, FinishReason::kAborted);
  engine->cancel(**first);
  EXPECT_EQ(running.wait().finish.reason, FinishReason::kAborted);
}

TEST_F(SchedulerTest, AbortsWhatIsLeftWhenItStops) {
  auto engine = scheduler({.context = 4096, .slots = 1}, {.stalled = [] { return true; }});
  Collector running;
  Collector waiting;
  ASSERT_TRUE(engine->submit(request(0), running.sink()));
  ASSERT_TRUE(engine->submit(request(0), waiting.sink()));
  engine->stop();
  EXPECT_EQ(running.wait().finish.reason, FinishReason::kAborted);
  EXPECT_EQ(waiting.wait().finish.reason, FinishReason::kAborted);
  EXPECT_EQ(engine->submit(request(0), [](const ReplyEvent&) {}).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fireboss::engine
