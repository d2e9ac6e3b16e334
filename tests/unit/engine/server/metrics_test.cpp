#include "engine/server/metrics.h"

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

using testing::HasSubstr;

TEST(MetricsPage, ShowsCountersWithEscapedLabels) {
  Counters counters;
  counters.running = 2;
  counters.generation_tokens = 7;
  counters.finished[1] = 3;
  const auto page = metrics_page(
      counters, {.model = "a\"b\\c\n", .implementation = "cpu", .fingerprint = "fp", .started = 99});
  EXPECT_THAT(page, HasSubstr("# TYPE fireboss_engine_requests_running gauge\n"
                              "fireboss_engine_requests_running{model_name=\"a\\\"b\\\\c\\n\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("fireboss_engine_generation_tokens_total{model_name=\"a\\\"b\\\\c\\n\"} 7\n"));
  EXPECT_THAT(page, HasSubstr(",finished_reason=\"length\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("\nprocess_start_time_seconds 99\n"));
}

}  // namespace
}  // namespace fireboss::engine
