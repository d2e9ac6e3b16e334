#pragma once
// JSON of which equal values have one spelling: keys sorted, no space, whole numbers only, strings in valid
// UTF-8.
#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace fireboss::policy {

// A double in the value is a mistake of the program and written as the text "not a whole number".
// Bytes that are no UTF-8 become U+FFFD, so that what is written can always be read back.
[[nodiscard]] std::string canonical(const boost::json::value& value);

// Parses bounded JSON: at most 4 MiB, 32 levels. kCorrupt otherwise.
[[nodiscard]] Result<boost::json::object> parse_object(std::string_view text);

}  // namespace fireboss::policy
