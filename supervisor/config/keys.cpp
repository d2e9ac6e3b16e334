#include "supervisor/config/keys.h"

#include <algorithm>
#include <array>

#include "canary/suite/make_suite.h"
#include "supervisor/config/config.h"
#include "supervisor/policy/keys.h"

namespace fireboss::config {
namespace {

constexpr std::array<std::string_view, 2> kListeners{"scope", "any"};
constexpr std::array<std::string_view, 6> kAdapters{"auto",   "vllm", "llama-server", "fireboss-engine",
                                                    "sglang", "none"};
constexpr std::array<std::string_view, 5> kLogLevels{"trace", "debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 4> kSinkTypes{"webhook", "alertmanager", "exec", "journal"};
constexpr std::array<std::string_view, 3> kSeverities{"info", "warning", "critical"};
static_assert(static_cast<int>(SinkType::kJournal) == 3 &&
              static_cast<int>(policy::Severity::kCritical) == 2);
static_assert(static_cast<int>(ListenerCheck::kAny) == 1 && static_cast<int>(Adapter::kNone) == 5);

std::string one_of(std::span<const std::string_view> words) {
  return "one of " + quoted(words);
}

void sort(std::vector<KeyInfo>& keys) {
  std::sort(keys.begin(), keys.end(), [](const KeyInfo& a, const KeyInfo& b) { return a.name < b.name; });
}

std::vector<KeyInfo> make_daemon_keys() {
  const Config defaults;
  const auto text = ValueType::kText;
  std::vector<KeyInfo> keys{
      {"bus_address", text, "text", "", "D-Bus address of systemd; not set: the system bus"},
      {"control_socket", text, "absolute path", defaults.control_socket,
       "Where `fireboss` reaches firebossd"},
      {"control_users", ValueType::kTextList, "list of texts", "",
       "User names that may change things over the control socket, besides root and the daemon's own user"},
      {"database", text, "absolute path", defaults.database, "The record; on a local disk"},
      {"generation_file", text, "absolute path", defaults.generation_file,
       "Outside the database's folder: tells a database restored from a backup or another machine"},
      {"lock_directory", text, "absolute path", defaults.lock_directory,
       "Locks that keep a second firebossd from the same unit"},
      {"log_level", text, one_of(kLogLevels), defaults.log_level, "Least severity of firebossd's own log"},
      {"raw_reply_bytes", text, "size 1KiB to 1MiB", format_size(defaults.raw_reply_bytes),
       "Kept of the body of one failed reply at most"},
  };
  sort(keys);
  return keys;
}

std::vector<KeyInfo> make_alert_keys() {
  const auto text = ValueType::kText;
  std::vector<KeyInfo> keys{
      {"host", text, "text", "", "What alerts call this machine; not set: its host name"},
      {"link", text, "URL", "", "Put into every alert, such as a runbook or a dashboard"},
  };
  sort(keys);
  return keys;
}

std::vector<KeyInfo> make_sink_keys() {
  const auto text = ValueType::kText;
  const AlertSink defaults;
  std::vector<KeyInfo> keys{
      {"ca_file", text, "absolute path", "",
       "webhook, alertmanager: certificate authorities (PEM) to trust instead of the system's"},
      {"command", ValueType::kTextList, "list of texts", "",
       "exec: program and arguments; the alert comes on its standard input; required"},
      {"repeat", text, "duration 10s to 7d", "",
       "An alert that is still firing is told again that often; not set: once, but alertmanager 1m"},
      {"send_resolved", ValueType::kBoolean, "true or false", "true",
       "Tell too when an alert that was told is over"},
      {"severity", text, one_of(kSeverities), "info", "Least severity that is told"},
      {"token_credential", text, "text", "",
       "webhook, alertmanager: name of the systemd credential (LoadCredential=) with a bearer token"},
      {"type", text, one_of(kSinkTypes), "", "What is spoken there; required"},
      {"url", text, "URL", "",
       "webhook, alertmanager: http:// or https://, an Alertmanager's without /api/v2; required, or "
       "url_credential"},
      {"url_credential", text, "text", "",
       "webhook, alertmanager: name of the systemd credential that holds the URL, where that is a secret"},
      {"user", text, "text", defaults.user, "exec: who the command runs as"},
  };
  sort(keys);
  return keys;
}

std::vector<KeyInfo> make_heartbeat_keys() {
  const auto text = ValueType::kText;
  std::vector<KeyInfo> keys{
      {"ca_file", text, "absolute path", "",
       "Certificate authorities (PEM) to trust instead of the system's"},
      {"url", text, "URL", "",
       "Ping URL of every engine without one of its own, in the form of healthchecks.io; {engine} becomes "
       "the engine's name, and must be there if they are several"},
      {"url_credential", text, "text", "",
       "Name of the systemd credential that holds that URL, instead of url"},
  };
  sort(keys);
  return keys;
}

std::vector<KeyInfo> make_metrics_keys() {
  const Metrics defaults;
  return {
      {"hosts", ValueType::kTextList, "list of texts", "",
       "Names under which the page may be asked for, besides addresses and localhost"},
      {"listen", ValueType::kText, "ADDRESS:PORT or \"off\"",
       defaults.address + ":" + std::to_string(defaults.port),
       "Where firebossd serves its own metrics, GET /metrics; anybody who reaches it may read them"},
  };
}

std::vector<KeyInfo> make_silence_keys() {
  const Silence defaults;
  const auto text = ValueType::kText;
  return {
      {"after", text, "duration 5m to 30d", "",
       "Without a conclusive canary run for that long: alert; not set: by each engine's own schedule"},
      {"daemon_after", text, "duration 1m to 1d", format_duration(defaults.daemon_after),
       "Without a running firebossd for that long: alert"},
      {"state_file", text, "absolute path", defaults.state_file,
       "What fireboss-silence has raised and not yet resolved"},
  };
}

void add_suite_keys(std::vector<KeyInfo>& keys) {
  const auto text = ValueType::kText;
  const canary::SuiteSource defaults;
  const auto join = [](const std::vector<std::string>& words) {
    std::string out;
    for (const auto& w : words)
      out += (out.empty() ? "" : ", ") + w;
    return out;
  };
  std::vector<std::string> known;
  for (const auto& variant : canary::known_variants())
    known.push_back(variant.name);
  keys.insert(
      keys.end(),
      {
          {"suite", text, "path", "",
           "The suite in a file of its own, relative to this one, instead of a table"},
          {"suite.api", text, "text", defaults.api, "How the engine is asked"},
          {"suite.api_key_credential", text, "text", "",
           "Name of the systemd credential (LoadCredential=) that holds the API key; not set: no key"},
          {"suite.base_path", text, "text", defaults.base_path, "In front of /models and /chat/completions"},
          {"suite.cold_by", text, "one of \"nonce\", \"cache_salt\", \"both\"", defaults.cold_by,
           "How chat-cold keeps a cached prefix from answering"},
          {"suite.extra_body", text, "JSON object as text", "", "Merged into every request"},
          {"suite.headers", ValueType::kTextMap, "table of texts", "", "Further request headers; no secrets"},
          {"suite.max_tokens", ValueType::kInteger, "whole number", std::to_string(defaults.max_tokens),
           "Well above the length of the answer"},
          {"suite.model", text, "text", "", "Model or LoRA name; not set: the engine's first model"},
          {"suite.name", text, "text", "", "For people; not set: the engine's name"},
          {"suite.reasoning", text, "one of \"none\", \"field\", \"inline_tags\"", defaults.reasoning,
           "Where the engine puts its reasoning"},
          {"suite.special_tokens", ValueType::kTextList, "list of texts", "",
           "Further texts that must never be seen in a reply"},
          {"suite.system_prompt", text, "text", "", "The operator's system prompt, written in place"},
          {"suite.system_prompt_file", text, "path", "",
           "The operator's real system prompt (UTF-8, at most 1MiB), relative to the file that names it"},
          {"suite.tools", text, "JSON array as text", "", "The operator's tools, written in place"},
          {"suite.tools_file", text, "path", "",
           "The operator's real tools (a JSON array, at most 1MiB), relative to the file that names it"},
          {"suite.variants", ValueType::kTextList, "list of " + join(known), join(defaults.variants),
           "Variants that may be asked; canary.variants chooses among them"},
      });
}

void add_policy_keys(std::vector<KeyInfo>& keys) {
  const policy::Policy defaults;
  for (const auto& key : policy::keys()) {
    KeyInfo info{std::string(key.name), ValueType::kText, "", policy::value_text(defaults, key),
                 std::string(key.meaning)};
    switch (key.type) {  // no default: a new type must be shown here
      case policy::KeyType::kDuration:
        info.kind =
            "duration " + format_duration(Millis{key.least}) + " to " + format_duration(Millis{key.most});
        break;
      case policy::KeyType::kInteger:
        info.type = ValueType::kInteger;
        info.kind = "whole number " + std::to_string(key.least) + " to " + std::to_string(key.most);
        break;
      case policy::KeyType::kWord:
        info.kind = one_of(key.words);
        break;
      case policy::KeyType::kWordList:
        info.type = ValueType::kTextList;
        info.kind = "list of texts";
        break;
    }
    keys.push_back(std::move(info));
  }
}

std::vector<KeyInfo> make_engine_keys() {
  const auto text = ValueType::kText;
  const Engine defaults;
  std::vector<KeyInfo> keys{
      {"adapter", text, one_of(kAdapters), "auto",
       "Whose metrics the engine speaks; auto: told by what it answers"},
      {"heartbeat.url", text, "URL", "",
       "Ping URL of this engine, in the form of healthchecks.io, instead of [heartbeat]"},
      {"heartbeat.url_credential", text, "text", "",
       "Name of the systemd credential that holds that URL, instead of heartbeat.url"},
      {"host", text, "text", defaults.host, "Where the API listens"},
      {"listener", text, one_of(kListeners), "scope",
       "scope: neither key nor prompt is sent unless the port's listener is a process of the engine; any: "
       "not checked"},
      {"metrics_path", text, "text", defaults.metrics_path, "Prometheus page with the engine's counters"},
      {"port", ValueType::kInteger, "whole number 1 to 65535", "", "Where the API listens; required, or url"},
      {"required_processes", ValueType::kTextList, "list of texts", "",
       "A process whose command line contains each of these must be there"},
      {"unit", text, "unit name", "", "The engine's systemd unit, such as vllm.service; required"},
      {"url", text, "text", "", "http://HOST:PORT, instead of host and port"},
  };
  add_suite_keys(keys);
  add_policy_keys(keys);
  sort(keys);
  return keys;
}

}  // namespace

std::string_view to_string(ValueType type) {
  switch (type) {  // no default: a new type must be named here
    case ValueType::kText:
      return "text";
    case ValueType::kInteger:
      return "whole number";
    case ValueType::kBoolean:
      return "true or false";
    case ValueType::kTextList:
      return "list of texts";
    case ValueType::kTextMap:
      return "table of texts";
  }
  return "text";
}

std::span<const KeyInfo> daemon_keys() {
  static const auto keys = make_daemon_keys();
  return keys;
}
std::span<const KeyInfo> metrics_keys() {
  static const auto keys = make_metrics_keys();
  return keys;
}
std::span<const KeyInfo> silence_keys() {
  static const auto keys = make_silence_keys();
  return keys;
}
std::span<const KeyInfo> engine_keys() {
  static const auto keys = make_engine_keys();
  return keys;
}
std::span<const KeyInfo> alert_keys() {
  static const auto keys = make_alert_keys();
  return keys;
}
std::span<const KeyInfo> sink_keys() {
  static const auto keys = make_sink_keys();
  return keys;
}
std::span<const KeyInfo> heartbeat_keys() {
  static const auto keys = make_heartbeat_keys();
  return keys;
}
std::vector<SectionInfo> sections() {
  return {{"daemon", daemon_keys()},       {"alerts", alert_keys()},    {"alerts.sink.NAME", sink_keys()},
          {"heartbeat", heartbeat_keys()}, {"metrics", metrics_keys()}, {"silence", silence_keys()},
          {"engine.NAME", engine_keys()}};
}

std::span<const std::string_view> listener_words() {
  return kListeners;
}
std::span<const std::string_view> adapter_words() {
  return kAdapters;
}
std::span<const std::string_view> log_level_words() {
  return kLogLevels;
}

std::span<const std::string_view> sink_type_words() {
  return kSinkTypes;
}
std::span<const std::string_view> severity_words() {
  return kSeverities;
}

std::string quoted(std::span<const std::string_view> words) {
  std::string out;
  for (const auto word : words)
    out += (out.empty() ? "\"" : ", \"") + std::string(word) + "\"";
  return out;
}

}  // namespace fireboss::config
