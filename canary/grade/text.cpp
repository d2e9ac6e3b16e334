#include "canary/grade/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace fireboss::canary {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t point = kReplacement;
  std::size_t length = 1;
  bool valid = false;
};

// One code point at `at`; overlong forms, surrogates and values over U+10FFFF are no UTF-8 (RFC 3629).
Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    return {first, 1, true};
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) {
    return {};
  }
  char32_t point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) {
      return {};
    }
    point = (point << 6U) | (byte(at + i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
    return {};
  }
  return {point, length, true};
}

void append(std::string& out, char32_t point) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

bool never_in_text(char32_t point) {
  const bool control = (point < 0x20 && point != '\t' && point != '\n' && point != '\r') ||
                       (point >= 0x7F && point < 0xA0 && point != 0x85);
  const bool noncharacter = (point & 0xFFFEU) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
  return control || noncharacter || point == kReplacement;
}

// Windows-1252 for bytes 0x80-0x9F; undefined ones as Latin-1.
constexpr std::array<char32_t, 32> kWindows1252 = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178,
};

// Byte-level BPE (GPT-2) writes a byte that is no visible character as U+0100 and following, in order.
char32_t byte_level(unsigned char byte) {
  const auto visible = [](unsigned value) {
    return (value >= 0x21 && value <= 0x7E) || (value >= 0xA1 && value <= 0xAC) || value >= 0xAE;
  };
  if (visible(byte)) {
    return byte;
  }
  char32_t rank = 0;
  for (unsigned value = 0; value < byte; ++value) {
    rank += visible(value) ? 0U : 1U;
  }
  return 0x100 + rank;
}

template <typename Map>
std::string misread(std::string_view text, Map map) {
  std::string out;
  for (const char byte : text) {
    append(out, map(static_cast<unsigned char>(byte)));
  }
  return out;
}

bool seen_through_wrong_decoder(std::string_view reply, std::string_view expected) {
  const std::array<std::string, 3> readings = {
      misread(expected, [](unsigned char byte) { return char32_t{byte}; }),
      misread(expected,
              [](unsigned char byte) {
                return byte >= 0x80 && byte < 0xA0 ? kWindows1252[byte - 0x80U] : char32_t{byte};
              }),
      misread(expected, byte_level),
  };
  return std::any_of(readings.begin(), readings.end(), [&](const std::string& reading) {
    return reading != expected && reply.find(reading) != std::string_view::npos;
  });
}

// "??bel ?" for "ďábel 🔥": one question mark or several for each character beyond ASCII.
bool question_marks_for(std::string_view reply, std::u32string_view expected) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] < 0x80) {
      if (at >= reply.size() || static_cast<unsigned char>(reply[at]) != expected[i]) {
        return false;
      }
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < reply.size() && reply[at] == '?' && at - begin < 4) {
      ++at;
      if (i + 1 < expected.size() && expected[i + 1] >= 0x80) {
        break;  // leave the others to the next character
      }
    }
    if (at == begin) {
      return false;
    }
  }
  return at == reply.size();
}

bool escapes_for(std::string_view reply, std::string_view expected) {
  if (reply.find("\\u") == std::string_view::npos) {
    return false;
  }
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse("\"" + std::string(reply) + "\"", error);
  return !error && value.is_string() && trim(std::string_view(value.get_string())) == trim(expected);
}

}  // namespace

bool is_white_space(char32_t point) {
  return point == ' ' || (point >= 0x09 && point <= 0x0D) || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

std::string_view trim(std::string_view text) {
  while (!text.empty()) {
    const Decoded first = decode(text, 0);
    if (!first.valid || !is_white_space(first.point)) {
      break;
    }
    text.remove_prefix(first.length);
  }
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
      --at;
    }
    const Decoded last = decode(text, at);
    if (!last.valid || at + last.length != text.size() || !is_white_space(last.point)) {
      break;
    }
    text.remove_suffix(last.length);
  }
  return text;
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode(text, at);
    points.push_back(next.point);
    at += next.length;
  }
  return points;
}

std::string utf8(std::u32string_view points) {
  std::string out;
  out.reserve(points.size());
  for (const char32_t point : points) {
    append(out, point);
  }
  return out;
}

std::string mend_utf8(std::string_view text) {
  return utf8(code_points(text));
}

std::optional<std::string> encoding_fault(std::string_view text, std::string_view expected) {
  const std::u32string allowed = code_points(expected);
  for (const char32_t point : code_points(text)) {
    if (never_in_text(point) && allowed.find(point) == std::u32string::npos) {
      std::array<char, 24> name{};
      std::snprintf(name.data(), name.size(), "U+%04X", static_cast<unsigned>(point));
      return std::string(name.data()) + " in the reply";
    }
  }
  // Bytes written out as tokens: "<0xF0><0x9F>".
  const std::size_t byte_token = text.find("<0x");
  if (byte_token != std::string_view::npos && text.size() >= byte_token + 6 && text[byte_token + 5] == '>' &&
      expected.find("<0x") == std::string_view::npos) {
    return "bytes written out as tokens";
  }
  const bool beyond_ascii = std::any_of(allowed.begin(), allowed.end(), [](char32_t p) { return p >= 0x80; });
  if (beyond_ascii) {
    const std::string_view trimmed = trim(text);
    const std::string_view whole = trim(expected);
    if (seen_through_wrong_decoder(text, whole)) {
      return "the expected text through a wrong decoder";
    }
    if (question_marks_for(trimmed, code_points(whole)) || escapes_for(trimmed, whole)) {
      return "characters beyond ASCII were replaced";
    }
  }
  return std::nullopt;
}

}  // namespace fireboss::canary
