#include "supervisor/config/build.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <boost/url/ipv4_address.hpp>
#include <boost/url/ipv6_address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/hash.h"
#include "supervisor/config/build_alerts.h"
#include "supervisor/config/checks.h"
#include "supervisor/config/load_suite.h"
#include "supervisor/config/users.h"
#include "supervisor/policy/keys.h"

namespace fireboss::config {
namespace {

constexpr std::uint64_t kLeastRawReply = 1 << 10, kMostRawReply = 1 << 20;
constexpr std::size_t kMaxSocketPath = 107;  // sun_path less its closing zero

// What is wrong with a unit name, "" if nothing. Systemd's own rules, services only.
std::string unit_problem(std::string_view unit) {
  constexpr std::string_view kSuffix = ".service";
  if (unit.empty())
    return "is empty: name the engine's systemd unit, such as vllm.service";
  if (!unit.ends_with(kSuffix) || unit.size() == kSuffix.size())
    return "must end in .service, such as vllm.service";
  if (unit.size() > 255)
    return "is longer than 255 bytes";
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(":-_.\\@").find(c) != std::string_view::npos;
  };
  if (!std::all_of(unit.begin(), unit.end(), allowed))
    return "has characters that no unit name has (letters, digits, : - _ . \\ @ are allowed)";
  if (unit.find("@.service") != std::string_view::npos)
    return "is a template: name one instance of it, such as vllm@0.service";
  return "";
}

class EngineBuilder {
 public:
  EngineBuilder(RawEngine& raw, Findings& findings) : raw_(raw), section_(raw.section), findings_(findings) {}

  Engine build() {
    engine_.name = raw_.name;
    read_unit();
    read_address();
    engine_.listener = static_cast<ListenerCheck>(word(section_, "listener", listener_words(), 0, findings_));
    engine_.adapter = static_cast<Adapter>(word(section_, "adapter", adapter_words(), 0, findings_));
    if (const auto* path = section_.text("metrics_path")) {
      if (!path->starts_with('/') || !no_control_bytes(*path) || path->find(' ') != std::string::npos)
        error("metrics_path", "must begin with '/' and hold no blanks, such as /metrics");
      engine_.metrics_path = *path;
    }
    if (const auto* roles = section_.list("required_processes")) {
      if (std::any_of(roles->begin(), roles->end(), [](const auto& role) { return role.empty(); }))
        error("required_processes", "has an empty text, which every process contains");
      engine_.required_processes = *roles;
    }
    read_policy();
    read_suite();
    engine_.policy_hash = sha256_hex(policy::canonical_text(engine_.policy));
    return std::move(engine_);
  }

 private:
  void error(std::string_view key, const std::string& message) {
    findings_.error(section_.where(key), "'" + std::string(key) + "' " + message);
  }

  void read_unit() {
    const auto* unit = section_.text("unit");
    if (unit == nullptr) {
      if (!section_.given("unit"))
        findings_.error(section_.place, "engine '" + raw_.name +
                                            "' has no 'unit': name its systemd unit, such as "
                                            "unit = \"vllm.service\"");
      return;
    }
    if (const auto problem = unit_problem(*unit); !problem.empty())
      error("unit", problem);
    engine_.unit = *unit;
  }

  void read_address() {
    const auto* url = section_.text("url");
    if (url != nullptr) {
      if (section_.given("port") || section_.given("host"))
        error("url", "is set beside host or port: keep one of both");
      read_url(*url);
      return;
    }
    if (const auto* host = section_.text("host")) {
      if (!valid_host(*host))
        error("host", "must be a host name or an IP address without port, such as 127.0.0.1 or ::1");
      engine_.host = *host;
    }
    const auto* port = section_.integer("port");
    if (port == nullptr) {
      if (!section_.given("port") && !section_.given("url"))
        findings_.error(section_.place, "engine '" + raw_.name +
                                            "' has no 'port': say where its API listens, such "
                                            "as port = 8000");
      return;
    }
    if (*port < 1 || *port > 65535)
      error("port", "= " + std::to_string(*port) + " is out of range: 1 to 65535 is allowed");
    else
      engine_.port = static_cast<std::uint16_t>(*port);
  }

  void read_url(const std::string& text) {
    const auto parsed = boost::urls::parse_uri(text);
    if (!parsed) {
      error("url", "is not a URL: write http://HOST:PORT");
      return;
    }
    const auto& url = *parsed;
    if (url.scheme() != "http")
      error("url", "must begin with http:// (TLS is not supported: ask the engine on the loopback)");
    if (url.has_userinfo() || url.has_query() || url.has_fragment())
      error("url", "must be only http://HOST:PORT");
    if (!url.encoded_path().empty() && url.encoded_path() != "/")
      error("url", "must not have a path: write it as suite.base_path");
    const std::string host(url.host_address());
    if (!valid_host(host))
      error("url", "has no usable host");
    engine_.host = host;
    engine_.port = 80;
    if (!url.has_port())
      return;
    const std::string port(url.port());
    std::uint32_t number = 0;
    const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (wrong != std::errc{} || end != port.data() + port.size() || number < 1 || number > 65535)
      error("url", "has port " + port + ", which is out of range: 1 to 65535 is allowed");
    else
      engine_.port = static_cast<std::uint16_t>(number);
  }

