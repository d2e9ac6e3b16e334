#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "supervisor/policy/fields.h"
#include "supervisor/policy/reduce.h"

namespace fireboss::policy {
namespace {

struct Shift {
  Millis delta;

  void operator()(const char*, MonoTime& at) const { at += delta; }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) const {
    if (value)
      (*this)(name, *value);
  }
  template <typename T>
  void operator()(const char* name, std::vector<T>& values) const {
    for (auto& value : values)
      (*this)(name, value);
  }
  template <typename K, typename T>
  void operator()(const char* name, std::map<K, T>& values) const {
    for (auto& [key, value] : values)
      (*this)(name, value);
  }
  template <typename T>
  void operator()(const char*, T& value) const {
    if constexpr (requires { fields(value, *this); })
      fields(value, *this);
  }
};

}  // namespace

bool other_boot(const State& state, const DaemonStarted& event) {
  return !state.boot.empty() && !event.boot.empty() && event.boot != state.boot;
}

void shift_times(State& state, Millis delta) {
  fields(state, Shift{delta});
}

}  // namespace fireboss::policy
