#pragma once
// The configuration as checked objects. load() reads fireboss.toml and conf.d/*.toml beside it and reports
// every error of all of them in one pass, each with file, line and column, and for an unknown key the nearest
// known one.
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "canary/suite/suite.h"
#include "supervisor/policy/decision.h"
#include "supervisor/policy/policy.h"

namespace fireboss::config {

enum class ListenerCheck { kScope, kAny };
enum class Adapter { kAuto, kVllm, kLlamaServer, kFirebossEngine, kSglang, kNone };

// Where something is sent over HTTP. A URL that is a secret (most webhooks' are) stands in a credential.
struct HttpTarget {
  std::string url{};             // http:// or https://; "": url_credential names a credential that holds it
  std::string url_credential{};  // name of a systemd credential
  std::string ca_file{};         // "": the system's certificate authorities
};

enum class SinkType { kWebhook, kAlertmanager, kExec, kJournal };
struct AlertSink {
  std::string name;  // [alerts.sink.NAME]
  SinkType type = SinkType::kWebhook;
  HttpTarget target;             // of webhook and alertmanager
  std::string token_credential;  // ... their bearer token; "": none
  policy::Severity least = policy::Severity::kInfo;
  bool send_resolved = true;
  Millis repeat{0};                    // a firing alert is told again that often; 0: once
  std::vector<std::string> command;    // of exec: program and arguments
  std::string user = "fireboss-hook";  // ... and who it runs as
};
struct Alerts {
  std::string host;  // as alerts name this machine; "": its host name
  std::string link;  // put into every alert, such as a runbook's URL
  std::vector<AlertSink> sinks;
};

struct Engine {
  std::string name;                // [engine.NAME]
  std::string unit;                // "vllm.service"
  std::string host = "127.0.0.1";  // where the API listens
  std::uint16_t port = 0;
  ListenerCheck listener = ListenerCheck::kScope;
  Adapter adapter = Adapter::kAuto;
  std::string metrics_path = "/metrics";
  std::vector<std::string>
      required_processes;  // roles: a process whose command line contains it must be there
  canary::Suite suite;
  policy::Policy policy;
  std::string policy_hash;  // SHA-256 hex of policy::canonical_text
  // Told of every canary run, healthchecks.io's way; of [engine.NAME.heartbeat], else of [heartbeat], whose
  // URL may hold kEnginePlaceholder.
  std::optional<HttpTarget> heartbeat;
};
inline constexpr std::string_view kEnginePlaceholder = "{engine}";

// [metrics]: firebossd's own page.
struct Metrics {
  bool off = false;
  std::string address = "127.0.0.1";  // an IP address
  std::uint16_t port = 9717;
  std::vector<std::string> hosts;  // Host headers besides addresses and localhost
};

// [silence]: the dead-man switch.
struct Silence {
  std::optional<Millis> after;   // without a conclusive run; not set: of each engine's own schedule
  Millis daemon_after{300'000};  // without firebossd
  std::string state_file = "/var/lib/fireboss-silence/state.json";
};

struct Config {
  std::string database = "/var/lib/fireboss/fireboss.db";
  std::string control_socket = "/run/fireboss/control.sock";
  std::vector<std::string> control_users;  // besides root and the daemon's own user: who may change things
  std::string bus_address;                 // "" = system bus
  // Outside the database's folder: tells a database that was restored from a backup or another machine.
  std::string generation_file = "/var/cache/fireboss/generation";
  std::string lock_directory = "/run/fireboss";  // a lock per unit against a second firebossd
  std::string log_level = "info";
  std::uint64_t raw_reply_bytes = 65536;  // kept of one failed reply at most
  Alerts alerts;
  Metrics metrics;
  Silence silence;
  std::vector<Engine> engines;
  std::vector<std::string> files;  // what was read, in order
};

struct Diagnostic {
  std::string file;
  std::uint32_t line = 0, column = 0;
  std::string message;  // "unknown key 'max_aeg' (did you mean 'max_age'?)"
  // "FILE:LINE:COLUMN: message"
  [[nodiscard]] std::string text() const;
};
struct Loaded {
  std::optional<Config> config;  // set if and only if there is no error
  std::vector<Diagnostic> errors, warnings;
};
[[nodiscard]] Loaded load(const std::string& path);

}  // namespace fireboss::config
