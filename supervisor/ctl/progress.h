#pragma once
#include <cstdio>
#include <string>

#include "base/time.h"
#include "supervisor/ports/clock.h"

namespace fireboss::ctl {

// A line on a terminal that is written over once a second, so that long work does not look like a hang. Gone
// when the work is.
class Progress {
 public:
  Progress(const ports::Clock& clock, bool shown, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether a second has passed: only then is the text worth making.
  [[nodiscard]] bool due() const;
  void print(const std::string& text);

 private:
  const ports::Clock& clock_;
  bool shown_, written_ = false;
  std::FILE* out_;
  MonoTime last_;
};

// Standard error is a terminal, and what the verb prints meanwhile does not go to one.
[[nodiscard]] bool progress_can_be_seen(bool prints_meanwhile);

}  // namespace fireboss::ctl
