// fireboss-engine: a small inference engine with an OpenAI-style HTTP API.
#include <csignal>
#include <exception>
#include <optional>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "engine/engine.h"
#include "engine/options.h"

int main(int argc, char** argv) {
  std::optional<int> exit_code;
  const auto options = fireboss::engine::parse_options(argc, argv, exit_code);
  if (exit_code) {
    return *exit_code;
  }
  std::signal(SIGPIPE, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("engine"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e [%l] %v");
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  try {
    return fireboss::engine::run_engine(options);
  } catch (const std::exception& error) {
    spdlog::critical("cannot go on: {}", error.what());
    return 1;
  }
}
