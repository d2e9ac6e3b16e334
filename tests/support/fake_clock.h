#pragma once
#include <string>

#include "supervisor/ports/clock.h"

namespace fireboss::testing {

// Stands still until it is moved.
class FakeClock final : public ports::Clock {
 public:
  MonoTime mono() const override { return MonoTime{now_}; }
  MonoTime boot() const override { return MonoTime{now_ + slept_}; }
  WallTime wall() const override { return WallTime{Millis{1'786'431'458'000} + now_ + wall_step_}; }
  std::string boot_id() const override { return boot_id_; }

  void advance(Millis by) { now_ += by; }
  void suspend(Millis length) { slept_ += length; }
  void step_wall(Millis by) { wall_step_ += by; }

 private:
  Millis now_{1'000'000}, slept_{0}, wall_step_{0};
  std::string boot_id_ = "boot-1";
};

}  // namespace fireboss::testing
