#include "supervisor/config/build_alerts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "supervisor/config/checks.h"
#include "supervisor/config/read_file.h"

namespace fireboss::config {
namespace {

constexpr std::size_t kMostSinks = 16;
constexpr Millis kLeastRepeat{10'000}, kMostRepeat{7LL * 24 * 3'600'000}, kAlertmanagerRepeat{60'000};

bool valid_port(const std::string& digits) {
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return wrong == std::errc{} && end == digits.data() + digits.size() && number >= 1 && number <= 65535;
}

// A URL may be a secret: no message quotes it.
std::string url_problem(const std::string& text, std::string_view placeholder = {}) {
  auto whole = text;
  for (auto at = std::string::npos;
       !placeholder.empty() && (at = whole.find(placeholder)) != std::string::npos;)
    whole.replace(at, placeholder.size(), "x");
  const auto parsed = boost::urls::parse_uri(whole);
  if (!parsed || (parsed->scheme() != "http" && parsed->scheme() != "https"))
    return "must be a URL that begins with http:// or https://";
  if (parsed->has_userinfo())
    return "must not hold a user or password: name a token_credential, or a url_credential";
  if (parsed->has_fragment())
    return "must not hold a fragment (#...)";
  if (!valid_host(std::string(parsed->host_address())))
    return "has no usable host";
  if (parsed->has_port() && !valid_port(std::string(parsed->port())))
    return "has a port that is out of range: 1 to 65535 is allowed";
  return "";
}

// A file's name in $CREDENTIALS_DIRECTORY.
bool valid_credential(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("-_.@").find(c) != std::string_view::npos;
         });
}

class Reader {
 public:
  Reader(const RawSection& section, Findings& findings) : section_(section), findings_(findings) {}

  void error(std::string_view key, const std::string& message) {
    findings_.error(section_.where(key),
                    "'" + std::string(key) + "'" + (message.starts_with(':') ? "" : " ") + message);
  }

  std::string credential(std::string_view key) {
    const auto* name = section_.text(key);
    if (name == nullptr)
      return "";
    if (!valid_credential(*name))
      error(key, "must be the name of a credential (letters, digits, - _ . @), not the secret itself");
    return *name;
  }

  // One of url and url_credential under `prefix`; nullopt: neither is given, or what is wrong was told.
  std::optional<HttpTarget> target(const std::string& prefix, std::string_view placeholder = {}) {
    const auto url_key = prefix + "url", credential_key = prefix + "url_credential";
    HttpTarget target;
    target.url_credential = credential(credential_key);
    const auto* url = section_.text(url_key);
    if (url != nullptr && section_.given(credential_key))
      error(url_key, "is set beside '" + credential_key + "': keep one of both");
    if (url != nullptr) {
      if (const auto problem = url_problem(*url, placeholder); !problem.empty())
        error(url_key, problem);
      target.url = *url;
    }
    if (url == nullptr && target.url_credential.empty())
      return std::nullopt;
    return target;
  }

  void ca_file(std::string& into) {
    absolute_path(section_, "ca_file", into, findings_);
    if (!into.starts_with('/'))
      return;  // not given, or told
    if (const auto text = read_file(into); !text)
      error("ca_file", ": " + text.error().message);
    else if (text->find("-----BEGIN CERTIFICATE-----") == std::string::npos)
      error("ca_file", "holds no certificate in PEM form");
  }

  Millis repeat(Millis fallback) {
    const auto* text = section_.text("repeat");
    if (text == nullptr)
      return fallback;
    const auto length = parse_duration(*text);
    if (!length)
      error("repeat", ": " + length.error().message);
    else if (*length < kLeastRepeat || *length > kMostRepeat)
      error("repeat", "= " + *text + " is out of range: " + format_duration(kLeastRepeat) + " to " +
                          format_duration(kMostRepeat) + " is allowed");
    else
      return *length;
    return fallback;
  }

  const RawSection& section() const { return section_; }
  Findings& findings() { return findings_; }

 private:
  const RawSection& section_;
  Findings& findings_;
};

// Keys that mean something to some types only.
void refuse_foreign_keys(Reader& reader, SinkType type) {
  const bool http = type == SinkType::kWebhook || type == SinkType::kAlertmanager;
  static constexpr std::array<std::string_view, 4> kHttp{"ca_file", "token_credential", "url",
                                                         "url_credential"};
  static constexpr std::array<std::string_view, 2> kExec{"command", "user"};
  const auto refuse = [&](std::span<const std::string_view> keys) {
    for (const auto key : keys)
      if (reader.section().given(key))
        reader.error(key, "means nothing to a sink of type \"" +
                              std::string(sink_type_words()[static_cast<std::size_t>(type)]) + "\"");
  };
  if (!http)
    refuse(kHttp);
  if (type != SinkType::kExec)
    refuse(kExec);
}

