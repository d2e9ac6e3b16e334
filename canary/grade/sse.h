#pragma once
// Server-sent events as inference engines write them, over a text that is wholly there.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fireboss::canary {

struct SseEvent {
  std::string data;
  bool is_error = false;  // "event: error", or llama-server's old "error: {...}" field
  bool at_end = false;    // the text ended before the event's line did
};

// Comments, empty events and unknown fields are skipped. A data line that is whole by itself is an event even
// without the blank line behind it; lines of one event are joined otherwise.
class SseReader {
 public:
  explicit SseReader(std::string_view text) : rest_(text) {}
  [[nodiscard]] std::optional<SseEvent> next();

 private:
  struct Line {
    std::string_view text;
    bool ended = true;
  };
  std::optional<Line> line();

  std::string_view rest_;
};

}  // namespace fireboss::canary
