#include "engine/faults/board.h"

namespace fireboss::engine {
namespace {

constexpr std::size_t kLongestRemembered = 4096;
// Given when no other request has been answered yet.
constexpr const char* kNoOther = "LANTERN-3F81";

}  // namespace

void FaultBoard::set(const FaultSetting& setting) {
  const std::lock_guard lock(mutex_);
  active_.insert_or_assign(setting.fault, Active{setting, age_()});
}

void FaultBoard::clear(Fault fault) {
  const std::lock_guard lock(mutex_);
  active_.erase(fault);
}

void FaultBoard::clear_all() {
  const std::lock_guard lock(mutex_);
  active_.clear();
}

bool FaultBoard::in_time(const Active& active, Millis now) {
  const auto running = now - active.since - active.setting.after;
  return running >= Millis(0) && (!active.setting.length || running < *active.setting.length);
}

bool FaultBoard::in_count(const Active& active, std::uint64_t number) {
  return number >= active.setting.skip &&
         (!active.setting.count || number - active.setting.skip < *active.setting.count);
}

std::vector<std::pair<std::string, bool>> FaultBoard::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, bool>> out;
  for (const auto& [fault, active] : active_) {
    out.emplace_back(format_fault(active.setting), in_time(active, age_()) && in_count(active, active.seen));
  }
  return out;
}

bool FaultBoard::hits(Active& active, std::uint64_t number, Millis now) const {
  if (!in_time(active, now)) {
    return false;
  }
  const bool counted = in_count(active, active.seen++);
  return counted &&
         draw(seed_, number, 100 + static_cast<std::uint64_t>(active.setting.fault)) < active.setting.chance;
}

RequestFaults FaultBoard::on_request(const PromptShape& shape, const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  const auto number = requests_++;
  const auto now = age_();
  RequestFaults out;
  for (auto& [fault, active] : active_) {
    if (!hits(active, number, now)) {
      continue;
    }
    // The order of the enumeration decides when several faults meet: the later one wins.
    switch (fault) {
      case Fault::kDegrade: {
        const auto spoil = degraded(active.setting, now, shape, seed_, number);
        out.spoil = spoil == Spoil::kNone ? out.spoil : spoil;
        break;
      }
      case Fault::kAfterStop:
        out.spoil = Spoil::kAfterStop;
        break;
      case Fault::kRepeat:
        out.spoil = Spoil::kRepeat;
        break;
      case Fault::kOtherText:
        out.spoil = Spoil::kOtherText;
        break;
      case Fault::kError500:
        out.spoil = Spoil::kHttp500;
        break;
      case Fault::kExit0:
      case Fault::kAbort:
        if (active.setting.counts_requests()) {
          out.end_process = fault;
        }
        break;
      case Fault::kSlow:
      case Fault::kStall:
      case Fault::kRefuse:
      case Fault::kIgnoreSigterm:
        break;
    }
  }
  if (out.spoil != Spoil::kNone && out.spoil != Spoil::kHttp500) {
    out.plan = garble_plan(out.spoil, tokenizer, last_reply_.empty() ? kNoOther : last_reply_, seed_, number);
  }
  return out;
}

void FaultBoard::remember_reply(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (text.empty() || text.size() > kLongestRemembered) {
    return;
  }
  last_reply_ = text;
}

bool FaultBoard::applies(Fault fault) const {
  const std::lock_guard lock(mutex_);
  const auto found = active_.find(fault);
  return found != active_.end() && in_time(found->second, age_()) &&
         in_count(found->second, found->second.seen);
}

Millis FaultBoard::pause() const {
  const std::lock_guard lock(mutex_);
  const auto found = active_.find(Fault::kSlow);
  const bool on =
      found != active_.end() && in_time(found->second, age_()) && in_count(found->second, found->second.seen);
  return on ? found->second.setting.pause : Millis(0);
}

std::optional<Fault> FaultBoard::due_end() const {
  const std::lock_guard lock(mutex_);
  for (const auto fault : {Fault::kExit0, Fault::kAbort}) {
    const auto found = active_.find(fault);
    if (found != active_.end() && !found->second.setting.counts_requests() &&
        in_time(found->second, age_())) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace fireboss::engine
