// What asks rightly, what does not, and clients that do not do their part.
#include "supervisor/app/page_server.h"

#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Client {
 public:
  Client(asio::io_context& loop, std::uint16_t port) : socket_(loop) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.non_blocking(true);
  }
  void send(std::string_view bytes) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  // Takes what has come; true once the other side has closed.
  bool read() {
    std::array<char, 65536> chunk{};
    for (;;) {
      boost::system::error_code error;
      const auto got = socket_.read_some(asio::buffer(chunk), error);
      text_.append(chunk.data(), got);
      if (error)
        return error != asio::error::would_block;
    }
  }
  const std::string& text() const { return text_; }

 private:
  tcp::socket socket_;
  std::string text_;
};

class PageServerTest : public ::testing::Test {
 protected:
  void listen(Millis patience = Millis{3'600'000}) {
    server_.emplace(loop_.get_executor(),
                    std::vector<PageServer::Page>{{"/metrics", "text/x-page",
                                                   [this] {
                                                     ++rendered_;
                                                     return std::string("the page\n");
                                                   }}},
                    std::vector<std::string>{"gpu1.example.org"}, patience);
    ASSERT_TRUE(server_->listen("127.0.0.1", 0));
  }
  template <typename Done>
  bool until(Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (!done() && std::chrono::steady_clock::now() < end) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(20));
    }
    return done();
  }
  std::string ask(std::string_view bytes) {
    Client client(loop_, server_->port());
    client.send(bytes);
    EXPECT_TRUE(until([&] { return client.read(); }));
    return client.text();
  }
  std::string get(const std::string& host, const std::string& target = "/metrics",
                  const std::string& method = "GET") {
    return ask(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  asio::io_context loop_{1};
  int rendered_ = 0;
  std::optional<PageServer> server_;
};

TEST_F(PageServerTest, ServesThePageAndCloses) {
  listen();
  const auto reply = get("127.0.0.1:9717");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/x-page\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\nthe page\n"));
  EXPECT_THAT(get("localhost", "/metrics?x=1"), EndsWith("the page\n"));
}

TEST_F(PageServerTest, AnswersHeadWithoutTheBody) {
  listen();
  const auto reply = get("localhost", "/metrics", "HEAD");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST_F(PageServerTest, ChangesNothing) {
  listen();
  for (const auto* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"})
    EXPECT_THAT(get("localhost", "/metrics", method), StartsWith("HTTP/1.1 405 ")) << method;
  EXPECT_THAT(get("localhost", "/"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("localhost", "/metrics/../x"), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(rendered_, 0);
}

TEST_F(PageServerTest, AnswersNoNameThatIsNotItsOwn) {
  listen();
  for (const auto* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9717", "", "a b",
                           "localhost:99999999", "evil.example:80"})
    EXPECT_THAT(get(host), StartsWith("HTTP/1.1 421 ")) << host;
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 421 "));
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 421 "));
  EXPECT_EQ(rendered_, 0);
  for (const auto* host : {"LOCALHOST:1", "gpu1.Example.org:9717", "[::1]:9717", "10.0.0.7", "localhost."})
    EXPECT_THAT(get(host), Not(StartsWith("HTTP/1.1 421 "))) << host;
}

TEST_F(PageServerTest, RefusesWhatIsTooLongOrNoRequest) {
  listen();
  EXPECT_THAT(get("localhost\r\nX: " + std::string(20'000, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask("\x16\x03\x01 not http\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(rendered_, 0);
}

TEST_F(PageServerTest, DisconnectsWhoeverDoesNotAsk) {
  listen(Millis{50});
  Client client(loop_, server_->port());
  client.send("GET /metr");
  EXPECT_TRUE(until([&] { return client.read(); }));
  EXPECT_EQ(client.text(), "");
}

TEST_F(PageServerTest, IdleClientsDoNotKeepTheirPlaces) {
  listen(Millis{300});
  std::vector<Client> idle;
  for (int i = 0; i < 40; ++i)
    idle.emplace_back(loop_, server_->port());
  EXPECT_THAT(get("localhost"), EndsWith("the page\n"));
}

TEST_F(PageServerTest, SaysWhyItCannotListen) {
  listen();
  PageServer second(loop_.get_executor(), {}, {});
  EXPECT_EQ(second.listen("127.0.0.1", server_->port()).error().code, ErrorCode::kBusy);
  EXPECT_EQ(second.listen("gpu1", 9717).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(second.listen("192.0.2.1", 9717).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(second.listen("127.0.0.1", 0)) << "a later try may succeed";
}

}  // namespace
}  // namespace fireboss::app
