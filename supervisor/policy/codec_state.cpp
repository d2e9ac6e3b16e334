#include <utility>

#include "supervisor/policy/canonical.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/fields.h"
#include "supervisor/policy/json_fields.h"
#include "supervisor/policy/keys.h"

namespace fireboss::policy {
namespace {

constexpr std::string_view kDeciderVersion = "2";
constexpr const char* kVersionKey = "version";

}  // namespace

std::string_view decider_version() {
  return kDeciderVersion;
}

std::string encode(const State& state) {
  auto copy = state;
  auto object = to_json(copy).get_object();
  object[kVersionKey] = kStateVersion;
  return canonical(std::move(object));
}

Result<State> decode_state(std::string_view payload) {
  auto object = parse_object(payload);
  if (!object)
    return fail(object.error().in("state"));
  const auto* version = object->if_contains(kVersionKey);
  if (version == nullptr || !version->is_int64())
    return fail(ErrorCode::kCorrupt, "state: it has no version");
  if (version->get_int64() != kStateVersion)
    return fail(ErrorCode::kUnsupported, "state: version " + std::to_string(version->get_int64()) +
                                             " is not known to this Fireboss, which writes " +
                                             std::to_string(kStateVersion));
  object->erase(kVersionKey);
  auto state = from_json<State>(*object);
  return state ? std::move(state) : fail(state.error().in("state"));
}

std::string canonical_text(const Policy& policy) {
  boost::json::object out;
  for (const auto& key : keys()) {
    if (key.list != nullptr) {
      boost::json::array list;
      for (const auto& word : policy.*key.list)
        list.emplace_back(word);
      out[key.name] = std::move(list);
    } else if (const auto value = key.read(policy)) {
      if (key.type == KeyType::kWord)
        out[key.name] = key.words[static_cast<std::size_t>(*value)];
      else
        out[key.name] = *value;
    }
  }
  return canonical(std::move(out));
}

Result<Policy> decode_policy(std::string_view text) {
  const auto object = parse_object(text);
  if (!object)
    return fail(object.error().in("policy"));
  Policy policy;
  policy.max_age.reset();
  for (const auto& member : *object) {
    const auto* key = find_key(member.key());
    const auto name = std::string(member.key());
    if (key == nullptr)
      return fail(ErrorCode::kUnsupported, "policy: the key '" + name + "' is not known to this Fireboss");
    const auto& value = member.value();
    if (key->list != nullptr && value.is_array()) {
      std::vector<std::string> list;
      for (const auto& word : value.get_array())
        list.emplace_back(word.is_string() ? std::string_view(word.get_string()) : "");
      if (const auto set = set_key(policy, *key, std::move(list)); !set)
        return fail(set.error().in("policy: " + name));
    } else if (key->type == KeyType::kWord && value.is_string()) {
      if (const auto set = set_key(policy, *key, std::string(value.get_string())); !set)
        return fail(set.error().in("policy: " + name));
    } else if (key->assign != nullptr && key->type != KeyType::kWord && value.is_int64() &&
               value.get_int64() >= key->least && value.get_int64() <= key->most) {
      key->assign(policy, value.get_int64());
    } else {
      return fail(ErrorCode::kCorrupt, "policy: the key '" + name + "' is not what was written");
    }
  }
  return policy;
}

}  // namespace fireboss::policy
