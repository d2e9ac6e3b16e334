// Clients that do not do their part, files that are in the way, and verbs that throw.
#include "supervisor/app/control_server.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/os/file_descriptor.h"

namespace fireboss::app {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Answer = asio::awaitable<Result<json::value>>;

constexpr Millis kLong{3'600'000};
constexpr std::size_t kPlaces = 32;

class Client {
 public:
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void ask(const std::string& line) const {
    EXPECT_EQ(send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }
  // Takes what has come; true once the other side has closed.
  bool read() {
    std::array<char, 65536> chunk{};
    for (;;) {
      const auto got = recv(fd_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (got > 0)
        text_.append(chunk.data(), static_cast<std::size_t>(got));
      else
        return got == 0 || errno == ECONNRESET;
    }
  }
  int fd() const { return fd_.get(); }
  const std::string& text() const { return text_; }

 private:
  FileDescriptor fd_;
  std::string text_;
};

class ControlServerTest : public testing::Test {
 protected:
  ControlServerTest() {
    std::array<char, 32> folder{"/tmp/fireboss-ctl-XXXXXX"};
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder.data();
  }
  ~ControlServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  Result<void> listen(Patience patience = {kLong, kLong}, const std::string& at = "") {
    std::vector<ControlVerb> verbs;
    verbs.push_back({"ping", false, [](json::object, Peer, Progress) -> Answer { co_return "pong"; }});
    verbs.push_back({"talk", false, [this](json::object, Peer, Progress progress) -> Answer {
                       progress(std::string(spoken_, 'x'));
                       co_return "said";
                     }});
    verbs.push_back({"throw", false, [](json::object, Peer, Progress) -> Answer {
                       throw std::logic_error("a bug");
                       co_return nullptr;
                     }});
    server_.emplace(loop_.get_executor(), std::move(verbs), std::vector<std::uint32_t>{}, patience);
    return server_->listen(at.empty() ? path() : at);
  }
  std::string path() const { return folder_ + "/s"; }
  template <typename Done>
  bool until(Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (!done() && std::chrono::steady_clock::now() < end) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(20));
    }
    return done();
  }

  std::string folder_;
  std::size_t spoken_ = 0;
  asio::io_context loop_{1};
  std::optional<ControlServer> server_;
};

TEST_F(ControlServerTest, ClientThatNeverEndsItsLineIsDisconnected) {
  ASSERT_TRUE(listen({Millis{50}, kLong}));
  Client client(path());
  client.ask(R"({"verb": )");
  EXPECT_TRUE(until([&] { return client.read(); }));
}

TEST_F(ControlServerTest, IdleClientsDoNotKeepTheirPlaces) {
  ASSERT_TRUE(listen({Millis{300}, kLong}));
  std::vector<Client> idle;
  for (std::size_t i = 0; i < kPlaces; ++i)
    idle.emplace_back(path());
  EXPECT_TRUE(until([&] {
    Client client(path());
    client.ask("{\"verb\": \"ping\"}\n");
    return until([&] { return client.read() || !client.text().empty(); }) && !client.text().empty();
  }));
}

TEST_F(ControlServerTest, ClientInTimeIsServedRequestAfterRequest) {
  ASSERT_TRUE(listen());
  Client client(path());
  for (const std::string expected :
       {"{\"result\":\"pong\"}\n", "{\"result\":\"pong\"}\n{\"result\":\"pong\"}\n"}) {
    client.ask("{\"verb\": \"ping\"}\n");
    EXPECT_TRUE(until([&] { return client.read() || client.text() == expected; }));
    EXPECT_EQ(client.text(), expected);
  }
}

TEST_F(ControlServerTest, ClientThatDoesNotReadIsDisconnected) {
  ASSERT_TRUE(listen({kLong, Millis{50}}));
  spoken_ = 3 * 1024 * 1024;  // more than the kernel keeps of it
  Client client(path());
  client.ask("{\"verb\": \"talk\"}\n");
  // Bytes come, but only once the other side has given up: reading earlier would let it go on.
  const auto gone = [&] {
    char byte = 0;
    return send(client.fd(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EPIPE;
  };
  ASSERT_TRUE(until(gone));
  EXPECT_TRUE(client.read());
  EXPECT_LT(client.text().size(), spoken_);
}

TEST_F(ControlServerTest, AnswerThatIsMoreThanIsKeptForAClientEndsTheConnection) {
  ASSERT_TRUE(listen());
  spoken_ = 5 * 1024 * 1024;
  Client client(path());
  client.ask("{\"verb\": \"talk\"}\n");
  EXPECT_TRUE(until([&] { return client.read(); })) << "an answer with a hole is waited for in vain";
  EXPECT_EQ(client.text(), "");
}

TEST_F(ControlServerTest, WhatAVerbThrowsComesOutOfTheLoop) {
  ASSERT_TRUE(listen());
  Client client(path());
  client.ask("{\"verb\": \"throw\"}\n");
  EXPECT_THROW(until([&] { return client.read(); }), std::logic_error);
}

TEST_F(ControlServerTest, SocketOfADeadPredecessorIsReplaced) {
  {
    const FileDescriptor old(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(old.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(listen());
}

TEST_F(ControlServerTest, FileThatIsNoSocketIsLeftAlone) {
  std::ofstream(path()) << "the record";
  const auto done = listen();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
  EXPECT_NE(done.error().message.find("no socket"), std::string::npos) << done.error().message;
  EXPECT_EQ(std::filesystem::file_size(path()), 10u);
}

TEST_F(ControlServerTest, WhatIsInTheWayOfASocketIsToldApart) {
  const auto code = [&](const std::string& at) {
    const auto done = listen({}, at);
    return done ? ErrorCode::kInternal : done.error().code;
  };
  EXPECT_EQ(code(folder_ + "/missing/s"), ErrorCode::kNotFound);
  std::filesystem::create_symlink("loop", folder_ + "/loop");
  EXPECT_EQ(code(folder_ + "/loop/s"), ErrorCode::kInvalid);
  EXPECT_EQ(code("/proc/s"), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace fireboss::app
