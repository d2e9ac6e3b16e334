#include "supervisor/ctl/progress.h"

#include <unistd.h>

namespace fireboss::ctl {
namespace {

constexpr Millis kEvery{1'000};

}  // namespace

Progress::Progress(const ports::Clock& clock, bool shown, std::FILE* out)
    : clock_(clock), shown_(shown), out_(out), last_(clock.mono()) {}

Progress::~Progress() {
  if (written_)
    std::fputs("\r\033[K", out_);
}

bool Progress::due() const {
  return shown_ && clock_.mono() - last_ >= kEvery;
}

void Progress::print(const std::string& text) {
  last_ = clock_.mono();
  std::fprintf(out_, "\r%s\033[K", text.c_str());
  std::fflush(out_);
  written_ = true;
}

bool progress_can_be_seen(bool prints_meanwhile) {
  return isatty(STDERR_FILENO) == 1 && !(prints_meanwhile && isatty(STDOUT_FILENO) == 1);
}

}  // namespace fireboss::ctl
