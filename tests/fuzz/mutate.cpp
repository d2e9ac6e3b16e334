#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace fireboss::fuzz {
namespace {

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "-0",
                                         "00",
                                         "2",
                                         "64",
                                         "255",
                                         "256",
                                         "65535",
                                         "65536",
                                         "2147483647",
                                         "-2147483648",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "9007199254740991",
                                         "9007199254740993",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "0.5",
                                         "1e3",
                                         "1e-7",
                                         "1e308",
                                         "1e400",
                                         "-1e400",
                                         "NaN",
                                         "Inf",
                                         "0x10",
                                         "123456789012345678901234567890"};
constexpr std::uint64_t kIntegers[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       8,
                                       16,
                                       31,
                                       32,
                                       64,
                                       127,
                                       128,
                                       255,
                                       256,
                                       1023,
                                       1024,
                                       4096,
                                       32767,
                                       32768,
                                       65535,
                                       65536,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0x100000000,
                                       0x7FFFFFFFFFFFFFFF,
                                       0x8000000000000000,
                                       0xFFFFFFFFFFFFFFFF};
// Not UTF-8, or such as few readers expect: NUL, BOM, overlong, surrogate, beyond U+10FFFF, cut short, line
// separators, bidirectional controls, C1 controls, full-width bar, an emoji.
constexpr std::string_view kOdd[] = {std::string_view("\0", 1),
                                     "\xEF\xBB\xBF",
                                     "\xC0\x80",
                                     "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80",
                                     "\xE2\x82",
                                     "\xF0\x9F\x94",
                                     "\x80",
                                     "\xFF",
                                     "\xE2\x80\xA8",
                                     "\xE2\x80\xAE",
                                     "\xC2\x85",
                                     "\xC2\xA0",
                                     "\xEF\xBF\xBD",
                                     "\xEF\xBD\x9C",
                                     "\xF0\x9F\x94\xA5",
                                     "\r",
                                     "\r\n",
                                     "\n\n",
                                     "\t",
                                     "\x1B[2J",
                                     "\x7F",
                                     "\\",
                                     "\"",
                                     "\\u0000",
                                     "\\ud83d",
                                     "\\udd25",
                                     "'",
                                     "null",
                                     "true",
                                     "{}",
                                     "[]",
                                     ",",
                                     ":",
                                     "="};
constexpr std::pair<std::string_view, std::string_view> kBrackets[] = {
    {"[", "]"}, {"{\"a\":", "}"}, {"{", "}"}, {"(", ")"}, {"\"", "\""}, {"a.", "b"}, {"[{", "}]"}};
// Where buffers and limits of the product are.
constexpr std::size_t kLengths[] = {16, 64, 128, 256, 512, 1024, 4096, 65536};
constexpr std::string_view kBorders = "\n,:{}[]\"= ";

bool digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Mutator::Mutator(std::uint64_t seed, std::vector<std::string> tokens, std::size_t max_size)
    : random_(seed), tokens_(std::move(tokens)), max_size_(max_size) {}

std::string Mutator::next(std::span<const std::string> corpus, std::size_t seeds) {
  std::string text = any(one_in(3) ? corpus.first(seeds) : corpus);
  // Mostly one change: many at once leave nothing that can be read.
  std::size_t times = 1;
  while (times < 16 && one_in(2)) {
    times *= 2;
  }
  for (; times > 0; --times) {
    change(text, corpus);
  }
  text.resize(std::min(text.size(), max_size_));
  return text;
}

void Mutator::change(std::string& text, std::span<const std::string> corpus) {
  switch (below(17)) {
    case 0:
    case 1:
    case 2:
      return bytes(text);
    case 3:
    case 4:
      return erase(text);
    case 5:
    case 6:
      return repeat(text);
    case 7:
    case 8:
      return token(text);
    case 9:
    case 10:
      return decimal(text);
    case 11:
      return binary(text);
    case 12:
    case 13:
      return lines(text);
    case 14:
      return one_in(4) ? stretch(text) : nest(text);
    default:
      return splice(text, any(corpus));
  }
}

void Mutator::bytes(std::string& text) {
  if (text.empty()) {
    text.push_back(static_cast<char>(random_()));
    return;
  }
  char& byte = text[below(text.size())];
  switch (below(4)) {
    case 0:
      byte = static_cast<char>(byte ^ (1 << below(8)));
      return;
    case 1:
      byte = static_cast<char>(random_());
      return;
    case 2:
      byte = static_cast<char>(byte + (one_in(2) ? 1 : -1));
      return;
    default:
      text.insert(below(text.size() + 1), 1, text[below(text.size())]);
  }
}

void Mutator::erase(std::string& text) {
  const auto at = below(text.size());
  if (one_in(8)) {
    text.resize(at);  // cut short
  } else {
    text.erase(at, 1 + below(one_in(2) ? 4 : text.size() - std::min(at, text.size())));
  }
}

