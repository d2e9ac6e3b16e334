// The operator's verbs on one engine.
#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "canary/plan/calibration.h"
#include "canary/plan/statistics.h"
#include "supervisor/app/calibration_report.h"
#include "supervisor/app/engine_supervisor.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/view.h"

namespace fireboss::app {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr int kCalibrationCalls = 40;  // a variant, unless told otherwise (design section 5)
constexpr Millis kCalibrationPatience{2 * 3'600'000};

json::array decisions_json(const std::vector<policy::Decision>& decisions) {
  json::array out;
  for (const auto& decision : decisions)
    out.push_back(json::object{{"decision", policy::to_string(decision.kind)}, {"reason", decision.reason}});
  return out;
}

json::object call_json(const GradedCall& call) {
  const auto& graded = call.graded;
  return json::object{{"verdict", canary::to_string(graded.verdict)},
                      {"grade", canary::to_string(graded.grade)},
                      {"reason", graded.reason},
                      {"signals", canary::to_json(graded.signals)}};
}

// Set for as long as it lives, however that ends.
class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

std::vector<Measured> measured_so_far(const policy::Policy& policy, const policy::State& state) {
  std::vector<Measured> out;
  for (const auto& name : policy.variants)
    if (const auto found = state.variants.find(name);
        found != state.variants.end() && found->second.calibration) {
      canary::Calibration calibration;
      calibration.calls = found->second.calibration->calls;
      calibration.failures = found->second.calibration->failures;
      calibration.rate = canary::wilson(calibration.failures, calibration.calls);
      out.push_back({name, calibration});
    }
  return out;
}

}  // namespace

void EngineSupervisor::take_deadlines() {
  for (const auto& [name, variant] : core_.state().variants)
    session_.set_deadlines(name, variant.calibration
                                     ? canary::deadlines_for(Millis{variant.calibration->p99_ms})
                                     : canary::Deadlines{});
}

Result<void> EngineSupervisor::may_ask() const {
  if (!started_ || !policy::ready(core_.state()))
    return fail(ErrorCode::kUnavailable, "engine '" + engine_.name + "' is not ready: nothing to ask");
  if (canary_running_ || calibrating_)
    return fail(ErrorCode::kBusy, "a canary run or a calibration is under way");
  if (core_.state().operation)
    return fail(ErrorCode::kBusy,
                "a " + std::string(policy::to_string(core_.state().operation->action)) + " is under way");
  return {};
}

asio::awaitable<Result<json::value>> EngineSupervisor::run_canary(
    std::string variant, std::function<void(std::string_view)> progress) {
  const auto self = shared_from_this();
  if (auto may = may_ask(); !may)
    co_return fail(may.error());
  if (variant.empty())
    variant = engine_.policy.variants.front();
  if (std::find(engine_.policy.variants.begin(), engine_.policy.variants.end(), variant) ==
      engine_.policy.variants.end())
    co_return fail(ErrorCode::kNotFound,
                   "no variant '" + variant.substr(0, 64) + "' in the suite of '" + engine_.name + "'");
  Asked asked;
  {
    const Raised running(canary_running_);
    const auto life = tracker_.life();
    progress("asking " + engine_.name + " " + std::to_string(engine_.policy.n) + " times, variant " +
             variant);
    feed(policy::CanaryBegun{variant, life, policy::Purpose::kScheduled});
    asked = co_await ask_and_record(variant, engine_.policy.n, life, policy::Purpose::kScheduled);
  }
  wake();
  json::array calls;
  for (const auto& call : asked.run.calls)
    calls.push_back(call_json(call));
  co_return json::object{{"engine", engine_.name},
                         {"variant", variant},
                         {"calls", std::move(calls)},
                         {"decisions", decisions_json(asked.decisions)}};
}

asio::awaitable<Result<json::value>> EngineSupervisor::calibrate(
    std::vector<std::pair<std::string, int>> calls, std::function<void(std::string_view)> progress) {
  const auto self = shared_from_this();
  if (auto may = may_ask(); !may)
    co_return fail(may.error());
  const auto& variants = engine_.policy.variants;
  for (const auto& [variant, number] : calls)
    if (std::find(variants.begin(), variants.end(), variant) == variants.end())
      co_return fail(ErrorCode::kNotFound,
                     "no variant '" + variant.substr(0, 64) + "' in the suite of '" + engine_.name + "'");
  Result<json::value> result;
  {
    const Raised running(calibrating_);
    result = co_await calibrate_variants(std::move(calls), std::move(progress));
  }
  take_deadlines();
  wake();
  co_return result;
}

