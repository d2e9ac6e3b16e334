#include "supervisor/adapters/journal/systemd_journal.h"

#include <algorithm>
#include <chrono>

#include "probes/journal/line_level.h"
#include "supervisor/adapters/journal/follower.h"
#include "supervisor/adapters/journal/journal_handle.h"

namespace fireboss::journal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLookedAt = 20'000;

// Newest first through the matches, until `limit` lines at `max_priority` are found or it is `end`; returned
// oldest first.
Result<ports::Journal::Tail> look_back(sd_journal* handle, int max_priority, std::size_t limit,
                                       Clock::time_point end) {
  int r = sd_journal_seek_tail(handle);
  ports::Journal::Tail out;
  while (r >= 0 && out.lines.size() < limit) {
    r = sd_journal_previous(handle);
    if (r <= 0)
      break;
    if (out.looked_at == kMaxLookedAt || Clock::now() >= end) {
      out.whole = false;
      break;
    }
    ++out.looked_at;
    auto line = read_line(handle);
    if (!line)
      continue;
    line->priority = std::min(line->priority, probes::line_level(line->message));
    if (line->priority <= max_priority)
      out.lines.push_back(std::move(*line));
  }
  if (r < 0)
    return fail(journal_error(r, "journal"));
  std::ranges::reverse(out.lines);
  return out;
}

}  // namespace

SystemdJournal::SystemdJournal(boost::asio::any_io_executor executor, std::filesystem::path directory,
                               Millis patience)
    : executor_(std::move(executor)), directory_(std::move(directory)), patience_(patience) {}

SystemdJournal::~SystemdJournal() {
  for (const auto& [unit, follower] : followers_)
    follower->stop();
}

Result<void> SystemdJournal::follow(const std::string& unit, const std::string& invocation_id, WallTime since,
                                    std::function<void(const ports::JournalLine&)> on_line,
                                    std::function<void(const Error&)> on_error) {
  std::string after;
  if (const auto former = followers_.find(unit); former != followers_.end()) {
    after = former->second->position();
    former->second->stop();
  }
  auto follower = std::make_shared<Follower>(executor_, Follower::Wanted{.directory = directory_,
                                                                         .unit = unit,
                                                                         .invocation_id = invocation_id,
                                                                         .since = since,
                                                                         .after = std::move(after),
                                                                         .on_line = std::move(on_line),
                                                                         .on_error = std::move(on_error)});
  followers_[unit] = follower;
  return follower->start();
}

void SystemdJournal::unfollow(const std::string& unit) {
  if (const auto found = followers_.extract(unit); !found.empty())
    found.mapped()->stop();
}

Result<ports::Journal::Tail> SystemdJournal::tail(const std::string& unit, const std::string& invocation_id,
                                                  int max_priority, std::size_t limit) {
  const auto handle = open_journal(directory_);
  if (!handle)
    return fail(handle.error().in(unit));
  if (const auto matched = match_invocation(handle->get(), invocation_id); !matched)
    return fail(matched.error().in(unit));
  return look_back(handle->get(), max_priority, limit, Clock::now() + patience_);
}

Result<std::vector<ports::JournalLine>> SystemdJournal::manager_tail(const std::string& unit,
                                                                     std::size_t limit) {
  const auto handle = open_journal(directory_);
  if (!handle)
    return fail(handle.error().in(unit));
  if (const auto matched = match_manager(handle->get(), unit); !matched)
    return fail(matched.error());
  constexpr int kEvery = 7;
  // Every entry that matches is one of the lines: `limit` bounds it.
  auto tail = look_back(handle->get(), kEvery, limit, Clock::time_point::max());
  if (!tail)
    return fail(tail.error());
  return std::move(tail->lines);
}

Result<WallTime> SystemdJournal::covers_since() {
  const auto handle = open_journal(directory_);
  if (!handle)
    return fail(handle.error());
  std::uint64_t from = 0, to = 0;
  const int r = sd_journal_get_cutoff_realtime_usec(handle->get(), &from, &to);
  if (r < 0)
    return fail(journal_error(r, "journal"));
  if (r == 0)
    return fail(ErrorCode::kNotFound, "the journal is empty");
  return WallTime{Millis{static_cast<std::int64_t>(from / 1000)}};
}

}  // namespace fireboss::journal
