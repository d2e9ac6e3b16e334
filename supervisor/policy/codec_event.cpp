#include <array>
#include <utility>

#include "supervisor/policy/canonical.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/event_fields.h"
#include "supervisor/policy/json_fields.h"
#include "supervisor/policy/lift.h"

namespace fireboss::policy {
namespace {

// Kind and version of each event, in the order of EventBody.
struct Kind {
  std::string_view name;
  int version = 1;
};
constexpr std::array<Kind, std::variant_size_v<EventBody>> kKinds{
    {{"life_started"},   {"ready"},      {"life_ended"}, {"canary"},         {"counters"},  {"port_bytes"},
     {"lease"},          {"census"},     {"guard"},      {"signature"},      {"hold"},      {"resume"},
     {"recycle"},        {"restart"},    {"mode"},       {"action_outcome"}, {"own_fault"}, {"suspended"},
     {"daemon_started"}, {"configured"}, {"calibrated"}, {"canary_begun"},   {"timer"},     {"tick"}}};
static_assert(std::is_same_v<std::variant_alternative_t<0, EventBody>, LifeStarted> &&
              std::is_same_v<std::variant_alternative_t<12, EventBody>, OperatorRecycle> &&
              std::is_same_v<std::variant_alternative_t<23, EventBody>, Tick>);

// None yet: every kind is at its first version.
constexpr std::array<Lift, 0> kLifts{};

template <std::size_t I = 0>
Result<EventBody> decode_as(std::size_t index, const boost::json::object& payload) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    if (index != I)
      return decode_as<I + 1>(index, payload);
    return from_json<std::variant_alternative_t<I, EventBody>>(payload).map(
        [](auto event) { return EventBody(std::move(event)); });
  } else {
    return fail(ErrorCode::kInternal, "no such event");
  }
}

}  // namespace

Encoded encode(const EventBody& body) {
  auto copy = body;
  const auto& kind = kKinds.at(body.index());
  return {.kind = std::string(kind.name),
          .version = kind.version,
          .payload = canonical(std::visit([](auto& event) { return to_json(event); }, copy))};
}

Result<EventBody> decode_event(std::string_view kind, int version, std::string_view payload) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds.at(i).name != kind)
      continue;
    auto object = parse_object(payload);
    if (!object)
      return fail(object.error().in("event " + std::string(kind)));
    auto lifted = lift(kLifts, kind, version, kKinds.at(i).version, std::move(*object));
    if (!lifted)
      return fail(lifted.error());
    auto event = decode_as(i, *lifted);
    return event ? std::move(event) : fail(event.error().in("event " + std::string(kind)));
  }
  return fail(ErrorCode::kUnsupported, "an event of kind '" + std::string(kind) + "' is not known");
}

std::string encode(const Decision& decision) {
  auto copy = decision;
  return canonical(to_json(copy));
}

Result<Decision> decode_decision(std::string_view payload) {
  auto object = parse_object(payload);
  if (!object)
    return fail(object.error().in("decision"));
  auto decision = from_json<Decision>(*object);
  return decision ? std::move(decision) : fail(decision.error().in("decision"));
}

}  // namespace fireboss::policy
