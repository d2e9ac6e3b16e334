// A file of signatures as an operator may write one: refused with words, or used on a log without an end to
// it.
#include <string>
#include <string_view>
#include <vector>

#include "probes/journal/scanner.h"
#include "probes/journal/signatures.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::probes {
namespace {

using fuzz::hold;

constexpr std::string_view kLog =
    "line one\r\n\nERROR EngineDeadError: x\n\n\r\nkernel: NVRM: Xid (PCI:0000:01:00): 79, pid=250\n"
    "vllm.service: Main process exited\n  \ntail without an end";

void check(std::string_view text) {
  const auto set = SignatureSet::parse(text, "file.toml");
  if (!set) {
    const auto& words = set.error().message;
    hold(words.starts_with("file.toml"), "an error that does not name the file");
    hold(words.find('\n') == std::string::npos, "an error of more than a line");
    return;
  }
  Whose whose{.pids = {250}, .unit = "vllm.service"};
  Scanner scanner(*set, whose), by_bytes(*set, whose);
  scanner.feed(kLog);
  for (std::size_t i = 0; i < kLog.size(); ++i) {
    by_bytes.feed(kLog.substr(i, 1));
  }
  const auto found = scanner.finish(), again = by_bytes.finish();
  hold(found.size() == again.size(), "chunks make a difference");
  for (std::size_t i = 0; i < found.size(); ++i) {
    hold(found[i].signature == again[i].signature && found[i].count == again[i].count &&
             found[i].first_line == again[i].first_line && found[i].first_text == again[i].first_text,
         "chunks make a difference");
    hold(found[i].count <= 9 && found[i].first_line <= 9, "more lines than there are");
  }
}

std::vector<std::string> seeds() {
  return {
      "ignore = ['Received request']\n[[signature]]\nname = 'a.b'\nclass = 'engine_dead'\nmatch = "
      "'EngineDeadError'\n"
      "unless = 'except'\nexample = ['x EngineDeadError']\nnear = ['y']\n",
      "[[signature]]\nname = 'k.x'\nclass = 'gpu_fault_hw'\nmatch = 'Xid.*: 79,'\npid = 'pid=(\\d+)'\n"
      "[[signature]]\nname = 'k.y'\nclass = 'stall'\nmatch = '^(?:line|vllm).*$'\nunit = "
      "'(\\S+)\\.service'\n",
      "[[signature]]\nname = \"e\"\nclass = \"empty\"\nmatch = \"\"\"a|\\\\bx\"\"\"\n"};
}

}  // namespace
}  // namespace fireboss::probes

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "signatures",
                              .check = fireboss::probes::check,
                              .seeds = fireboss::probes::seeds(),
                              .tokens = {"[[signature]]\n",
                                         "match = '",
                                         "name = '",
                                         "class = '",
                                         "engine_dead",
                                         "unless = '",
                                         "pid = '",
                                         "unit = '",
                                         "ignore = [",
                                         "near = [",
                                         "example = [",
                                         "(",
                                         ")",
                                         "(?:",
                                         "|",
                                         "*",
                                         "+",
                                         "?",
                                         "$",
                                         "^",
                                         "\\b",
                                         "\\d{2,9}",
                                         "[^\\n]",
                                         ".*",
                                         "(?i)",
                                         "\\pN",
                                         "x*",
                                         "{1000}",
                                         "\"\"\"",
                                         "'''",
                                         "\\x00"},
                              .max_size = 2048,
                              .heap_fixed = std::size_t{256} << 20,
                              .heap_per_byte = 64},
                             argc, argv);
}
