#pragma once
// Payloads of old versions, brought up to date one version at a time by pure functions.
#include <span>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace fireboss::policy {

struct Lift {
  std::string_view kind;
  int from = 1;  // to from + 1
  boost::json::object (*lift)(boost::json::object) = nullptr;
};

// kUnsupported: `version` is newer than `current`, or a lift on the way is missing.
[[nodiscard]] Result<boost::json::object> lift(std::span<const Lift> lifts, std::string_view kind,
                                               int version, int current, boost::json::object payload);

}  // namespace fireboss::policy
