#pragma once
// Control groups by their id. A cgroup's id is the inode number of its directory in the cgroup2 hierarchy, so
// that it can be found again by looking at directories alone: the open_by_handle_at(2) way needs a capability
// that firebossd does not have.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fireboss::sockets {

// Where the cgroup2 hierarchy is mounted: /sys/fs/cgroup on a unified system, /sys/fs/cgroup/unified on a
// hybrid one. `mountinfo` is the text of /proc/self/mountinfo.
[[nodiscard]] Result<std::filesystem::path> find_cgroup2(std::string_view mountinfo);

// Whether the group with that id is `control_group` ("/system.slice/vllm.service") or below it. kNotFound:
// there is no such directory (the unit has no processes). kUnsupported: not among the first 4,096
// directories, more than which are not looked at.
[[nodiscard]] Result<bool> is_within(const std::filesystem::path& root, const std::string& control_group,
                                     std::uint64_t id);

// The path of the group with that id below `root`, "" if it is not found (also beyond the same bound).
[[nodiscard]] std::string path_of(const std::filesystem::path& root, std::uint64_t id);

}  // namespace fireboss::sockets
