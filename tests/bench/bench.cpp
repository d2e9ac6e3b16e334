// fireboss_bench: the program that tests/bench/run measures.
#include "tests/bench/bench.h"

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

namespace {

using namespace fireboss;

int report(const Result<void>& result) {
  if (result)
    return 0;
  std::fprintf(stderr, "fireboss_bench: %s\n", result.error().message.c_str());
  return 1;
}

Result<config::Engine> first_engine(const std::string& path) {
  auto loaded = config::load(path);
  for (const auto& error : loaded.errors)
    std::fprintf(stderr, "%s\n", error.text().c_str());
  if (!loaded.config || loaded.config->engines.empty())
    return fail(ErrorCode::kInvalid, path + " has errors or no engine");
  return std::move(loaded.config->engines.front());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App options{"What `make bench` measures", "fireboss_bench"};
  options.require_subcommand(1);
  std::string config;
  bench::CanaryBench canary;
  std::int64_t pause_ms = 0;
  std::string database;
  int days = 365;

  auto* serve = options.add_subcommand("serve", "Answer canaries rightly until the standard input ends");
  auto* runs = options.add_subcommand("canary", "Canary runs against --port");
  runs->add_option("--config", config)->required();
  runs->add_option("--port", canary.port)->required();
  runs->add_option("--variant", canary.variant)->required();
  runs->add_option("--runs", canary.runs)->required();
  runs->add_option("--pause-ms", pause_ms);
  runs->add_option("--database", canary.database)->required();
  auto* year = options.add_subcommand("year", "Write the record of many days of one engine");
  year->add_option("--config", config)->required();
  year->add_option("--database", database)->required();
  year->add_option("--days", days)->capture_default_str();
  CLI11_PARSE(options, argc, argv);

  try {
    if (serve->parsed())
      return report(bench::serve());
    auto engine = first_engine(config);
    if (!engine)
      return report(fail(engine.error()));
    if (year->parsed())
      return report(bench::year(*engine, database, days));
    canary.pause = Millis{pause_ms};
    return report(bench::canary(*engine, canary));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fireboss_bench: %s\n", error.what());
    return 1;
  }
}
