#include "tests/fuzz/coverage.h"

#include <array>
#include <cstdint>

namespace fireboss::fuzz {
namespace {

// A step is the pair of the place and the one before it, hashed to a slot.
constexpr std::size_t kSlots = 1 << 18;
std::array<std::uint8_t, kSlots> seen_before, seen_now;
std::array<std::uint32_t, kSlots> touched;  // slots of seen_now that are set
std::size_t touched_count = 0, places = 0;
std::uintptr_t last = 0;

}  // namespace

void begin_coverage() {
  for (std::size_t i = 0; i < touched_count; ++i) {
    seen_now[touched[i]] = 0;
  }
  touched_count = 0;
  last = 0;
}

std::size_t new_places() {
  std::size_t found = 0;
  for (std::size_t i = 0; i < touched_count; ++i) {
    if (seen_before[touched[i]] == 0) {
      seen_before[touched[i]] = 1;
      ++found;
    }
  }
  places += found;
  return found;
}

std::size_t all_places() {
  return places;
}

// Called by the compiler's -fsanitize-coverage=trace-pc at the head of every basic block.
extern "C" void __sanitizer_cov_trace_pc();  // NOLINT(bugprone-reserved-identifier)
extern "C" void __sanitizer_cov_trace_pc() {
  // Relative, so that the same run is the same run wherever the program is loaded.
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                     reinterpret_cast<std::uintptr_t>(&begin_coverage);
  const auto slot = ((place * 0x9E3779B97F4A7C15U) >> 40 ^ last) % kSlots;
  last = slot >> 1;
  if (seen_now[slot] == 0) {
    seen_now[slot] = 1;
    touched[touched_count++] = static_cast<std::uint32_t>(slot);
  }
}

}  // namespace fireboss::fuzz
