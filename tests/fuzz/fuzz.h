#pragma once
// A fuzzer of our own: it changes inputs of a corpus at random and hands each to one check, in a process of
// its own, so that a crash, a hang or too much memory of the checked code leaves the input behind. The same
// seed and number of iterations give the same inputs. In a build with FIREBOSS_FUZZ (preset `fuzz`) inputs
// that reach new places of the product join the corpus; without it only the seeds are changed.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::fuzz {

struct Target {
  std::string_view name;  // "metrics": in messages and the names of files
  // Called with every input; says broken() if something does not hold that must. Must not keep anything from
  // one input to the next that changes what it does.
  void (*check)(std::string_view input) = nullptr;
  std::vector<std::string> seeds;   // what made-up inputs begin from
  std::vector<std::string> tokens;  // put into inputs, besides numbers, brackets and odd UTF-8
  std::size_t max_size = 4096;      // bytes of one input
  // What one input may take from the heap at the same time: fixed + per_byte * size.
  std::size_t heap_fixed = 1 << 20, heap_per_byte = 64;
};

// Ends the check of this input: an invariant does not hold. `what` is one line.
[[noreturn]] void broken(const std::string& what);
inline void hold(bool truth, const char* what) {
  if (!truth) {
    broken(what);
  }
}

// What was taken from the heap (operator new) since the last call, at its peak.
[[nodiscard]] std::size_t heap_peak();
void forget_heap_peak();

// A number that follows from the input alone: for choices that a check makes.
[[nodiscard]] std::uint64_t hash_of(std::string_view input, std::uint64_t salt = 0);
// The input in pieces, cut where hash_of says.
[[nodiscard]] std::vector<std::string_view> pieces_of(std::string_view input, std::size_t most = 8);

// Whole files and lines of the source tree, sorted by name.
[[nodiscard]] std::string read_source(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::string> lines_of_source(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::filesystem::path> source_files(const std::filesystem::path& folder,
                                                              std::string_view extension);

// main() of every fuzzer:
//   fuzz_NAME [--iterations N] [--seconds N] [--seed S] [--hang SECONDS] [--artifacts FOLDER] [FILE...]
// Files are checked instead of made-up inputs. 0: nothing found; 1: found, the input's file is named; 2:
// wrong arguments.
int run(Target target, int argc, char** argv);

}  // namespace fireboss::fuzz
