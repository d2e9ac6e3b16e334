// fireboss status: one screen that says whether each engine answers correctly and what to do.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/control_client.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/settings.h"
#include "supervisor/ctl/status_view.h"
#include "supervisor/policy/codec.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

int exit_code_of(Health health) {
  switch (health) {
    case Health::kOk:
      return kOk;
    case Health::kWarning:
      return kWarning;
    case Health::kCritical:
      return kCritical;
    case Health::kUnknown:
      return kUnknown;
  }
  return kUnknown;
}

// Critical outweighs unknown, unknown outweighs warning.
int worse(int a, int b) {
  const auto rank = [](int code) {
    return code == kCritical ? 3 : code == kUnknown ? 2 : code == kWarning ? 1 : 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

Result<std::vector<EngineStatus>> all_engines(const config::Config& config,
                                              const std::optional<std::string>& daemon_boot_id) {
  const auto reader = sqlite::Reader::open(config.database);
  if (!reader)
    return fail(reader.error());
  const auto overview = (*reader)->overview();
  if (!overview)
    return fail(overview.error());
  const clock::SystemClock clock;
  const Moment now{clock.mono(), daemon_boot_id.value_or(clock.boot_id()), daemon_boot_id.has_value()};
  std::vector<EngineStatus> statuses;
  for (const auto& engine : config.engines) {
    std::optional<policy::State> state;
    for (const auto& view : overview->engines) {
      if (view.name != engine.name || view.state.empty())
        continue;
      auto decoded = policy::decode_state(view.state);
      if (!decoded)
        return fail(decoded.error().in("recorded state of '" + engine.name + "'"));
      state = std::move(*decoded);
    }
    std::vector<ports::AlertRow> alerts;
    std::copy_if(overview->alerts.begin(), overview->alerts.end(), std::back_inserter(alerts),
                 [&](const auto& alert) { return alert.engine == engine.name; });
    statuses.push_back(engine_status(engine.name, engine.unit, engine.policy,
                                     {engine.policy_hash, engine.suite.hash}, state, std::move(alerts), now));
  }
  return statuses;
}

void run(Context& context) {
  const auto config = load_config(context);
  if (!config)
    return report(context, config.error());
  const auto facts = ask_facts(config->control_socket);
  const auto statuses = all_engines(*config, facts ? std::optional(facts->boot) : std::nullopt);
  if (!statuses)
    return report(context, statuses.error());
  const bool daemon = facts.has_value();
  int code = daemon && !statuses->empty() ? kOk : kUnknown;
  for (const auto& status : *statuses)
    code = worse(code, exit_code_of(status.health));
  // What firebossd knows better than the record, because it cannot write it.
  json::object unrecorded;
  for (const auto& [engine, why] : facts ? facts->cannot_record : std::map<std::string, std::string>())
    unrecorded[engine] = why;
  if (!unrecorded.empty())
    code = kCritical;
  context.exit_code = code;
  if (context.json) {
    json::array engines;
    for (const auto& status : *statuses)
      engines.push_back(to_json(status));
    std::printf("%s\n", json::serialize(json::object{{"daemon_answers", daemon},
                                                     {"cannot_record", std::move(unrecorded)},
                                                     {"engines", std::move(engines)}})
                            .c_str());
    return;
  }
  if (!daemon)
    std::printf("firebossd does not answer on %s: nobody is watching. systemctl status firebossd\n",
                config->control_socket.c_str());
  for (const auto& entry : unrecorded)
    std::printf("%s: firebossd CANNOT RECORD, nothing is begun, and what follows is old: %s\n",
                escape(entry.key()).c_str(), escape(std::string(entry.value().get_string())).c_str());
  if (statuses->empty())
    std::printf("no engine is configured: nothing is watched. Add an [engine.NAME]: man fireboss.toml\n");
  for (const auto& status : *statuses)
    std::fputs(to_text(status).c_str(), stdout);
}

}  // namespace

void add_status(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("status",
                                     "Is each engine answering correctly, and what is done about it? "
                                     "Exit status: 0 ok, 1 warning, 2 critical, 3 unknown");
  command->callback([&context] { run(context); });
}

}  // namespace fireboss::ctl
