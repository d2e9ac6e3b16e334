#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/adapters/journal/journal_handle.h"

namespace fireboss::journal {

// One unit's lines as they come, on the loop. Survives rotation, a restart of journald and a journal that
// cannot be read for a while: it goes on after the last line that it gave.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  struct Wanted {
    std::filesystem::path directory;
    std::string unit, invocation_id;
    WallTime since;
    std::string after;  // a cursor: begin after it instead
    std::function<void(const ports::JournalLine&)> on_line;
    std::function<void(const Error&)> on_error;
  };
  Follower(boost::asio::any_io_executor executor, Wanted wanted);

  // An error is of the first attempt only; later ones go to on_error, once an episode.
  Result<void> start();
  void stop();
  // The last line given, or the point that it began after; "" before any.
  [[nodiscard]] std::string position() const;

 private:
  Result<void> open();
  void close();
  void pump();
  void pump_soon();
  void wait();
  void woken();
  void lose(const Error& error);

  boost::asio::any_io_executor executor_;
  Wanted wanted_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_, retry_;
  Handle handle_;
  std::string cursor_;
  Millis backoff_;
  std::uint64_t waits_ = 0;
  bool stopped_ = false, told_ = false;
  bool on_entry_ = false;  // the handle stands on an entry that was given
  bool standing_ = false;  // ... on one that was not
};

}  // namespace fireboss::journal
