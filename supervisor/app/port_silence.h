#pragma once
// R5 where the engine tells no counters: whether its port sent anything since a canary run timed out whole.
// Pure: fed with the kernel's tally of payload bytes (ports::Sockets::traffic), told only at its edges: once
// that it moved, once that it stood still until the next run timed out too.
#include <cstdint>
#include <optional>

#include "supervisor/policy/event.h"

namespace fireboss::app {

class PortSilence {
 public:
  // After every canary run. `timed_out_runs`: how many in a row timed out whole, this one included.
  // `bytes_sent`: the tally now, none if it cannot be read: then nothing is known.
  std::optional<policy::PortBytes> on_run(std::int64_t timed_out_runs,
                                          std::optional<std::uint64_t> bytes_sent);
  // Between two such runs, as often as is cheap: what a connection sent that came and went between two looks
  // is not in the tally.
  std::optional<policy::PortBytes> on_look(std::optional<std::uint64_t> bytes_sent);
  // A run timed out, and nothing has moved since.
  [[nodiscard]] bool watching() const { return since_.has_value(); }
  // A new life, or the engine tells its counters after all.
  void reset() { *this = PortSilence(); }

 private:
  std::optional<std::uint64_t> since_;
  bool told_ = false;
};

}  // namespace fireboss::app
