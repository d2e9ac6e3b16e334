#pragma once
// A TCP server on port 0 of the loopback that does what its script says, right or wrong. One script serves
// one connection; the last one serves all further ones.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/time.h"

namespace fireboss::test {

class Peer {
 public:
  explicit Peer(boost::asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  // A whole request with its body; "" when the client has closed.
  boost::asio::awaitable<std::string> read_request();
  boost::asio::awaitable<void> send(std::string_view bytes);
  // Until the client closes.
  boost::asio::awaitable<void> send_forever(std::string_view bytes);
  boost::asio::awaitable<void> trickle(std::string_view bytes, Millis between);
  boost::asio::awaitable<void> hang();
  // Closes so that the client sees a reset instead of an end.
  void reset();

 private:
  boost::asio::ip::tcp::socket socket_;
  std::string received_;
};

using Script = std::function<boost::asio::awaitable<void>(Peer&)>;

class FaultServer {
 public:
  FaultServer(boost::asio::io_context& io, std::vector<Script> scripts);

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  boost::asio::awaitable<void> serve();

  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<Script> scripts_;
  int connections_ = 0;
};

// "HTTP/1.1 200 OK" with that body and its length.
[[nodiscard]] std::string http_reply(std::string_view body, std::string_view status = "200 OK",
                                     std::string_view headers = "content-type: application/json\r\n");
// The head of a chunked event stream, one chunk of it, and its end.
[[nodiscard]] std::string http_stream_head();
[[nodiscard]] std::string http_chunk(std::string_view bytes);
[[nodiscard]] std::string http_stream_end();

}  // namespace fireboss::test
