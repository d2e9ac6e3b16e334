#pragma once
// GET /metrics of firebossd: the page of supervisor/app with what only the process knows of itself.
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "supervisor/app/supervisor.h"
#include "supervisor/config/config.h"
#include "supervisor/ports/clock.h"

namespace fireboss::daemon {

class MetricsEndpoint {
 public:
  // All references outlive it.
  MetricsEndpoint(boost::asio::any_io_executor executor, const config::Config& config,
                  const ports::Clock& clock, app::Supervisor& supervisor);
  ~MetricsEndpoint();

  // Listens now, or as soon as it can: that the port is taken is told, and tried again, and never keeps
  // firebossd from its work. Nothing if the page is switched off.
  void start();
  void close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fireboss::daemon
