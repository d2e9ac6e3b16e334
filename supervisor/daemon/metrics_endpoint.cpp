#include "supervisor/daemon/metrics_endpoint.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include "canary/grade/grade.h"
#include "supervisor/app/page_server.h"
#include "supervisor/policy/codec.h"

namespace fireboss::daemon {
namespace asio = boost::asio;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr Millis kLagEvery{1'000};
constexpr Millis kListenAgain{30'000};

std::optional<std::uint64_t> size_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? std::optional(static_cast<std::uint64_t>(info.st_size))
                                        : std::nullopt;
}

std::optional<Millis> cpu_time() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return std::nullopt;
  const auto ms = [](const timeval& time) { return Millis{time.tv_sec * 1000 + time.tv_usec / 1000}; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

std::optional<std::uint64_t> resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  if (!(statm >> all >> resident))
    return std::nullopt;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

struct MetricsEndpoint::Impl : std::enable_shared_from_this<Impl> {
  Impl(const asio::any_io_executor& executor, const config::Config& whole, const ports::Clock& the_clock,
       app::Supervisor& engines)
      : config(whole),
        clock(the_clock),
        supervisor(engines),
        started(the_clock.wall()),
        server(executor,
               {{"/metrics", "text/plain; version=0.0.4; charset=utf-8", [this] { return page(); }}},
               whole.metrics.hosts),
        timer(executor) {}

  std::string page() {
    return supervisor.metrics_page({.version = FIREBOSS_VERSION,
                                    .decider_version = std::string(policy::decider_version()),
                                    .grader_version = std::string(canary::grader_version()),
                                    .started = started,
                                    .cpu = cpu_time(),
                                    .resident_bytes = resident_bytes(),
                                    .loop_lag = lag,
                                    .loop_lag_most = lag_most,
                                    .database_bytes = size_of(config.database),
                                    .wal_bytes = size_of(config.database + "-wal")});
  }

  void listen() {
    const auto listening = server.listen(config.metrics.address, config.metrics.port);
    if ((listens = listening.has_value()))
      spdlog::info("metrics on http://{}:{}/metrics", config.metrics.address, server.port());
    else if (listening.error().message != told)
      spdlog::warn("no metrics: {}; trying again", told = listening.error().message);
  }

  // Once it listens it looks how late a timer of its own comes: whatever kept the loop from it kept it from
  // everything else too.
  asio::awaitable<void> run() {
    const auto self = shared_from_this();
    while (!closed && !listens) {
      timer.expires_after(kListenAgain);
      co_await timer.async_wait(kTuple);
      if (!closed)
        listen();
    }
    while (!closed) {
      const auto due = clock.mono() + kLagEvery;
      timer.expires_after(kLagEvery);
      co_await timer.async_wait(kTuple);
      lag = std::max(clock.mono() - due, Millis{0});
      lag_most = std::max(lag, lag_most);
    }
  }

  const config::Config& config;
  const ports::Clock& clock;
  app::Supervisor& supervisor;
  const WallTime started;
  app::PageServer server;
  asio::steady_timer timer;
  Millis lag{0}, lag_most{0};
  bool listens = false, closed = false;
  std::string told;
};

MetricsEndpoint::MetricsEndpoint(asio::any_io_executor executor, const config::Config& config,
                                 const ports::Clock& clock, app::Supervisor& supervisor)
    : impl_(std::make_shared<Impl>(executor, config, clock, supervisor)) {}

MetricsEndpoint::~MetricsEndpoint() {
  close();
}

void MetricsEndpoint::start() {
  if (impl_->config.metrics.off)
    return;
  impl_->listen();
  asio::co_spawn(impl_->timer.get_executor(), impl_->run(), asio::detached);
}

void MetricsEndpoint::close() {
  impl_->closed = true;
  impl_->server.close();
  impl_->timer.cancel();
}

}  // namespace fireboss::daemon
