#include "probes/journal/scanner.h"

#include <algorithm>
#include <cstring>

namespace fireboss::probes {
namespace {

constexpr std::size_t kMaxLine = 64 * 1024;
constexpr std::size_t kMaxText = 512;

// As it is judged: not all of an endless one, and without the \r of a line that ends with \r\n.
std::string_view clipped(std::string_view line) {
  line = line.substr(0, kMaxLine);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// Whether one search over all of these lines would see what clipped() takes away from one of them. A line
// that is too long covers a whole block of half its length, so that looking into the blocks is enough.
bool must_be_clipped(std::string_view lines) {
  if (lines.find('\r') != std::string_view::npos)
    return true;
  constexpr std::size_t kBlock = kMaxLine / 2;
  for (std::size_t at = 0; at + kBlock <= lines.size(); at += kBlock)
    if (lines.substr(at, kBlock).find('\n') == std::string_view::npos)
      return true;
  return false;
}

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
    take(rest_);
    ++lines_;
    rest_.clear();
    skipping_ = false;
    chunk.remove_prefix(end + 1);
  }
  const auto last = chunk.rfind('\n');
  if (last != std::string_view::npos) {
    take(chunk.substr(0, last));
    ++lines_;
    chunk.remove_prefix(last + 1);
  }
  rest_.assign(chunk.substr(0, kMaxLine));
  skipping_ = chunk.size() > kMaxLine;
}

// Complete lines without the last one's end.
void Scanner::take(std::string_view lines) {
  if (!must_be_clipped(lines)) {
    look_at(lines);
    return;
  }
  for (;;) {
    const auto end = lines.find('\n');
    look_at(clipped(lines.substr(0, end)));
    if (end == std::string_view::npos)
      return;
    ++lines_;
    lines.remove_prefix(end + 1);
  }
}

// One search over all of them; the dear one is for lines that have a hit.
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
    const auto end = lines.find('\n', hit);
    judge(lines.substr(begin, std::min(end, lines.size()) - begin), lines_ + 1);
    if (end == std::string_view::npos)
      return;
    // Behind the line's end: a signature that matches the empty text would match there again, for ever.
    ++lines_;
    at = end + 1;
  }
}

void Scanner::judge(std::string_view line, std::int64_t number) {
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
    take(rest_);
  rest_.clear();
  std::vector<Finding> out;
  for (const auto& finding : found_)
    if (finding)
      out.push_back(*finding);
  std::ranges::stable_sort(out, {}, &Finding::first_line);
  return out;
}

}  // namespace fireboss::probes
