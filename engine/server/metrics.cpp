#include "engine/server/metrics.h"

#include <string_view>

#include <fmt/format.h>

namespace fireboss::engine {
namespace {

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  return out;
}

class Page {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void value(std::string_view name, std::string_view labels, std::uint64_t number) {
    text_ += fmt::format("{}{{{}}} {}\n", name, labels, number);
  }
  void single(std::string_view name, std::string_view type, std::string_view help, std::string_view labels,
              std::uint64_t number) {
    head(name, type, help);
    value(name, labels, number);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string metrics_page(const Counters& counters, const EngineInfo& info) {
  const auto model = fmt::format("model_name=\"{}\"", escaped(info.model));
  Page page;
  page.single("fireboss_engine_requests_running", "gauge", "Requests that are being computed.", model,
              counters.running);
  page.single("fireboss_engine_requests_waiting", "gauge", "Requests in the queue.", model, counters.waiting);
  page.single("fireboss_engine_prompt_tokens_total", "counter",
              "Prompt tokens processed, cached ones included.", model, counters.prompt_tokens);
  page.single("fireboss_engine_prompt_tokens_cached_total", "counter",
              "Prompt tokens served from cached prefixes.", model, counters.prompt_tokens_cached);
  page.single("fireboss_engine_generation_tokens_total", "counter", "Tokens generated.", model,
              counters.generation_tokens);
  page.single("fireboss_engine_steps_total", "counter", "Forward passes.", model, counters.steps);
  page.single("fireboss_engine_bad_logit_rows_total", "counter",
              "Rows of logits with a NaN or without a finite value.", model, counters.bad_rows);
  page.single("fireboss_engine_requests_rejected_total", "counter", "Requests refused for a full queue.",
              model, counters.rejected);
  page.head("fireboss_engine_requests_total", "counter", "Requests finished.");
  constexpr const char* kReasons[] = {"stop", "length", "abort", "error"};
  for (std::size_t i = 0; i < counters.finished.size(); ++i) {
    page.value("fireboss_engine_requests_total", fmt::format("{},finished_reason=\"{}\"", model, kReasons[i]),
               counters.finished[i]);
  }
  page.single("fireboss_engine_info", "gauge", "What runs here.",
              fmt::format("{},implementation=\"{}\",system_fingerprint=\"{}\"", model,
                          escaped(info.implementation), escaped(info.fingerprint)),
              1);
  page.head("process_start_time_seconds", "gauge", "Start of the process since the Unix epoch.");
  return page.take() + fmt::format("process_start_time_seconds {}\n", info.started);
}

}  // namespace fireboss::engine
