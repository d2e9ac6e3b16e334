#pragma once
// The Prometheus page. Pure.
#include <cstdint>
#include <string>

#include "engine/generate/counters.h"

namespace fireboss::engine {

struct EngineInfo {
  std::string model{};
  std::string implementation{};
  std::string fingerprint{};
  std::int64_t started = 0;  // seconds since the epoch
};

[[nodiscard]] std::string metrics_page(const Counters& counters, const EngineInfo& info);

}  // namespace fireboss::engine
