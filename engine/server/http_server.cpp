#include "engine/server/http_server.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "engine/server/session.h"

namespace fireboss::engine {

namespace net = boost::asio;
using tcp = net::ip::tcp;

namespace {

constexpr auto kAwait = net::as_tuple(net::use_awaitable);
// After an error that will not go away at once (too many open files).
constexpr std::chrono::milliseconds kAcceptPause{100};

// A connection that ends with a reset, as if nobody were listening.
void reset(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(net::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

struct HttpServer::Shared : SessionContext {};

HttpServer::HttpServer(net::io_context& io, HttpOptions options)
    : io_(io), options_(std::move(options)), acceptor_(io), shared_(std::make_shared<Shared>()) {
  shared_->options = options_;
}

HttpServer::~HttpServer() = default;

Result<> HttpServer::bind() {
  boost::system::error_code error;
  const auto address = net::ip::make_address(options_.host, error);
  if (error) {
    return fail(ErrorCode::kInvalid, fmt::format("--host {}: not an IP address", options_.host));
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) {
    acceptor_.set_option(net::socket_base::reuse_address(true), error);
  }
  if (!error) {
    acceptor_.bind(endpoint, error);
  }
  if (error) {
    return fail(error == net::error::address_in_use ? ErrorCode::kBusy : ErrorCode::kUnavailable,
                fmt::format("cannot use {}:{}: {}", options_.host, options_.port, error.message()));
  }
  return {};
}

std::uint16_t HttpServer::port() const {
  boost::system::error_code ignored;
  return acceptor_.local_endpoint(ignored).port();
}

Result<> HttpServer::serve(Service& service) {
  shared_->service = &service;
  boost::system::error_code error;
  acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot listen on {}:{}: {}", options_.host, port(), error.message()));
  }
  net::co_spawn(io_, accept(), net::detached);
  return {};
}

void HttpServer::close() {
  shared_->closing = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

std::size_t HttpServer::requests_in_flight() const {
  return shared_->in_flight;
}

net::awaitable<void> HttpServer::accept() {
  const auto shared = shared_;
  net::steady_timer pause(io_);
  while (!shared->closing) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error == net::error::operation_aborted) {
      co_return;
    }
    if (error) {
      spdlog::warn("accepting a connection failed, pausing {} ms: {}", kAcceptPause.count(), error.message());
      pause.expires_after(kAcceptPause);
      (void)co_await pause.async_wait(kAwait);
      continue;
    }
    if (shared->service->faults().applies(Fault::kRefuse)) {
      reset(socket);
      continue;
    }
    if (shared->connections >= options_.max_connections) {
      spdlog::warn("{} connections are open, refusing another", shared->connections);
      reset(socket);
      continue;
    }
    ++shared->connections;
    net::co_spawn(io_, serve_connection(std::move(socket), *shared),
                  [shared](const std::exception_ptr& failed) {
                    --shared->connections;
                    try {
                      if (failed) {
                        std::rethrow_exception(failed);
                      }
                    } catch (const std::exception& thrown) {
                      spdlog::error("a connection ended by an exception: {}", thrown.what());
                    } catch (...) {
                      spdlog::error("a connection ended by an exception of no known type");
                    }
                  });
  }
}

}  // namespace fireboss::engine