  void read_policy() {
    bool all_set = true;
    for (const auto& key : policy::keys()) {
      const auto* raw = section_.find(key.name);
      if (raw == nullptr)
        continue;
      policy::KeyValue value;
      if (const auto* text = std::get_if<std::string>(&raw->value))
        value = *text;
      else if (const auto* number = std::get_if<std::int64_t>(&raw->value))
        value = *number;
      else if (const auto* list = std::get_if<TextList>(&raw->value))
        value = *list;
      if (auto done = policy::set_key(engine_.policy, key, value); !done) {
        error(key.name, done.error().message);
        all_set = false;
        if (key.type == policy::KeyType::kWordList)  // not told again when the suite takes it up
          section_.values.erase(section_.values.find(key.name));
      }
    }
    if (all_set)
      for (const auto& conflict : policy::conflicts(engine_.policy))
        error(conflict.key, conflict.message);
    if (engine_.policy.budget == 0 && engine_.policy.mode == policy::Mode::kEnforce)
      findings_.warn(section_.where("restart.budget"), "'restart.budget' is 0: engine '" + raw_.name +
                                                           "' is never restarted, only paged about");
    if (engine_.policy.max_age && *engine_.policy.max_age < engine_.policy.useful_life)
      findings_.warn(section_.where("recycle.max_age"),
                     "'recycle.max_age' is shorter than restart.useful_life: no restart can be refunded");
  }

  void read_suite() {
    auto suite = load_suite(raw_, findings_);
    if (!suite)
      return;
    engine_.suite = std::move(*suite);
    auto& chosen = engine_.policy.variants;
    if (section_.find("canary.variants") == nullptr) {
      chosen.clear();
      for (const auto& variant : engine_.suite.variants)
        chosen.push_back(variant.name);
      return;
    }
    for (const auto& name : chosen) {
      const auto& known = engine_.suite.variants;
      if (std::none_of(known.begin(), known.end(), [&](const auto& variant) { return variant.name == name; }))
        error("canary.variants", "names '" + name + "', which suite.variants does not have");
    }
  }

  RawEngine& raw_;
  RawSection& section_;
  Findings& findings_;
  Engine engine_;
};

void check_user(const std::string& user, const Place& place, Findings& findings) {
  if (user.empty())
    return findings.error(place, "'control_users' has an empty name");
  const auto found = find_user(user);
  if (!found && found.error().code == ErrorCode::kNotFound)
    findings.error(place, "'control_users': " + found.error().message);
  else if (!found)
    findings.warn(place, "'control_users': " + found.error().message);
}

void build_daemon(const RawSection& section, Config& config, Findings& findings) {
  absolute_path(section, "database", config.database, findings);
  absolute_path(section, "control_socket", config.control_socket, findings);
  absolute_path(section, "generation_file", config.generation_file, findings);
  absolute_path(section, "lock_directory", config.lock_directory, findings);
  if (config.control_socket.size() > kMaxSocketPath)
    findings.error(section.where("control_socket"), "'control_socket' is longer than " +
                                                        std::to_string(kMaxSocketPath) +
                                                        " bytes, the most that a socket's path can have");
  // Each would replace or delete the other.
  const auto differ = [&](const char* key, const std::string& one, const char* other,
                          const std::string& another) {
    using std::filesystem::path;
    if (path(one).lexically_normal() == path(another).lexically_normal())
      findings.error(section.where(key), "'" + std::string(key) + "' and '" + other +
                                             "' are the same path: give each a file of its own");
  };
  differ("control_socket", config.control_socket, "database", config.database);
  differ("generation_file", config.generation_file, "database", config.database);
  differ("generation_file", config.generation_file, "control_socket", config.control_socket);
  if (const auto* users = section.list("control_users")) {
    for (const auto& user : *users)
      check_user(user, section.where("control_users"), findings);
    config.control_users = *users;
  }
  if (const auto* address = section.text("bus_address")) {
    if (address->find(':') == std::string::npos || !no_control_bytes(*address))
      findings.error(section.where("bus_address"),
                     "'bus_address' must be a D-Bus address, such as unix:path=/run/dbus/system_bus_socket");
    config.bus_address = *address;
  }
  config.log_level =
      log_level_words()[static_cast<std::size_t>(word(section, "log_level", log_level_words(), 2, findings))];
  if (const auto* text = section.text("raw_reply_bytes")) {
    const auto bytes = parse_size(*text);
    if (!bytes)
      findings.error(section.where("raw_reply_bytes"), "'raw_reply_bytes': " + bytes.error().message);
    else if (*bytes < kLeastRawReply || *bytes > kMostRawReply)
      findings.error(section.where("raw_reply_bytes"),
                     "'raw_reply_bytes' = " + *text + " is out of range: " + format_size(kLeastRawReply) +
                         " to " + format_size(kMostRawReply) + " is allowed");
    else
      config.raw_reply_bytes = *bytes;
  }
}

// "ADDRESS:PORT", "[V6]:PORT" or "off".
void read_listen(const RawSection& section, Metrics& metrics, Findings& findings) {
  const auto* text = section.text("listen");
  if (text == nullptr)
    return;
  metrics.off = *text == "off";
  if (metrics.off)
    return;
  const auto colon = text->rfind(':');
  auto address = text->substr(0, colon);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed)
    address = address.substr(1, address.size() - 2);
  std::uint32_t port = 0;
  const auto* const begin = text->data() + (colon == std::string::npos ? text->size() : colon + 1);
  const auto* const end = text->data() + text->size();
  const auto [stop, wrong] = std::from_chars(begin, end, port);
  const bool is_address = bracketed ? boost::urls::parse_ipv6_address(address).has_value()
                                    : boost::urls::parse_ipv4_address(address).has_value();
  if (!is_address || wrong != std::errc{} || stop != end || port < 1 || port > 65535)
    return findings.error(
        section.where("listen"),
        "'listen' must be an IP address and a port, such as 127.0.0.1:9717 or [::1]:9717, or "
        "\"off\"");
  metrics.address = address;
  metrics.port = static_cast<std::uint16_t>(port);
}

