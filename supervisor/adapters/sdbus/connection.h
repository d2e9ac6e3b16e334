#pragma once
// One connection to a D-Bus bus on an Asio loop: sd-bus does the protocol, Asio the waiting. Nothing here
// blocks.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <systemd/sd-bus.h>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/adapters/sdbus/bus_error.h"

namespace fireboss::sdbus {

struct MessageUnref {
  void operator()(sd_bus_message* message) const noexcept { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, MessageUnref>;

struct SlotUnref {
  void operator()(sd_bus_slot* slot) const noexcept { sd_bus_slot_unref(slot); }
};
using Slot = std::unique_ptr<sd_bus_slot, SlotUnref>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Begins to connect; messages may be queued at once. `address` empty: the system bus. `on_closed` is called
  // at most once, on the loop, when the connection is gone for whatever reason but close().
  [[nodiscard]] static Result<std::shared_ptr<Connection>> open(boost::asio::any_io_executor executor,
                                                                const std::string& address,
                                                                std::function<void(const Error&)> on_closed);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Idempotent. Calls under way end with kUnavailable; on_closed is not called.
  void close();

  // A subscription lives as long as what is returned. A bus that refuses it closes the connection with that
  // error.
  struct Subscription;
  [[nodiscard]] Result<std::shared_ptr<Subscription>> subscribe(
      const std::string& match_rule, std::function<void(sd_bus_message*)> on_signal);

  [[nodiscard]] Result<Message> new_call(const std::string& destination, const std::string& path,
                                         const std::string& interface, const std::string& method);

  struct Hooks {
    std::function<void()> on_sent;                  // written to the socket, last byte included
    std::function<void(sd_bus_message*)> on_reply;  // at once, before any later message is looked at
  };
  // The reply, an error of the other side by name, or kTimeout after `deadline`.
  [[nodiscard]] boost::asio::awaitable<Result<Message>> call(Message message, Millis deadline, Asked asked,
                                                             Hooks hooks = {});

 private:
  struct Call;
  explicit Connection(boost::asio::any_io_executor executor);

  void pump();
  void pump_soon();
  void arm();
  void run_sent_hooks();
  void lost(const Error& error);
  static int on_reply(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept;

  boost::asio::any_io_executor executor_;
  boost::asio::posix::stream_descriptor socket_;  // a duplicate: Asio closes its own
  boost::asio::steady_timer timer_;
  sd_bus* bus_ = nullptr;
  std::function<void(const Error&)> on_closed_;
  std::vector<std::weak_ptr<Call>> calls_;
  std::vector<std::function<void()>> unsent_;  // hooks of what still lies in the write queue
  bool reading_ = false, writing_ = false, pump_posted_ = false;
};

struct Connection::Subscription {
  std::weak_ptr<Connection> connection;
  std::function<void(sd_bus_message*)> on_signal;
  Slot slot;
};

}  // namespace fireboss::sdbus