void Mutator::repeat(std::string& text) {
  if (text.empty() || text.size() >= max_size_) {
    return;
  }
  const auto at = below(text.size());
  const auto piece = text.substr(at, 1 + below(one_in(2) ? 16 : text.size() - at));
  const auto most = (max_size_ - text.size()) / piece.size();
  const auto times = std::min<std::size_t>(most, one_in(3) ? 1 + below(200) : 1);
  std::string more;
  for (std::size_t i = 0; i < times; ++i) {
    more += piece;
  }
  text.insert(one_in(2) ? at : below(text.size() + 1), more);
}

// One place is made as long as a limit somewhere, or one less or more.
void Mutator::stretch(std::string& text) {
  const auto length = kLengths[below(std::size(kLengths))] + below(3) - 1;
  if (text.size() + length > max_size_ + 2) {
    return;
  }
  const char filler = text.empty() || one_in(2) ? 'x' : text[below(text.size())];
  auto at = below(text.size() + 1);
  if (one_in(2)) {  // so that a line has that length, rather than gets it added
    const auto end = text.find('\n', at);
    const auto begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const auto line = std::min(end, text.size()) - (begin == std::string::npos ? 0 : begin + 1);
    text.insert(at, line < length ? length - line : 0, filler);
    return;
  }
  text.insert(at, length, filler);
}

void Mutator::token(std::string& text) {
  const auto at = below(text.size() + 1);
  const std::string_view what =
      tokens_.empty() || one_in(3) ? kOdd[below(std::size(kOdd))] : std::string_view(any(tokens_));
  if (one_in(2)) {
    text.insert(at, what);
  } else {
    text.replace(at, std::min(what.size(), text.size() - at), what);
  }
}

// One of the numbers in the text, each as likely as the other.
void Mutator::decimal(std::string& text) {
  constexpr std::string_view kEdges[] = {"9223372036854775807",  "-9223372036854775808",
                                         "18446744073709551615", "2147483648",
                                         "9007199254740993",     "-1"};
  const auto number = one_in(2) ? kEdges[below(std::size(kEdges))] : kNumbers[below(std::size(kNumbers))];
  std::size_t begin = 0, end = 0, seen = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto upto = at;
    while (upto < text.size() && digit(text[upto])) {
      ++upto;
    }
    if (upto > at && one_in(++seen)) {
      begin = at;
      end = upto;
    }
    at = upto + 1;
  }
  if (seen == 0) {
    text.insert(below(text.size() + 1), number);
  } else {
    text.replace(begin, end - begin, number);
  }
}

void Mutator::binary(std::string& text) {
  constexpr std::size_t kSizes[] = {1, 2, 4, 8};
  const auto size = kSizes[below(std::size(kSizes))];
  if (text.size() < size) {
    return;
  }
  auto value = kIntegers[below(std::size(kIntegers))];
  const auto at = below(text.size() - size + 1);
  if (one_in(2)) {  // near what is there: a length that is one too large
    std::uint64_t old = 0;
    std::memcpy(&old, text.data() + at, size);
    value =
        old + (one_in(2) ? std::uint64_t{1} : ~std::uint64_t{0}) * static_cast<std::uint64_t>(1 + below(8));
  }
  std::memcpy(text.data() + at, &value, size);
}

void Mutator::lines(std::string& text) {
  const auto line_at = [&](std::size_t at) {
    const auto before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const auto begin = before == std::string::npos ? 0 : before + 1;
    const auto end = text.find('\n', at);
    return std::pair{begin, (end == std::string::npos ? text.size() : end + 1) - begin};
  };
  if (text.empty()) {
    return;
  }
  const auto [begin, size] = line_at(below(text.size()));
  const auto line = text.substr(begin, size);
  switch (below(3)) {
    case 0:
      text.erase(begin, size);
      return;
    case 1:
      text.insert(line_at(below(text.size())).first, line);
      return;
    default:
      text.erase(begin, size);
      text.insert(text.empty() ? 0 : line_at(below(text.size())).first, line);
  }
}

void Mutator::nest(std::string& text) {
  const auto& [open, close] = kBrackets[below(std::size(kBrackets))];
  const auto depth = one_in(2) ? 1 + below(3) : 1 + below(400);
  if (text.size() + depth * (open.size() + close.size()) > max_size_) {
    return;
  }
  const auto from = below(text.size() + 1);
  const auto upto = from + below(text.size() + 1 - from);
  std::string opened, closed;
  for (std::size_t i = 0; i < depth; ++i) {
    opened += open;
    closed += close;
  }
  if (!one_in(4)) {
    text.insert(upto, closed);
  }
  text.insert(from, opened);
}

// The front of one and the end of the other, both cut where their structure has a border if there is one.
void Mutator::splice(std::string& text, const std::string& other) {
  const auto cut = [&](const std::string& from) {
    const auto at = below(from.size() + 1);
    const auto border = from.find_first_of(kBorders, at);
    return one_in(4) || border == std::string::npos ? at : border;
  };
  if (one_in(2)) {
    text = text.substr(0, cut(text)) + other.substr(cut(other));
    return;
  }
  const auto from = cut(other);
  text.insert(cut(text), other.substr(from, 1 + below(64)));
}

}  // namespace fireboss::fuzz
