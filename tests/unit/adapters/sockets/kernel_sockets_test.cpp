// Against the running kernel: listing one's own sockets needs no privilege.
#include "supervisor/adapters/sockets/kernel_sockets.h"

#include <arpa/inet.h>
#include <fstream>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fireboss::sockets {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Fd() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Server {
  Fd fd;
  std::uint16_t port;
};

Server listen_v4() {
  Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(fd.get(), 4), 0);
  socklen_t size = sizeof address;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return {std::move(fd), ntohs(address.sin_port)};
}

Fd connect_to(std::uint16_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Sends and waits until the other side has read it all, so that the kernel's count is settled.
void send_and_drain(const Fd& from, const Fd& to, std::size_t bytes) {
  const std::string payload(bytes, 'x');
  ASSERT_EQ(send(from.get(), payload.data(), payload.size(), 0), static_cast<ssize_t>(bytes));
  std::string buffer(bytes, ' ');
  ASSERT_EQ(recv(to.get(), buffer.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
}

TEST(KernelSocketsTest, FindsTheListenerOfAPortAndNoOther) {
  const auto server = listen_v4();
  const auto other = listen_v4();
  KernelSockets sockets;
  const auto found = sockets.listeners(server.port);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().address, "127.0.0.1");
  EXPECT_EQ(found->front().port, server.port);
  EXPECT_EQ(found->front().uid, getuid());
}

TEST(KernelSocketsTest, FindsAnIpv6ListenerToo) {
  const Fd fd(socket(AF_INET6, SOCK_STREAM, 0));
  if (fd.get() < 0)
    GTEST_SKIP() << "no IPv6 here";
  ASSERT_EQ(listen(fd.get(), 4), 0);
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  KernelSockets sockets;
  const auto found = sockets.listeners(ntohs(address.sin6_port));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().address, "::");
}

TEST(KernelSocketsTest, NobodyListensIsAnEmptyList) {
  std::uint16_t free_port = 0;
  {
    const auto server = listen_v4();
    free_port = server.port;
  }
  KernelSockets sockets;
  const auto found = sockets.listeners(free_port);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST(KernelSocketsTest, CountsWhatTheServerSentAndOnlyThat) {
  const auto server = listen_v4();
  KernelSockets sockets;
  const auto client = connect_to(server.port);
  const Fd accepted(accept(server.fd.get(), nullptr, nullptr));
  const auto before = sockets.traffic(server.port);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->connections, 1u);
  EXPECT_EQ(before->bytes_sent, 0u);
  send_and_drain(client, accepted, 5'000);
  EXPECT_EQ(sockets.traffic(server.port)->bytes_sent, 0u);
  send_and_drain(accepted, client, 1'234);
  EXPECT_EQ(sockets.traffic(server.port)->bytes_sent, 1'234u);
  send_and_drain(accepted, client, 1);
  EXPECT_EQ(sockets.traffic(server.port)->bytes_sent, 1'235u);
}

TEST(KernelSocketsTest, TallyKeepsWhatClosedConnectionsSent) {
  const auto server = listen_v4();
  KernelSockets sockets;
  {
    const auto client = connect_to(server.port);
    const Fd accepted(accept(server.fd.get(), nullptr, nullptr));
    send_and_drain(accepted, client, 100);
    EXPECT_EQ(sockets.traffic(server.port)->bytes_sent, 100u);
  }
  const auto client = connect_to(server.port);
  const Fd accepted(accept(server.fd.get(), nullptr, nullptr));
  send_and_drain(accepted, client, 7);
  EXPECT_EQ(sockets.traffic(server.port)->bytes_sent, 107u);
}

TEST(KernelSocketsTest, UnknownCgroupIsNotCalledForeign) {
  KernelSockets sockets;
  const auto told = sockets.belongs(ports::Listener{}, "/system.slice/engine.service");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kUnsupported);
}

TEST(KernelSocketsTest, UnreadableMountTableIsAnError) {
  KernelSockets sockets("/nonexistent");
  ports::Listener listener;
  listener.cgroup_id = 5;
  const auto told = sockets.belongs(listener, "/system.slice/engine.service");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fireboss::sockets
