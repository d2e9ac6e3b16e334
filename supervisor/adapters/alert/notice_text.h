#pragma once
// What the sinks say about a notice. Pure: no clock, no I/O. Every text is bounded; what is no UTF-8 is
// replaced.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "supervisor/ports/alert_sink.h"

namespace fireboss::alert {

// An Alertmanager keeps an alert that is no longer repeated for so long: longer than any outage of ours that
// is noticed, since a dead watcher does not mean that all is well. What is over is told as such.
inline constexpr Millis kFiringFor{24 * 3'600'000};
// ... and a test so long.
inline constexpr Millis kTestFor{60'000};

// For people, on one line: "[firing] critical: vllm on gpu1: R2 degraded: 3 of 4 calls ...".
[[nodiscard]] std::string summary(const ports::Notice& notice);

// The webhook's JSON object; docs/operating.md describes it. "text" is the summary.
[[nodiscard]] std::string webhook_body(const ports::Notice& notice, const std::string& link);

// POST /api/v2/alerts: an array of the one alert. `now` is wall time.
[[nodiscard]] std::string alertmanager_body(const ports::Notice& notice, const std::string& link,
                                            WallTime now);

// A program's standard input: the summary, then "name: value" lines. No value has a line break.
[[nodiscard]] std::string exec_text(const ports::Notice& notice, const std::string& link);

// Fields of a journal entry, values without line breaks.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> journal_fields(const ports::Notice& notice,
                                                                              const std::string& link);

// `text` cut to `most` bytes ("..."), not inside of a character, with U+FFFD for what is no UTF-8.
[[nodiscard]] std::string clean(std::string_view text, std::size_t most);

}  // namespace fireboss::alert
