#pragma once
// The parts that `fireboss_bench` measures. Each prints one line of JSON.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "supervisor/config/config.h"

namespace fireboss::bench {

// Answers every question of the canary rightly, in either form, until the standard input ends. Prints its
// port.
[[nodiscard]] Result<void> serve();

struct CanaryBench {
  std::uint16_t port = 0;
  std::string variant;
  int runs = 0;
  Millis pause{0};  // between two runs; 0: back to back
  std::string database;
};
// Runs of four calls as firebossd makes them, each due by the clock: asked, graded, recorded, decided.
[[nodiscard]] Result<void> canary(const config::Engine& engine, const CanaryBench& bench);

// The record of `days` days of one engine, ending now. The recipe is printed with it.
[[nodiscard]] Result<void> year(const config::Engine& engine, const std::string& database, int days);

}  // namespace fireboss::bench
