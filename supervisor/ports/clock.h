#pragma once
#include <string>

#include "base/time.h"

namespace fireboss::ports {

// The only place from which time is read. All three may be called at any moment and never fail.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime mono() const = 0;  // CLOCK_MONOTONIC
  virtual MonoTime boot() const = 0;  // CLOCK_BOOTTIME: goes on in suspend
  virtual WallTime wall() const = 0;  // for people only
  virtual std::string boot_id() const = 0;
};

}  // namespace fireboss::ports
