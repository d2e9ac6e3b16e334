#pragma once
#include <string>

#include "base/result.h"

namespace fireboss {

// One secret of a systemd credential ($CREDENTIALS_DIRECTORY/NAME), without the line break at its end; at
// most 64 KiB. It is what it was when the unit was started. kNotFound, kDenied, kInvalid (empty, or several
// lines) name the credential, `unit` and what to add to it, never the secret.
[[nodiscard]] Result<std::string> read_credential(const std::string& name, const std::string& unit);

}  // namespace fireboss
