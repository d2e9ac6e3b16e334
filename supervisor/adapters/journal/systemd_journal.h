#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "supervisor/ports/journal.h"

namespace fireboss::journal {

class Follower;

// journald's files, read with sd-journal. Needs the group systemd-journal.
class SystemdJournal final : public ports::Journal {
 public:
  // `directory`: a journal kept elsewhere; empty: the machine's. `patience`: how long tail() may keep the
  // loop.
  explicit SystemdJournal(boost::asio::any_io_executor executor, std::filesystem::path directory = {},
                          Millis patience = Millis{200});
  ~SystemdJournal() override;

  Result<void> follow(const std::string& unit, const std::string& invocation_id, WallTime since,
                      std::function<void(const ports::JournalLine&)> on_line,
                      std::function<void(const Error&)> on_error) override;
  void unfollow(const std::string& unit) override;
  // The priority of a line is the more urgent of journald's and the one that its text claims: what an engine
  // writes to stdout is filed under 6 even if it begins with ERROR. Looks back over 20,000 entries at most.
  Result<Tail> tail(const std::string& unit, const std::string& invocation_id, int max_priority,
                    std::size_t limit) override;
  Result<std::vector<ports::JournalLine>> manager_tail(const std::string& unit, std::size_t limit) override;
  Result<WallTime> covers_since() override;

 private:
  boost::asio::any_io_executor executor_;
  std::filesystem::path directory_;
  Millis patience_;
  std::map<std::string, std::shared_ptr<Follower>> followers_;
};

}  // namespace fireboss::journal
