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
  std::uint64_t cgroup_id = 0;  // 0: the kernel does not say
};

// The kernel's socket diagnostics (NETLINK_SOCK_DIAG): synchronous, bounded (1 s), needs no privilege.
class Sockets {
 public:
  virtual ~Sockets() = default;
  // Every TCP socket that listens on `port`, v4 and v6.
  virtual Result<std::vector<Listener>> listeners(std::uint16_t port) = 0;
  // Whether the listener's cgroup is `control_group` ("/system.slice/vllm.service") or below it.
  // kUnsupported: the kernel or its cgroup layout cannot tell, or the group has more below it than is looked
  // at. kNotFound: there is no such group, the unit has no process.
  virtual Result<bool> belongs(const Listener& listener, const std::string& control_group) = 0;
  // For people: the path of the listener's cgroup below the root, "" if it cannot be told. Looks through all
  // groups of the machine: for a listener that belongs to nobody expected, not for every check.
  virtual std::string control_group_of(const Listener& listener) = 0;
  // How many connections have `port` as their local one, and how many payload bytes they were sent in all: a
  // tally that only grows, kept by this object. What a connection sent that came and went between two calls
  // is not in it.
  struct Traffic {
    std::uint64_t connections = 0, bytes_sent = 0;
  };
  virtual Result<Traffic> traffic(std::uint16_t port) = 0;
};

}  // namespace fireboss::ports
