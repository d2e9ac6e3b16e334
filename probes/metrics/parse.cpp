#include "probes/metrics/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace fireboss::probes {
namespace {

struct Names {
  MetricsDialect dialect;
  std::string_view prefix;
  // running, waiting, prompt tokens, generation tokens
  std::array<std::string_view, 4> series;
  // Counted among the prompt tokens, "" if nothing is.
  std::string_view steps = {};
};

constexpr std::array<Names, 4> kDialects{{
    {MetricsDialect::kVllm,
     "vllm:",
     {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:prompt_tokens_total",
      "vllm:generation_tokens_total"}},
    {MetricsDialect::kSglang,
     "sglang:",
     {"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:prompt_tokens_total",
      "sglang:generation_tokens_total"}},
    {MetricsDialect::kLlamaServer,
     "llamacpp:",
     {"llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:prompt_tokens_total",
      "llamacpp:tokens_predicted_total"},
     // A reply's tokens are counted when it has ended, the prompt's while it is read: during a long reply the
     // decode steps are all that moves, and without them every one of five minutes would be a stall.
     "llamacpp:n_decode_total"},
    {MetricsDialect::kFirebossEngine,
     "fireboss_engine_",
     {"fireboss_engine_requests_running", "fireboss_engine_requests_waiting",
      "fireboss_engine_prompt_tokens_total", "fireboss_engine_generation_tokens_total"}},
}};

// Sums up to 2^53 stay exact in a double; beyond that a counter is not believed.
constexpr double kLargest = 9007199254740992.0;

struct Sum {
  double total = 0;
  bool seen = false, broken = false;

  void add(std::string_view text) {
    seen = true;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // What may follow the value is a timestamp after white space.
    const bool whole = end == text.data() + text.size() || *end == ' ' || *end == '\t' || *end == '\r';
    if (error != std::errc{} || !whole || !std::isfinite(value) || value < 0 || total + value > kLargest)
      broken = true;
    else
      total += value;
  }

  std::optional<std::int64_t> value() const {
    if (!seen || broken)
      return std::nullopt;
    return std::llround(total);
  }
};

// The value part of a sample line of `name`, or nullopt: "name 3", "name{...} 3". Label values may hold
// braces.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.substr(0, name.size()) != name)
    return std::nullopt;
  auto rest = line.substr(name.size());
  if (!rest.empty() && rest.front() == '{') {
    bool quoted = false;
    std::size_t i = 1;
    for (; i < rest.size(); ++i) {
      if (quoted && rest[i] == '\\')
        ++i;
      else if (rest[i] == '"')
        quoted = !quoted;
      else if (rest[i] == '}' && !quoted)
        break;
    }
    if (i >= rest.size())
      return std::nullopt;
    rest.remove_prefix(i + 1);
  }
  if (rest.empty() || (rest.front() != ' ' && rest.front() != '\t'))
    return std::nullopt;
  const auto start = rest.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view{} : rest.substr(start);
}

}  // namespace

std::optional<MetricsDialect> detect_dialect(std::string_view page) {
  for (std::size_t at = 0; at < page.size();) {
    const auto end = std::min(page.find('\n', at), page.size());
    const auto line = page.substr(at, end - at);
    for (const auto& names : kDialects)
      if (line.substr(0, names.prefix.size()) == names.prefix)
        return names.dialect;
    at = end + 1;
  }
  return std::nullopt;
}

EngineCounters parse_counters(std::string_view page, MetricsDialect dialect) {
  const Names* names = &kDialects[0];
  for (const auto& candidate : kDialects)
    if (candidate.dialect == dialect)
      names = &candidate;
  std::array<Sum, 4> sums;
  for (std::size_t at = 0; at < page.size();) {
    const auto end = std::min(page.find('\n', at), page.size());
    const auto line = page.substr(at, end - at);
    if (line.substr(0, names->prefix.size()) == names->prefix)
      for (std::size_t i = 0; i < sums.size(); ++i)
        if (const auto value = value_of(line, names->series[i]))
          sums[i].add(*value);
    if (!names->steps.empty())
      if (const auto value = value_of(line, names->steps))
        sums[2].add(*value);
    at = end + 1;
  }
  return {sums[0].value(), sums[1].value(), sums[2].value(), sums[3].value()};
}

}  // namespace fireboss::probes
