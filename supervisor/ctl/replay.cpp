// fireboss replay: decides the record again and compares byte for byte.
#include "supervisor/policy/replay.h"

#include <cstdio>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/progress.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

constexpr int kPage = 1'000;

struct ReplayOptions {
  std::string engine, database;
};

Result<policy::ReplayInput> read_history(sqlite::Reader& reader, const std::string& engine,
                                         Progress& progress) {
  policy::ReplayInput input;
  for (std::int64_t after = 0;;) {
    const auto page = reader.events(engine, after, kPage);
    if (!page)
      return fail(page.error());
    if (page->empty())
      break;
    for (const auto& row : *page)
      input.events.push_back({row.id, row.kind, row.version, row.payload, row.mono});
    after = page->back().id;
    if (progress.due())
      progress.print(escape(engine) + ": read " + std::to_string(input.events.size()) + " events");
  }
  for (std::int64_t after = 0;;) {
    const auto page = reader.decisions_after(engine, after, kPage);
    if (!page)
      return fail(page.error());
    if (page->empty())
      break;
    for (const auto& row : *page) {
      input.decisions.push_back({.first_event = row.first_event,
                                 .last_event = row.last_event,
                                 .count = row.count,
                                 .payload = row.payload,
                                 .policy_hash = row.policy_hash,
                                 .decider_version = row.decider_version});
    }
    after = page->back().id;
  }
  auto policies = reader.policies();
  if (!policies)
    return fail(policies.error());
  for (auto& [hash, text] : *policies)
    input.policies.emplace(std::move(hash), std::move(text));
  return input;
}

// Adds the engine's line to the report; true if it was equal.
Result<bool> replay_engine(Context& context, sqlite::Reader& reader, const std::string& engine) {
  const clock::SystemClock clock;
  std::optional<Progress> progress(std::in_place, clock, progress_can_be_seen(false));
  const auto input = read_history(reader, engine, *progress);
  if (!input)
    return fail(input.error());
  const auto report = policy::replay(*input, [&](std::int64_t done, std::int64_t all) {
    if (progress->due())
      progress->print(escape(engine) + ": decided " + std::to_string(done) + " of " + std::to_string(all) +
                      " events again");
  });
  progress.reset();
  if (!report)
    return fail(report.error().in("engine '" + engine + "'"));
  if (context.json) {
    json::array differences;
    for (const auto& difference : report->differences)
      differences.push_back(json::object{{"event", difference.event},
                                         {"stored", difference.stored},
                                         {"replayed", difference.replayed},
                                         {"decider", difference.decider_version}});
    std::printf("%s\n", json::serialize(json::object{{"engine", engine},
                                                     {"events", report->events},
                                                     {"decisions", report->decisions},
                                                     {"equal", report->differences.empty()},
                                                     {"other_version", report->other_version},
                                                     {"differences", std::move(differences)}})
                            .c_str());
  } else {
    std::printf("%s: %lld events, %lld decisions: %s\n", escape(engine).c_str(),
                static_cast<long long>(report->events), static_cast<long long>(report->decisions),
                report->differences.empty() ? "equal" : "DIFFERENT");
    for (const auto& difference : report->differences)
      std::printf("  event #%lld (decider %s)\n    stored   %s\n    replayed %s\n",
                  static_cast<long long>(difference.event), escape(difference.decider_version).c_str(),
                  escape(difference.stored).c_str(), escape(difference.replayed).c_str());
  }
  return report->differences.empty();
}

void replay(Context& context, const ReplayOptions& options) {
  auto path = options.database;
  if (path.empty()) {
    const auto config = load_config(context);
    if (!config)
      return report(context, config.error());
    path = config->database;
  }
  const auto reader = sqlite::Reader::open(path);
  if (!reader)
    return report(context, reader.error());
  const auto engines = (*reader)->engines();
  if (!engines)
    return report(context, engines.error());
  bool found = false;
  for (const auto& engine : *engines) {
    if (!options.engine.empty() && engine.name != options.engine)
      continue;
    found = true;
    const auto equal = replay_engine(context, **reader, engine.name);
    if (!equal)
      return report(context, equal.error());
    if (!*equal)
      context.exit_code = kCritical;
  }
  if (!found)
    report(context,
           {ErrorCode::kNotFound,
            path + ": no history" + (options.engine.empty() ? "" : " of engine '" + options.engine + "'")});
}

}  // namespace

void add_replay(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("replay",
                                     "Decide the record again and compare byte for byte; exit status 0 "
                                     "equal, 2 different");
  const auto options = std::make_shared<ReplayOptions>();
  command->add_option("engine", options->engine, "Only this engine");
  command->add_option("--database", options->database, "Instead of the configured one");
  command->callback([&context, options] { replay(context, *options); });
}

}  // namespace fireboss::ctl
