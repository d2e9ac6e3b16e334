#include "supervisor/policy/keys.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include <boost/json.hpp>

#include "supervisor/policy/nearest.h"

namespace fireboss::policy {
namespace {

template <auto Member>
void assign(Policy& policy, std::int64_t value) {
  auto& field = policy.*Member;
  using Field = std::remove_cvref_t<decltype(field)>;
  if constexpr (std::is_same_v<Field, Millis> || std::is_same_v<Field, std::optional<Millis>>)
    field = Millis{value};
  else
    field = static_cast<Field>(value);
}

template <auto Member>
std::optional<std::int64_t> read(const Policy& policy) {
  const auto& field = policy.*Member;
  using Field = std::remove_cvref_t<decltype(field)>;
  if constexpr (std::is_same_v<Field, Millis>)
    return field.count();
  else if constexpr (std::is_same_v<Field, std::optional<Millis>>)
    return field ? std::optional{field->count()} : std::nullopt;
  else
    return static_cast<std::int64_t>(field);
}

constexpr std::int64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

constexpr std::array<std::string_view, 2> kRules{"k_of_n", "confirm"};
constexpr std::array<std::string_view, 2> kExhausted{"keep_serving", "hook"};
constexpr std::array<std::string_view, 2> kModes{"observe", "enforce"};
static_assert(static_cast<int>(Rule::kConfirm) == 1 && static_cast<int>(OnExhausted::kHook) == 1 &&
              static_cast<int>(Mode::kEnforce) == 1);

template <auto Member>
constexpr Key duration(std::string_view name, std::int64_t least, std::int64_t most,
                       std::string_view meaning) {
  return {name, KeyType::kDuration, least, most, {}, meaning, assign<Member>, read<Member>, nullptr};
}
template <auto Member>
constexpr Key integer(std::string_view name, std::int64_t least, std::int64_t most,
                      std::string_view meaning) {
  return {name, KeyType::kInteger, least, most, {}, meaning, assign<Member>, read<Member>, nullptr};
}
template <auto Member>
constexpr Key word(std::string_view name, std::span<const std::string_view> words, std::string_view meaning) {
  return {name, KeyType::kWord, 0, 0, words, meaning, assign<Member>, read<Member>, nullptr};
}
constexpr Key word_list(std::string_view name, std::vector<std::string> Policy::*list,
                        std::string_view meaning) {
  return {name, KeyType::kWordList, 0, 0, {}, meaning, nullptr, nullptr, list};
}

using P = Policy;
constexpr std::array kKeys{
    integer<&P::confirm_failures>("canary.confirm_failures", 1, 128,
                                  "With rule = \"confirm\": failed calls, of a run and its confirming run "
                                  "together, that mean degraded"),
    duration<&P::canary_every>("canary.every", kMinute, kDay, "Time between two scheduled canary runs"),
    duration<&P::evidence_max_age>("canary.evidence_max_age", kMinute, kDay,
                                   "Older failures only make a canary due; they restart nothing"),
    duration<&P::foreign_nonce_window>("canary.foreign_nonce_window", kHour, 7 * kDay,
                                       "How long a nonce of ours in somebody else's reply is recognised"),
    duration<&P::inconclusive_alert_after>("canary.inconclusive_alert_after", kMinute, 7 * kDay,
                                           "Without a conclusive run for that long: alert"),
    integer<&P::inconclusive_alert_runs>(
        "canary.inconclusive_alert_runs", 1, 1000,
        "That many inconclusive runs in a row, or kept waiting by a lease: alert"),
    integer<&P::k>("canary.k", 1, 64, "With rule = \"k_of_n\": failed calls of one run that mean degraded"),
    integer<&P::max_confirms>("canary.max_confirms", 0, 10, "Confirming runs per scheduled run at most"),
    integer<&P::n>("canary.n", 1, 64, "Calls of one canary run"),
    word<&P::rule>(
        "canary.rule", kRules,
        "k_of_n: each run is judged by itself; confirm: a failed call makes one confirming run due "
        "and both are judged together"),
    word_list("canary.variants", &P::variants, "Variants of the question; runs take them in turn"),
    duration<&P::maintenance_grace>("maintenance_grace", kMinute, 30 * kDay,
                                    "Stopped on purpose for longer: a reminder"),
    word<&P::mode>("mode", kModes,
                   "observe: decide and record, touch nothing; enforce: act (refused until calibrated)"),
    duration<&P::recycle_check_every>("recycle.check_every", 10 * kSecond, kDay,
                                      "How often it is checked whether a recycle is due"),
    duration<&P::drain_recycle>("recycle.drain", 0, kDay,
                                "How long requests in flight may finish before a recycle"),
    duration<&P::max_age>("recycle.max_age", kMinute, 365 * kDay,
                          "A life older than this is restarted at a quiet moment; not set: never"),
    duration<&P::overdue_after>("recycle.overdue_after", kMinute, 30 * kDay,
                                "A due recycle that is blocked for longer: alert, once a day"),
    integer<&P::budget>("restart.budget", 0, 100, "Restarts that did not help, per budget_window, at most"),
    duration<&P::budget_window>("restart.budget_window", kMinute, 30 * kDay, "Window of the restart budget"),
    duration<&P::census_confirm>("restart.census_confirm", kSecond, 10 * kMinute,
                                 "A process role missing in two looks that far apart is dead"),
    duration<&P::dead_grace>("restart.dead_grace", 3 * kSecond, 10 * kMinute,
                             "How long systemd's own restart of a dead unit is awaited"),
    duration<&P::drain_restart>("restart.drain", 0, kHour,
                                "How long requests in flight may finish before a restart"),
    duration<&P::job_deadline>("restart.job_deadline", 10 * kSecond, kDay,
                               "A restart job that takes longer: page"),
    word<&P::on_exhausted>("restart.on_exhausted", kExhausted,
                           "When the budget is used up; keep_serving: it serves on, and pages; hook: "
                           "refused, there are no hooks yet"),
    duration<&P::ready_deadline>("restart.ready_deadline", 10 * kSecond, kDay,
                                 "Not ready that long after the start: page; nothing is stopped"),
    integer<&P::recurring_at>("restart.recurring_at", 1, 100,
                              "The recurring alert is raised at this many restarts that helped"),
    duration<&P::useful_life>("restart.useful_life", kMinute, 7 * kDay,
                              "A restart followed by a clean life of that length is refunded"),
    duration<&P::verify_deadline>("restart.verify_deadline", 10 * kSecond, kDay,
                                  "No conclusive canary that long after a restart: page"),
    duration<&P::stall_after>("stall.after", 10 * kSecond, kDay,
                              "Work present and every counter frozen for that long: stalled"),
    duration<&P::quiet_for>("traffic.quiet_for", kSecond, kDay,
                            "No token and nothing in flight for that long: no traffic"),
    integer<&P::quiet_tokens>("traffic.quiet_tokens", 0, 1'000'000'000,
                              "Tokens within quiet_for that do not count as traffic (other monitors' pings)"),
};
static_assert(std::is_sorted(kKeys.begin(), kKeys.end(),
                             [](const Key& a, const Key& b) { return a.name < b.name; }));

std::string quoted_list(std::span<const std::string_view> words) {
  std::string out;
  for (const auto w : words)
    out += (out.empty() ? "\"" : ", \"") + std::string(w) + "\"";
  return out;
}

std::string range_text(const Key& key) {
  const auto text = [&](std::int64_t value) {
    return key.type == KeyType::kDuration ? format_duration(Millis{value}) : std::to_string(value);
  };
  return text(key.least) + " to " + text(key.most);
}

Result<void> set_number(Policy& policy, const Key& key, std::int64_t value, const std::string& written) {
  if (value < key.least || value > key.most)
    return fail(ErrorCode::kInvalid, written + " is out of range: " + range_text(key) + " is allowed");
  key.assign(policy, value);
  return {};
}

Result<void> set_words(Policy& policy, const Key& key, const KeyValue& value) {
  const auto* words = std::get_if<std::vector<std::string>>(&value);
  if (words == nullptr)
    return fail(ErrorCode::kInvalid, "must be a list of texts");
  if (words->empty())
    return fail(ErrorCode::kInvalid, "must not be empty");
  for (std::size_t i = 0; i < words->size(); ++i) {
    if ((*words)[i].empty())
      return fail(ErrorCode::kInvalid, "has an empty entry");
    if (std::find(words->begin(), words->begin() + static_cast<std::ptrdiff_t>(i), (*words)[i]) !=
        words->begin() + static_cast<std::ptrdiff_t>(i))
      return fail(ErrorCode::kInvalid, "names '" + (*words)[i] + "' twice");
  }
  policy.*key.list = *words;
  return {};
}

Result<KeyValue> value_from_json(const boost::json::value& value) {
  if (value.is_string())
    return KeyValue{std::string(value.get_string())};
  if (value.is_int64())
    return KeyValue{value.get_int64()};
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const auto& item : value.get_array()) {
      if (!item.is_string())
        return fail(ErrorCode::kInvalid, "must be a list of texts");
      words.emplace_back(item.get_string());
    }
    return KeyValue{std::move(words)};
  }
  return fail(ErrorCode::kInvalid, "must be a text, a whole number or a list of texts");
}

