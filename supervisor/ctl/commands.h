#pragma once
// The verbs of `fireboss`: each lives in a file of its own and adds itself to the command line. Parsing runs
// the chosen verb's callback, which leaves the exit status in Context::exit_code.
#include <string>

namespace CLI {
class App;
}

namespace fireboss::ctl {

// Nagios-style, also of every other verb: 0 ok, 1 warning, 2 critical, 3 unknown (a fault of our own is 3).
enum ExitCode { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

struct Context {
  bool json = false;  // --json: machine-readable on stdout
  std::string config = "/etc/fireboss/fireboss.toml";
  int exit_code = kOk;
};

void add_status(CLI::App& app, Context& context);
void add_history(CLI::App& app, Context& context);   // history, explain
void add_requests(CLI::App& app, Context& context);  // mode, restart
void add_canary(CLI::App& app, Context& context);    // canary run, calibrate
void add_plan(CLI::App& app, Context& context);      // canary plan; after add_canary
void add_grade(CLI::App& app, Context& context);
void add_replay(CLI::App& app, Context& context);
void add_simulate(CLI::App& app, Context& context);
void add_check_config(CLI::App& app, Context& context);
void add_polkit_rule(CLI::App& app, Context& context);
void add_journal(CLI::App& app, Context& context);  // journal scan
void add_migrate(CLI::App& app, Context& context);

}  // namespace fireboss::ctl
