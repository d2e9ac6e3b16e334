#pragma once
// What the followed lines are signs of, thinned to edges (design section 3.1): the first line of a class in a
// life is told at once, then only when their number has doubled. Pure: fed by the shell.
//
// Whose word counts: a kernel signature only from the kernel and a systemd one only from PID 1, everything
// else only from the unit itself, so that nobody forges a hardware fault by having a prompt logged. A kernel
// line that names a process is this engine's if that process is, or was in this life; an Xid of another
// process is nobody's business here. A hardware fault that names no process concerns everybody: it is told
// without a life.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/journal/signatures.h"
#include "supervisor/policy/event.h"
#include "supervisor/ports/journal.h"

namespace fireboss::app {

class JournalWatch {
 public:
  using Events = std::vector<policy::Signature>;

  // `signatures` outlives it.
  JournalWatch(const probes::SignatureSet& signatures, std::string unit);

  // The life whose lines follow. An empty one (the unit is down) is no news: what is still told belongs to
  // the last.
  void begin(const std::string& life);

  Events on_line(const ports::JournalLine& line);

  // Lines wait because they name a process that is not known: systemd is to be asked for the unit's.
  [[nodiscard]] bool wants_processes() const { return !waiting_.empty(); }
  // Every process of the unit at this moment. What waits is settled: the process is ours or it is not.
  Events on_processes(const std::vector<std::uint32_t>& pids);
  // How many such lines came while too many were waiting and were let go, since it was last asked.
  [[nodiscard]] std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }
  // One that is known to be the unit's, from elsewhere (its main process).
  void know_process(std::uint32_t pid);

 private:
  struct Count {
    std::int64_t seen = 0, told = 0;
  };
  struct Life {
    std::string id;
    std::set<std::uint32_t> pids;  // seen in it, gone ones too; bounded
    std::map<std::string, Count> counts;
  };
  struct Waiting {
    std::uint32_t pid = 0;
    std::set<std::string> classes;
    bool of_others = false;  // tells something only if the process is not ours
  };
  struct Found {
    std::set<std::string> classes;
    std::vector<Waiting> by_process;
  };

  Found look_at(std::string_view text, const ports::JournalLine& line) const;
  void count(Events& events, Life& life, const std::string& signature_class, const std::string& told_life);
  void settle(Events& events, const Waiting& waiting);
  Life* life_of(std::uint32_t pid);

  const probes::SignatureSet& signatures_;
  std::string unit_;
  Life now_, before_;
  std::deque<Waiting> waiting_;  // bounded, oldest first
  std::uint64_t dropped_ = 0;
};

}  // namespace fireboss::app
