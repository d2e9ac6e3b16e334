#include "supervisor/adapters/clock/system_clock.h"

#include <ctime>
#include <fstream>

namespace fireboss::clock {
namespace {

Millis read_clock(clockid_t id) {
  timespec t{};
  // cannot fail: the three ids used here exist on every kernel that systemd 252 runs on
  clock_gettime(id, &t);
  return Millis{std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000};
}

}  // namespace

SystemClock::SystemClock(const std::filesystem::path& proc_root) {
  std::ifstream file(proc_root / "sys/kernel/random/boot_id");
  std::getline(file, boot_id_);
}

MonoTime SystemClock::mono() const {
  return MonoTime{read_clock(CLOCK_MONOTONIC)};
}
MonoTime SystemClock::boot() const {
  return MonoTime{read_clock(CLOCK_BOOTTIME)};
}
WallTime SystemClock::wall() const {
  return WallTime{read_clock(CLOCK_REALTIME)};
}

}  // namespace fireboss::clock
