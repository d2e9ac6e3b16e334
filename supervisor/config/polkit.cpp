#include "supervisor/config/polkit.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace fireboss::config {
namespace {

// A JavaScript string literal of any bytes.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '<') {
      out += c;
      continue;
    }
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
    out += escaped.data();
  }
  return out + '"';
}

}  // namespace

std::string polkit_rule(const Config& config, std::string_view user) {
  std::vector<std::string> units;
  for (const auto& engine : config.engines)
    units.push_back(literal(engine.unit));
  std::sort(units.begin(), units.end());
  std::string list;
  for (const auto& unit : units)
    list += (list.empty() ? "" : ",\n                 ") + unit;
  return "// Made by `fireboss polkit-rule` from the configuration: make it anew when a unit is added or "
         "removed.\n"
         "// firebossd may start, restart and reset-failed these units, and no other, and nothing else.\n"
         "polkit.addRule(function(action, subject) {\n"
         "    var units = [" +
         list +
         "];\n"
         "    var verbs = [\"start\", \"restart\", \"reset-failed\"];\n"
         "    if (action.id != \"org.freedesktop.systemd1.manage-units\" || subject.user != " +
         literal(user) +
         ")\n"
         "        return polkit.Result.NOT_HANDLED;\n"
         "    if (units.indexOf(action.lookup(\"unit\")) >= 0 && verbs.indexOf(action.lookup(\"verb\")) >= "
         "0)\n"
         "        return polkit.Result.YES;\n"
         "    return polkit.Result.NO;\n"
         "});\n";
}

}  // namespace fireboss::config
