#pragma once
// What one engine's events come to since this firebossd began: the counters of the metrics page. Pure; not
// part of the record, which has the same and more for good.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/judge.h"

namespace fireboss::app {

// "pass", "fail", "suspect" (too few failures to say, too many unknown), "inconclusive".
[[nodiscard]] std::string_view outcome_name(policy::RunGrade grade);

struct VariantTally {
  std::map<policy::RunGrade, std::int64_t> runs{};
  std::map<policy::RunGrade, MonoTime> last_run{};
  std::int64_t passed = 0, failed = 0, inconclusive = 0;  // calls
  // Calls that did not pass, by verdict or by why nothing could be said. Both are words of this program; the
  // bound keeps it so whatever a later one invents.
  std::map<std::string, std::int64_t> verdicts{};
};

class EngineTally {
 public:
  static constexpr std::size_t kMostVerdicts = 64;  // of one variant; further ones are "other"

  void count(const policy::Policy& policy, const policy::State& before, const policy::Event& event,
             const policy::Stepped& stepped);

  [[nodiscard]] const std::map<std::string, VariantTally>& variants() const { return variants_; }
  [[nodiscard]] const std::map<policy::DecisionKind, std::int64_t>& decisions() const { return decisions_; }
  [[nodiscard]] const std::map<policy::Severity, std::int64_t>& alerts() const { return alerts_; }
  using Closed = std::pair<policy::ActionKind, policy::OperationEnd>;
  [[nodiscard]] const std::map<Closed, std::int64_t>& operations() const { return operations_; }

 private:
  void count_run(const policy::Policy& policy, MonoTime at, const policy::CanaryResult& result);

  std::map<std::string, VariantTally> variants_;
  std::map<policy::DecisionKind, std::int64_t> decisions_;
  std::map<policy::Severity, std::int64_t> alerts_;
  std::map<Closed, std::int64_t> operations_;
};

}  // namespace fireboss::app
