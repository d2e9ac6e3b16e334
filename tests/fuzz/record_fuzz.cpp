// What stands in the record, a line each: KIND VERSION PAYLOAD, or state, decision or policy and a payload.
// Whatever is read is written again as the same; events are also decided on, one after the other.
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/policy/canonical.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/engine_state.h"
#include "supervisor/policy/history.h"
#include "supervisor/policy/replay.h"
#include "supervisor/policy/simulate.h"
#include "supervisor/policy/view.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::policy {
namespace {

using fuzz::hold;

std::string_view word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto out = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return out;
}

template <typename T>
void written_again(const T& value, std::string_view payload, Result<T> (*decode)(std::string_view),
                   std::string (*encode_it)(const T&)) {
  const auto text = encode_it(value);
  const auto again = decode(text);
  hold(again.has_value(), "what was written cannot be read");
  hold(encode_it(*again) == text, "what was written is read as something else");
  const auto object = parse_object(payload);
  hold(object.has_value(), "read, although it is no object");
}

class Reading {
 public:
  void line(std::string_view text) {
    const auto kind = word(text);
    if (kind == "state") {
      // Nobody but us writes one, and what holds between its parts is taken for granted: it is not decided
      // upon.
      if (const auto state = decode_state(text)) {
        written_again<State>(*state, text, decode_state, [](const State& x) { return encode(x); });
      }
    } else if (kind == "decision") {
      if (const auto decision = decode_decision(text)) {
        written_again<Decision>(*decision, text, decode_decision,
                                [](const Decision& x) { return encode(x); });
      }
    } else if (kind == "policy") {
      if (const auto policy = decode_policy(text)) {
        written_again<Policy>(*policy, text, decode_policy, canonical_text);
        // Every word of it counts: what is read is what was written, keys in another order apart.
        const auto object = parse_object(text);
        const auto known = parse_object(canonical_text(*policy));
        for (const auto& member : *object) {
          hold(known->at(member.key()) == member.value(), "a policy is read as another one");
        }
        policy_ = *policy;
      }
    } else {
      event(kind, text);
    }
  }

  void replay_all() {
    record_.policies["h"] = canonical_text(policy_);
    const auto report = replay(record_);
    hold(report || !report.error().message.empty(), "an error without words");
  }

 private:
  void event(std::string_view kind, std::string_view rest) {
    const auto digits = word(rest);
    int version = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), version);
    auto body = decode_event(kind, version, rest);
    record_.events.push_back({.id = static_cast<std::int64_t>(record_.events.size()) + 1,
                              .kind = std::string(kind),
                              .version = version,
                              .payload = std::string(rest),
                              .mono = state_.now});
    if (!body) {
      hold(!body.error().message.empty(), "an error without words");
      return;
    }
    const auto encoded = encode(*body);
    hold(encoded.kind == kind, "an event is written as another kind");
    const auto again = decode_event(encoded.kind, encoded.version, encoded.payload);
    hold(again && encode(*again).payload == encoded.payload, "an event is read as something else");
    const auto object = parse_object(rest);
    const auto known = parse_object(encoded.payload);
    for (const auto& member : *object) {
      const auto* value = known->if_contains(member.key());
      hold(value != nullptr && value->kind() == member.value().kind() &&
               (!value->is_int64() || *value == member.value()),
           "a field of an event is lost");
    }
    const auto stepped = step(policy_, state_, {.at = state_.now + Millis{1000}, .body = std::move(*body)});
    state_ = stepped.state;
    const auto timer = next_timer(policy_, state_);
    (void)timer;
    (void)canary_due(state_);
    (void)operation_step(policy_, state_);
  }

  Policy policy_;
  State state_;
  ReplayInput record_;
};

void check(std::string_view text) {
  Reading reading;
  while (!text.empty()) {
    const auto end = text.find('\n');
    reading.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  reading.replay_all();
}

// What the fixtures' histories leave in a record.
std::vector<std::string> seeds() {
  std::vector<std::string> out;
  std::size_t number = 0;
  for (const auto& file : fuzz::source_files("tests/fixtures/timelines", ".jsonl")) {
    const auto history = read_history(fuzz::read_source(file), "h", simulated_policy());
    const auto played = simulate(history);
    std::string text = "policy " + canonical_text(history.policy) + "\n";
    State state;
    std::string last;
    for (std::size_t i = 0; i < played.events.size() && text.size() < 4000; ++i) {
      const auto encoded = encode(played.events[i].body);
      text += encoded.kind + " " + std::to_string(encoded.version) + " " + encoded.payload + "\n";
      auto stepped = step(history.policy, std::move(state), played.events[i]);
      state = std::move(stepped.state);
      if (!stepped.decisions.empty()) {
        last = "decision " + encode(stepped.decisions.back()) + "\n";
      }
    }
    text += last;
    if (++number % 4 == 0) {
      text = "state " + encode(state) + "\n" + text;
    }
    out.push_back(text);
  }
  return out;
}

}  // namespace
}  // namespace fireboss::policy

int main(int argc, char** argv) {
  return fireboss::fuzz::run(
      {.name = "record",
       .check = fireboss::policy::check,
       .seeds = fireboss::policy::seeds(),
       .tokens =
           {"state ", "decision ", "policy ", "snapshot 1 ",
            "canary 1 {\"life\":\"a\",\"results\":[\"ok\"],\"variant\":\"chat\"}\n", "tick 1 {}\n",
            "timer 1 {\"name\":\"canary\"}\n", "hold 1 {\"length\":9223372036854775807,\"why\":\"\"}\n",
            "counters 1 {\"generation_tokens\":9223372036854775807,\"running\":1,\"scrape_failed\":false}\n",
            "life_started 1 {\"age\":0,\"cause\":\"boot\",\"life\":\"a\"}\n", "\"exit_status\":4294967296",
            "\"count\":9223372036854775807", "\"until\":-9223372036854775808", "\"at\":", "{\"version\":1}",
            "\"now\":", "suspended 1 {\"length\":9223372036854775807}\n",
            "daemon_started 1 {\"boot\":\"c\",\"restored\":false}\n"},
       .max_size = 16'384,
       .heap_fixed = std::size_t{16} << 20,
       .heap_per_byte = 512},
      argc, argv);
}
