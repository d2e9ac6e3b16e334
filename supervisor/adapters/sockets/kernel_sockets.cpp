#include "supervisor/adapters/sockets/kernel_sockets.h"

#include <fstream>
#include <iterator>

#include "supervisor/adapters/sockets/cgroups.h"
#include "supervisor/adapters/sockets/inet_diag.h"

namespace fireboss::sockets {

Result<std::filesystem::path> KernelSockets::cgroup_root() {
  if (cgroup_root_)
    return *cgroup_root_;
  const auto path = proc_root_ / "self/mountinfo";
  std::ifstream file(path);
  if (!file)
    return fail(ErrorCode::kUnavailable, path.string() + " cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto root = find_cgroup2(text);
  if (root)
    cgroup_root_ = *root;
  return root;
}

Result<std::vector<ports::Listener>> KernelSockets::listeners(std::uint16_t port) {
  const auto found = list_tcp(port, Which::kListening);
  if (!found)
    return fail(found.error());
  std::vector<ports::Listener> out;
  for (const auto& socket : *found)
    out.push_back({.address = socket.local_address,
                   .port = socket.local_port,
                   .uid = socket.uid,
                   .cgroup_id = socket.cgroup_id});
  return out;
}

Result<bool> KernelSockets::belongs(const ports::Listener& listener, const std::string& control_group) {
  if (listener.cgroup_id == 0)
    return fail(
        ErrorCode::kUnsupported,
        "the kernel does not say whose listener it is (Linux 5.9 or later with CONFIG_SOCK_CGROUP_DATA does; "
        "listener = \"any\" goes without)");
  const auto root = cgroup_root();
  if (!root)
    return fail(root.error());
  return is_within(*root, control_group, listener.cgroup_id);
}

std::string KernelSockets::control_group_of(const ports::Listener& listener) {
  const auto root = cgroup_root();
  return root && listener.cgroup_id != 0 ? path_of(*root, listener.cgroup_id) : "";
}

Result<ports::Sockets::Traffic> KernelSockets::traffic(std::uint16_t port) {
  const auto found = list_tcp(port, Which::kConnected);
  if (!found)
    return fail(found.error());
  auto& tally = tallies_[port];
  std::map<std::uint64_t, std::uint64_t> now;
  for (const auto& socket : *found) {
    const auto before = tally.sent.find(socket.cookie);
    const auto already = before == tally.sent.end() ? 0 : before->second;
    tally.total += socket.bytes_sent - std::min(already, socket.bytes_sent);
    now[socket.cookie] = socket.bytes_sent;
  }
  tally.sent = std::move(now);
  return Traffic{.connections = found->size(), .bytes_sent = tally.total};
}

}  // namespace fireboss::sockets
