#pragma once
#include <filesystem>

#include "supervisor/ports/clock.h"

namespace fireboss::clock {

// The kernel's clocks. The boot id is read once, from `proc_root`/sys/kernel/random/boot_id; where that
// cannot be read it is empty, which compares unequal to every recorded one: ages of an unknown boot are not
// trusted.
class SystemClock final : public ports::Clock {
 public:
  explicit SystemClock(const std::filesystem::path& proc_root = "/proc");

  MonoTime mono() const override;
  MonoTime boot() const override;
  WallTime wall() const override;
  std::string boot_id() const override { return boot_id_; }

 private:
  std::string boot_id_;
};

}  // namespace fireboss::clock
