#include "supervisor/app/calibration_report.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "canary/plan/plan.h"
#include "canary/plan/statistics.h"
#include "supervisor/policy/view.h"

namespace fireboss::app {
namespace {

// Of a fault that is worth finding: every fourth reply wrong.
constexpr double kFaultRate = 0.25;
// The rate at which the default rule restarts a healthy engine about ten times a year: what one wants to be
// below, and therefore wants to be able to tell.
constexpr double kWorthTelling = 0.01;
constexpr double kZ = 1.959964;  // of 95 %, as canary::wilson
// Fewer calls than this leave so wide an interval that it is said with every use that is made of them.
constexpr std::int64_t kThinBelow = 12;
// With fewer calls the slowest of them is all that is known about 99 of 100.
constexpr std::int64_t kCallsForP99 = 100;

std::string percent(double rate) {
  return fmt::format("{:.1f} %", rate * 100);
}

std::string times(double number) {
  return number >= 100 ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}", number);
}

std::string rate_text(std::int64_t failures, std::int64_t calls, const canary::Interval& rate) {
  return fmt::format("{} of {} calls wrong: a healthy error rate of {} to {} (95 %)", failures, calls,
                     percent(rate.low), percent(rate.high));
}

std::string variant_line(const Measured& measured) {
  const auto& c = measured.calibration;
  return fmt::format("{}: {}; half of the calls within {}, {} {}", measured.variant,
                     rate_text(c.failures, c.calls, c.rate), humane_duration(c.p50),
                     c.calls < kCallsForP99 ? "the slowest" : "99 of 100 within",
                     humane_duration(c.calls < kCallsForP99 ? c.slowest : c.p99));
}

// So many right calls in a row put the interval's upper end at `rate`.
std::int64_t calls_to_tell(double rate) {
  return static_cast<std::int64_t>(std::ceil(kZ * kZ * (1 - rate) / rate));
}

canary::PlanInput plan_input(const policy::Policy& policy, canary::PlanRule rule, double rate) {
  canary::PlanInput input;
  input.rate = rate;
  input.rule = rule;
  input.n = policy.n;
  input.k = policy.k;
  input.confirm_failures = policy.confirm_failures;
  input.max_confirms = policy.max_confirms;
  input.every = policy.canary_every;
  input.variants = static_cast<int>(policy.variants.size());
  input.fault_rate = kFaultRate;
  return input;
}

std::string plan_line(const policy::Policy& policy, policy::Rule rule, const canary::Interval& rate) {
  const bool confirm = rule == policy::Rule::kConfirm;
  const auto plan_rule = confirm ? canary::PlanRule::kConfirm : canary::PlanRule::kKOfN;
  const auto name =
      fmt::format("plan, rule {}{} ({} of {} every {})", confirm ? "confirm" : "k_of_n",
                  rule == policy.rule ? ", in force" : "", confirm ? policy.confirm_failures : policy.k,
                  confirm ? 2 * policy.n : policy.n, format_duration(policy.canary_every));
  const auto low = canary::make_plan(plan_input(policy, plan_rule, rate.low));
  const auto high = canary::make_plan(plan_input(policy, plan_rule, rate.high));
  if (!low || !high)
    return name + ": " + (low ? high : low).error().message;
  return fmt::format(
      "{}: restarts a healthy engine {} to {} times a year; finds {} of replies wrong in {} on "
      "average",
      name, times(low->false_per_year), times(high->false_per_year), percent(kFaultRate),
      humane_duration(high->detection->mean));
}

}  // namespace

std::vector<std::string> thin_calibrations(const std::vector<Measured>& all) {
  std::vector<std::string> out;
  for (const auto& [variant, c] : all)
    if (c.calls < kThinBelow)
      out.push_back(fmt::format(
          "note: {} is calibrated with {} call{} only: its healthy error rate may be anything from {} to {} "
          "(95 %), and what looks like a fault may be how it always was; calibrate with more (--calls {}=40)",
          variant, c.calls, c.calls == 1 ? "" : "s", percent(c.rate.low), percent(c.rate.high), variant));
  return out;
}

CalibrationReport report_calibration(const policy::Policy& policy, const std::vector<Measured>& all) {
  CalibrationReport out;
  std::int64_t calls = 0, failures = 0;
  std::string unfit, too_few;
  for (const auto& measured : all) {
    const auto& c = measured.calibration;
    out.lines.push_back(variant_line(measured));
    calls += c.calls;
    failures += c.failures;
    if (!policy::few_enough_failures(c.failures, c.calls))
      unfit += (unfit.empty() ? "" : ", ") + measured.variant;
    if (!policy::enough_calls(c.calls))
      too_few += (too_few.empty() ? "" : ", ") + measured.variant;
  }
  for (auto& line : thin_calibrations(all))
    out.lines.push_back(std::move(line));
  const auto rate = canary::wilson(failures, calls);
  if (all.size() > 1)
    out.lines.push_back("all variants: " + rate_text(failures, calls, rate));
  if (rate.high > kWorthTelling)
    out.lines.push_back(fmt::format(
        "that interval is {:.1f} points wide: after {} calls the true rate may be anywhere in it; "
        "to show that it is below {} takes some {} calls without a wrong one (--calls)",
        (rate.high - rate.low) * 100, calls, percent(kWorthTelling), calls_to_tell(kWorthTelling)));
  out.lines.push_back(plan_line(policy, policy::Rule::kKOfN, rate));
  out.lines.push_back(plan_line(policy, policy::Rule::kConfirm, rate));
  out.enforce_allowed = !all.empty() && unfit.empty() && too_few.empty();
  if (!too_few.empty())
    out.lines.push_back(fmt::format("enforce is refused: {} calibrated with fewer than {} calls: ", too_few,
                                    policy::kLeastCalibrationCalls) +
                        "that says nothing about the healthy error rate; calibrate again with more");
  if (!unfit.empty())
    out.lines.push_back(fmt::format(
        "enforce is refused: more than {} of the calls of {} are wrong while the engine counts as "
        "healthy; look at prompt, parser and flags, then calibrate again",
        percent(static_cast<double>(policy::kMaxCalibratedPpm) / 1e6), unfit));
  return out;
}

}  // namespace fireboss::app
