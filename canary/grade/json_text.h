#pragma once
// JSON of untrusted origin: bounded in depth, and read even where an engine wrote what JSON does not allow,
// so that a fault can be named instead of "not JSON".
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

namespace fireboss::canary {

inline constexpr std::size_t kMaxJsonDepth = 64;

// Strict JSON first; if that fails, once more with invalid UTF-8 and lone surrogate escapes turned into
// U+FFFD, and raw control characters escaped.
[[nodiscard]] std::optional<boost::json::value> parse_lenient(std::string_view text,
                                                              boost::system::error_code& error,
                                                              boost::json::storage_ptr storage = {});

// Whether the text is the beginning of a JSON text that was cut off.
[[nodiscard]] bool is_cut_off(const boost::system::error_code& error);

// One text per value: keys sorted, 3 and 3.0 and 3e0 alike, strings unescaped and quoted anew. Equal values
// have equal texts.
struct Canonical {
  std::string text;
  std::string strings;          // all keys and strings, escapes resolved, a line each
  bool duplicate_keys = false;  // the same key twice in an object, with equal values
  bool conflict = false;        // ... with different ones: what it says depends on the reader
};
// The whole of `text` must be one JSON value (white space around it apart).
[[nodiscard]] std::optional<Canonical> canonical(std::string_view text, boost::system::error_code& error);
[[nodiscard]] std::string canonical(const boost::json::value& value);

}  // namespace fireboss::canary
