// fireboss migrate: brings the record to this version's schema, with a backup first.
#include "supervisor/adapters/sqlite/migrate.h"

#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

void migrate(Context& context, std::string database) {
  if (database.empty()) {
    const auto config = load_config(context);
    if (!config)
      return report(context, config.error());
    database = config->database;
  }
  json::array said;
  const auto migrated = sqlite::migrate(database, clock::SystemClock().wall(), [&](const std::string& line) {
    if (context.json) {
      said.push_back(json::value(line));
      return;
    }
    std::printf("%s\n", escape(line).c_str());
    std::fflush(stdout);
  });
  if (!migrated)
    return report(context, migrated.error());
  if (context.json)
    std::printf("%s\n", json::serialize(json::object{{"database", database},
                                                     {"from", migrated->from},
                                                     {"to", migrated->to},
                                                     {"backup", migrated->backup},
                                                     {"progress", std::move(said)}})
                            .c_str());
}

}  // namespace

void add_migrate(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("migrate", "Bring the record to this version's schema; backs it up first");
  const auto database = std::make_shared<std::string>();
  command->add_option("--database", *database, "The file (default: that of the configuration)");
  command->callback([&context, database] { migrate(context, *database); });
}

}  // namespace fireboss::ctl
