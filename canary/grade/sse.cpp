#include "canary/grade/sse.h"

namespace fireboss::canary {
namespace {

std::string_view value_after(std::string_view line, std::size_t colon) {
  line.remove_prefix(colon + 1);
  if (!line.empty() && line.front() == ' ') {
    line.remove_prefix(1);
  }
  return line;
}

// Whole: the braces and quotes that it opens are closed. Enough to tell, without parsing twice.
bool is_whole(std::string_view data) {
  if (data.empty() || data.front() != '{') {
    return true;
  }
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const char c = data[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return depth == 0 && !quoted;
}

}  // namespace

std::optional<SseReader::Line> SseReader::line() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const std::size_t end = rest_.find('\n');
  Line result{rest_.substr(0, end), end != std::string_view::npos};
  rest_.remove_prefix(result.ended ? end + 1 : rest_.size());
  if (!result.text.empty() && result.text.back() == '\r') {
    result.text.remove_suffix(1);
  }
  return result;
}

std::optional<SseEvent> SseReader::next() {
  SseEvent event;
  bool has_data = false;
  while (const std::optional<Line> read = line()) {
    const std::string_view text = read->text;
    if (text.empty()) {
      if (has_data) {
        return event;
      }
      event.is_error = false;
      continue;
    }
    // An object without a field name: an error that a proxy or a handler wrote into the stream.
    if (text.front() == '{') {
      event.data = text;
      event.at_end = !read->ended;
      return event;
    }
    const std::size_t colon = text.find(':');  // a comment is a field without a name
    const std::string_view field = text.substr(0, colon);
    const std::string_view value = colon == std::string_view::npos ? "" : value_after(text, colon);
    if (field == "event") {
      event.is_error = value == "error";
    } else if (field == "data" || field == "error") {
      event.is_error = event.is_error || field == "error";
      const bool first = event.data.empty();
      event.data += first ? "" : "\n";
      event.data += value;
      event.at_end = !read->ended;
      has_data = !event.data.empty();
      // Only the first line is tried: looking again at every line of a long event would take for ever.
      if (first && has_data && is_whole(value)) {
        return event;
      }
    }
  }
  return has_data ? std::optional(event) : std::nullopt;
}

}  // namespace fireboss::canary
