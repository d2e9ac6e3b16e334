#pragma once
// Everything between the command line and the exit status: loads the model, serves, drains, ends.
#include "engine/options.h"

namespace fireboss::engine {

// The exit status: 0 after SIGTERM or SIGINT, 1 when it could not start.
[[nodiscard]] int run_engine(const Options& options);

}  // namespace fireboss::engine