void lay_over(Policy& policy, const boost::json::object& object, const std::string& prefix,
              std::string& mistakes) {
  const auto mistake = [&](const std::string& text) { mistakes += (mistakes.empty() ? "" : "; ") + text; };
  for (const auto& member : object) {
    const auto name = prefix + std::string(member.key());
    const auto is_table = std::any_of(kKeys.begin(), kKeys.end(),
                                      [&](const Key& key) { return key.name.starts_with(name + "."); });
    if (is_table && member.value().is_object()) {
      lay_over(policy, member.value().get_object(), name + ".", mistakes);
      continue;
    }
    const auto* key = find_key(name);
    if (key == nullptr) {
      const auto near = nearest_key(name);
      mistake("unknown key '" + name + "'" + (near ? " (did you mean '" + std::string(*near) + "'?)" : ""));
      continue;
    }
    const auto done =
        value_from_json(member.value()).and_then([&](const KeyValue& v) { return set_key(policy, *key, v); });
    if (!done)
      mistake(name + ": " + done.error().message);
  }
}

}  // namespace

std::span<const Key> keys() {
  return kKeys;
}

const Key* find_key(std::string_view name) {
  const auto* const found =
      std::find_if(kKeys.begin(), kKeys.end(), [name](const Key& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : found;
}

std::optional<std::string_view> nearest_key(std::string_view name) {
  std::array<std::string_view, kKeys.size()> names;
  std::transform(kKeys.begin(), kKeys.end(), names.begin(), [](const Key& key) { return key.name; });
  return nearest(name, names);
}

Result<void> set_key(Policy& policy, const Key& key, const KeyValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  switch (key.type) {  // no default: a new type must be read here
    case KeyType::kDuration: {
      if (text == nullptr)
        return fail(ErrorCode::kInvalid, "must be a duration as text, such as \"90s\" or \"4h\"");
      return parse_duration(*text).and_then(
          [&](Millis ms) { return set_number(policy, key, ms.count(), *text); });
    }
    case KeyType::kInteger: {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (number == nullptr)
        return fail(ErrorCode::kInvalid, "must be a whole number");
      return set_number(policy, key, *number, std::to_string(*number));
    }
    case KeyType::kWord: {
      const auto found =
          text == nullptr ? key.words.end() : std::find(key.words.begin(), key.words.end(), *text);
      if (found == key.words.end())
        return fail(ErrorCode::kInvalid, "must be one of " + quoted_list(key.words));
      key.assign(policy, found - key.words.begin());
      return {};
    }
    case KeyType::kWordList:
      return set_words(policy, key, value);
  }
  return fail(ErrorCode::kInternal, "a key of no type");
}

std::string value_text(const Policy& policy, const Key& key) {
  if (key.type == KeyType::kWordList) {
    std::string out;
    for (const auto& w : policy.*key.list)
      out += (out.empty() ? "" : ", ") + w;
    return out;
  }
  const auto value = key.read(policy);
  if (!value)
    return "";
  switch (key.type) {
    case KeyType::kDuration:
      return format_duration(Millis{*value});
    case KeyType::kWord:
      return std::string(key.words[static_cast<std::size_t>(*value)]);
    case KeyType::kInteger:
    case KeyType::kWordList:
      break;
  }
  return std::to_string(*value);
}

std::vector<Conflict> conflicts(const Policy& policy) {
  std::vector<Conflict> out;
  const auto number = [](int value) { return std::to_string(value); };
  if (policy.rule == Rule::kKOfN && policy.k > policy.n)
    out.push_back({"canary.k", "k = " + number(policy.k) + " is more than n = " + number(policy.n) +
                                   ": a run of n calls can never have k failures"});
  if (policy.rule == Rule::kConfirm && policy.confirm_failures > 2 * policy.n)
    out.push_back({"canary.confirm_failures", "confirm_failures = " + number(policy.confirm_failures) +
                                                  " is more than the " + number(2 * policy.n) +
                                                  " calls of a run and its confirming run"});
  if (policy.rule == Rule::kConfirm && policy.max_confirms < 1)
    out.push_back({"canary.max_confirms", "rule = \"confirm\" needs max_confirms of at least 1"});
  if (policy.on_exhausted == OnExhausted::kHook)
    out.push_back(
        {"restart.on_exhausted", "= \"hook\": hooks are not supported yet; leave it at keep_serving"});
  if (policy.useful_life > policy.budget_window)
    out.push_back({"restart.useful_life",
                   "useful_life = " + format_duration(policy.useful_life) +
                       " is longer than budget_window = " + format_duration(policy.budget_window) +
                       ": no restart could ever be refunded in time"});
  return out;
}

Result<Policy> policy_from_json(const boost::json::object& object, Policy base) {
  std::string mistakes;
  lay_over(base, object, "", mistakes);
  if (mistakes.empty())
    for (const auto& conflict : conflicts(base))
      mistakes += (mistakes.empty() ? "" : "; ") + std::string(conflict.key) + ": " + conflict.message;
  if (!mistakes.empty())
    return fail(ErrorCode::kInvalid, mistakes);
  return base;
}

}  // namespace fireboss::policy
