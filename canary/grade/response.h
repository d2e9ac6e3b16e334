#pragma once
// One raw answer, as the client received it or as a written case holds it. Nothing in here is judged yet.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::canary {

// What kept an exchange from being a whole HTTP response. Told apart because only some of them say anything
// about the engine.
enum class Fault {
  kNone,
  kTimeout,  // a deadline passed: connecting, waiting for the first byte, between bytes, or the whole call
  kRefused,  // nobody listens
  kUnreachable,  // no route, network down
  kReset,        // the connection broke or was closed in the middle
  kDns,          // the name did not resolve
  kTls,          // the port speaks TLS
  kTooLarge,     // header or body over the limit
  kNotHttp,      // bytes that are no HTTP response, or an encoding that was not asked for
  kPortInUse,    // the listener is not the engine's: nothing was sent
  kUnchecked,    // whose the listener is could not be found out: nothing was sent
  kNotSent,      // the request itself was impossible, such as a key with a line break
  kCanceled,     // the caller called the run off
};
// "timeout", "refused", ...
[[nodiscard]] std::string_view to_string(Fault fault);

struct Response {
  std::optional<int> http_status;  // none: not even a status line came
  Fault fault = Fault::kNone;
  std::string error;    // the transport's words, for people
  bool stream = false;  // body is a server-sent event stream
  std::string body;     // raw bytes as far as they came

  // Measured by the client; none in a written case.
  std::optional<Millis> latency;     // request sent -> last byte
  std::optional<Millis> first_byte;  // request sent -> first byte of the body
};

// The three written forms: a chat.completion body | {"http_status", "body" | "error"} | {"stream": [lines]}.
// In the second, body is the raw text (an object is taken as its text) and http_status null means no answer.
[[nodiscard]] Result<Response> parse_response(const boost::json::value& json);

}  // namespace fireboss::canary
