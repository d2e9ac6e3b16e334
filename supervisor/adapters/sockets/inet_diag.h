#pragma once
// The kernel's list of TCP sockets: sock_diag(7), the same source that ss(8) reads. No privilege needed.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fireboss::sockets {

struct TcpSocket {
  std::string local_address;
  std::uint16_t local_port = 0;
  std::uint32_t uid = 0;
  std::uint64_t cgroup_id = 0;   // of the process that made it; 0: the kernel does not say
  std::uint64_t cookie = 0;      // the same for the socket's whole life, never used again
  std::uint64_t bytes_sent = 0;  // payload, each byte once however often it was sent; of connections only
};

enum class Which { kListening, kConnected };

// Every TCP socket with that local port, v4 and v6, of this network namespace. Synchronous: an answer that
// stops coming for a second is kTimeout.
[[nodiscard]] Result<std::vector<TcpSocket>> list_tcp(std::uint16_t local_port, Which which);

}  // namespace fireboss::sockets
