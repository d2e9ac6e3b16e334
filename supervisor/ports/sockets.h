#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fireboss::ports {

struct Listener {
  std::string address;  // as bound: "127.0.0.1", "0.0.0.0", "::"
  std::uint16_t port = 0;
  std::uint32_t uid = 0;
  std::uint64_t cgroup_id = 0;
  std::string control_group;  // path below the cgroup root, "" if the kernel could not say
};

// The kernel's socket diagnostics (NETLINK_SOCK_DIAG): synchronous, bounded (1 s), needs no privilege.
class Sockets {
 public:
  virtual ~Sockets() = default;
  // Every TCP socket that listens on `port`, v4 and v6.
  virtual Result<std::vector<Listener>> listeners(std::uint16_t port) = 0;
  // Whether the listener's cgroup is `control_group` ("/system.slice/vllm.service") or below it.
  virtual Result<bool> belongs(const Listener& listener, const std::string& control_group) = 0;
  // Sum of bytes acked over all established connections whose local port is `port`, and how many there are.
  struct Traffic {
    std::uint64_t connections = 0, bytes_sent = 0;
  };
  virtual Result<Traffic> traffic(std::uint16_t port) = 0;
};

}  // namespace fireboss::ports
