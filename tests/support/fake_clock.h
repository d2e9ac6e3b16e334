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
  // The machine was started anew and has been up for `up`; by the wall no time was lost.
  void reboot(std::string boot_id, Millis up) {
    wall_step_ += now_ - up;
    now_ = up;
    boot_id_ = std::move(boot_id);
  }

 private:
  Millis now_{1'000'000}, slept_{0}, wall_step_{0};
  std::string boot_id_ = "boot-1";
};

}  // namespace fireboss::testing
