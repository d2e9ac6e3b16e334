#pragma once
// What every verb that looks at the record or talks to firebossd needs from the configuration.
#include <optional>
#include <string>

#include "base/result.h"
#include "supervisor/config/config.h"
#include "supervisor/ctl/commands.h"

namespace fireboss::ctl {

// The configuration if it can be loaded; otherwise the first error, with what to do.
Result<config::Config> load_config(const Context& context);

// Prints "fireboss: MESSAGE" to standard error, or {"error": {...}} with --json, and sets the exit status to
// unknown.
void report(Context& context, const Error& error);

}  // namespace fireboss::ctl
