#pragma once
#include <string_view>

namespace fireboss::probes {

// How urgent a log line is by its own words, as a syslog priority: 2 critical, 3 error, 4 warning, 6 anything
// else. Engines write to stdout and stderr, so that journald files every line of theirs under 6 whatever it
// says. Known are the spellings of vLLM, SGLang, uvicorn, llama.cpp, glog (torch, NCCL) and Python's and
// glibc's last words.
[[nodiscard]] int line_level(std::string_view line);

}  // namespace fireboss::probes
