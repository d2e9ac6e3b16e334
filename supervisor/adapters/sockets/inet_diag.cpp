#include "supervisor/adapters/sockets/inet_diag.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/file_descriptor.h"

namespace fireboss::sockets {
namespace {

// One port has few sockets; this only keeps a confused kernel or a flood from holding the loop.
constexpr std::size_t kMaxSockets = 65'536;
constexpr std::size_t kBufferBytes = 64 * 1024;

// The kernel's TCP states (include/net/tcp_states.h), which no header exports.
enum TcpState : std::uint32_t {
  kEstablished = 1,
  kFinWait1 = 4,
  kFinWait2 = 5,
  kCloseWait = 8,
  kLastAck = 9,
  kListen = 10,
  kClosing = 11
};

constexpr std::uint32_t states(Which which) {
  switch (which) {
    case Which::kListening:
      return 1u << kListen;
    case Which::kConnected:
      return 1u << kEstablished | 1u << kFinWait1 | 1u << kFinWait2 | 1u << kCloseWait | 1u << kLastAck |
             1u << kClosing;
  }
  return 0;
}

Error error_of(int number, const char* what) {
  const char* words = strerrordesc_np(number);
  const auto code = number == EACCES || number == EPERM       ? ErrorCode::kDenied
                    : number == EAGAIN || number == ETIMEDOUT ? ErrorCode::kTimeout
                    : number == EAFNOSUPPORT || number == EPROTONOSUPPORT || number == ENOENT
                        ? ErrorCode::kUnsupported
                        : ErrorCode::kUnavailable;
  return {code,
          std::string("socket diagnostics: ") + what + ": " + (words != nullptr ? words : "unknown error")};
}

// A program for the kernel's filter: local port >= p and <= p. Each condition is two words, the second one's
// `no` is its operand; a jump past the end rejects.
using Filter = std::array<inet_diag_bc_op, 4>;
Filter port_filter(std::uint16_t port) {
  Filter f{};
  f[0] = {.code = INET_DIAG_BC_S_GE, .yes = 8, .no = 20};
  f[1] = {.code = INET_DIAG_BC_NOP, .yes = 0, .no = port};
  f[2] = {.code = INET_DIAG_BC_S_LE, .yes = 8, .no = 12};
  f[3] = {.code = INET_DIAG_BC_NOP, .yes = 0, .no = port};
  return f;
}

struct Request {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
  rtattr filter_header{};
  Filter filter{};
};

Request make_request(std::uint8_t family, std::uint16_t port, Which which) {
  Request r;
  r.header = {.nlmsg_len = sizeof r,
              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
              .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
              .nlmsg_seq = 1,
              .nlmsg_pid = 0};
  r.body.sdiag_family = family;
  r.body.sdiag_protocol = IPPROTO_TCP;
  r.body.idiag_ext = which == Which::kConnected ? 1u << (INET_DIAG_INFO - 1) : 0;
  r.body.idiag_states = states(which);
  r.filter_header = {.rta_len = static_cast<unsigned short>(sizeof(rtattr) + sizeof(Filter)),
                     .rta_type = INET_DIAG_REQ_BYTECODE};
  r.filter = port_filter(port);
  return r;
}

std::string to_text(std::uint8_t family, const __be32* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(family, address, text.data(), text.size()) == nullptr ? "?" : text.data();
}

TcpSocket read_socket(const inet_diag_msg& m, std::size_t size) {
  TcpSocket s;
  s.local_address = to_text(m.idiag_family, m.id.idiag_src);
  s.local_port = ntohs(m.id.idiag_sport);
  s.uid = m.idiag_uid;
  s.cookie = std::uint64_t{m.id.idiag_cookie[1]} << 32 | m.id.idiag_cookie[0];
  auto left = static_cast<int>(size - NLMSG_ALIGN(sizeof m));
  for (auto* attr =
           reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(&m) + NLMSG_ALIGN(sizeof m));
       RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
    const std::size_t bytes = RTA_PAYLOAD(attr);
    if (attr->rta_type == INET_DIAG_CGROUP_ID && bytes == sizeof s.cgroup_id) {
      std::memcpy(&s.cgroup_id, RTA_DATA(attr), bytes);
    } else if (attr->rta_type == INET_DIAG_INFO) {
      // older kernels send a shorter struct, newer ones a longer: what is missing stays 0
      tcp_info info{};
      std::memcpy(&info, RTA_DATA(attr), std::min(bytes, sizeof info));
      s.bytes_sent = info.tcpi_bytes_sent - std::min(info.tcpi_bytes_sent, info.tcpi_bytes_retrans);
      if (bytes < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans)
        s.bytes_sent = info.tcpi_bytes_acked;
    }
  }
  return s;
}

Result<void> dump(int fd, std::uint8_t family, std::uint16_t port, Which which, std::vector<TcpSocket>& out) {
  const auto request = make_request(family, port, which);
  if (send(fd, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request))
    return fail(error_of(errno, "request"));
  alignas(nlmsghdr) std::array<char, kBufferBytes> buffer{};
  for (;;) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return fail(error_of(got == 0 ? ECONNRESET : errno, "no answer"));
    auto left = static_cast<unsigned>(got);
    for (auto* m = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(m, left);
         m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type == NLMSG_DONE)
        return {};
      if (m->nlmsg_type == NLMSG_ERROR) {
        const int number = -static_cast<const nlmsgerr*>(NLMSG_DATA(m))->error;
        return fail(error_of(number, "refused"));
      }
      if (m->nlmsg_type != SOCK_DIAG_BY_FAMILY || m->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg)))
        continue;
      if (out.size() == kMaxSockets)
        return fail(ErrorCode::kFull, "socket diagnostics: more than " + std::to_string(kMaxSockets) +
                                          " sockets on port " + std::to_string(port));
      const auto& body = *static_cast<const inet_diag_msg*>(NLMSG_DATA(m));
      auto socket = read_socket(body, m->nlmsg_len - NLMSG_LENGTH(0));
      // a kernel that ignored the filter would send them all
      if (socket.local_port == port)
        out.push_back(std::move(socket));
    }
  }
}

}  // namespace

Result<std::vector<TcpSocket>> list_tcp(std::uint16_t local_port, Which which) {
  const FileDescriptor netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink)
    return fail(error_of(errno, "cannot be opened (AF_NETLINK allowed in the unit?)"));
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::vector<TcpSocket> out;
  for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
    const auto done = dump(netlink.get(), family, local_port, which, out);
    // a kernel without IPv6 has no such sockets
    if (!done && !(family == AF_INET6 && done.error().code == ErrorCode::kUnsupported))
      return fail(done.error());
  }
  return out;
}

}  // namespace fireboss::sockets
