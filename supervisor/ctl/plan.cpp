// fireboss canary plan: what a rule costs in false restarts, and how soon it finds a fault.
#include "canary/plan/plan.h"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "canary/plan/statistics.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/settings.h"
#include "supervisor/policy/policy.h"

namespace fireboss::ctl {
namespace {

namespace json = boost::json;
using canary::Plan;
using canary::PlanInput;
using canary::PlanRule;

// Of what is to be found, unless one is named.
constexpr std::array<double, 3> kFaultRates{0.25, 0.5, 1.0};

struct Options {
  std::string rate, fault_rate, every, rule = "k_of_n";
  std::optional<std::int64_t> calls, failures;
  PlanInput input;
};

// Each rate at which the plan is worked out: the given one, or the measured one with the ends of its
// interval.
struct Rates {
  double at = 0;
  std::optional<canary::Interval> interval;
};

Result<Rates> rates_of(const Options& options) {
  if (!options.rate.empty() && (options.calls || options.failures)) {
    return fail(ErrorCode::kInvalid, "--rate and --calls say the same thing: give one of both");
  }
  if (!options.rate.empty()) {
    auto rate = canary::parse_rate(options.rate);
    if (!rate) {
      return fail(rate.error().in("--rate"));
    }
    return Rates{*rate, std::nullopt};
  }
  if (options.calls.has_value() != options.failures.has_value()) {
    return fail(ErrorCode::kInvalid, options.calls ? "--calls needs --failures: how many of them were wrong"
                                                   : "--failures needs --calls: of how many");
  }
  if (!options.calls || *options.calls < 1 || *options.failures < 0 || *options.failures > *options.calls) {
    return fail(ErrorCode::kInvalid,
                "give --rate, or --calls and --failures of a calibration (failures from 0 to calls)");
  }
  return Rates{static_cast<double>(*options.failures) / static_cast<double>(*options.calls),
               canary::wilson(*options.failures, *options.calls)};
}

Result<PlanInput> input_of(const Options& options) {
  PlanInput input = options.input;
  if (options.rule != "k_of_n" && options.rule != "confirm") {
    return fail(ErrorCode::kInvalid, "--rule must be k_of_n or confirm");
  }
  input.rule = options.rule == "confirm" ? PlanRule::kConfirm : PlanRule::kKOfN;
  auto every = parse_duration(options.every);
  if (!every) {
    return fail(every.error().in("--every"));
  }
  input.every = *every;
  if (!options.fault_rate.empty()) {
    auto rate = canary::parse_rate(options.fault_rate);
    if (!rate) {
      return fail(rate.error().in("--fault-rate"));
    }
    input.fault_rate = *rate;
  }
  return input;
}

std::string percent(double rate) {
  return fmt::format("{:.3g}%", rate * 100);
}
std::string times(double number) {
  return number >= 1000 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

std::string rule_text(const PlanInput& input) {
  switch (input.rule) {
    case PlanRule::kKOfN: {
      std::string restart = fmt::format("restart at {} of {} calls wrong", input.k, input.n);
      if (input.k == 1) {
        return restart;
      }
      const std::string fewer = input.k == 2 ? "1" : fmt::format("1 to {}", input.k - 1);
      return fmt::format("{}; {} wrong: up to {} confirming runs", restart, fewer, input.max_confirms);
    }
    case PlanRule::kConfirm:
      return fmt::format("restart at {} of {} calls wrong, over a run and its confirming run",
                         input.confirm_failures, 2 * input.n);
  }
  return {};
}

// How soon a fault is found of which this share of replies is wrong.
struct Found {
  double rate = 0;
  canary::Detection detection;
};

void print_text(const PlanInput& input, const Rates& rates, const Plan& plan, const Plan* low,
                const Plan* high, const std::vector<Found>& faults) {
  fmt::print("rule            {}, every {}\n", rule_text(input), format_duration(input.every));
  fmt::print("healthy rate    {} of replies wrong", percent(rates.at));
  if (rates.interval) {
    fmt::print(" (95%: {} to {})", percent(rates.interval->low), percent(rates.interval->high));
  }
  fmt::print("\nfalse restarts  {} a year", times(plan.false_per_year));
  if (low != nullptr && high != nullptr) {
    fmt::print(" (95%: {} to {})", times(low->false_per_year), times(high->false_per_year));
  }
  fmt::print(", {} of them after a confirming run\n", times(plan.false_by_confirming));
  fmt::print("confirming runs {} a year of a healthy engine\n", times(plan.confirming_per_year));
  for (const auto& [rate, found] : faults) {
    fmt::print("time to detect  {} of replies wrong: {} on average, {} in 95 of 100 faults\n", percent(rate),
               humane_duration(found.mean), humane_duration(found.p95));
    if (input.variants > 1) {
      fmt::print("                ... if one variant of {} shows it: {} on average, {} in 95 of 100\n",
                 input.variants, humane_duration(found.mean_one_variant),
                 humane_duration(found.p95_one_variant));
    }
  }
  const policy::Policy defaults;
  fmt::print(
      "note: an engine that degrades again within {} of a restart gets {} restarts in {}, then serves on "
      "and pages\n",
      format_duration(defaults.useful_life), defaults.budget, format_duration(defaults.budget_window));
}

json::object to_json(const Found& fault) {
  return {{"fault_rate_ppm", canary::ppm(fault.rate)},
          {"detection_per_run", fault.detection.per_run},
          {"detect_mean_ms", fault.detection.mean.count()},
          {"detect_p95_ms", fault.detection.p95.count()},
          {"detect_one_variant_mean_ms", fault.detection.mean_one_variant.count()},
          {"detect_one_variant_p95_ms", fault.detection.p95_one_variant.count()}};
}

json::object to_json(const PlanInput& input, const Rates& rates, const Plan& plan, const Plan* low,
                     const Plan* high, const std::vector<Found>& faults) {
  json::object out{{"rule", input.rule == PlanRule::kKOfN ? "k_of_n" : "confirm"},
                   {"n", input.n},
                   {"every_ms", input.every.count()},
                   {"rate_ppm", canary::ppm(rates.at)},
                   {"runs_per_year", plan.runs_per_year},
                   {"false_restarts_per_year", plan.false_per_year},
                   {"false_restarts_per_year_confirming", plan.false_by_confirming},
                   {"confirming_runs_per_year", plan.confirming_per_year}};
  if (input.rule == PlanRule::kKOfN) {
    out["k"] = input.k;
    out["max_confirms"] = input.max_confirms;
  } else {
    out["confirm_failures"] = input.confirm_failures;
  }
  if (rates.interval && low != nullptr && high != nullptr) {
    out["rate_low_ppm"] = canary::ppm(rates.interval->low);
    out["rate_high_ppm"] = canary::ppm(rates.interval->high);
    out["false_restarts_per_year_low"] = low->false_per_year;
    out["false_restarts_per_year_high"] = high->false_per_year;
  }
  json::array detection;
  for (const auto& fault : faults) {
    detection.push_back(to_json(fault));
  }
  out["detection"] = std::move(detection);
  return out;
}

Result<void> print_plan(const Context& context, const Options& options) {
  const auto rates = rates_of(options);
  if (!rates) {
    return fail(rates.error());
  }
  auto input = input_of(options);
  if (!input) {
    return fail(input.error());
  }
  const auto at = [&](double rate) {
    PlanInput changed = *input;
    changed.rate = rate;
    return canary::make_plan(changed);
  };
  const auto plan = at(rates->at);
  if (!plan) {
    return fail(plan.error());
  }
  const auto low = at(rates->interval ? rates->interval->low : rates->at);
  const auto high = at(rates->interval ? rates->interval->high : rates->at);
  const Plan* least = rates->interval ? &*low : nullptr;
  const Plan* most = rates->interval ? &*high : nullptr;
  std::vector<Found> faults;
  const std::vector<double> fault_rates = input->fault_rate
                                              ? std::vector<double>{*input->fault_rate}
                                              : std::vector<double>(kFaultRates.begin(), kFaultRates.end());
  for (const double fault : fault_rates) {
    PlanInput changed = *input;
    changed.rate = rates->at;
    changed.fault_rate = fault;
    const auto found = canary::make_plan(changed);
    if (!found) {
      return fail(found.error());
    }
    faults.push_back({fault, *found->detection});
  }
  if (context.json) {
    fmt::print("{}\n", json::serialize(to_json(*input, *rates, *plan, least, most, faults)));
  } else {
    print_text(*input, *rates, *plan, least, most, faults);
  }
  return {};
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  // Under `fireboss canary`, which add_canary() has made.
  auto* plan = app.get_subcommand("canary")->add_subcommand(
      "plan", "False restarts a year and time to detect, from error rate and rule");
  const auto options = std::make_shared<Options>();
  const policy::Policy defaults;
  options->every = format_duration(defaults.canary_every);
  options->input.n = defaults.n;
  options->input.k = defaults.k;
  options->input.confirm_failures = defaults.confirm_failures;
  options->input.max_confirms = defaults.max_confirms;
  options->input.variants = static_cast<int>(defaults.variants.size());
  plan->add_option("--rate", options->rate, "Share of wrong replies of the healthy engine, such as 1%");
  plan->add_option("--calls", options->calls, "Instead of --rate: calls of a calibration");
  plan->add_option("--failures", options->failures, "... and how many of them failed");
  plan->add_option("--fault-rate", options->fault_rate,
                   "Share of wrong replies of the fault to be found (default: 25%, 50% and 100%)");
  plan->add_option("--rule", options->rule, "k_of_n or confirm")->capture_default_str();
  plan->add_option("--n", options->input.n, "Calls a run")->capture_default_str();
  plan->add_option("--k", options->input.k, "Wrong ones that make a run degraded")->capture_default_str();
  plan->add_option("--confirm-failures", options->input.confirm_failures,
                   "With --rule confirm: wrong ones of both runs")
      ->capture_default_str();
  plan->add_option("--max-confirms", options->input.max_confirms, "Confirming runs per scheduled run")
      ->capture_default_str();
  plan->add_option("--every", options->every, "Time from run to run")->capture_default_str();
  plan->add_option("--variants", options->input.variants, "Variants that runs rotate over")
      ->capture_default_str();
  plan->callback([&context, options] {
    if (const auto done = print_plan(context, *options); !done) {
      report(context, done.error());
    }
  });
}

}  // namespace fireboss::ctl
