#include "tests/support/fault_server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace fireboss::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kField = "Content-Length: ";
  const std::size_t at = head.find(kField);
  std::size_t length = 0;
  if (at != std::string_view::npos) {
    std::from_chars(head.data() + at + kField.size(), head.data() + head.size(), length);
  }
  return length;
}

// Owns both: the connection outlives the server where a test ends early.
asio::awaitable<void> serve_one(std::shared_ptr<Peer> peer, std::shared_ptr<Script> script) {
  co_await (*script)(*peer);
}

}  // namespace

asio::awaitable<std::string> Peer::read_request() {
  for (;;) {
    const std::size_t end = received_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t whole = end + 4 + content_length(std::string_view(received_).substr(0, end + 2));
      if (received_.size() >= whole) {
        std::string request = received_.substr(0, whole);
        received_.erase(0, whole);
        co_return request;
      }
    }
    std::array<char, 65536> bytes{};
    const auto [error, length] = co_await socket_.async_read_some(asio::buffer(bytes), kAwait);
    if (error) {
      co_return std::string();
    }
    received_.append(bytes.data(), length);
  }
}

asio::awaitable<void> Peer::send(std::string_view bytes) {
  const std::string copy(bytes);
  co_await asio::async_write(socket_, asio::buffer(copy), kAwait);
}

asio::awaitable<void> Peer::send_forever(std::string_view bytes) {
  const std::string copy(bytes);
  for (;;) {
    const auto [error, length] = co_await asio::async_write(socket_, asio::buffer(copy), kAwait);
    if (error) {
      co_return;
    }
  }
}

asio::awaitable<void> Peer::trickle(std::string_view bytes, Millis between) {
  const std::string copy(bytes);
  asio::steady_timer timer(socket_.get_executor());
  for (const char byte : copy) {
    const auto [error, length] = co_await asio::async_write(socket_, asio::buffer(&byte, 1), kAwait);
    if (error) {
      co_return;
    }
    timer.expires_after(between);
    co_await timer.async_wait(kAwait);
  }
}

asio::awaitable<void> Peer::hang() {
  std::array<char, 1024> bytes{};
  for (;;) {
    const auto [error, length] = co_await socket_.async_read_some(asio::buffer(bytes), kAwait);
    if (error) {
      co_return;
    }
  }
}

void Peer::reset() {
  socket_.set_option(asio::socket_base::linger(true, 0));
  socket_.close();
}

FaultServer::FaultServer(asio::io_context& io, std::vector<Script> scripts)
    : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), scripts_(std::move(scripts)) {
  asio::co_spawn(io, serve(), asio::detached);
}

asio::awaitable<void> FaultServer::serve() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error) {
      co_return;
    }
    const auto at = std::min(static_cast<std::size_t>(connections_), scripts_.size() - 1);
    ++connections_;
    // An awaitable, not a lambda with captures: g++ 12 destroys those twice.
    asio::co_spawn(
        acceptor_.get_executor(),
        serve_one(std::make_shared<Peer>(std::move(socket)), std::make_shared<Script>(scripts_[at])),
        [](const std::exception_ptr&) {});
  }
}

std::string http_reply(std::string_view body, std::string_view status, std::string_view headers) {
  std::string reply = "HTTP/1.1 ";
  reply.append(status).append("\r\n").append(headers);
  return reply + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string http_stream_head() {
  return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: "
         "chunked\r\n\r\n";
}

std::string http_chunk(std::string_view bytes) {
  std::array<char, 16> size{};
  const auto [end, error] = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
  return std::string(size.data(), end) + "\r\n" + std::string(bytes) + "\r\n";
}

std::string http_stream_end() {
  return "0\r\n\r\n";
}

}  // namespace fireboss::test
