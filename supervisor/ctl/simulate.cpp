// fireboss simulate: a written history through the same policy that firebossd runs, one line a decision.
#include "supervisor/policy/simulate.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/config/config.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/progress.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace {

struct Options {
  std::string config, engine, events;
};

void complain(const std::string& text) {
  std::fprintf(stderr, "fireboss: %s\n", escape(text).c_str());
}

// Bounded by the reader of the history, which refuses what is too large.
Result<std::string> read_all(const std::string& path) {
  std::ifstream file;
  std::istream* in = &std::cin;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file)
      return fail(ErrorCode::kNotFound,
                  path + ": cannot be opened: give a readable file, or - for standard input");
    in = &file;
  }
  constexpr std::size_t kLimit = 64 * 1024 * 1024 + 1;
  std::string text;
  char block[64 * 1024];
  while (text.size() < kLimit && (in->read(block, sizeof block), in->gcount() > 0))
    text.append(block, static_cast<std::size_t>(in->gcount()));
  if (in->bad())
    return fail(ErrorCode::kInvalid, path + ": cannot be read");
  return text;
}

// The policy of the one engine of that configuration, or of the one that was named.
Result<policy::Policy> policy_of(const std::string& path, const std::string& name) {
  const auto loaded = config::load(path);
  if (!loaded.config) {
    std::string all;
    for (const auto& error : loaded.errors)
      all += (all.empty() ? "" : "\n") + error.text();
    return fail(ErrorCode::kInvalid, all);
  }
  const auto& engines = loaded.config->engines;
  std::string names;
  for (const auto& engine : engines) {
    if (engine.name == name || (name.empty() && engines.size() == 1))
      return engine.policy;
    names += (names.empty() ? "" : ", ") + engine.name;
  }
  return fail(ErrorCode::kInvalid,
              name.empty() ? path + ": has several engines (" + names + "): name one with --engine"
                           : path + ": has no engine '" + name + "', only " + names);
}

Result<policy::History> load_history(const Options& options) {
  auto base = policy::simulated_policy();
  if (!options.config.empty()) {
    auto own = policy_of(options.config, options.engine);
    if (!own)
      return fail(own.error());
    base = std::move(*own);
  }
  const auto text = read_all(options.events);
  if (!text)
    return fail(text.error());
  return policy::read_history(*text, options.events == "-" ? "standard input" : options.events, base);
}

void simulate(Context& context, const Options& options) {
  const auto history = load_history(options);
  if (!history)
    return report(context, history.error());
  for (const auto& warning : history->warnings)
    complain(warning);
  if (!history->errors.empty()) {
    for (const auto& error : history->errors)
      report(context, {ErrorCode::kInvalid, error});
    return;
  }
  if (history->events.empty())
    return report(context, {ErrorCode::kInvalid,
                            (options.events == "-" ? "standard input" : options.events) +
                                ": no event in it: give lines {\"t\": SECONDS, \"event\": ..., ...}"});
  const clock::SystemClock clock;
  std::vector<std::string> lines;
  {
    Progress progress(clock, progress_can_be_seen(false));
    lines = policy::lines_of(policy::simulate(*history, [&](std::int64_t done, std::int64_t all) {
      if (progress.due())
        progress.print("simulated " + std::to_string(done) + " of " + std::to_string(all) + " events");
    }));
  }
  for (const auto& line : lines)
    std::printf("%s\n", line.c_str());
}

}  // namespace

void add_simulate(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("simulate", "What the policy would decide over a written history");
  const auto options = std::make_shared<Options>();
  command->add_option("--config", options->config,
                      "Take the policy from this configuration instead of the defaults");
  command->add_option("--engine", options->engine, "Whose policy, if it has several engines");
  command->add_option("events", options->events, "JSON lines, one event each; - for standard input")
      ->required();
  command->callback([&context, options] { simulate(context, *options); });
}

}  // namespace fireboss::ctl
