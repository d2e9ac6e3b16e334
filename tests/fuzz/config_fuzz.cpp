// Configuration files: refused with words that fit on a line, or made into objects that keep what is
// promised.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/config/build.h"
#include "supervisor/config/exec_start.h"
#include "supervisor/config/keys.h"
#include "supervisor/config/polkit.h"
#include "supervisor/config/raw.h"
#include "supervisor/policy/codec.h"
#include "supervisor/policy/keys.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::config {
namespace {

using fuzz::hold;

constexpr std::size_t kMaxMessage = 1024;

struct Read {
  Config config;
  std::vector<std::string> errors, warnings;
};

Read read(std::string_view text) {
  Findings findings;
  RawConfig raw;
  parse_config(text, "fireboss.toml", raw, findings);
  Read out{.config = build(std::move(raw), findings), .errors = {}, .warnings = {}};
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const auto* list : {&findings.errors(), &findings.warnings()}) {
    for (const auto& finding : *list) {
      hold(finding.file == "fireboss.toml", "a finding without its file");
      hold(finding.line <= lines, "a finding on a line that there is not");
      hold(!finding.message.empty() && finding.message.size() <= kMaxMessage, "no words, or endless ones");
      hold(std::none_of(finding.message.begin(), finding.message.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }),
           "a finding with control characters");
      (list == &findings.errors() ? out.errors : out.warnings).push_back(finding.text());
    }
  }
  return out;
}

bool plain(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || more.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void check_engine(const Engine& engine) {
  hold(!engine.name.empty() && engine.name.size() <= 64 && plain(engine.name, "_-."), "an engine's name");
  hold(engine.unit.ends_with(".service") && engine.unit.size() <= 255 && plain(engine.unit, ":-_.\\@"),
       "an engine's unit");
  hold(engine.port != 0 && !engine.host.empty() && plain(engine.host, ".-:_"), "an engine's address");
  hold(engine.metrics_path.starts_with('/') && engine.metrics_path.find('\n') == std::string::npos,
       "a metrics path");
  hold(policy::conflicts(engine.policy).empty(), "a policy that contradicts itself");
  const auto text = policy::canonical_text(engine.policy);
  const auto again = policy::decode_policy(text);
  hold(again && policy::canonical_text(*again) == text, "a policy is not read back as it was written");
  hold(engine.policy_hash.size() == 64 && engine.suite.hash.size() == 64, "a hash");
  hold(!engine.policy.variants.empty(), "an engine that is never asked");
  for (const auto& variant : engine.policy.variants) {
    hold(std::any_of(engine.suite.variants.begin(), engine.suite.variants.end(),
                     [&](const auto& one) { return one.name == variant; }),
         "a variant that the suite does not have");
  }
  (void)container_client_problem(engine, {"/usr/bin/docker", "run", "x"});
}

void check_polkit(const Config& config) {
  const auto rule = polkit_rule(config, "fireboss");
  const auto lines = std::count(rule.begin(), rule.end(), '\n');
  static const auto kBare = [] {
    const auto bare = polkit_rule(Config{}, "fireboss");
    return std::count(bare.begin(), bare.end(), '\n');
  }();
  hold(lines == kBare + std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(config.engines.size()) - 1, 0),
       "a polkit rule with more lines than it has units");
  hold(std::all_of(rule.begin(), rule.end(),
                   [](char c) { return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F); }),
       "a polkit rule with control characters");
}

void check(std::string_view text) {
  const auto one = read(text), two = read(text);
  hold(one.errors == two.errors && one.warnings == two.warnings, "the same file, other findings");
  if (!one.errors.empty()) {
    return;
  }
  for (const auto* path : {&one.config.database, &one.config.control_socket, &one.config.generation_file,
                           &one.config.lock_directory}) {
    hold(path->starts_with('/'), "a path that is not absolute");
  }
  hold(one.config.control_socket.size() <= 107, "a socket's path that no socket can have");
  hold(one.config.raw_reply_bytes >= 1024 && one.config.raw_reply_bytes <= 1 << 20, "raw_reply_bytes");
  for (const auto& engine : one.config.engines) {
    check_engine(engine);
  }
  check_polkit(one.config);
  // The same text once more defines everything a second time.
  if (!one.config.engines.empty()) {
    hold(!read(std::string(text) + "\n" + std::string(text)).errors.empty(),
         "everything twice, and no error");
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> out{
      fuzz::read_source("units/fireboss.toml"), "[engine.e]\nunit = \"vllm.service\"\nport = 8000\n",
      "[daemon]\ndatabase = '/x/y'\ncontrol_users = ['a','b']\nlog_level = \"debug\"\nraw_reply_bytes = "
      "\"64KiB\"\n"
      "[engine.a-1]\nunit = \"vllm@0.service\"\nurl = \"http://[::1]:8000\"\nmode = \"observe\"\nlistener = "
      "\"any\"\n"
      "adapter = \"vllm\"\nrequired_processes = [\"EngineCore\"]\n[engine.a-1.canary]\nn = 8\nk = 3\n"
      "variants = [\"chat\", \"chat-stream\"]\nrule = \"confirm\"\nevery = \"10m\"\n[engine.a-1.suite]\n"
      "system_prompt = \"\"\"You\nare\"\"\"\ntools = "
      "'''[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]'''\n"
      "headers = { \"x-a\" = \"b\" }\nextra_body = '{\"top_p\": 1}'\nmax_tokens = 64\n",
      "[engine.c]\nunit = \"c.service\"\nport = 1\nlistener = \"any\"\n"
      "restart.budget = 0\nrecycle.max_age = \"4h\"\n"};
  return out;
}

std::vector<std::string> tokens() {
  std::vector<std::string> out{"[daemon]\n",
                               "[engine.x]\n",
                               "[engine.x.suite]\n",
                               "[[engine]]\n",
                               "'''",
                               "\"\"\"",
                               " = ",
                               "http://",
                               "\"4h\"",
                               "\\u0000",
                               "\\n",
                               "1979-05-27T07:32:00Z",
                               "0x7f",
                               "1e6",
                               "inf",
                               "[",
                               "{ a = 1 }",
                               "unit = \"b.service\"\n",
                               "port = 70000\n",
                               "#"};
  for (const auto& key : engine_keys()) {
    out.push_back(key.name + " = " + (key.fallback.empty() ? "\"x\"" : key.fallback) + "\n");
  }
  for (const auto& key : daemon_keys()) {
    out.push_back(key.name + " = ");
  }
  return out;
}

}  // namespace
}  // namespace fireboss::config

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "config",
                              .check = fireboss::config::check,
                              .seeds = fireboss::config::seeds(),
                              .tokens = fireboss::config::tokens(),
                              .max_size = 8192,
                              .heap_fixed = std::size_t{8} << 20,
                              .heap_per_byte = 2048},
                             argc, argv);
}
