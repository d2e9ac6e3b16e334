// firebossd: configuration, adapters, one event loop, and the exit status that systemd reads.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/journal/systemd_journal.h"
#include "supervisor/adapters/sdbus/systemd_units.h"
#include "supervisor/adapters/sockets/kernel_sockets.h"
#include "supervisor/adapters/sqlite/generation.h"
#include "supervisor/adapters/sqlite/lock.h"
#include "supervisor/adapters/sqlite/store.h"
#include "supervisor/app/control_server.h"
#include "supervisor/app/supervisor.h"
#include "supervisor/config/config.h"
#include "supervisor/config/users.h"
#include "supervisor/daemon/log.h"
#include "supervisor/daemon/metrics_endpoint.h"

namespace {

namespace asio = boost::asio;
using namespace fireboss;

// systemd is told not to start us again on these (RestartPreventExitStatus=): a person has to act first.
constexpr int kExitConfig = 78;  // EX_CONFIG: options, configuration or database need a person
constexpr int kExitFailed = 1;   // anything else: starting again may help

int give_up(int status, const std::string& why) {
  spdlog::critical("{}", why);
  sd_notifyf(0, "STATUS=%s", why.c_str());
  return status;
}

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
    case ErrorCode::kDenied:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return kExitConfig;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kBusy:
    case ErrorCode::kFull:
    case ErrorCode::kInternal:
      return kExitFailed;
  }
  return kExitFailed;
}

// Fed by a loop that turns and by engines whose own loops turn; a stuck one is systemd's to end.
asio::awaitable<void> feed_watchdog(const app::Supervisor* supervisor) {
  std::uint64_t usec = 0;
  if (sd_watchdog_enabled(0, &usec) <= 0)
    co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    if (supervisor->progressing())
      sd_notify(0, "WATCHDOG=1");
    timer.expires_after(std::chrono::microseconds(usec / 3));
    if (std::get<0>(co_await timer.async_wait(asio::as_tuple(asio::use_awaitable))))
      co_return;
  }
}

std::string machine_id() {
  sd_id128_t id;
  std::array<char, SD_ID128_STRING_MAX> text{};
  return sd_id128_get_machine(&id) < 0 ? std::string() : sd_id128_to_string(id, text.data());
}

// Whether the record is this machine's own and whole. Not being able to tell is our own trouble and keeps
// nothing from acting.
std::optional<sqlite::Generation> open_generation(sqlite::SqliteStore& store, const std::string& file) {
  auto generation = sqlite::Generation::open(store, file, machine_id());
  if (!generation) {
    spdlog::warn("{}; whether the record is this machine's newest is not checked",
                 generation.error().message);
    return std::nullopt;
  }
  if (generation->finding().origin != sqlite::Origin::kMatched)
    spdlog::warn("{}; nothing acts before a full canary", generation->finding().text);
  return std::move(*generation);
}

// A new generation; from then on it is told of every event.
void renew(sqlite::Generation& generation, sqlite::SqliteStore& store) {
  if (const auto renewed = generation.renew(); !renewed)
    return spdlog::warn("{}; the next start may take the record for a restored one", renewed.error().message);
  store.on_recorded([&generation](std::int64_t event) { generation.note(event); });
}

// After a mismatch only once it is recorded what follows from it: a firebossd that is killed before has told
// nobody.
asio::awaitable<void> renew_once_begun(sqlite::Generation* generation, sqlite::SqliteStore* store,
                                       const app::Supervisor* supervisor) {
  constexpr std::chrono::milliseconds kLook{200};
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!supervisor->begun()) {
    timer.expires_after(kLook);
    if (std::get<0>(co_await timer.async_wait(asio::as_tuple(asio::use_awaitable))))
      co_return;
  }
  renew(*generation, *store);
}

Result<std::vector<std::uint32_t>> uids_of(const std::vector<std::string>& users) {
  std::vector<std::uint32_t> uids;
  for (const auto& user : users) {
    const auto uid = config::find_user(user);
    if (!uid)
      return fail(uid.error().in("daemon.control_users"));
    uids.push_back(*uid);
  }
  return uids;
}

