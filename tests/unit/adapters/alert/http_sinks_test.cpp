#include "supervisor/adapters/alert/http_sinks.h"

#include <memory>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fault_server.h"
#include "tests/support/tls_identity.h"
#include "tests/unit/adapters/alert/delivering.h"

namespace fireboss::alert {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using test::FaultServer;
using test::http_reply;
using test::Peer;
using test::Script;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Millis kShort{500}, kLong{20'000};

std::string url_of(std::uint16_t port, const std::string& scheme = "http",
                   const std::string& host = "127.0.0.1") {
  return scheme + "://" + host + ":" + std::to_string(port) + "/hook/s3cr3t?key=s3cr3t";
}

Script answers(std::string bytes) {
  return [bytes](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    co_await peer.send(bytes);
  };
}

struct Told {
  ports::Delivered delivered;
  int connections = 0;
};
Told tell(Script script, Millis deadline = kLong) {
  asio::io_context io;
  FaultServer server(io, {std::move(script)});
  WebhookSink sink("chat", "", HttpPoster({.url = url_of(server.port())}, "", "test.service", "", deadline));
  return {deliver_now(io, sink, a_notice()), server.connections()};
}

TEST(WebhookSink, PostsJsonWithTheToken) {
  const Credentials credentials;
  credentials.put("token", "t0ken\n");
  asio::io_context io;
  std::string request;
  FaultServer server(io, {[&request](Peer& peer) -> asio::awaitable<void> {
                       request = co_await peer.read_request();
                       co_await peer.send(http_reply("", "204 No Content"));
                     }});
  credentials.put("url", url_of(server.port()) + "\n");
  WebhookSink sink("chat", "https://wiki", HttpPoster({.url_credential = "url"}, "token", "test.service"));
  const auto delivered = deliver_now(io, sink, a_notice());
  EXPECT_TRUE(delivered) << delivered.error().message;
  EXPECT_EQ(sink.name(), "chat");
  EXPECT_THAT(request, HasSubstr("POST /hook/s3cr3t?key=s3cr3t HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer t0ken\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  const auto body = boost::json::parse(request.substr(request.find("\r\n\r\n") + 4)).as_object();
  EXPECT_EQ(body.at("key"), "R3/chat");
}

TEST(AlertmanagerSink, PostsBelowItsRoot) {
  for (const auto* root : {"", "/", "/am", "/am/"}) {
    asio::io_context io;
    std::string request;
    FaultServer server(io, {[&request](Peer& peer) -> asio::awaitable<void> {
                         request = co_await peer.read_request();
                         co_await peer.send(http_reply(""));
                       }});
    const testing::FakeClock clock;
    const auto url = "http://localhost:" + std::to_string(server.port()) + root;
    AlertmanagerSink sink("am", "", HttpPoster({.url = url}, "", "test.service"), clock);
    ASSERT_TRUE(deliver_now(io, sink, a_notice())) << root;
    const std::string prefix = std::string(root).starts_with("/am") ? "/am" : "";
    EXPECT_THAT(request, HasSubstr("POST " + prefix + "/api/v2/alerts HTTP/1.1\r\n"));
    EXPECT_TRUE(boost::json::parse(request.substr(request.find("\r\n\r\n") + 4)).is_array());
  }
}

TEST(WebhookSink, AnyTwoHundredIsDelivered) {
  EXPECT_TRUE(tell(answers(http_reply("ok"))).delivered);
  EXPECT_TRUE(tell(answers(http_reply("", "202 Accepted"))).delivered);
}

TEST(WebhookSink, WhatFollowsATwoHundredDoesNotMatter) {
  EXPECT_TRUE(tell(answers("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")).delivered) << "broken off";
  const auto endless = tell([](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    co_await peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n");
    co_await peer.send_forever(std::string(4096, 'x'));
  });
  EXPECT_TRUE(endless.delivered) << endless.delivered.error().message;
}

TEST(WebhookSink, AServerThatHangsIsGivenUp) {
  const auto told = tell(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.hang();
      },
      kShort);
  ASSERT_FALSE(told.delivered);
  EXPECT_EQ(told.delivered.error().code, ErrorCode::kTimeout);
}

TEST(WebhookSink, AServerThatTricklesIsGivenUp) {
  const auto told = tell(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.trickle("HTTP/1.1 " + std::string(100'000, '2'), Millis{20});
      },
      kShort);
  ASSERT_FALSE(told.delivered);
  EXPECT_EQ(told.delivered.error().code, ErrorCode::kTimeout);
}

TEST(WebhookSink, NoAnswerIsNoDelivery) {
  const auto told = tell([](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    peer.reset();
  });
  ASSERT_FALSE(told.delivered);
  EXPECT_EQ(told.delivered.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(tell(answers("hello\r\n\r\n")).delivered);
  EXPECT_FALSE(tell([](Peer& peer) -> asio::awaitable<void> {
                 co_await peer.read_request();
                 co_await peer.send("HTTP/1.1 200 OK\r\n");
                 co_await peer.send_forever("x-header: " + std::string(1000, 'x') + "\r\n");
               }).delivered);
}

TEST(WebhookSink, NobodyThereIsSaid) {
  asio::io_context io;
  std::uint16_t port = 0;
  {
    tcp::acceptor closed(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    port = closed.local_endpoint().port();
  }
  WebhookSink sink("chat", "", HttpPoster({.url = url_of(port)}, "", "test.service"));
  const auto delivered = deliver_now(io, sink, a_notice());
  ASSERT_FALSE(delivered);
  EXPECT_EQ(delivered.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(delivered.error().message, HasSubstr("127.0.0.1:" + std::to_string(port)));
}

TEST(WebhookSink, StatusesAreToldApart) {
  struct Case {
    const char* status;
    ErrorCode code;
    const char* says;
  };
  for (const auto& [status, code, says] :
       {Case{"500 Oops", ErrorCode::kUnavailable, "answered 500: it broke"},
        Case{"404 Not Found", ErrorCode::kNotFound, "URL's path"},
        Case{"401 Unauthorized", ErrorCode::kDenied, "token"},
        Case{"429 Slow", ErrorCode::kUnavailable, "429"}}) {
    const auto told = tell(answers(http_reply("it\nbroke", status)));
    ASSERT_FALSE(told.delivered) << status;
    EXPECT_EQ(told.delivered.error().code, code) << status;
    EXPECT_THAT(told.delivered.error().message, HasSubstr(says)) << status;
    EXPECT_FALSE(told.delivered.error().retry_after) << status;
  }
}

TEST(WebhookSink, RetryAfterIsHeardWithinBounds) {
  const auto asked = [](const std::string& header, const char* status = "429 Slow down") {
    const auto told = tell(answers(http_reply("", status, "retry-after: " + header + "\r\n")));
    EXPECT_FALSE(told.delivered);
    return told.delivered.error().retry_after;
  };
  EXPECT_EQ(asked("7"), Millis{7'000});
  EXPECT_EQ(asked("7", "503 Busy"), Millis{7'000});
  EXPECT_EQ(asked("999999999"), Millis{3'600'000});
  EXPECT_EQ(asked("-1"), std::nullopt);
  EXPECT_EQ(asked("Wed, 21 Oct 2026 07:28:00 GMT"), std::nullopt);
  EXPECT_EQ(asked("7", "500 Oops"), std::nullopt);
}

TEST(WebhookSink, FollowsNoRedirect) {
  const auto told = tell(answers(http_reply("", "302 Found", "location: http://127.0.0.1:1/\r\n")));
  ASSERT_FALSE(told.delivered);
  EXPECT_EQ(told.delivered.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(told.delivered.error().message, HasSubstr("redirect"));
  EXPECT_EQ(told.connections, 1);
}

TEST(WebhookSink, NoFailureTellsTheSecret) {
  const Credentials credentials;
  credentials.put("token", "s3cr3t");
  const std::vector<Script> scripts{
      answers(http_reply("no hook /hook/s3cr3t?key=s3cr3t, Bearer s3cr3t", "404 Not Found")),
      answers(http_reply("s3cr3t", "500 Oops")),
      answers(http_reply("", "302 Found", "location: /s3cr3t\r\n")), answers("s3cr3t\r\n\r\n"),
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        peer.reset();
      }};
  for (const auto& script : scripts) {
    asio::io_context io;
    FaultServer server(io, {script});
    credentials.put("url", url_of(server.port()));
    WebhookSink sink("chat", "", HttpPoster({.url_credential = "url"}, "token", "test.service"));
    const auto delivered = deliver_now(io, sink, a_notice());
    ASSERT_FALSE(delivered);
    EXPECT_THAT(delivered.error().message, Not(HasSubstr("s3cr3t")));
  }
  for (const auto* url : {"s3cr3t", "ftp://s3cr3t/x", "http://u:s3cr3t@127.0.0.1/",
                          "http://127.0.0.1:99999/s3cr3t", "http://127.0.0.1/ s3cr3t"}) {
    credentials.put("url", url);
    asio::io_context io;
    WebhookSink sink("chat", "", HttpPoster({.url_credential = "url"}, "token", "test.service"));
    const auto delivered = deliver_now(io, sink, a_notice());
    ASSERT_FALSE(delivered) << url;
    EXPECT_THAT(delivered.error().message, Not(HasSubstr("s3cr3t")));
    EXPECT_THAT(delivered.error().message, HasSubstr("credential 'url'"));
  }
}

TEST(WebhookSink, AMissingCredentialIsNamed) {
  const Credentials credentials;
  asio::io_context io;
  WebhookSink sink("chat", "", HttpPoster({.url_credential = "url"}, "", "test.service"));
  const auto delivered = deliver_now(io, sink, a_notice());
  ASSERT_FALSE(delivered);
  EXPECT_THAT(delivered.error().message, HasSubstr("LoadCredential=url:PATH to test.service"));
}

// Answers one connection after the other over TLS.
class TlsServer {
 public:
  TlsServer(asio::io_context& io, const test::TlsIdentity& identity)
      : context_(asio::ssl::context::tls_server), acceptor_(io, {asio::ip::address_v4::loopback(), 0}) {
    context_.use_certificate_chain(asio::buffer(identity.certificate));
    context_.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem);
    asio::co_spawn(io, serve(), [](const std::exception_ptr&) {});
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  int requests() const { return requests_; }

 private:
  asio::awaitable<void> serve() {
    constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
    for (;;) {
      auto [refused, socket] = co_await acceptor_.async_accept(kAwait);
      if (refused)
        co_return;
      asio::ssl::stream<tcp::socket> stream(std::move(socket), context_);
      const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::server, kAwait);
      if (error)
        continue;
      std::string bytes(65536, '\0');
      const auto [unread, length] = co_await stream.async_read_some(asio::buffer(bytes), kAwait);
      if (unread)
        continue;
      ++requests_;
      const auto reply = http_reply("ok");
      co_await asio::async_write(stream, asio::buffer(reply), kAwait);
    }
  }

  asio::ssl::context context_;
  tcp::acceptor acceptor_;
  int requests_ = 0;
};

struct Handshake {
  ports::Delivered delivered;
  int requests = 0;
};
Handshake over_tls(const test::TlsIdentity& identity, const std::string& trusted,
                   const std::string& host = "127.0.0.1") {
  const Credentials files;
  asio::io_context io;
  TlsServer server(io, identity);
  config::HttpTarget target{.url = url_of(server.port(), "https", host)};
  if (!trusted.empty())
    target.ca_file = files.put("ca.pem", trusted);
  WebhookSink sink("chat", "", HttpPoster(target, "", "test.service", "", kLong));
  return {deliver_now(io, sink, a_notice()), server.requests()};
}

TEST(WebhookSinkOverTls, ATrustedServerIsTold) {
  const auto by_address = test::make_identity("IP:127.0.0.1");
  auto told = over_tls(by_address, by_address.authority);
  EXPECT_TRUE(told.delivered) << told.delivered.error().message;
  EXPECT_EQ(told.requests, 1);
  const auto by_name = test::make_identity("DNS:localhost");
  told = over_tls(by_name, by_name.authority, "localhost");
  EXPECT_TRUE(told.delivered) << told.delivered.error().message;
}

TEST(WebhookSinkOverTls, NothingIsSentToAnybodyElse) {
  const auto right = test::make_identity("IP:127.0.0.1");
  struct Case {
    const char* what;
    Handshake told;
  };
  const auto other_name = test::make_identity("DNS:example.com");
  const auto expired = test::make_identity("IP:127.0.0.1", true);
  for (const auto& [what, told] :
       {Case{"another authority", over_tls(right, test::make_identity("IP:127.0.0.1").authority)},
        Case{"the system's authorities", over_tls(right, "")},
        Case{"another name", over_tls(other_name, other_name.authority)},
        Case{"expired", over_tls(expired, expired.authority)}}) {
    EXPECT_FALSE(told.delivered) << what;
    EXPECT_EQ(told.requests, 0) << what;
    if (!told.delivered) {
      EXPECT_THAT(told.delivered.error().message, HasSubstr("certificate")) << what;
    }
  }
}

TEST(WebhookSinkOverTls, APlainServerIsNotTalkedTo) {
  asio::io_context io;
  FaultServer server(io, {answers("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")});
  WebhookSink sink("chat", "",
                   HttpPoster({.url = url_of(server.port(), "https")}, "", "test.service", "", kShort));
  EXPECT_FALSE(deliver_now(io, sink, a_notice()));
}

TEST(WebhookSink, ATlsServerAskedInPlainIsSaid) {
  asio::io_context io;
  TlsServer server(io, test::make_identity("IP:127.0.0.1"));
  WebhookSink sink("chat", "", HttpPoster({.url = url_of(server.port())}, "", "test.service", "", kShort));
  EXPECT_FALSE(deliver_now(io, sink, a_notice()));
  EXPECT_EQ(server.requests(), 0);
}

}  // namespace
}  // namespace fireboss::alert
