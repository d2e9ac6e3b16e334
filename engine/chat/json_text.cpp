#include "engine/chat/json_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace fireboss::engine {
namespace {

void write_string(std::string_view text, std::string& out) {
  out.push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

// repr(float): the shortest digits that read back, in scientific form below 1e-4 and from 1e16 on.
void write_double(double value, std::string& out) {
  if (std::isinf(value)) {  // what 1e400 is read as; Python does the same
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char digits[64];
  const double size = std::fabs(value);
  const bool scientific = value != 0 && (size < 1e-4 || size >= 1e16);
  const auto form = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, form).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out += text;
  if (!scientific && text.find('.') == std::string_view::npos) {
    out += ".0";
  }
}

void write(const boost::json::value& value, std::string& out) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      return;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case boost::json::kind::int64:
      out += fmt::format("{}", value.get_int64());
      return;
    case boost::json::kind::uint64:
      out += fmt::format("{}", value.get_uint64());
      return;
    case boost::json::kind::double_:
      write_double(value.get_double(), out);
      return;
    case boost::json::kind::string:
      write_string(value.get_string(), out);
      return;
    case boost::json::kind::array: {
      std::string_view separator = "";
      out.push_back('[');
      for (const auto& element : value.get_array()) {
        out += separator;
        write(element, out);
        separator = ", ";
      }
      out.push_back(']');
      return;
    }
    case boost::json::kind::object: {
      std::string_view separator = "";
      out.push_back('{');
      for (const auto& member : value.get_object()) {
        out += separator;
        write_string(member.key(), out);
        out += ": ";
        write(member.value(), out);
        separator = ", ";
      }
      out.push_back('}');
      return;
    }
  }
}

}  // namespace

std::string python_json(const boost::json::value& value) {
  std::string out;
  write(value, out);
  return out;
}

}  // namespace fireboss::engine
