// fireboss check-config and fireboss polkit-rule: what the configuration says, without a daemon.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/config/config.h"
#include "supervisor/config/polkit.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

json::array to_json(const std::vector<config::Diagnostic>& diagnostics) {
  json::array out;
  for (const auto& d : diagnostics)
    out.push_back(
        json::object{{"file", d.file}, {"line", d.line}, {"column", d.column}, {"message", d.message}});
  return out;
}

// Everything that is wrong, on standard error; true if nothing is.
bool print_findings(const config::Loaded& loaded) {
  for (const auto& error : loaded.errors)
    std::fprintf(stderr, "%s\n", escape(error.text()).c_str());
  for (const auto& warning : loaded.warnings)
    std::fprintf(stderr, "%s (warning)\n", escape(warning.text()).c_str());
  return loaded.errors.empty();
}

void print_summary(const config::Loaded& loaded) {
  const auto& config = *loaded.config;
  for (const auto& engine : config.engines)
    std::printf("engine %s: %s at %s port %u, %s, suite %.12s, policy %.12s\n", engine.name.c_str(),
                engine.unit.c_str(), engine.host.c_str(), static_cast<unsigned>(engine.port),
                engine.policy.mode == policy::Mode::kEnforce ? "enforce" : "observe",
                engine.suite.hash.c_str(), engine.policy_hash.c_str());
  std::printf("ok: %zu engine(s) from %zu file(s), %zu warning(s)\n", config.engines.size(),
              config.files.size(), loaded.warnings.size());
}

void check(Context& context, const std::string& path) {
  const auto loaded = config::load(path.empty() ? context.config : path);
  context.exit_code = loaded.config ? kOk : kUnknown;
  if (context.json) {
    std::printf("%s\n", json::serialize(json::object{{"ok", loaded.config.has_value()},
                                                     {"errors", to_json(loaded.errors)},
                                                     {"warnings", to_json(loaded.warnings)}})
                            .c_str());
    return;
  }
  if (print_findings(loaded))
    print_summary(loaded);
  else
    std::fprintf(stderr, "%zu error(s); firebossd would not start with this\n", loaded.errors.size());
}

void rule(Context& context, const std::string& user) {
  const auto loaded = config::load(context.config);
  if (!loaded.config) {
    print_findings(loaded);
    context.exit_code = kUnknown;
    return;
  }
  const auto text = config::polkit_rule(*loaded.config, user);
  if (context.json)
    std::printf("%s\n", json::serialize(json::object{{"rule", text}}).c_str());
  else
    std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_check_config(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("check-config", "Every mistake in the configuration, with file, line and column");
  const auto path = std::make_shared<std::string>();
  command->add_option("path", *path, "Configuration file (default: that of --config)");
  command->callback([&context, path] { check(context, *path); });
}

void add_polkit_rule(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand(
      "polkit-rule", "The rule that lets firebossd restart the configured units, for /etc/polkit-1/rules.d/");
  const auto user = std::make_shared<std::string>("fireboss");
  command->add_option("--user", *user, "User that firebossd runs as")->capture_default_str();
  command->callback([&context, user] { rule(context, *user); });
}

}  // namespace fireboss::ctl
