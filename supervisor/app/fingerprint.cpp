#include "supervisor/app/fingerprint.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/hash.h"

namespace fireboss::app {

std::string fingerprint(const std::string& suite_hash, std::vector<std::string> models,
                        const std::vector<std::string>& exec_start,
                        const std::vector<std::string>& drop_ins) {
  std::sort(models.begin(), models.end());
  const auto array = [](const std::vector<std::string>& texts) {
    boost::json::array out;
    for (const auto& text : texts)
      out.emplace_back(text);
    return out;
  };
  const boost::json::array parts{suite_hash, array(models), array(exec_start), array(drop_ins)};
  return sha256_hex(boost::json::serialize(parts));
}

}  // namespace fireboss::app
