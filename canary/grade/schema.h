#pragma once
// The part of JSON Schema that tells a wrong shape from a wrong value.
#include <optional>
#include <string>

#include <boost/json/value.hpp>

namespace fireboss::canary {

// Understands type, enum, const, required, properties, additionalProperties: false, items, minItems,
// maxItems, minimum, maximum; other keywords are ignored. A required property counts as declared. Returns
// what does not fit, with its place.
[[nodiscard]] std::optional<std::string> schema_mismatch(const boost::json::value& value,
                                                         const boost::json::value& schema);

// Whether two values have the same keys, lengths and types all the way down.
[[nodiscard]] bool same_shape(const boost::json::value& value, const boost::json::value& expected);

}  // namespace fireboss::canary
