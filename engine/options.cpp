#include "engine/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fireboss::engine {

Options parse_options(int argc, const char* const* argv, std::optional<int>& exit_code) {
  Options options;
  std::vector<std::string> faults;
  std::string drain = format_duration(options.drain);
  std::string idle = "75s";
  std::string max_body = format_size(options.http.max_body);
  CLI::App app("A small LLM inference engine: serves one GGUF model over an OpenAI-style HTTP API.",
               "fireboss-engine");
  app.set_version_flag("--version", FIREBOSS_VERSION);
  app.add_option("--model", options.model, "GGUF model file (Llama architecture, F32 or F16)")->required();
  app.add_option("--model-name", options.model_names, "name that requests may give; repeatable");
  app.add_option("--host", options.http.host, "IP address to listen on")->capture_default_str();
  app.add_option("--port", options.http.port, "port; 0 takes any free one")->capture_default_str();
  app.add_option("--port-file", options.port_file, "file to write the port to, once requests are served");
  app.add_option("--ctx", options.context, "most tokens of prompt and reply; 0: what the model was made for")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--slots", options.slots, "requests computed at a time, each with its cache")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--queue", options.queue, "requests that may wait; more are answered 429")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--chunk", options.chunk, "prompt tokens computed in one step")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads that compute")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--temperature", options.temperature, "of requests that do not give one; 0 is greedy")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--api-key-file", options.api_key_file, "file with the key that requests must carry");
  app.add_option("--max-body", max_body, "largest request body")->capture_default_str();
  app.add_option("--idle-timeout", idle, "for a connection without a complete request header")
      ->capture_default_str();
  app.add_option("--drain", drain, "time for running requests after SIGTERM")->capture_default_str();
  app.add_option("--implementation", options.implementation, "kernels to use: cpu-avx2, cpu-generic");
  app.add_option("--log-level", options.log_level)
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_flag("--enable-faults", options.enable_faults, "allow faults, for drills only");
  app.add_option("--fault", faults, "fault to switch on, NAME[=KEY=VALUE,...]; repeatable");
  app.add_option("--fault-seed", options.fault_seed, "of all chances of the faults")->capture_default_str();
  try {
    app.parse(argc, argv);
    for (const auto& text : faults) {
      auto setting = parse_fault(text);
      if (!setting) {
        throw CLI::ValidationError("--fault", setting.error().message);
      }
      options.faults.push_back(*setting);
    }
    if (!faults.empty() && !options.enable_faults) {
      throw CLI::ValidationError("--fault", "needs --enable-faults");
    }
    const auto duration = parse_duration(drain);
    if (!duration) {
      throw CLI::ValidationError("--drain", duration.error().message);
    }
    options.drain = *duration;
    const auto idle_for = parse_duration(idle);
    if (!idle_for || *idle_for == Millis(0)) {
      throw CLI::ValidationError("--idle-timeout", idle_for ? "must be above 0" : idle_for.error().message);
    }
    options.http.header_timeout = *idle_for;
    const auto size = parse_size(max_body);
    if (!size || *size == 0) {
      throw CLI::ValidationError("--max-body", size ? "must be above 0" : size.error().message);
    }
    options.http.max_body = *size;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    exit_code = code == 0 ? 0 : 2;
  }
  return options;
}

}  // namespace fireboss::engine
