#include "supervisor/adapters/journal/follower.h"

#include <algorithm>
#include <chrono>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>

namespace fireboss::journal {
namespace {

namespace asio = boost::asio;

// Entries looked at in one turn of the loop: an engine that writes a flood may not keep it from its timers.
constexpr int kPerTurn = 256;
constexpr Millis kBackoffFirst{1'000}, kBackoffMost{30'000};

}  // namespace

Follower::Follower(asio::any_io_executor executor, Wanted wanted)
    : executor_(executor),
      wanted_(std::move(wanted)),
      descriptor_(executor),
      timer_(executor),
      retry_(executor),
      cursor_(wanted_.after),
      backoff_(kBackoffFirst) {}

Result<void> Follower::start() {
  auto opened = open();
  if (opened) {
    pump_soon();
  } else {
    told_ = true;  // by the return value
    lose(opened.error());
  }
  return opened;
}

void Follower::stop() {
  stopped_ = true;
  close();
  retry_.cancel();
}

std::string Follower::position() const {
  if (handle_ && on_entry_)
    if (auto here = cursor_of(handle_.get()); !here.empty())
      return here;
  return cursor_;
}

Result<void> Follower::open() {
  auto handle = open_journal(wanted_.directory);
  if (!handle)
    return fail(handle.error());
  auto* j = handle->get();
  if (auto matched = match_unit(j, wanted_.unit, wanted_.invocation_id); !matched)
    return matched;
  // before the first read: from here on the kernel tells of new files
  const int fd = sd_journal_get_fd(j);
  if (fd < 0)
    return fail(journal_error(fd, "journal"));
  const auto usec = std::max<std::int64_t>(wanted_.since.time_since_epoch().count(), 0) * 1000;
  int r = cursor_.empty() ? sd_journal_seek_realtime_usec(j, static_cast<std::uint64_t>(usec))
                          : sd_journal_seek_cursor(j, cursor_.c_str());
  if (r < 0)
    return fail(journal_error(r, "journal seek"));
  standing_ = false;
  if (!cursor_.empty()) {
    // the seek leads to that entry or, if it is gone or does not match, to the next one, which is news
    r = sd_journal_next(j);
    if (r < 0)
      return fail(journal_error(r, "journal seek"));
    standing_ = r > 0 && sd_journal_test_cursor(j, cursor_.c_str()) <= 0;
  }
  const int copy = dup(fd);
  if (copy < 0)
    return fail(journal_error(-errno, "journal"));
  boost::system::error_code error;
  descriptor_.assign(copy, error);
  if (error) {
    ::close(copy);
    return fail(ErrorCode::kInternal, "journal: " + error.message());
  }
  handle_ = std::move(*handle);
  return {};
}

void Follower::close() {
  if (handle_)
    cursor_ = position();
  on_entry_ = false;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  timer_.cancel();
  handle_.reset();
}

void Follower::pump_soon() {
  asio::post(executor_, [self = shared_from_this()] { self->pump(); });
}

void Follower::pump() {
  const auto self = shared_from_this();
  for (int i = 0; i < kPerTurn; ++i) {
    if (stopped_ || !handle_)
      return;
    const int r = std::exchange(standing_, false) ? 1 : sd_journal_next(handle_.get());
    if (r < 0)
      return lose(journal_error(r, "journal of " + wanted_.unit));
    if (r == 0) {
      told_ = false;
      backoff_ = kBackoffFirst;
      return wait();
    }
    on_entry_ = true;
    if (const auto line = read_line(handle_.get()))
      wanted_.on_line(*line);
  }
  pump_soon();
}

void Follower::wait() {
  // whichever of the two comes first
  const auto ready = [self = shared_from_this(), wait = ++waits_](const boost::system::error_code& error) {
    if (!error && wait == self->waits_)
      self->woken();
  };
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, ready);
  std::uint64_t until = UINT64_MAX;  // CLOCK_MONOTONIC, microseconds; set where inotify does not work
  if (sd_journal_get_timeout(handle_.get(), &until) < 0 || until == UINT64_MAX)
    return;
  timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::microseconds(until)));
  timer_.async_wait(ready);
}

void Follower::woken() {
  if (stopped_ || !handle_)
    return;
  ++waits_;
  descriptor_.cancel();
  timer_.cancel();
  const int r = sd_journal_process(handle_.get());
  if (r < 0)
    return lose(journal_error(r, "journal of " + wanted_.unit));
  if (r == SD_JOURNAL_NOP)
    return wait();
  pump();
}

void Follower::lose(const Error& error) {
  close();
  if (!std::exchange(told_, true) && wanted_.on_error)
    wanted_.on_error(error);
  if (stopped_)
    return;
  retry_.expires_after(std::exchange(backoff_, std::min(backoff_ * 2, kBackoffMost)));
  retry_.async_wait([self = shared_from_this()](const boost::system::error_code& canceled) {
    if (canceled || self->stopped_)
      return;
    if (const auto opened = self->open(); opened)
      self->pump();
    else
      self->lose(opened.error());
  });
}

}  // namespace fireboss::journal
