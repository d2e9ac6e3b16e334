#include "canary/grade/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;
using boost::system::error_code;

json::parse_options options() {
  json::parse_options result;
  result.max_depth = kMaxJsonDepth;
  return result;
}

int hex4(std::string_view text, std::size_t at) {
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    if (i >= text.size()) {
      return -1;
    }
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

bool surrogate(int unit, int first) {
  return unit >= first && unit < first + 0x400;
}

std::string mend(std::string_view text) {
  const std::string valid = mend_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (std::size_t at = 0; at < valid.size(); ++at) {
    const auto byte = static_cast<unsigned char>(valid[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
      continue;
    }
    out += valid[at];
    if (valid[at] != '\\' || at + 1 >= valid.size()) {
      continue;
    }
    out += valid[++at];
    if (valid[at] != 'u') {
      continue;
    }
    const int unit = hex4(valid, at + 1);
    if (surrogate(unit, 0xD800) && valid.compare(at + 5, 2, "\\u") == 0 &&
        surrogate(hex4(valid, at + 7), 0xDC00)) {
      out.append(valid, at + 1, 10);
      at += 10;
    } else if (surrogate(unit, 0xD800) || surrogate(unit, 0xDC00)) {
      out += "fffd";
      at += 4;
    }
  }
  return out;
}

void append_quoted(std::string& out, std::string_view text) {
  out += json::serialize(json::string_view(text.data(), text.size()));
}

// Handler of boost::json::basic_parser: builds the canonical text bottom up.
struct CanonicalHandler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  struct Level {
    bool object = false;
    std::vector<std::pair<std::string, std::string>> members;  // key, value; arrays leave the key empty
    std::string key;
  };
  std::vector<Level> levels;
  std::string partial;
  Canonical result;

  bool add(std::string value) {
    if (levels.empty()) {
      result.text = std::move(value);
    } else {
      levels.back().members.emplace_back(std::move(levels.back().key), std::move(value));
    }
    return true;
  }
  void note(std::string_view text) {
    result.strings += text;
    result.strings += '\n';
  }
  bool begin(bool object) {
    levels.push_back({.object = object, .members = {}, .key = {}});
    return true;
  }
  bool end() {
    Level level = std::move(levels.back());
    levels.pop_back();
    if (level.object) {
      std::stable_sort(level.members.begin(), level.members.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    std::string text(1, level.object ? '{' : '[');
    const std::pair<std::string, std::string>* last = nullptr;
    for (const auto& member : level.members) {
      if (level.object && last != nullptr && last->first == member.first) {
        (last->second == member.second ? result.duplicate_keys : result.conflict) = true;
        continue;
      }
      if (last != nullptr) {
        text += ',';
      }
      if (level.object) {
        append_quoted(text, member.first);
        text += ':';
      }
      text += member.second;
      last = &member;
    }
    text += level.object ? '}' : ']';
    return add(std::move(text));
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return begin(true); }
  bool on_object_end(std::size_t, error_code&) { return end(); }
  bool on_array_begin(error_code&) { return begin(false); }
  bool on_array_end(std::size_t, error_code&) { return end(); }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    partial.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    partial.append(part.data(), part.size());
    note(partial);
    levels.back().key = std::exchange(partial, {});
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    partial.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    partial.append(part.data(), part.size());
    std::string quoted;
    append_quoted(quoted, partial);
    note(partial);
    partial.clear();
    return add(std::move(quoted));
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, error_code&) { return add(std::to_string(value)); }
  bool on_uint64(std::uint64_t value, json::string_view, error_code&) { return add(std::to_string(value)); }
  bool on_double(double value, json::string_view, error_code&) {
    // Whole numbers that a double holds exactly are written like integers: 3.0 is 3.
    constexpr double kExact = 9007199254740992.0;
    if (std::trunc(value) == value && std::fabs(value) <= kExact) {
      return add(std::to_string(static_cast<std::int64_t>(value)));
    }
    return add(json::serialize(json::value(value)));
  }
  bool on_bool(bool value, error_code&) { return add(value ? "true" : "false"); }
  bool on_null(error_code&) { return add("null"); }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

std::optional<Canonical> canonical_strict(std::string_view text, error_code& error) {
  json::basic_parser<CanonicalHandler> parser(options());
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size() && text.find_first_not_of(" \t\n\r", used) != std::string_view::npos) {
    error = json::make_error_code(json::error::extra_data);
  }
  if (error) {
    return std::nullopt;
  }
  return std::move(parser.handler().result);
}

}  // namespace

std::optional<json::value> parse_lenient(std::string_view text, error_code& error,
                                         json::storage_ptr storage) {
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, storage, options());
  if (!error) {
    return value;
  }
  const std::string mended = mend(text);
  if (mended == text) {
    return std::nullopt;
  }
  value = json::parse(mended, error, std::move(storage), options());
  if (error) {
    return std::nullopt;
  }
  return value;
}

bool is_cut_off(const error_code& error) {
  return error == json::error::incomplete;
}

std::optional<Canonical> canonical(std::string_view text, error_code& error) {
  std::optional<Canonical> result = canonical_strict(text, error);
  if (!result) {
    const std::string mended = mend(text);
    if (mended != text) {
      error = {};
      result = canonical_strict(mended, error);
    }
  }
  return result;
}

std::string canonical(const json::value& value) {
  error_code error;
  const std::optional<Canonical> result = canonical_strict(json::serialize(value), error);
  return result ? result->text : std::string{};
}

}  // namespace fireboss::canary
