#include <gtest/gtest.h>

#include "probes/metrics/parse.h"

namespace fireboss::probes {
namespace {

TEST(ParseCounters, SumsTheLabelSetsOfAVllmPage) {
  const auto counters = parse_counters(
      "# HELP vllm:num_requests_running Number of requests\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a\"} 2.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"a}\\\"b\"} 1.0\n"
      "vllm:num_requests_waiting{engine=\"0\"} 0\n"
      "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 7\n"
      "vllm:generation_tokens_total{engine=\"0\"} 1.2e+04\n"
      "vllm:generation_tokens_created{engine=\"0\"} 1.7e+09\n",
      MetricsDialect::kVllm);
  EXPECT_EQ(counters.running, 3);
  EXPECT_EQ(counters.waiting, 0);
  EXPECT_EQ(counters.generation_tokens, 12'000);
  EXPECT_EQ(counters.prompt_tokens, std::nullopt);
}

TEST(ParseCounters, ReadsLinesWithoutLabelsAndWithTimestamps) {
  const auto counters =
      parse_counters("llamacpp:requests_processing 1 1700000000000\r\nllamacpp:requests_deferred 0",
                     MetricsDialect::kLlamaServer);
  EXPECT_EQ(counters.running, 1);
  EXPECT_EQ(counters.waiting, 0);
}

// Two pages of llama-server, as it writes them, 20 s apart in one long reply: six significant digits, and
// only the decode steps move.
TEST(ParseCounters, SeesLlamaServerMoveInMidReply) {
  const std::string before =
      "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached tokens\n"
      "# TYPE llamacpp:prompt_tokens_total counter\n"
      "llamacpp:prompt_tokens_total 1.23457e+06\n"
      "llamacpp:prompt_tokens_cached_total 90210\n"
      "llamacpp:tokens_predicted_total 5120\n"
      "llamacpp:n_decode_total 5610\n"
      "llamacpp:n_tokens_max 812\n"
      "llamacpp:requests_processing 1\n"
      "llamacpp:requests_deferred 0\n"
      "llamacpp:n_busy_slots_per_decode 1.01\n";
  auto after = before;
  after.replace(after.find("5610"), 4, "6810");
  const auto first = parse_counters(before, MetricsDialect::kLlamaServer);
  const auto second = parse_counters(after, MetricsDialect::kLlamaServer);
  EXPECT_EQ(first.running, 1);
  EXPECT_EQ(first.generation_tokens, 5120);
  EXPECT_EQ(second.generation_tokens, 5120);
  EXPECT_EQ(first.prompt_tokens, 1'234'570 + 5610);
  EXPECT_EQ(second.prompt_tokens, 1'234'570 + 6810);
}

TEST(ParseCounters, CallsAValueItCannotBelieveUnknown) {
  for (const auto* value : {"NaN", "-1", "+Inf", "1e300", "12x", ""}) {
    const auto page =
        std::string("vllm:num_requests_running{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"1\"} ") +
        value + "\n";
    EXPECT_EQ(parse_counters(page, MetricsDialect::kVllm).running, std::nullopt) << value;
  }
}

TEST(ParseCounters, SurvivesAnUnterminatedLabel) {
  EXPECT_EQ(parse_counters("vllm:num_requests_running{a=\"b", MetricsDialect::kVllm).running, std::nullopt);
}

TEST(DetectDialect, GoesByTheFirstKnownSeries) {
  EXPECT_EQ(detect_dialect("# HELP\npython_gc 1\nsglang:num_queue_reqs 1\n"), MetricsDialect::kSglang);
  EXPECT_EQ(detect_dialect("fireboss_engine_requests_running 0\n"), MetricsDialect::kFirebossEngine);
  EXPECT_EQ(detect_dialect("<html>nginx</html>"), std::nullopt);
}

}  // namespace
}  // namespace fireboss::probes
