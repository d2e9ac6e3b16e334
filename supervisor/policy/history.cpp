#include "supervisor/policy/history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <boost/json.hpp>

#include "base/one_line.h"
#include "supervisor/policy/history_line.h"
#include "supervisor/policy/judge.h"
#include "supervisor/policy/keys.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/nearest.h"

namespace fireboss::policy {
namespace json = boost::json;
namespace {

constexpr std::size_t kMaxBytes = 64 * 1024 * 1024;
constexpr std::size_t kMaxErrors = 20;
constexpr std::size_t kMaxWords = 600;  // of one error
constexpr double kMaxSeconds = 1e10;    // three centuries

EventBody read_life_started(HistoryLine& line) {
  LifeStarted event;
  event.life = line.needed("life");
  event.cause = line.word<LifeCause>("cause").value_or(LifeCause::kUnknown);
  event.fingerprint = line.text("fingerprint");
  event.age = line.duration("age").value_or(Millis{0});
  return event;
}

EventBody read_ready(HistoryLine& line) {
  Ready event;
  event.life = line.needed("life");
  event.fingerprint = line.text("fingerprint");
  return event;
}

EventBody read_life_ended(HistoryLine& line) {
  LifeEnded event;
  event.life = line.needed("life");
  event.result = line.text("result").value_or("");
  if (const auto status = line.number("exit_status"))
    event.exit_status = static_cast<int>(std::min<std::int64_t>(*status, 65'535));
  event.stop_job = line.flag("stop_job");
  event.restart_job = line.flag("restart_job");
  event.auto_restart = line.flag("auto_restart");
  event.start_limit = line.flag("start_limit").value_or(false);
  return event;
}

EventBody read_canary(HistoryLine& line) {
  CanaryResult event;
  event.variant = line.needed("variant");
  event.life = line.needed("life");
  event.purpose = line.word<Purpose>("purpose");
  // A whole run may be said in one word: "inconclusive:life_changed", "foreign_nonce".
  if (const auto* results = line.find("results"); results != nullptr && results->is_string())
    event.results = {std::string(results->get_string())};
  else if (const auto list = line.texts("results"))
    event.results = *list;
  else
    line.wrong("field 'results' is missing: it must be a list of verdicts");
  for (const auto& result : event.results)
    if (const auto known = check_call_result(result); !known)
      line.wrong("field 'results': " + known.error().message);
  return event;
}

EventBody read_counters(HistoryLine& line) {
  Counters event;
  event.running = line.number("running");
  event.waiting = line.number("waiting");
  event.prompt_tokens = line.number("prompt_tokens");
  event.generation_tokens = line.number("generation_tokens");
  if (const auto scrape = line.text("scrape")) {
    if (*scrape != "failed" && *scrape != "ok")
      line.wrong("field 'scrape' is '" + *scrape + "': it must be failed (or ok, or absent)");
    event.scrape_failed = *scrape == "failed";
  }
  return event;
}

EventBody read_port_bytes(HistoryLine& line) {
  const auto any = line.flag("any_sent");
  if (!any)
    line.wrong("field 'any_sent' is missing: it must be true or false");
  return PortBytes{any.value_or(true)};
}

EventBody read_lease(HistoryLine& line) {
  Lease event;
  event.gpu = line.name("gpu");
  event.holder = line.text("holder").value_or("");
  event.taken = line.one_of("state", {"taken", "released"}) == "taken";
  return event;
}

EventBody read_census(HistoryLine& line) {
  Census event;
  event.life = line.text("life").value_or("");
  event.missing = line.texts("missing").value_or(std::vector<std::string>{});
  return event;
}

EventBody read_guard(HistoryLine& line) {
  Guard event;
  event.name = line.needed("name");
  event.verdict = line.one_of("verdict", {"proven", "not_loaded", "stale", "mismatch", "unreachable"});
  event.process = line.name("process");
  return event;
}

EventBody read_signature(HistoryLine& line) {
  Signature event;
  event.signature_class = line.needed("class");
  event.count = line.number("count").value_or(1);
  event.life = line.text("life").value_or("");
  return event;
}

EventBody read_operator(HistoryLine& line) {
  const auto command = line.one_of("command", {"hold", "resume", "recycle", "restart", "mode"});
  const auto why = line.text("why").value_or("");
  if (command == "hold")
    return OperatorHold{.length = line.needed_duration("for"), .why = why};
  if (command == "resume")
    return OperatorResume{};
  if (command == "recycle")
    return OperatorRecycle{};
  if (command == "restart")
    return OperatorRestart{.why = why};
  if (command == "mode")
    return OperatorMode{.to = line.needed_word<Mode>("to")};
  return Tick{};
}

EventBody read_action_outcome(HistoryLine& line) {
  ActionOutcome event;
  event.action = line.word<ActionKind>("action").value_or(ActionKind::kRestart);
  event.step = line.word<Step>("step").value_or(Step::kJob);
  event.result = line.needed_word<StepResult>("result");
  event.detail = line.text("detail").value_or("");
  return event;
}

EventBody read_own_fault(HistoryLine& line) {
  OwnFault event;
  event.what = line.needed_word<OwnFaultKind>("what");
  if (const auto state = line.text("state")) {
    if (*state != "begun" && *state != "over")
      line.wrong("field 'state' is '" + *state + "': it must be begun or over");
    event.over = *state == "over";
  }
  return event;
}

EventBody read_suspended(HistoryLine& line) {
  return Suspended{.length = line.duration("for").value_or(Millis{0})};
}

EventBody read_daemon_started(HistoryLine& line) {
  DaemonStarted event;
  event.life = line.text("life");
  if (!event.life && line.has_null("life"))
    event.life = "";
  event.boot = line.text("boot").value_or("");
  event.restored = line.flag("restored").value_or(false);
  const auto* pending = line.find("pending");
  if (pending == nullptr)
    return event;
  if (!pending->is_object()) {
    line.wrong("field 'pending' must be null or {\"action\", \"life\", \"step\"}");
    return event;
  }
  HistoryLine inner(pending->get_object());
  event.pending = PendingAction{.action = inner.needed_word<ActionKind>("action"),
                                .life = inner.needed("life"),
                                .step = inner.word<Step>("step").value_or(Step::kEvidence),
                                .job_running = inner.flag("job_running").value_or(false)};
  (void)inner.unknown_fields();
  if (!inner.mistake().empty())
    line.wrong("in 'pending': " + inner.mistake());
  return event;
}

EventBody read_canary_begun(HistoryLine& line) {
  CanaryBegun event;
  event.variant = line.needed("variant");
  event.life = line.needed("life");
  event.purpose = line.word<Purpose>("purpose").value_or(Purpose::kScheduled);
  return event;
}

EventBody read_tick(HistoryLine& /*line*/) {
  return Tick{};
}

using Reader = EventBody (*)(HistoryLine&);
constexpr std::array<std::pair<std::string_view, Reader>, 17> kReaders{
    {{"life_started", read_life_started},
     {"ready", read_ready},
     {"life_ended", read_life_ended},
     {"canary", read_canary},
     {"counters", read_counters},
     {"lease", read_lease},
     {"census", read_census},
     {"guard", read_guard},
     {"signature", read_signature},
     {"operator", read_operator},
     {"action_outcome", read_action_outcome},
     {"own_fault", read_own_fault},
     {"suspended", read_suspended},
     {"daemon_started", read_daemon_started},
     {"tick", read_tick},
     {"port_bytes", read_port_bytes},
     {"canary_begun", read_canary_begun}}};

std::string event_names() {
  std::string out;
  for (const auto& [name, reader] : kReaders)
    out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

std::optional<std::string> unknown_event(std::string_view name) {
  std::array<std::string_view, kReaders.size()> names;
  std::transform(kReaders.begin(), kReaders.end(), names.begin(),
                 [](const auto& reader) { return reader.first; });
  const auto near = nearest(name, names);
  return "event '" + std::string(name) + "' is not known" +
         (near ? " (did you mean '" + std::string(*near) + "'?)" : ": write one of " + event_names());
}

class Reading {
 public:
  Reading(History& history, const std::string& file) : history_(history), file_(file) {}

  void line(std::size_t number, std::string_view text) {
    number_ = number;
    boost::system::error_code error;
    json::parse_options options;
    options.max_depth = 8;
    const auto value = json::parse(text, error, {}, options);
    if (error)
      return wrong("not JSON (" + error.message() + "): write one JSON object a line");
    if (!value.is_object())
      return wrong("not a JSON object: write {\"t\": SECONDS, \"event\": NAME, ...}");
    const auto& object = value.get_object();
    if (object.contains("config"))
      config(object);
    else
      event(object);
    first_ = false;
  }

 private:
  [[nodiscard]] std::string place() const { return file_ + ":" + std::to_string(number_) + ": "; }

  void wrong(const std::string& text) { history_.errors.push_back(place() + one_line(text, kMaxWords)); }

  void config(const json::object& object) {
    if (!first_)
      return wrong("'config' is allowed on the first line only");
    if (object.size() != 1 || !object.at("config").is_object())
      return wrong("the config line must be {\"config\": {...}} and nothing else");
    const auto policy = policy_from_json(object.at("config").get_object(), history_.policy);
    if (!policy)
      return wrong("config: " + policy.error().message);
    for (const auto& conflict : conflicts(*policy))
      wrong("config: " + std::string(conflict.key) + ": " + conflict.message);
    history_.policy = *policy;
  }

  void event(const json::object& object) {
    HistoryLine line(object);
    const auto at = moment(line);
    const auto name = line.text("event");
    if (!line.mistake().empty())
      return wrong(line.mistake());
    if (!name)
      return wrong("field 'event' is missing: write one of " + event_names());
    const auto* const reader =
        std::find_if(kReaders.begin(), kReaders.end(), [&](const auto& one) { return one.first == *name; });
    if (reader == kReaders.end())
      return wrong(*unknown_event(*name));
    auto body = reader->second(line);
    const auto ignored = line.unknown_fields();
    if (!line.mistake().empty())
      return wrong(*name + ": " + line.mistake());
    if (!ignored.empty())
      history_.warnings.push_back(
          place() + one_line(*name + ": ignoring field " + ignored + ", which is not known", kMaxWords));
    history_.events.push_back({.at = *at, .body = std::move(body)});
  }

  std::optional<MonoTime> moment(HistoryLine& line) {
    const auto* value = line.find("t");
    if (value == nullptr || !value->is_number()) {
      line.wrong("field 't' is missing: write the seconds from the history's start");
      return std::nullopt;
    }
    const auto seconds = value->to_number<double>();
    if (!(seconds >= 0 && seconds <= kMaxSeconds)) {
      line.wrong("field 't' is out of range: seconds from the history's start, from 0");
      return std::nullopt;
    }
    const MonoTime at{Millis{std::llround(seconds * 1000)}};
    if (at < last_)
      line.wrong("field 't' is smaller than in the line before: order the lines by time");
    last_ = at;
    return at;
  }

  History& history_;
  const std::string& file_;
  std::size_t number_ = 0;
  bool first_ = true;
  MonoTime last_{};
};

}  // namespace

History read_history(std::string_view text, const std::string& file, const Policy& base) {
  History history;
  history.policy = base;
  if (text.size() > kMaxBytes) {
    history.errors.push_back(file + ": larger than 64 MiB: split the history");
    return history;
  }
  Reading reading(history, file);
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.remove_suffix(1);
    if (!line.empty())
      reading.line(number, line);
    if (history.errors.size() >= kMaxErrors) {
      history.errors.push_back(file + ": further errors are not looked for");
      return history;
    }
  }
  return history;
}

}  // namespace fireboss::policy
