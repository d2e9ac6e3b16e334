#pragma once
// What is known of systemd over the present connection, and how it is found again. Everything on one loop.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/adapters/sdbus/connection.h"
#include "supervisor/adapters/sdbus/properties.h"
#include "supervisor/adapters/sdbus/systemd_units.h"

namespace fireboss::sdbus {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::any_io_executor executor, Options options);

  void start();
  // Ends everything under way with kUnavailable; no news after it.
  void stop();

  void watch(const std::string& unit, std::function<void(const ports::UnitNews&)> on_news);
  void unwatch(const std::string& unit);

  boost::asio::awaitable<Result<ports::UnitSnapshot>> fetch(std::string unit);
  // `method` is RestartUnit or StartUnit.
  boost::asio::awaitable<Result<ports::JobOutcome>> act(std::string method, std::string unit, Millis deadline,
                                                        std::function<void()> on_sent);
  // A Manager method that takes the unit's name alone.
  boost::asio::awaitable<Result<Message>> call_manager(std::string method, std::string unit);

 private:
  struct Watch {
    std::function<void(const ports::UnitNews&)> on_news;
    std::shared_ptr<Connection::Subscription> subscription;
    bool fetching = false, dirty = false;
    bool told_unread = false;
    std::shared_ptr<boost::asio::steady_timer> retry;  // cancelled: try again now
  };
  struct Job {
    std::string unit;
    std::uint32_t id = 0;
    std::string type;
  };
  struct JobWait {
    explicit JobWait(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    std::string unit, path, life_before;
    bool restart = false;
    std::optional<ports::JobOutcome> outcome;
  };

  boost::asio::awaitable<void> run();
  Result<void> connect();
  boost::asio::awaitable<Result<std::string>> owner_of_systemd();
  boost::asio::awaitable<Result<void>> bring_up();
  void tear_down();
  void announce_up();
  void announce_lost(const std::string& why);
  Result<void> subscribe_unit(const std::string& unit, Watch& watch);
  bool from_systemd(sd_bus_message* message) const;
  void lose(const Error& why);

  void on_manager_signal(sd_bus_message* message);
  void on_job_new(sd_bus_message* message);
  void on_job_removed(sd_bus_message* message);
  void on_name_owner(sd_bus_message* message);

  void refresh(const std::string& unit);
  boost::asio::awaitable<void> refresh_until_clean(std::string unit);
  void look_at_job(const std::string& path, Job job);
  boost::asio::awaitable<void> ask_job_type(std::string path);
  boost::asio::awaitable<void> recheck(std::shared_ptr<JobWait> wait);
  void tell(const std::string& unit, const ports::UnitNews& news);
  void spawn(boost::asio::awaitable<void> work);

  boost::asio::awaitable<Result<UnitProperties>> get_all(std::string unit);
  boost::asio::awaitable<Result<std::vector<std::string>>> active_among(std::vector<std::string> units);
  boost::asio::awaitable<Result<std::vector<std::string>>> dependents(std::string unit,
                                                                      std::vector<std::string> reached);
  boost::asio::awaitable<Result<std::string>> job_type(std::string path);

  boost::asio::any_io_executor executor_;
  Options options_;
  bool stopped_ = false, up_ = false, told_lost_ = false;
  std::shared_ptr<Connection> connection_;
  std::vector<std::shared_ptr<Connection::Subscription>> subscriptions_;
  std::string owner_;  // systemd's unique name on the bus
  std::optional<Error> lost_;
  boost::asio::steady_timer until_lost_, pause_;

  std::map<std::string, Watch> watches_;
  std::map<std::string, std::string> lives_;  // unit -> the last invocation id seen
  std::map<std::string, Job> jobs_;           // path -> jobs of watched units
  std::map<std::string, std::string> ours_;   // path -> type of jobs that we made
  // What was removed lately: a quick job can be gone before its path is known here.
  std::deque<std::pair<std::string, std::string>> removed_;
  std::vector<std::shared_ptr<JobWait>> waits_;
};

}  // namespace fireboss::sdbus
