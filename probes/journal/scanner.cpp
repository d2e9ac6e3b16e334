#include "probes/journal/scanner.h"

#include <algorithm>
#include <cstring>

namespace fireboss::probes {
namespace {

constexpr std::size_t kMaxLine = 64 * 1024;
constexpr std::size_t kMaxText = 512;

}  // namespace

Scanner::Scanner(const SignatureSet& signatures, Whose whose)
    : signatures_(signatures), whose_(std::move(whose)), found_(signatures.all().size()) {}

void Scanner::feed(std::string_view chunk) {
  if (!rest_.empty() || skipping_) {
    const auto end = chunk.find('\n');
    const auto more = chunk.substr(0, end);
    if (!skipping_)
      rest_.append(more.substr(0, kMaxLine - std::min(kMaxLine, rest_.size())));
    skipping_ = rest_.size() >= kMaxLine;
    if (end == std::string_view::npos)
      return;
    look_at(rest_);
    ++lines_;
    rest_.clear();
    skipping_ = false;
    chunk.remove_prefix(end + 1);
  }
  const auto last = chunk.rfind('\n');
  if (last != std::string_view::npos) {
    look_at(chunk.substr(0, last));
    ++lines_;
    chunk.remove_prefix(last + 1);
  }
  rest_.assign(chunk.substr(0, kMaxLine));
  skipping_ = chunk.size() > kMaxLine;
}

// Complete lines without the last one's end. One search over all of them; the dear one is for lines that have
// a hit.
void Scanner::look_at(std::string_view lines) {
  std::size_t at = 0;
  for (;;) {
    const auto hit = signatures_.find(lines, at);
    const auto upto = hit == std::string_view::npos ? lines.size() : hit;
    lines_ += std::count(lines.begin() + static_cast<std::ptrdiff_t>(at),
                         lines.begin() + static_cast<std::ptrdiff_t>(upto), '\n');
    if (hit == std::string_view::npos)
      return;
    const auto before = hit == 0 ? std::string_view::npos : lines.rfind('\n', hit - 1);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto end = std::min(lines.find('\n', hit), lines.size());
    judge(lines.substr(begin, std::min(end - begin, kMaxLine)), lines_ + 1);
    at = end;  // stands on the line's end, which the next count takes
    if (at == lines.size())
      return;
  }
}

void Scanner::judge(std::string_view line, std::int64_t number) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  for (const auto i : signatures_.match(line, whose_)) {
    auto& finding = found_[i];
    if (!finding)
      finding = Finding{.signature = i,
                        .count = 0,
                        .first_line = number,
                        .first_text = std::string(line.substr(0, kMaxText))};
    ++finding->count;
  }
}

std::vector<Finding> Scanner::finish() {
  if (!rest_.empty())
    look_at(rest_);
  rest_.clear();
  std::vector<Finding> out;
  for (const auto& finding : found_)
    if (finding)
      out.push_back(*finding);
  std::ranges::stable_sort(out, {}, &Finding::first_line);
  return out;
}

}  // namespace fireboss::probes
