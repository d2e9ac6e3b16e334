#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

struct passwd;

namespace fireboss::config {

// The uid of a user of this machine. kNotFound: there is no such user. kUnavailable: nobody can say now (a
// directory service that does not answer, too many open files): trying again may help. `look_up` is
// getpwnam(3) but for tests.
[[nodiscard]] Result<std::uint32_t> find_user(const std::string& name,
                                              passwd* (*look_up)(const char*) = nullptr);

}  // namespace fireboss::config
