// Faults planted on purpose: what the fuzzer itself is tested with (harness_test.cpp).
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace fireboss::fuzz {
namespace {

int deep(int level) {
  volatile char some[100] = {};
  return level == 0 ? some[0] : deep(level - 1) + some[level % 100];
}

void check(std::string_view input) {
  const auto has = [&](std::string_view what) { return input.find(what) != std::string_view::npos; };
  hold(!has("wrong"), "the input is wrong");
  if (has("crash")) {
    *static_cast<volatile int*>(nullptr) = 1;  // NOLINT: on purpose
  }
  if (has("memory")) {
    (void)std::string(1 << 28, 'x').find('y');
  }
  if (has("stack")) {
    (void)deep(20'000);
  }
  if (has("throw")) {
    throw std::runtime_error("thrown");
  }
  for (volatile bool forever = has("hang"); forever;) {
  }
}

}  // namespace
}  // namespace fireboss::fuzz

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "planted",
                              .check = fireboss::fuzz::check,
                              .seeds = {"nothing of note"},
                              .tokens = {"wron", "gly", "g"},
                              .max_size = 64},
                             argc, argv);
}
