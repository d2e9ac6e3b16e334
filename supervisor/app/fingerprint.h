#pragma once
#include <string>
#include <vector>

namespace fireboss::app {

// What was calibrated and has passed (design section 4): a hash over the suite, the model list and the
// command line with its drop-ins. Any other value is a new baseline. Pure; the order of the models does not
// matter.
[[nodiscard]] std::string fingerprint(const std::string& suite_hash, std::vector<std::string> models,
                                      const std::vector<std::string>& exec_start,
                                      const std::vector<std::string>& drop_ins);

}  // namespace fireboss::app
