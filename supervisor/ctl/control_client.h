#pragma once
// One request to firebossd over its control socket; see supervisor/app/control_server.h for the lines.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::ctl {

// Blocks until the answer, calling `on_progress` for every progress line. kUnavailable: nobody listens there.
// `silence` is the longest time without any line.
Result<boost::json::value> ask(const std::string& socket_path, const boost::json::object& request,
                               const std::function<void(std::string_view)>& on_progress, Millis silence);

// The boot id as the firebossd that answers on the socket sees it (a unit's view of /proc may differ from the
// operator's); nullopt: nobody answers within 1 s.
struct DaemonFacts {
  std::string boot;                                  // its boot id
  std::map<std::string, std::string> cannot_record;  // engine -> why: what the record shows of it is old
};
std::optional<DaemonFacts> ask_facts(const std::string& socket_path);

}  // namespace fireboss::ctl
