#include "supervisor/ports/alert_sink.h"

#include "base/hash.h"

namespace fireboss::ports {

std::string notice_id(const std::string& host, const std::string& engine, const std::string& key,
                      WallTime raised) {
  // A line break stands in none of the parts' names: equal texts mean equal parts.
  const auto whole =
      host + "\n" + engine + "\n" + key + "\n" + std::to_string(raised.time_since_epoch().count());
  return sha256_hex(whole).substr(0, 32);
}

}  // namespace fireboss::ports
