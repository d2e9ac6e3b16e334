// Metrics pages: what is read is what a slow reader reads line by line, unknown stays unknown, nothing is
// copied.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "probes/metrics/parse.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::probes {
namespace {

using fuzz::hold;

struct Dialect {
  MetricsDialect id;
  std::array<std::string_view, 4> series;
};
constexpr std::array<Dialect, 4> kDialects{{
    {MetricsDialect::kVllm,
     {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:prompt_tokens_total",
      "vllm:generation_tokens_total"}},
    {MetricsDialect::kSglang,
     {"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:prompt_tokens_total",
      "sglang:generation_tokens_total"}},
    {MetricsDialect::kLlamaServer,
     {"llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:prompt_tokens_total",
      "llamacpp:tokens_predicted_total"}},
    {MetricsDialect::kFirebossEngine,
     {"fireboss_engine_requests_running", "fireboss_engine_requests_waiting",
      "fireboss_engine_prompt_tokens_total", "fireboss_engine_generation_tokens_total"}},
}};

using Four = std::array<std::optional<std::int64_t>, 4>;

Four four(const EngineCounters& counters) {
  return {counters.running, counters.waiting, counters.prompt_tokens, counters.generation_tokens};
}

// The value's text of a line "NAME VALUE" or "NAME{...} VALUE", from its end rather than its beginning.
std::optional<std::string> sample(std::string line, std::string_view name) {
  if (line.compare(0, name.size(), name) != 0) {
    return std::nullopt;
  }
  line.erase(0, name.size());
  if (line.starts_with("{")) {
    // Quoted texts away, with their escapes; then the first brace ends the labels.
    std::string plain;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool escape = quoted && line[i] == '\\';
      quoted = line[i] == '"' ? !quoted : quoted;
      plain += quoted || line[i] == '"' ? '"' : line[i];
      if (escape && i + 1 < line.size()) {
        plain += '"';
        ++i;
      }
    }
    const auto close = plain.find('}', 1);
    if (close == std::string::npos) {
      return std::nullopt;
    }
    line.erase(0, close + 1);
  }
  if (!line.starts_with(" ") && !line.starts_with("\t")) {
    return std::nullopt;
  }
  line.erase(0, line.find_first_not_of(" \t"));
  return line.substr(0, line.find_first_of(" \t\r"));
}

Four reference(std::string_view page, const Dialect& dialect) {
  Four out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    double total = 0;
    bool seen = false, broken = false;
    for (std::size_t at = 0; at <= page.size();) {
      const auto end = std::min(page.find('\n', at), page.size());
      if (const auto text = sample(std::string(page.substr(at, end - at)), dialect.series[i])) {
        double value = -1;
        const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
        seen = true;
        broken = broken || error != std::errc{} || stop != text->data() + text->size() || !(value >= 0) ||
                 !(total + value <= 9007199254740992.0);
        total += broken ? 0 : value;
      }
      at = end + 1;
    }
    if (seen && !broken) {
      out[i] = std::llround(total);
    }
  }
  return out;
}

void check(std::string_view page) {
  const auto known = detect_dialect(page);
  for (const auto& dialect : kDialects) {
    fuzz::forget_heap_peak();
    const auto before = fuzz::heap_peak();
    const auto counters = four(parse_counters(page, dialect.id));
    hold(fuzz::heap_peak() == before, "reading a page takes memory");
    hold(counters == reference(page, dialect), "counters differ from those of a slow reader");
    hold(known || counters == Four{}, "counters on a page of no known dialect");
    for (const auto& counter : counters) {
      hold(!counter || *counter >= 0, "a counter below zero");
    }
    // Lines of others change nothing; everything twice is twice as much, or not believed.
    const auto more = "# HELP vllm:x y\nother_total{a=\"b\"} 7\n" + std::string(page) + "\n# EOF\n\n";
    hold(four(parse_counters(more, dialect.id)) == counters, "lines of others change a counter");
    const auto twice = four(parse_counters(std::string(page) + "\n" + std::string(page), dialect.id));
    for (std::size_t i = 0; i < counters.size(); ++i) {
      hold(!twice[i] || (counters[i] && std::abs(*twice[i] - 2 * *counters[i]) <= 1),
           "the same page twice is not twice as much");
    }
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> pages;
  for (const auto& dialect : kDialects) {
    std::string page;
    std::string_view labels = "{engine=\"0\",model_name=\"a\\\"}\\\\b\"}";
    for (const auto name : dialect.series) {
      page += "# TYPE " + std::string(name) + " gauge\n" + std::string(name) + std::string(labels) +
              " 3.0\n" + std::string(name) + " 12 1700000000000\n";
      labels = "";
    }
    pages.push_back(page);
  }
  return pages;
}

}  // namespace
}  // namespace fireboss::probes

int main(int argc, char** argv) {
  return fireboss::fuzz::run(
      {.name = "metrics",
       .check = fireboss::probes::check,
       .seeds = fireboss::probes::seeds(),
       .tokens = {"vllm:", "vllm:num_requests_running", "vllm:generation_tokens_total{",
                  "llamacpp:", "sglang:num_queue_reqs", "fireboss_engine_", "\"} 1\n", " NaN", " +Inf",
                  "\\\"", "} ", " 9007199254740992", " 1e-3", "# "},
       .max_size = 2048},
      argc, argv);
}
