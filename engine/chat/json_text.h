#pragma once
// JSON as Python's json.dumps(value, ensure_ascii=False) writes it: ", " and ": " as separators, keys in
// their given order. Chat templates are trained on exactly this form of the tool list.
#include <string>

#include <boost/json/fwd.hpp>

namespace fireboss::engine {

[[nodiscard]] std::string python_json(const boost::json::value& value);

}  // namespace fireboss::engine
