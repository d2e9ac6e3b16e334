#pragma once
// Read-only pages over HTTP for programs of this machine (metrics). It changes nothing and asks for no
// credentials, so what protects it is where it listens, and that a browser cannot be led to it by a name of
// somebody else's (DNS rebinding): the Host header must be an address, "localhost" or a name of `hosts`.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::app {

// Whether a Host header may ask: "localhost", an IP address or one of `names` (in any case), each with or
// without a port.
[[nodiscard]] bool host_may_ask(std::string_view host, const std::vector<std::string>& names);

class PageServer {
 public:
  struct Page {
    std::string path;  // "/metrics"
    std::string content_type;
    std::function<std::string()> render;
  };

  // One request a connection, 16 connections at a time, 8 KiB of header, no body; whoever has not asked and
  // read within `patience` is disconnected.
  PageServer(boost::asio::any_io_executor executor, std::vector<Page> pages, std::vector<std::string> hosts,
             Millis patience = Millis{5'000});
  ~PageServer();

  // `address` is an IP address; port 0: any free one. kBusy: the port is taken. kDenied: it may not be had.
  // kInvalid: no address. kUnavailable: not an address of this machine.
  Result<void> listen(const std::string& address, std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const;
  void close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fireboss::app
