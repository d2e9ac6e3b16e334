#pragma once
// Looks at a unit's processes thinned to their edges (design sections 3.1 and 6, R6): a required role is
// missing, is still missing at the second look, is back. Pure: fed by the shell.
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/event.h"

namespace fireboss::app {

class RoleCensus {
 public:
  // A role is there while some process has it in its command line. `confirm`: how long after a miss the
  // second look is.
  RoleCensus(std::vector<std::string> roles, Millis confirm);

  // Nothing to look for without roles.
  [[nodiscard]] bool configured() const { return !roles_.empty(); }

  // The event that this look makes, if it is an edge. `commands`: of every process of the unit.
  std::optional<policy::Census> on_look(const std::string& life, const std::vector<std::string>& commands,
                                        MonoTime now);
  // When to look next, counted from the last look.
  [[nodiscard]] Millis next_look() const;

 private:
  std::vector<std::string> roles_;
  Millis confirm_;
  std::string life_;
  std::vector<std::string> missing_;  // as last told
  MonoTime since_{};                  // ... first
  bool confirmed_ = false;            // ... a second time
};

}  // namespace fireboss::app
