#include "supervisor/config/polkit.h"

#include <gtest/gtest.h>

namespace fireboss::config {
namespace {

Config config_of(std::initializer_list<const char*> units) {
  Config config;
  for (const auto* unit : units) {
    Engine engine;
    engine.unit = unit;
    config.engines.push_back(engine);
  }
  return config;
}

TEST(PolkitRule, NamesEachUnitAndThreeVerbs) {
  EXPECT_EQ(
      polkit_rule(config_of({"vllm.service", "llama.service"})),
      R"(// Made by `fireboss polkit-rule` from the configuration: make it anew when a unit is added or removed.
// firebossd may start, restart and reset-failed these units, and no other, and nothing else.
polkit.addRule(function(action, subject) {
    var units = ["llama.service",
                 "vllm.service"];
    var verbs = ["start", "restart", "reset-failed"];
    if (action.id != "org.freedesktop.systemd1.manage-units" || subject.user != "fireboss")
        return polkit.Result.NOT_HANDLED;
    if (units.indexOf(action.lookup("unit")) >= 0 && verbs.indexOf(action.lookup("verb")) >= 0)
        return polkit.Result.YES;
    return polkit.Result.NO;
});
)");
}

TEST(PolkitRule, OfNoEngineAllowsNothing) {
  EXPECT_NE(polkit_rule(Config{}).find("var units = [];"), std::string::npos);
}

TEST(PolkitRule, NoTextBreaksOutOfItsLiteral) {
  const auto rule = polkit_rule(config_of({"a\"];evil();//\\\n\xff.service"}), "u\"x");
  EXPECT_NE(rule.find(R"(["a\x22];evil();//\x5c\x0a\xff.service"])"), std::string::npos) << rule;
  EXPECT_NE(rule.find(R"(subject.user != "u\x22x")"), std::string::npos) << rule;
}

}  // namespace
}  // namespace fireboss::config
