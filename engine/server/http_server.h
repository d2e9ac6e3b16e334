#pragma once
// The HTTP face: POST /v1/chat/completions, GET /v1/models, /health, /metrics, and /faults when drills are
// enabled. Runs on one event loop; generations run on the scheduler's thread.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/result.h"
#include "engine/server/service.h"

namespace fireboss::engine {

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;  // 0: any free one
  std::uint64_t max_body = 1 << 20;
  std::size_t max_connections = 256;
  std::chrono::milliseconds header_timeout{75'000};  // also how long a kept-alive connection may be idle
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
};

class HttpServer {
 public:
  HttpServer(boost::asio::io_context& io, HttpOptions options);
  ~HttpServer();

  // Takes the port, without listening yet: a port in use is known before a model is loaded for long.
  [[nodiscard]] Result<> bind();
  [[nodiscard]] std::uint16_t port() const;
  // Listens and serves. `service` must outlive the event loop's run.
  [[nodiscard]] Result<> serve(Service& service);
  // No new connections; requests on old ones are answered 503.
  void close();
  // Requests whose reply is not written yet.
  [[nodiscard]] std::size_t requests_in_flight() const;

 private:
  boost::asio::awaitable<void> accept();

  boost::asio::io_context& io_;
  const HttpOptions options_;
  boost::asio::ip::tcp::acceptor acceptor_;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace fireboss::engine
