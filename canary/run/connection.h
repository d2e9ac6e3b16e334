#pragma once
// One connection to one server: opened when first needed, checked for who answers, kept as long as the server
// keeps it. Internal to canary/run.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>

#include "canary/run/client.h"

namespace fireboss::canary {

struct Failure {
  Fault fault = Fault::kNone;
  std::string words;
};

// What an error of the socket or of the HTTP parser says about the exchange.
[[nodiscard]] Failure failure_of(const boost::system::error_code& error);

class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;

  Connection(boost::asio::any_io_executor executor, Endpoint endpoint, Deadlines deadlines, Limits limits,
             ListenerCheck check, std::size_t reserve_bytes);

  // Sends and reads one whole response. A kept connection that turns out to be closed before a byte of the
  // answer came is opened anew, once.
  boost::asio::awaitable<CallResult> exchange(const HttpRequest& request, bool wants_events);

  // "127.0.0.1:8000", "[::1]:8000": the Host header and the place in messages.
  [[nodiscard]] std::string authority() const;

 private:
  boost::asio::awaitable<Failure> open(Clock::time_point end);
  boost::asio::awaitable<Failure> shake_hands();
  boost::asio::awaitable<Failure> connect(const boost::asio::ip::tcp::endpoint& to, Clock::time_point end);
  boost::asio::awaitable<CallResult> attempt(const HttpRequest& request, bool wants_events,
                                             Clock::time_point end);
  boost::asio::awaitable<Failure> read(CallResult& result, bool wants_events, Clock::time_point sent,
                                       Clock::time_point end);
  void close();

  using TlsStream = boost::asio::ssl::stream<boost::beast::tcp_stream&>;

  boost::beast::tcp_stream stream_;
  std::unique_ptr<TlsStream> tls_;  // over stream_, whose deadlines hold for it too; new for each connection
  boost::beast::flat_buffer buffer_;
  Endpoint endpoint_;
  Deadlines deadlines_;
  Limits limits_;
  ListenerCheck check_;
  bool open_ = false;
  bool used_ = false;
};

}  // namespace fireboss::canary
