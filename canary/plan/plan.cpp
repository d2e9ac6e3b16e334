#include "canary/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "canary/plan/statistics.h"

namespace fireboss::canary {
namespace {

constexpr double kYearMs = 365.0 * 24 * 3600 * 1000;
constexpr int kMaxCalls = 1000;

// Of one scheduled run: degraded at once, degraded by a confirming run, and confirming runs made due.
struct Outcome {
  double at_once = 0, confirmed = 0, confirming = 0;
};

Outcome k_of_n(const PlanInput& input, double p) {
  const double degraded = binomial_tail(input.k, input.n, p);
  const double unsure = binomial_tail(1, input.n, p) - degraded;
  Outcome outcome{.at_once = degraded};
  double reached = unsure;
  for (int i = 0; i < input.max_confirms; ++i) {
    outcome.confirming += reached;
    outcome.confirmed += reached * degraded;
    reached *= unsure;
  }
  return outcome;
}

Outcome confirm(const PlanInput& input, double p) {
  Outcome outcome{.at_once = binomial_tail(input.confirm_failures, input.n, p)};
  for (int failed = 1; failed < input.confirm_failures && failed <= input.n; ++failed) {
    const double reached = binomial(failed, input.n, p);
    outcome.confirming += reached;
    outcome.confirmed += reached * binomial_tail(input.confirm_failures - failed, input.n, p);
  }
  return outcome;
}

Outcome outcome_of(const PlanInput& input, double p) {
  switch (input.rule) {
    case PlanRule::kKOfN:
      return k_of_n(input, p);
    case PlanRule::kConfirm:
      return confirm(input, p);
  }
  return {};
}

Millis in_millis(double ms) {
  constexpr double kMost = 9.0e18;
  return Millis(ms < kMost ? static_cast<std::int64_t>(std::llround(ms))
                           : std::numeric_limits<std::int64_t>::max());
}

// Runs of the kind that can find it come every `period` ms. The first one is period / 2 away on average.
Millis mean_time(double chance, double period) {
  return in_millis((1 / chance - 0.5) * period);
}
Millis p95_time(double chance, double period) {
  const double runs = chance >= 1 ? 1 : std::ceil(std::log(0.05) / std::log1p(-chance));
  return in_millis(runs * period);
}

}  // namespace

Result<Plan> make_plan(const PlanInput& input) {
  if (input.n < 1 || input.n > kMaxCalls) {
    return fail(ErrorCode::kInvalid, "n must be from 1 to " + std::to_string(kMaxCalls));
  }
  if (input.rule == PlanRule::kKOfN && (input.k < 1 || input.k > input.n)) {
    return fail(ErrorCode::kInvalid, "k must be from 1 to n");
  }
  if (input.rule == PlanRule::kConfirm &&
      (input.confirm_failures < 1 || input.confirm_failures > 2 * input.n)) {
    return fail(ErrorCode::kInvalid, "confirm-failures must be from 1 to 2n");
  }
  if (input.max_confirms < 0 || input.max_confirms > kMaxCalls) {
    return fail(ErrorCode::kInvalid, "max-confirms must be from 0 to " + std::to_string(kMaxCalls));
  }
  if (input.every.count() <= 0) {
    return fail(ErrorCode::kInvalid, "every must be longer than nothing");
  }
  if (input.variants < 1 || input.variants > kMaxCalls) {
    return fail(ErrorCode::kInvalid, "variants must be from 1 to " + std::to_string(kMaxCalls));
  }
  const auto is_rate = [](double rate) { return rate >= 0 && rate <= 1; };
  if (!is_rate(input.rate) || !is_rate(input.fault_rate.value_or(0))) {
    return fail(ErrorCode::kInvalid, "a rate must be from 0 to 100%");
  }
  const auto period = static_cast<double>(input.every.count());
  const Outcome healthy = outcome_of(input, input.rate);
  Plan plan;
  plan.runs_per_year = kYearMs / period;
  plan.false_by_scheduled = healthy.at_once * plan.runs_per_year;
  plan.false_by_confirming = healthy.confirmed * plan.runs_per_year;
  plan.false_per_year = plan.false_by_scheduled + plan.false_by_confirming;
  plan.confirming_per_year = healthy.confirming * plan.runs_per_year;
  if (input.fault_rate && *input.fault_rate > 0) {
    const Outcome faulty = outcome_of(input, *input.fault_rate);
    Detection detection;
    detection.per_run = std::min(1.0, faulty.at_once + faulty.confirmed);
    detection.mean = mean_time(detection.per_run, period);
    detection.p95 = p95_time(detection.per_run, period);
    detection.mean_one_variant = mean_time(detection.per_run, period * input.variants);
    detection.p95_one_variant = p95_time(detection.per_run, period * input.variants);
    plan.detection = detection;
  }
  return plan;
}

}  // namespace fireboss::canary