void read_command(Reader& reader, const std::string& name, AlertSink& sink) {
  const auto& section = reader.section();
  const auto* command = section.list("command");
  if (command == nullptr) {
    if (!section.given("command"))
      reader.findings().error(section.place, "sink '" + name +
                                                 "' has no 'command': name the program, such as "
                                                 "command = [\"/usr/local/bin/page\"]");
    return;
  }
  if (command->empty() || !command->front().starts_with('/') || command->front().ends_with('/'))
    reader.error("command", "must begin with the absolute path of a program");
  if (!std::all_of(command->begin(), command->end(), no_control_bytes))
    reader.error("command", "holds a control character such as a line break");
  sink.command = *command;
}

void read_user(Reader& reader, AlertSink& sink) {
  const auto* user = reader.section().text("user");
  if (user == nullptr)
    return;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (user->empty() || user->size() > 31 || user->front() == '-' ||
      !std::all_of(user->begin(), user->end(), allowed))
    reader.error("user", "must be the name of a user of this machine");
  if (*user == "root" || *user == "0")
    reader.error("user", "must not be root: alerts quote what others wrote");
  sink.user = *user;
}

AlertSink build_sink(const RawSink& raw, Findings& findings) {
  const auto& section = raw.section;
  Reader reader(section, findings);
  AlertSink sink;
  sink.name = raw.name;
  if (!section.given("type")) {
    findings.error(section.place, "sink '" + raw.name + "' has no 'type': say what is spoken there, one of " +
                                      quoted(sink_type_words()));
    return sink;
  }
  const auto type = word(section, "type", sink_type_words(), -1, findings);
  if (type < 0)
    return sink;
  sink.type = static_cast<SinkType>(type);
  refuse_foreign_keys(reader, sink.type);
  sink.least = static_cast<policy::Severity>(word(section, "severity", severity_words(), 0, findings));
  if (const auto* resolved = section.boolean("send_resolved"))
    sink.send_resolved = *resolved;
  sink.repeat = reader.repeat(sink.type == SinkType::kAlertmanager ? kAlertmanagerRepeat : Millis{0});
  if (sink.type == SinkType::kWebhook || sink.type == SinkType::kAlertmanager) {
    auto target = reader.target("");
    if (!target && !section.given("url") && !section.given("url_credential"))
      findings.error(section.place, "sink '" + raw.name + "' has neither 'url' nor 'url_credential'");
    sink.target = target.value_or(HttpTarget{});
    sink.token_credential = reader.credential("token_credential");
    reader.ca_file(sink.target.ca_file);
  }
  if (sink.type == SinkType::kExec) {
    read_command(reader, raw.name, sink);
    read_user(reader, sink);
  }
  return sink;
}

}  // namespace

Alerts build_alerts(const RawConfig& raw, Findings& findings) {
  Alerts alerts;
  Reader reader(raw.alerts, findings);
  if (const auto* host = raw.alerts.text("host")) {
    if (host->empty() || host->size() > 253 || !no_control_bytes(*host))
      reader.error("host", "must be a name on one line, such as gpu1");
    alerts.host = *host;
  }
  if (const auto* link = raw.alerts.text("link")) {
    if (const auto problem = url_problem(*link); !problem.empty())
      reader.error("link", problem);
    alerts.link = *link;
  }
  for (const auto& sink : raw.sinks)
    alerts.sinks.push_back(build_sink(sink, findings));
  if (raw.sinks.size() > kMostSinks)
    findings.error(raw.sinks[kMostSinks].section.place,
                   "there are more than " + std::to_string(kMostSinks) + " sinks");
  return alerts;
}

void build_heartbeats(const RawConfig& raw, std::vector<Engine>& engines, Findings& findings) {
  Reader common(raw.heartbeat, findings);
  const auto shared = common.target("", kEnginePlaceholder);
  std::string ca_file;
  common.ca_file(ca_file);
  std::size_t sharing = 0;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    Reader own(raw.engines[i].section, findings);
    engines[i].heartbeat = own.target("heartbeat.");
    if (!engines[i].heartbeat) {
      engines[i].heartbeat = shared;
      ++sharing;
    }
    if (engines[i].heartbeat)
      engines[i].heartbeat->ca_file = ca_file;
  }
  // One engine's success would hide the other's silence.
  if (shared && !shared->url.empty() && sharing > 1 &&
      shared->url.find(kEnginePlaceholder) == std::string::npos)
    common.error("url", "is one for " + std::to_string(sharing) + " engines: write " +
                            std::string(kEnginePlaceholder) +
                            " into it, or give each engine its own heartbeat.url");
}

}  // namespace fireboss::config
