#pragma once
// One HTTP connection, and what all connections share.
#include <cstddef>
#include <functional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>

#include "engine/faults/setting.h"
#include "engine/server/http_server.h"

namespace fireboss::engine {

struct SessionContext {
  HttpOptions options;
  Service* service = nullptr;
  std::size_t connections = 0;
  std::size_t in_flight = 0;
  bool closing = false;
  // Reading and tokenising a prompt takes milliseconds; /health must not wait for that.
  boost::asio::thread_pool preparing{1};
};

// Serves requests on one connection until it ends.
boost::asio::awaitable<void> serve_connection(boost::asio::ip::tcp::socket socket, SessionContext& context);

// Ends the process as the drill wants it; returns only for faults that do not end it.
void end_process(Fault fault);

}  // namespace fireboss::engine
