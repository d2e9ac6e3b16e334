#include "supervisor/policy/lift.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fireboss::policy {

Result<boost::json::object> lift(std::span<const Lift> lifts, std::string_view kind, int version, int current,
                                 boost::json::object payload) {
  if (version > current)
    return fail(ErrorCode::kUnsupported, std::string(kind) + " of version " + std::to_string(version) +
                                             " was written by a newer Fireboss; this one knows up to " +
                                             std::to_string(current));
  for (; version < current; ++version) {
    const auto found = std::find_if(lifts.begin(), lifts.end(),
                                    [&](const Lift& one) { return one.kind == kind && one.from == version; });
    if (found == lifts.end())
      return fail(ErrorCode::kUnsupported,
                  std::string(kind) + " of version " + std::to_string(version) + " can no longer be read");
    payload = found->lift(std::move(payload));
  }
  return payload;
}

}  // namespace fireboss::policy
