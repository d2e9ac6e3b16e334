#include "supervisor/ctl/settings.h"

#include <cstdio>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/ctl/escape.h"

namespace fireboss::ctl {
namespace json = boost::json;

Result<config::Config> load_config(const Context& context) {
  auto loaded = config::load(context.config);
  if (loaded.config)
    return std::move(*loaded.config);
  return fail(ErrorCode::kInvalid,
              loaded.errors.empty()
                  ? context.config + ": cannot be loaded"
                  : loaded.errors.front().text() + (loaded.errors.size() > 1 ? " (and more: fireboss "
                                                                               "check-config)"
                                                                             : ""));
}

void report(Context& context, const Error& error) {
  context.exit_code = kUnknown;
  if (context.json)
    std::printf("%s\n", json::serialize(json::object{{"error", json::object{{"code", to_string(error.code)},
                                                                            {"message", error.message}}}})
                            .c_str());
  else
    std::fprintf(stderr, "fireboss: %s\n", escape(error.message).c_str());
}

}  // namespace fireboss::ctl
