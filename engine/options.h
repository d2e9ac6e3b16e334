#pragma once
// The command line of fireboss-engine.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/faults/setting.h"
#include "engine/server/http_server.h"

namespace fireboss::engine {

struct Options {
  std::string model{};
  std::vector<std::string> model_names{};  // empty: the name in the file
  HttpOptions http;
  std::string port_file{};  // empty: none
  std::size_t context = 0;  // 0: what the model was made for
  std::size_t slots = 4;
  std::size_t queue = 16;
  std::size_t chunk = 512;
  std::size_t threads = 1;
  double temperature = 0;
  std::string api_key_file{};
  std::string implementation{};  // empty: the best that the processor can run
  Millis drain{std::chrono::seconds(5)};
  std::string log_level = "info";
  bool enable_faults = false;
  std::vector<FaultSetting> faults{};
  std::uint64_t fault_seed = 1;
};

// Reads the command line. `exit_code` is set when the program is to end at once (--help, --version, a
// mistake, which has then been printed).
[[nodiscard]] Options parse_options(int argc, const char* const* argv, std::optional<int>& exit_code);

}  // namespace fireboss::engine
