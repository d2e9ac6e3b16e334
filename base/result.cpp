#include "base/result.h"

namespace fireboss {

std::string_view to_string(ErrorCode code) {
  switch (code) {  // no default: a new code must be named here
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kFull:
      return "full";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::in(std::string_view where) const {
  return Error{code, std::string(where) + ": " + message};
}

}  // namespace fireboss
