#include "supervisor/config/users.h"

#include <cerrno>
#include <cstring>
#include <pwd.h>

namespace fireboss::config {

Result<std::uint32_t> find_user(const std::string& name, passwd* (*look_up)(const char*)) {
  errno = 0;
  const auto* entry = (look_up == nullptr ? &::getpwnam : look_up)(name.c_str());
  if (entry != nullptr)
    return entry->pw_uid;
  switch (errno) {
    case 0:
    case ENOENT:
    case ESRCH:
    case EBADF:
    case EPERM:  // getpwnam(3): all of these are said of a user that does not exist
      return fail(ErrorCode::kNotFound, "no user '" + name + "' on this machine");
    default:
      return fail(ErrorCode::kUnavailable,
                  "user '" + name + "' cannot be looked up now: " + std::strerror(errno));
  }
}

}  // namespace fireboss::config
