#include "supervisor/app/supervisor.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace fireboss::app {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

// The main loop of an engine turns every 5 s at the latest.
constexpr Millis kProgressBound{20'000};
constexpr std::int64_t kMostCalibrationCalls = 1'000;

std::string text_of(const json::object& request, std::string_view key) {
  const auto* value = request.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// {"calls": {"chat": 12, "chat-cold": 4}}: calls a variant, nothing else.
Result<std::vector<std::pair<std::string, int>>> calls_of(const json::object& request) {
  std::vector<std::pair<std::string, int>> calls;
  const auto* value = request.if_contains("calls");
  if (value == nullptr)
    return calls;
  if (!value->is_object())
    return fail(ErrorCode::kInvalid, "\"calls\" must be an object of variant and number of calls");
  for (const auto& entry : value->get_object()) {
    const auto* number = entry.value().if_int64();
    if (number == nullptr || *number < 1 || *number > kMostCalibrationCalls)
      return fail(ErrorCode::kInvalid, "calls of '" + std::string(entry.key()) +
                                           "' must be a number from 1 to " +
                                           std::to_string(kMostCalibrationCalls));
    calls.emplace_back(entry.key(), static_cast<int>(*number));
  }
  return calls;
}

}  // namespace

Supervisor::Supervisor(asio::any_io_executor executor, const config::Config& config, Ports ports)
    // Compiled in and tested: there is no error to come back with.
    : ports_(ports), signatures_(probes::SignatureSet::builtin().value()) {
  for (const auto& engine : config.engines)
    engines_.push_back(
        std::make_shared<EngineSupervisor>(executor, engine, config.raw_reply_bytes, signatures_, ports));
}

Supervisor::~Supervisor() = default;

Result<void> Supervisor::restore(bool foreign) {
  for (const auto& engine : engines_)
    if (auto restored = engine->restore(foreign); !restored)
      return fail(restored.error().in("engine '" + engine->name() + "'"));
  return {};
}

void Supervisor::start() {
  for (const auto& engine : engines_)
    engine->start();
}

void Supervisor::stop() {
  for (const auto& engine : engines_)
    engine->stop();
}

bool Supervisor::progressing() const {
  const auto now = ports_.clock.mono();
  return std::all_of(engines_.begin(), engines_.end(),
                     [now](const auto& engine) { return now - engine->last_progress() < kProgressBound; });
}

bool Supervisor::begun() const {
  return std::all_of(engines_.begin(), engines_.end(), [](const auto& engine) { return engine->begun(); });
}

std::string Supervisor::metrics_page(const DaemonFacts& daemon) {
  const auto now = ports_.clock.mono();
  wall_.update(now, ports_.clock.wall());
  std::vector<EngineFacts> facts;
  for (const auto& engine : engines_)
    facts.push_back(engine->facts());
  return app::metrics_page(daemon, facts, now, wall_);
}

std::string Supervisor::status_line() const {
  return "watching " + std::to_string(engines_.size()) + (engines_.size() == 1 ? " engine" : " engines");
}

Result<std::shared_ptr<EngineSupervisor>> Supervisor::find(const json::object& request) const {
  // An empty name is a shell variable that was not set, not a wish about whatever engine there is.
  for (const auto* key : {"engine", "why", "variant", "to"})
    if (const auto* value = request.if_contains(key); value != nullptr && !value->is_string())
      return fail(ErrorCode::kInvalid, std::string("\"") + key + "\" must be a text");
  const auto name = text_of(request, "engine");
  if (!request.contains("engine") && engines_.size() == 1)
    return engines_.front();
  std::string known;
  for (const auto& engine : engines_) {
    if (engine->name() == name)
      return engine;
    known += (known.empty() ? "" : ", ") + engine->name();
  }
  return fail(ErrorCode::kNotFound,
              (name.empty() ? std::string("which engine?") : "no engine '" + name.substr(0, 64) + "';") +
                  " configured: " + known);
}

std::vector<ControlVerb> Supervisor::verbs() {
  using Answer = asio::awaitable<Result<json::value>>;
  std::vector<ControlVerb> verbs;
  verbs.push_back({"ping", false, [this](json::object, Peer, Progress) -> Answer {
                     json::object trouble;
                     for (const auto& engine : engines_)
                       if (!engine->store_trouble().empty())
                         trouble[engine->name()] = engine->store_trouble();
                     co_return json::object{{"pid", getpid()},
                                            {"engines", engines_.size()},
                                            {"boot", ports_.clock.boot_id()},
                                            {"cannot_record", std::move(trouble)}};
                   }});
  verbs.push_back({"canary.run", true, [this](json::object request, Peer, Progress progress) -> Answer {
                     const auto engine = find(request);
                     if (!engine)
                       co_return fail(engine.error());
                     co_return co_await (*engine)->run_canary(text_of(request, "variant"),
                                                              std::move(progress));
                   }});
  verbs.push_back({"canary.calibrate", true, [this](json::object request, Peer, Progress progress) -> Answer {
                     const auto engine = find(request);
                     if (!engine)
                       co_return fail(engine.error());
                     auto calls = calls_of(request);
                     if (!calls)
                       co_return fail(calls.error());
                     co_return co_await (*engine)->calibrate(std::move(*calls), std::move(progress));
                   }});
  verbs.push_back({"mode", true, [this](json::object request, Peer, Progress) -> Answer {
                     const auto engine = find(request);
                     if (!engine)
                       co_return fail(engine.error());
                     const auto to = text_of(request, "to");
                     if (to != "observe" && to != "enforce")
                       co_return fail(ErrorCode::kInvalid, "mode is observe or enforce");
                     co_return (*engine)->set_mode(to == "enforce" ? policy::Mode::kEnforce
                                                                   : policy::Mode::kObserve);
                   }});
  verbs.push_back({"restart", true, [this](json::object request, Peer peer, Progress progress) -> Answer {
                     const auto engine = find(request);
                     if (!engine)
                       co_return fail(engine.error());
                     auto why = text_of(request, "why").substr(0, 200);
                     why += (why.empty() ? "uid " : ", uid ") + std::to_string(peer.uid);
                     co_return co_await (*engine)->restart(std::move(why), std::move(progress));
                   }});
  return verbs;
}

}  // namespace fireboss::app
