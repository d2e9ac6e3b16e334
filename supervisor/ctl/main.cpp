#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "supervisor/ctl/commands.h"

int main(int argc, char** argv) {
  using namespace fireboss::ctl;
  Context context;
  CLI::App app{"Fireboss: is the engine answering correctly, and what is done about it?", "fireboss"};
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", context.json, "Machine-readable output");
  app.add_option("--config", context.config, "Configuration file")->capture_default_str();
  app.set_version_flag("--version", std::string("fireboss ") + FIREBOSS_VERSION);
  add_status(app, context);
  add_history(app, context);
  add_canary(app, context);
  add_plan(app, context);
  add_grade(app, context);
  add_requests(app, context);
  add_replay(app, context);
  add_simulate(app, context);
  add_check_config(app, context);
  add_polkit_rule(app, context);
  add_journal(app, context);
  add_migrate(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? kOk : kUnknown;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fireboss: %s\n", error.what());
    return kUnknown;
  }
  return context.exit_code;
}
