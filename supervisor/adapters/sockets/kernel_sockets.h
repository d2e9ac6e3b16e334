#pragma once
#include <filesystem>
#include <map>
#include <optional>

#include "supervisor/ports/sockets.h"

namespace fireboss::sockets {

// Socket diagnostics of the running kernel. The cgroup2 hierarchy is looked up in `proc_root`/self/mountinfo
// when it is first needed, and again as long as there is none.
class KernelSockets final : public ports::Sockets {
 public:
  explicit KernelSockets(std::filesystem::path proc_root = "/proc") : proc_root_(std::move(proc_root)) {}

  Result<std::vector<ports::Listener>> listeners(std::uint16_t port) override;
  Result<bool> belongs(const ports::Listener& listener, const std::string& control_group) override;
  std::string control_group_of(const ports::Listener& listener) override;
  Result<Traffic> traffic(std::uint16_t port) override;

 private:
  Result<std::filesystem::path> cgroup_root();

  struct Tally {
    std::uint64_t total = 0;
    std::map<std::uint64_t, std::uint64_t> sent;  // cookie -> bytes of the connections alive at the last call
  };
  std::filesystem::path proc_root_;
  std::optional<std::filesystem::path> cgroup_root_;
  std::map<std::uint16_t, Tally> tallies_;
};

}  // namespace fireboss::sockets