void build_metrics(const RawSection& section, Metrics& metrics, Findings& findings) {
  read_listen(section, metrics, findings);
  if (const auto* hosts = section.list("hosts")) {
    if (!std::all_of(hosts->begin(), hosts->end(), [](const auto& host) { return valid_host(host); }))
      findings.error(section.where("hosts"),
                     "'hosts' must be host names without port, such as gpu1.example.org");
    metrics.hosts = *hosts;
  }
}

std::optional<Millis> duration(const RawSection& section, std::string_view key, Millis least, Millis most,
                               Findings& findings) {
  const auto* text = section.text(key);
  if (text == nullptr)
    return std::nullopt;
  const auto parsed = parse_duration(*text);
  if (!parsed) {
    findings.error(section.where(key), "'" + std::string(key) + "': " + parsed.error().message);
    return std::nullopt;
  }
  if (*parsed < least || *parsed > most)
    findings.error(section.where(key), "'" + std::string(key) + "' = " + *text +
                                           " is out of range: " + format_duration(least) + " to " +
                                           format_duration(most) + " is allowed");
  return *parsed;
}

void build_silence(const RawSection& section, Silence& silence, Findings& findings) {
  using std::chrono::minutes, std::chrono::hours;
  silence.after = duration(section, "after", minutes{5}, hours{24 * 30}, findings);
  silence.daemon_after =
      duration(section, "daemon_after", minutes{1}, hours{24}, findings).value_or(silence.daemon_after);
  absolute_path(section, "state_file", silence.state_file, findings);
}

// Two engines of one unit, or at one address, would blame each other.
void check_duplicates(const RawConfig& raw, const std::vector<Engine>& engines, Findings& findings) {
  const auto address = [](const Engine& engine) {
    const auto& host = engine.host == "localhost" || engine.host == "::1" ? "127.0.0.1" : engine.host;
    return std::string(host) + " port " + std::to_string(engine.port);
  };
  for (std::size_t i = 0; i < engines.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& section = raw.engines[i].section;
      const auto other = "engine '" + engines[j].name + "' has already";
      if (!engines[i].unit.empty() && engines[i].unit == engines[j].unit)
        findings.error(section.where("unit"), "'unit' " + engines[i].unit + ": " + other + " this unit");
      if (engines[i].port != 0 && address(engines[i]) == address(engines[j]))
        findings.error(section.where(section.find("url") != nullptr ? "url" : "port"),
                       "'port': " + other + " " + address(engines[i]));
    }
  }
}

}  // namespace

Config build(RawConfig raw, Findings& findings) {
  Config config;
  build_daemon(raw.daemon, config, findings);
  build_metrics(raw.metrics, config.metrics, findings);
  build_silence(raw.silence, config.silence, findings);
  for (auto& engine : raw.engines)
    config.engines.push_back(EngineBuilder(engine, findings).build());
  config.alerts = build_alerts(raw, findings);
  build_heartbeats(raw, config.engines, findings);
  check_duplicates(raw, config.engines, findings);
  return config;
}

}  // namespace fireboss::config
