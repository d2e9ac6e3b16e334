#pragma once
#include <string>

#include "supervisor/ports/alert_sink.h"

namespace fireboss::alert {

// A program of the operator's, run by systemd as another user. FOLDER/NAME is the socket of a unit that
// config::alert_units() makes: for each connection systemd starts the program with the connection as its
// standard input, and says on it how the program ended ("success/0", "exit-code/3").
class ExecSink final : public ports::AlertSink {
 public:
  ExecSink(std::string name, std::string link, std::string folder,
           Millis deadline = ports::kDeliveryDeadline);
  [[nodiscard]] const std::string& name() const override { return name_; }
  boost::asio::awaitable<ports::Delivered> deliver(ports::Notice notice) override;

 private:
  std::string name_, link_, path_;
  Millis deadline_;
};

// What is said at the end of the connection, as a delivery.
[[nodiscard]] ports::Delivered exec_outcome(const std::string& name, std::string_view told);

}  // namespace fireboss::alert
