#include "supervisor/policy/names.h"

#include <array>
#include <string>
#include <utility>

namespace fireboss::policy {
namespace {

// Words in the order of the enum, beginning with 0.
template <typename Enum>
struct Words;

template <>
struct Words<LifeCause> {
  static constexpr std::array<std::string_view, 5> kAll{"unknown", "firebossd", "systemd", "operator",
                                                        "boot"};
  static constexpr auto kLast = LifeCause::kBoot;
};
template <>
struct Words<Purpose> {
  static constexpr std::array<std::string_view, 3> kAll{"scheduled", "confirm", "verify"};
  static constexpr auto kLast = Purpose::kVerify;
};
template <>
struct Words<ActionKind> {
  static constexpr std::array<std::string_view, 3> kAll{"restart", "recycle", "start"};
  static constexpr auto kLast = ActionKind::kStart;
};
template <>
struct Words<Step> {
  static constexpr std::array<std::string_view, 8> kAll{"evidence", "lease", "pre_stop", "drain",
                                                        "job",      "ready", "verify",   "post_ready"};
  static constexpr auto kLast = Step::kPostReady;
};
template <>
struct Words<StepResult> {
  static constexpr std::array<std::string_view, 4> kAll{"done", "failed", "timeout", "canceled"};
  static constexpr auto kLast = StepResult::kCanceled;
};
template <>
struct Words<Mode> {
  static constexpr std::array<std::string_view, 2> kAll{"observe", "enforce"};
  static constexpr auto kLast = Mode::kEnforce;
};
template <>
struct Words<OwnFaultKind> {
  static constexpr std::array<std::string_view, 5> kAll{"database_locked", "disk_full", "bus_lost",
                                                        "inspection_blocked", "record_failed"};
  static constexpr auto kLast = OwnFaultKind::kRecordFailed;
};
template <>
struct Words<LifeEnd> {
  static constexpr std::array<std::string_view, 5> kAll{"alive", "death", "on_purpose", "ours", "replaced"};
  static constexpr auto kLast = LifeEnd::kReplaced;
};
template <>
struct Words<OperationEnd> {
  static constexpr std::array<std::string_view, 4> kAll{"clean", "not_helped", "failed", "abandoned"};
  static constexpr auto kLast = OperationEnd::kAbandoned;
};
template <>
struct Words<Severity> {
  static constexpr std::array<std::string_view, 3> kAll{"info", "warning", "critical"};
  static constexpr auto kLast = Severity::kCritical;
};
template <>
struct Words<DecisionKind> {
  static constexpr std::array<std::string_view, 8> kAll{"no_action", "confirm", "alert",   "defer",
                                                        "hold",      "recycle", "restart", "refuse"};
  static constexpr auto kLast = DecisionKind::kRefuse;
};

template <typename Enum>
constexpr std::string_view word_of(Enum value) {
  static_assert(Words<Enum>::kAll.size() == static_cast<std::size_t>(Words<Enum>::kLast) + 1);
  return Words<Enum>::kAll.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view to_string(LifeCause value) {
  return word_of(value);
}
std::string_view to_string(Purpose value) {
  return word_of(value);
}
std::string_view to_string(ActionKind value) {
  return word_of(value);
}
std::string_view to_string(Step value) {
  return word_of(value);
}
std::string_view to_string(StepResult value) {
  return word_of(value);
}
std::string_view to_string(Mode value) {
  return word_of(value);
}
std::string_view to_string(OwnFaultKind value) {
  return word_of(value);
}
std::string_view to_string(LifeEnd value) {
  return word_of(value);
}
std::string_view to_string(OperationEnd value) {
  return word_of(value);
}
std::string_view to_string(Severity value) {
  return word_of(value);
}
std::string_view to_string(DecisionKind value) {
  return word_of(value);
}

template <typename Enum>
std::optional<Enum> from_word(std::string_view word) {
  for (std::size_t i = 0; i < Words<Enum>::kAll.size(); ++i)
    if (Words<Enum>::kAll[i] == word)
      return static_cast<Enum>(i);
  return std::nullopt;
}

template <typename Enum>
std::string words_of() {
  std::string out;
  for (const auto word : Words<Enum>::kAll)
    out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

template std::optional<LifeCause> from_word<LifeCause>(std::string_view);
template std::string words_of<LifeCause>();
template std::optional<Purpose> from_word<Purpose>(std::string_view);
template std::string words_of<Purpose>();
template std::optional<ActionKind> from_word<ActionKind>(std::string_view);
template std::string words_of<ActionKind>();
template std::optional<Step> from_word<Step>(std::string_view);
template std::string words_of<Step>();
template std::optional<StepResult> from_word<StepResult>(std::string_view);
template std::string words_of<StepResult>();
template std::optional<Mode> from_word<Mode>(std::string_view);
template std::string words_of<Mode>();
template std::optional<OwnFaultKind> from_word<OwnFaultKind>(std::string_view);
template std::string words_of<OwnFaultKind>();
template std::optional<LifeEnd> from_word<LifeEnd>(std::string_view);
template std::string words_of<LifeEnd>();
template std::optional<OperationEnd> from_word<OperationEnd>(std::string_view);
template std::string words_of<OperationEnd>();
template std::optional<Severity> from_word<Severity>(std::string_view);
template std::string words_of<Severity>();
template std::optional<DecisionKind> from_word<DecisionKind>(std::string_view);
template std::string words_of<DecisionKind>();

}  // namespace fireboss::policy