int run(const config::Config& config) {
  clock::SystemClock clock;
  std::string engines;
  for (const auto& engine : config.engines)
    engines += (engines.empty() ? "engines " : ", ") + engine.name;
  const auto database_lock = sqlite::lock_database(config.database, engines);
  if (!database_lock)
    return give_up(exit_status(database_lock.error().code), database_lock.error().message);
  std::vector<sqlite::FileLock> unit_locks;
  for (const auto& engine : config.engines) {
    auto lock = sqlite::lock_unit(config.lock_directory, engine.unit, engine.name);
    if (!lock)
      return give_up(exit_status(lock.error().code), lock.error().message);
    unit_locks.push_back(std::move(*lock));
  }
  const auto store = sqlite::SqliteStore::open(config.database, sqlite::OpenMode::kCreate);
  if (!store)
    return give_up(exit_status(store.error().code), store.error().message);
  const auto uids = uids_of(config.control_users);
  if (!uids)
    return give_up(exit_status(uids.error().code), uids.error().message);

  auto generation = open_generation(**store, config.generation_file);
  const bool foreign = generation && generation->finding().origin != sqlite::Origin::kMatched;
  if (generation && !foreign)
    renew(*generation, **store);

  asio::io_context loop(1);
  sdbus::SystemdUnits units(loop.get_executor(), {.address = config.bus_address});
  journal::SystemdJournal journal(loop.get_executor());
  sockets::KernelSockets sockets;
  app::Supervisor supervisor(loop.get_executor(), config, {clock, **store, units, journal, sockets});
  if (const auto restored = supervisor.restore(foreign); !restored)
    return give_up(exit_status(restored.error().code), restored.error().message);
  app::ControlServer control(loop.get_executor(), supervisor.verbs(), *uids);
  if (const auto listening = control.listen(config.control_socket); !listening)
    return give_up(exit_status(listening.error().code), listening.error().message);

  daemon::MetricsEndpoint metrics(loop.get_executor(), config, clock, supervisor);
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int number) {
    if (error)
      return;
    spdlog::info("signal {}: ending; engines are left as they are", number);
    sd_notify(0, "STOPPING=1");
    control.close();
    metrics.close();
    supervisor.stop();
    loop.stop();
  });
  supervisor.start();
  metrics.start();
  asio::co_spawn(loop, feed_watchdog(&supervisor), asio::detached);
  if (foreign)
    asio::co_spawn(loop, renew_once_begun(&*generation, store->get(), &supervisor), asio::detached);
  spdlog::info("firebossd {} {}", FIREBOSS_VERSION, supervisor.status_line());
  sd_notifyf(0, "READY=1\nSTATUS=%s", supervisor.status_line().c_str());
  loop.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string config_path = "/etc/fireboss/fireboss.toml";
  CLI::App options{
      "Fireboss's supervisor daemon: asks LLM engines real questions and restarts what answers wrongly",
      "firebossd"};
  options.add_option("--config", config_path, "Configuration file")->capture_default_str();
  options.set_version_flag("--version", std::string("firebossd ") + FIREBOSS_VERSION);
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return options.exit(error) == 0 ? 0 : kExitConfig;
  }
  umask(0027);
  daemon_log::set_up("info");
  try {
    const auto loaded = config::load(config_path);
    for (const auto& warning : loaded.warnings)
      spdlog::warn("{}", warning.text());
    for (const auto& error : loaded.errors)
      spdlog::error("{}", error.text());
    if (!loaded.config)
      return give_up(kExitConfig, config_path + ": not started: " + std::to_string(loaded.errors.size()) +
                                      " error(s) in the configuration; `fireboss check-config` shows them");
    daemon_log::set_up(loaded.config->log_level);
    return run(*loaded.config);
  } catch (const std::exception& error) {
    return give_up(kExitFailed, std::string("unexpected: ") + error.what());
  }
}
