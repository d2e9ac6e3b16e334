#pragma once
// The few numbers of an engine's Prometheus page that say whether it works and whether it moves. Pure: bytes
// in.
#include <cstdint>
#include <optional>
#include <string_view>

namespace fireboss::probes {

enum class MetricsDialect { kVllm, kSglang, kLlamaServer, kFirebossEngine };

struct EngineCounters {
  std::optional<std::int64_t> running, waiting;                  // requests now, own calls included
  std::optional<std::int64_t> prompt_tokens, generation_tokens;  // totals since the process started
};

// By the first known series on the page; nullopt: a page of something else.
[[nodiscard]] std::optional<MetricsDialect> detect_dialect(std::string_view page);

// Sums every label set of a series (data-parallel engines, several models). A series that is missing, or any
// of whose values is not a finite number of at least 0, is nullopt: unknown, never zero. Reads the page once,
// copies nothing.
[[nodiscard]] EngineCounters parse_counters(std::string_view page, MetricsDialect dialect);

}  // namespace fireboss::probes