asio::awaitable<Result<json::value>> EngineSupervisor::calibrate_variants(
    std::vector<std::pair<std::string, int>> calls, std::function<void(std::string_view)> progress) {
  const auto life = tracker_.life();
  const auto give_up = ports_.clock.mono() + kCalibrationPatience;
  json::array variants;
  std::vector<Measured> all;
  for (const auto& variant : engine_.policy.variants) {
    const auto asked =
        std::find_if(calls.begin(), calls.end(), [&](const auto& call) { return call.first == variant; });
    const int total = asked == calls.end() ? kCalibrationCalls : asked->second;
    // An engine that has become slow is measured, not cut off by what it was like.
    session_.set_deadlines(variant, canary::Deadlines{});
    std::vector<canary::Graded> sample;
    std::int64_t wrong = 0;
    for (int done = 0; done < total; ++done) {
      const auto run = co_await session_.run(variant, 1);
      if (stopping_ || tracker_.life() != life)
        co_return fail(ErrorCode::kUnavailable,
                       "the engine's life changed during the calibration: begin again");
      if (ports_.clock.mono() > give_up)
        co_return fail(ErrorCode::kTimeout,
                       "not done within " + humane_duration(kCalibrationPatience) +
                           ", while no other canary runs: ask for fewer calls (--calls " + variant + "=N)");
      const auto& graded = run.calls.front().graded;
      if (graded.grade == canary::Grade::kInconclusive)
        co_return fail(ErrorCode::kUnavailable, "a call of " + variant + " could not be measured (" +
                                                    graded.reason + "): calibrate when the engine answers");
      sample.push_back(graded);
      wrong += graded.grade == canary::Grade::kFail ? 1 : 0;
      progress(variant + ": " + std::to_string(done + 1) + " of " + std::to_string(total) + " calls, " +
               std::to_string(wrong) + " wrong" +
               (graded.grade == canary::Grade::kPass
                    ? ""
                    : " (" + std::string(canary::to_string(graded.verdict)) + ")"));
    }
    const auto measured = canary::calibrate(sample);
    feed(policy::Calibrated{variant, core_.state().life->fingerprint.value_or(""), measured.calls,
                            measured.failures, measured.p50.count(), measured.p99.count()});
    variants.push_back(json::object{{"variant", variant},
                                    {"calls", measured.calls},
                                    {"failures", measured.failures},
                                    {"rate_low_ppm", canary::ppm(measured.rate.low)},
                                    {"rate_high_ppm", canary::ppm(measured.rate.high)},
                                    {"p50_ms", measured.p50.count()},
                                    {"p99_ms", measured.p99.count()}});
    all.push_back({variant, measured});
  }
  const auto said = report_calibration(engine_.policy, all);
  json::array report;
  for (const auto& line : said.lines)
    report.emplace_back(line);
  co_return json::object{{"engine", engine_.name},
                         {"variants", std::move(variants)},
                         {"enforce_allowed", said.enforce_allowed},
                         {"report", std::move(report)}};
}

Result<json::value> EngineSupervisor::set_mode(policy::Mode mode) {
  if (!started_)
    return fail(ErrorCode::kUnavailable, "systemd has not told anything about " + engine_.unit + " yet");
  if (mode == policy::Mode::kEnforce && !policy::calibrated(engine_.policy, core_.state()))
    return fail(ErrorCode::kInvalid, "engine '" + engine_.name +
                                         "' may not enforce: not every variant is calibrated with at least 4 "
                                         "calls and at most 10 % failures; run `fireboss canary calibrate " +
                                         engine_.name + "`");
  feed(policy::OperatorMode{mode});
  json::array notes;
  if (mode == policy::Mode::kEnforce)
    for (const auto& line : thin_calibrations(measured_so_far(engine_.policy, core_.state())))
      notes.emplace_back(line);
  return json::object{{"engine", engine_.name},
                      {"mode", policy::to_string(policy::effective_mode(engine_.policy, core_.state()))},
                      {"notes", std::move(notes)}};
}

asio::awaitable<Result<json::value>> EngineSupervisor::restart(
    std::string why, std::function<void(std::string_view)> progress) {
  const auto self = shared_from_this();
  if (!started_)
    co_return fail(ErrorCode::kUnavailable, "systemd has not told anything about " + engine_.unit + " yet");
  if (!core_.recording())
    co_return fail(ErrorCode::kUnavailable,
                   "not begun: it cannot be recorded (" + core_.store_trouble() + ")");
  const auto mark = decided_;
  feed(policy::OperatorRestart{std::move(why)});
  json::object answer{{"engine", engine_.name}, {"begun", core_.state().operation.has_value()}};
  std::optional<policy::Step> told;
  while (!stopping_ && core_.state().operation) {
    const auto step = core_.state().operation->step;
    if (told != step)
      progress("step " + std::string(policy::to_string(step)));
    told = step;
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (told && core_.state().last_operation)
    answer["outcome"] = policy::to_string(core_.state().last_operation->end);
  answer["decisions"] = decisions_json(decided_since(mark));
  co_return answer;
}

}  // namespace fireboss::app
