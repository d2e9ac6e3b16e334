#include "probes/journal/line_level.h"

#include <algorithm>
#include <array>

namespace fireboss::probes {
namespace {

// A level stands near the front, after process and time; further on it is part of the text.
constexpr std::size_t kHead = 120;

struct Word {
  std::string_view text;
  int level;
};

constexpr std::array kLevelWords{Word{"CRITICAL", 2}, Word{"FATAL", 2},   Word{"ERROR", 3},
                                 Word{"Error", 3},    Word{"WARNING", 4}, Word{"Warning", 4}};

constexpr std::array kLastWords{Word{"Traceback (most recent call last)", 3},
                                Word{"terminate called", 2},
                                Word{"Segmentation fault", 2},
                                Word{"Fatal Python error", 2},
                                Word{"GGML_ASSERT", 2},
                                Word{"CUDA error", 3},
                                Word{"Exception: ", 3},
                                Word{"Error: ", 3}};

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word_char(line[at - 1])) && (end == line.size() || !is_word_char(line[end])))
      return true;
  }
  return false;
}

// glog: E1129 12:00:00, torch without the month's zero: E429 12:00:00; also behind "[rank0]:[".
int glog_level(std::string_view head) {
  const auto digit = [&](std::size_t i) { return i < head.size() && head[i] >= '0' && head[i] <= '9'; };
  const auto is = [&](std::size_t i, char c) { return i < head.size() && head[i] == c; };
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (i > 0 && head[i - 1] != '[' && head[i - 1] != ' ')
      continue;
    std::size_t end = i + 1;
    while (digit(end) && end < i + 5)
      ++end;
    if (end < i + 4 || !is(end, ' ') || !digit(end + 1) || !digit(end + 2) || !is(end + 3, ':'))
      continue;
    if (head[i] == 'F')
      return 2;
    if (head[i] == 'E')
      return 3;
    if (head[i] == 'W')
      return 4;
  }
  return 6;
}

}  // namespace

int line_level(std::string_view line) {
  const auto head = line.substr(0, kHead);
  int level = glog_level(head);
  for (const auto& [text, found] : kLevelWords)
    if (found < level && has_word(head, text))
      level = found;
  for (const auto& [text, found] : kLastWords)
    if (found < level && line.find(text) != std::string_view::npos)
      level = found;
  return level;
}

}  // namespace fireboss::probes
