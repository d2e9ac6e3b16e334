#include "supervisor/ctl/command_line.h"

#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/settings.h"
#include "supervisor/policy/nearest.h"

namespace fireboss::ctl {
namespace {

void add_verbs(CLI::App& app, Context& context) {
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
}

// A word stands where a verb should and is none: all that CLI11 says is that a subcommand is required.
std::optional<std::string> unknown_verb(const CLI::App& app) {
  const CLI::App* asked = &app;
  std::string words;
  while (!asked->get_subcommands().empty()) {
    asked = asked->get_subcommands().front();
    words += asked->get_name() + " ";
  }
  if (asked->get_require_subcommand_min() == 0)
    return std::nullopt;
  std::string typed;
  for (const auto& word : app.remaining(true))
    if (typed.empty() && !word.starts_with('-'))
      typed = word;
  std::vector<std::string_view> names;
  std::string all;
  const auto verbs = asked->get_subcommands([](const CLI::App* verb) { return !verb->get_name().empty(); });
  for (const auto* verb : verbs) {
    names.push_back(verb->get_name());
    all += (all.empty() ? "" : ", ") + verb->get_name();
  }
  if (typed.empty())
    return "which verb? " + all + "; fireboss " + words + "--help explains them";
  const auto near = policy::nearest(typed, names);
  return "no verb '" + words + typed + "'" +
         (near ? " (did you mean '" + words + std::string(*near) + "'?)" : ": there are " + all);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, const std::string& version) {
  Context context;
  CLI::App app{"Fireboss: is the engine answering correctly, and what is done about it?", "fireboss"};
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", context.json, "Machine-readable output");
  app.add_option("--config", context.config, "Configuration file")->capture_default_str();
  app.set_version_flag("--version", version);
  add_verbs(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    const bool lacks_a_word = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    if (const auto what = lacks_a_word ? unknown_verb(app) : std::nullopt)
      report(context, {ErrorCode::kInvalid, *what});
    else if (context.json)
      report(context, {ErrorCode::kInvalid, error.what()});
    else
      app.exit(error);
    return kUnknown;
  } catch (const std::exception& error) {
    report(context, {ErrorCode::kInternal, error.what()});
    return kUnknown;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    report(context,
           {ErrorCode::kUnavailable, "standard output cannot be written: what was to be said is lost"});
    return kUnknown;
  }
  return context.exit_code;
}

}  // namespace fireboss::ctl
