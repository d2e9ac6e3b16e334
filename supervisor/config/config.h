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
#include "supervisor/policy/policy.h"

namespace fireboss::config {

enum class ListenerCheck { kScope, kAny };
enum class Adapter { kAuto, kVllm, kLlamaServer, kFirebossEngine, kSglang, kNone };

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
