#pragma once
// What the policy says. A decision not to act is a decision too.
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "supervisor/policy/event.h"

namespace fireboss::policy {

enum class DecisionKind { kNoAction, kConfirm, kAlert, kDefer, kHold, kRecycle, kRestart, kRefuse };
std::string_view to_string(DecisionKind kind);

enum class Severity { kInfo, kWarning, kCritical };  // only of alerts

struct Decision {
  DecisionKind kind = DecisionKind::kNoAction;
  std::string reason{};                 // begins with the rule or the alert's kind: "R2 degraded: 3 of 4 ..."
  std::optional<MonoTime> until{};      // of a defer or a hold
  std::optional<std::string> by{};      // of a defer: traffic, lease:HOLDER, group, operation
  std::optional<DecisionKind> would{};  // in observe or under a hold: what it would have done
  // Not part of a written history's output; recorded all the same.
  std::optional<ActionKind> action{};  // of kRestart and kRecycle: which (a dead unit is started)
  std::string life{};                  // the life it is meant for
  std::string variant{};               // the variant whose failure caused it, "" if none
  Severity severity = Severity::kInfo;
  std::string alert_key{};  // of an alert: same key = same episode
  bool charged = false;     // of a restart: it counts against the budget (R4)
  // What it answers: "down", "dead", "roles", "stall", "degraded", "asked", "recycle", "operation" or
  // "dropped".
  std::string about{};
};

}  // namespace fireboss::policy
