#include "supervisor/policy/canonical.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace fireboss::policy {
namespace json = boost::json;
namespace {

constexpr std::size_t kMaxBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxDepth = 32;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the UTF-8 sequence at the front of `text`, 0 if it is none (overlong, surrogate, cut off).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length)
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80)
      return 0;
  if (length > 2) {
    const auto second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return 0;
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = sequence_length(text);
    out.append(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

// Needs no escape: nearly every text, and each of the keys.
bool plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void write_string(std::string& out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), plain)) {
    out.append(1, '"').append(text).append(1, '"');
    return;
  }
  out += json::serialize(json::string(valid_utf8(text)));
}

void write(std::string& out, const json::value& value) {
  switch (value.kind()) {  // no default: a new kind must have one spelling
    case json::kind::null:
      out += "null";
      return;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case json::kind::int64:
      out += std::to_string(value.get_int64());
      return;
    case json::kind::uint64:
      out += std::to_string(value.get_uint64());
      return;
    case json::kind::double_:
      write_string(out, "not a whole number");
      return;
    case json::kind::string:
      write_string(out, value.get_string());
      return;
    case json::kind::array: {
      out += '[';
      bool first = true;
      for (const auto& item : value.get_array()) {
        if (!first)
          out += ',';
        first = false;
        write(out, item);
      }
      out += ']';
      return;
    }
    case json::kind::object: {
      std::vector<const json::key_value_pair*> members;
      members.reserve(value.get_object().size());
      for (const auto& member : value.get_object())
        members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->key() < b->key(); });
      out += '{';
      bool first = true;
      for (const auto* member : members) {
        if (!first)
          out += ',';
        first = false;
        write_string(out, member->key());
        out += ':';
        write(out, member->value());
      }
      out += '}';
      return;
    }
  }
}

}  // namespace

std::string canonical(const json::value& value) {
  std::string out;
  write(out, value);
  return out;
}

Result<json::object> parse_object(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::kCorrupt, "the JSON is larger than 4 MiB");
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code error;
  auto value = json::parse(text, error, {}, options);
  if (error)
    return fail(ErrorCode::kCorrupt, "not JSON: " + error.message());
  if (!value.is_object())
    return fail(ErrorCode::kCorrupt, "not a JSON object");
  return std::move(value.get_object());
}

}  // namespace fireboss::policy
