#pragma once
// Result<T>: a value or an Error that says what went wrong, where, and what to do about it.
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace fireboss {

// What kind of trouble it is, as far as a caller may act on it. Everything else is in the text.
enum class ErrorCode {
  kInvalid,      // the caller's input is wrong (configuration, file, argument)
  kNotFound,     // a named thing does not exist
  kDenied,       // permission refused
  kUnavailable,  // the other side is not there now; trying again later may help
  kTimeout,      // a deadline passed
  kBusy,         // somebody else holds it (lock, operation in progress)
  kFull,         // no space left
  kCorrupt,      // stored data is not what was written
  kUnsupported,  // newer schema, unknown version
  kInternal,     // a bug or an unforeseen state of a library
};

// The lower-case word used in JSON and logs, e.g. "not_found".
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line, names the place (file, key, unit), no secret

  // The same error with `where` in front: "where: message". Context is added on the way up.
  [[nodiscard]] Error in(std::string_view where) const;
};

template <typename T = void>
using Result = tl::expected<T, Error>;

// Shorthand for `return fail(ErrorCode::kInvalid, "...")` in functions that return a Result.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace fireboss
