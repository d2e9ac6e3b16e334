// fireboss history and fireboss explain: what was decided, and on what evidence.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

json::value parsed(const std::string& text) {
  boost::system::error_code error;
  auto value = json::parse(text, error);
  return error ? json::value(text) : value;
}

json::object to_json(const ports::DecisionRow& row) {
  return json::object{{"id", row.id},
                      {"engine", row.engine},
                      {"decision", row.kind},
                      {"reason", row.reason},
                      {"first", format_wall(row.first_wall)},
                      {"last", format_wall(row.last_wall)},
                      {"count", row.count},
                      {"policy_hash", row.policy_hash},
                      {"decider", row.decider_version},
                      {"grader", row.grader_version},
                      {"detail", parsed(row.payload)}};
}

json::object to_json(const ports::EventRow& row) {
  return json::object{{"id", row.id},
                      {"engine", row.engine},
                      {"at", format_wall(row.wall)},
                      {"mono_ms", row.mono.time_since_epoch().count()},
                      {"kind", row.kind},
                      {"version", row.version},
                      {"payload", parsed(row.payload)}};
}

json::object to_json(const ports::ActionRow& row) {
  return json::object{{"id", row.id},     {"engine", row.engine},      {"action", row.kind},
                      {"life", row.life}, {"state", row.state},        {"begun", format_wall(row.begun)},
                      {"step", row.step}, {"steps", parsed(row.steps)}};
}

std::string text_line(const ports::DecisionRow& row) {
  auto line = "#" + std::to_string(row.id) + "  " + format_wall(row.first_wall) + "  " + escape(row.engine) +
              "  " + row.kind + ": " + escape(row.reason);
  if (row.count > 1)
    line += "  (" + std::to_string(row.count) + " times, last " + format_wall(row.last_wall) + ")";
  return line;
}

// Of the record, or only of the configuration so far.
Result<void> check_engine(const Context& context, sqlite::Reader& reader, const std::string& name) {
  const auto config = load_config(context);
  const auto recorded = reader.engines();
  if (!config || !recorded)
    return fail(config ? recorded.error() : config.error());
  std::set<std::string> known;
  for (const auto& engine : config->engines)
    known.insert(engine.name);
  for (const auto& engine : *recorded)
    known.insert(engine.name);
  if (known.contains(name))
    return {};
  std::string names;
  for (const auto& engine : known)
    names += (names.empty() ? "" : ", ") + engine;
  return fail(ErrorCode::kNotFound, "no engine '" + name + "' in the configuration or the record" +
                                        (names.empty() ? "" : "; there are: " + names));
}

Result<std::unique_ptr<sqlite::Reader>> open_reader(const Context& context) {
  const auto config = load_config(context);
  if (!config)
    return fail(config.error());
  return sqlite::Reader::open(config->database);
}

struct HistoryOptions {
  std::string engine;
  int limit = 20;
};

void history(Context& context, const HistoryOptions& options) {
  const auto reader = open_reader(context);
  if (!reader)
    return report(context, reader.error());
  if (!options.engine.empty())
    if (const auto known = check_engine(context, **reader, options.engine); !known)
      return report(context, known.error());
  auto rows = (*reader)->decisions(options.engine, options.limit);
  if (!rows)
    return report(context, rows.error());
  std::reverse(rows->begin(), rows->end());
  for (const auto& row : *rows)
    std::printf("%s\n", context.json ? json::serialize(to_json(row)).c_str() : text_line(row).c_str());
  if (rows->empty() && !context.json)
    std::printf("nothing decided yet%s\n", options.engine.empty() ? "" : " for that engine");
}

void explain(Context& context, std::int64_t id) {
  const auto reader = open_reader(context);
  if (!reader)
    return report(context, reader.error());
  const auto decision = (*reader)->decision(id);
  if (!decision)
    return report(context, decision.error());
  if (!*decision)
    return report(context,
                  {ErrorCode::kNotFound, "no decision #" + std::to_string(id) + ": see fireboss history"});
  const auto evidence = (*reader)->evidence(id);
  const auto actions = (*reader)->actions_of(id);
  const auto policy = (*reader)->policy((*decision)->policy_hash);
  if (!evidence || !actions || !policy)
    return report(context, !evidence ? evidence.error() : !actions ? actions.error() : policy.error());
  if (context.json) {
    json::array events, acts;
    for (const auto& event : *evidence)
      events.push_back(to_json(event));
    for (const auto& action : *actions)
      acts.push_back(to_json(action));
    std::printf("%s\n", json::serialize(json::object{{"decision", to_json(**decision)},
                                                     {"evidence", std::move(events)},
                                                     {"actions", std::move(acts)},
                                                     {"policy", *policy ? parsed(**policy) : json::value()}})
                            .c_str());
    return;
  }
  std::printf("%s\n", text_line(**decision).c_str());
  std::printf("policy %.12s, decider %s, grader %s\n", (*decision)->policy_hash.c_str(),
              (*decision)->decider_version.c_str(), (*decision)->grader_version.c_str());
  for (const auto& event : *evidence) {
    std::printf("evidence: event #%lld %s %s %s\n", static_cast<long long>(event.id),
                format_wall(event.wall).c_str(), escape(event.kind).c_str(), escape(event.payload).c_str());
    const auto raws = (*reader)->raw_replies(event.id);
    if (!raws)
      continue;
    for (const auto& raw : *raws)
      std::printf("  call %d of %s, %s: %.400s\n", raw.reply.call, escape(raw.reply.variant).c_str(),
                  escape(raw.reply.verdict).c_str(), escape(raw.reply.body.substr(0, 400)).c_str());
  }
  for (const auto& action : *actions)
    std::printf("action #%lld: %s of life %s: %s, steps %s\n", static_cast<long long>(action.id),
                action.kind.c_str(), escape(action.life).c_str(), action.state.c_str(),
                escape(action.steps).c_str());
}

// What CLI11 has for this prints the largest number of a double.
std::string decision_number(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && text.find_first_not_of('0') != std::string::npos
             ? ""
             : "'" + text + "' is no number of a decision: take one from fireboss history, without #";
}

}  // namespace

void add_history(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("history", "What was decided, oldest first; decisions not to act too");
  const auto options = std::make_shared<HistoryOptions>();
  command->add_option("engine", options->engine, "Only of this engine");
  command->add_option("-n,--limit", options->limit, "How many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->callback([&context, options] { history(context, *options); });

  auto* why = app.add_subcommand("explain", "A decision with its evidence and what came of it");
  const auto id = std::make_shared<std::int64_t>(0);
  why->add_option("decision", *id, "Its number in fireboss history")->required()->check(decision_number);
  why->callback([&context, id] { explain(context, *id); });
}

}  // namespace fireboss::ctl
