#pragma once
#include <string>

#include "supervisor/ports/alert_sink.h"

namespace fireboss::alert {

// One entry with fields for each notice. journald is what firebossd's own log goes to as well: a journald
// that hangs is waited for here no more than there.
class JournalSink final : public ports::AlertSink {
 public:
  // `socket`: journald's, to tell its absence, which sd_journal_send() passes over.
  JournalSink(std::string name, std::string link, std::string socket = "/run/systemd/journal/socket");
  [[nodiscard]] const std::string& name() const override { return name_; }
  boost::asio::awaitable<ports::Delivered> deliver(ports::Notice notice) override;

 private:
  std::string name_, link_, socket_;
};

}  // namespace fireboss::alert
