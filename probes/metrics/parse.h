#pragma once
// The few numbers of an engine's Prometheus page that say whether it works and whether it moves. Pure: bytes
// in.
#include <cstdint>
#include <optional>
#include <string_view>

namespace fireboss::probes {

enum class MetricsDialect { kVllm, kSglang, kLlamaServer, kFirebossEngine };

struct EngineCounters {
  std::optional<std::int64_t> running, waiting;  // requests now, own calls included
  // Totals since the process started. At least one of them moves while the engine computes: llama-server's
  // prompt tokens include its decode steps, since it counts a reply's tokens only when the reply has ended.
  std::optional<std::int64_t> prompt_tokens, generation_tokens;
};

// By the first known series on the page; nullopt: a page of something else.
[[nodiscard]] std::optional<MetricsDialect> detect_dialect(std::string_view page);

// Sums every label set of a series (data-parallel engines, several models). A series that is missing, or any
// of whose values is not a finite number of at least 0, is nullopt: unknown, never zero. Reads the page once,
// copies nothing.
[[nodiscard]] EngineCounters parse_counters(std::string_view page, MetricsDialect dialect);

}  // namespace fireboss::probes
