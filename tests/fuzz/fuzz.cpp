#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "tests/fuzz/coverage.h"
#include "tests/fuzz/mutate.h"

namespace fireboss::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxInput = 1 << 20;
// Longer ones, unless a seed is as long, are checked but not changed again: they cost most and grow by
// themselves.
constexpr std::size_t kLongestToJoin = 8 * 1024;
constexpr std::size_t kStack = 1 << 20;
constexpr int kFound = 1, kWrongArguments = 2;

// What the checking process leaves behind for the one that watches it, however it ends.
struct Shared {
  std::atomic<std::uint64_t> inputs{0};  // begun
  std::atomic<bool> done{false};
  std::size_t size = 0;
  std::array<char, kMaxInput> input{};
  std::array<char, 512> what{};
  // Figures of a run that found nothing.
  std::uint64_t seeds = 0, joined = 0, places = 0;
  std::int64_t slowest_us = 0;
  std::size_t largest_heap = 0;
};
Shared* shared = nullptr;

// ---- the heap

std::size_t heap_now = 0, heap_most = 0;
std::size_t heap_limit = SIZE_MAX;  // beyond what is taken now; only while a check runs

void* try_to_take(std::size_t size) noexcept {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    return nullptr;
  }
  const auto now = __atomic_add_fetch(&heap_now, malloc_usable_size(memory), __ATOMIC_RELAXED);
  heap_most = std::max(heap_most, now);
  if (heap_most > heap_limit) {
    const auto taken = heap_most;
    heap_limit = SIZE_MAX;
    broken("takes more from the heap than is allowed: " + std::to_string(taken) + " bytes");
  }
  return memory;
}

void* take(std::size_t size) {
  void* const memory = try_to_take(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void give(void* memory) noexcept {
  if (memory != nullptr) {
    __atomic_sub_fetch(&heap_now, malloc_usable_size(memory), __ATOMIC_RELAXED);
    std::free(memory);
  }
}

// ---- checking

std::int64_t cpu_us(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

void check(const Target& target, std::string_view input) {
  std::memcpy(shared->input.data(), input.data(), input.size());
  shared->size = input.size();
  ++shared->inputs;
  const auto before = cpu_us(CLOCK_THREAD_CPUTIME_ID);
  const auto taken = heap_now;
  heap_most = taken;
  heap_limit = taken + target.heap_fixed + target.heap_per_byte * input.size();
  begin_coverage();
  try {
    target.check(input);
  } catch (const std::exception& error) {
    broken(std::string("an exception came out: ") + error.what());
  }
  heap_limit = SIZE_MAX;
  shared->largest_heap = std::max(shared->largest_heap, heap_most - taken);
  shared->slowest_us = std::max(shared->slowest_us, cpu_us(CLOCK_THREAD_CPUTIME_ID) - before);
}

struct Options {
  std::uint64_t iterations = 100'000, seed = 1;
  std::int64_t seconds = 0, hang = 20;
  std::string artifacts = ".";
  std::vector<std::string> files;
};

void make_up(const Target& target, const Options& options) {
  std::vector<std::string> corpus;
  std::size_t longest = kLongestToJoin;
  for (const auto& seed : target.seeds) {
    check(target, seed);
    (void)new_places();
    corpus.push_back(seed);
    longest = std::max(longest, seed.size());
  }
  shared->seeds = corpus.size();
  Mutator mutator(options.seed, target.tokens, target.max_size);
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  for (std::uint64_t i = 0; i < options.iterations && (options.seconds == 0 || Clock::now() < end); ++i) {
    auto input = mutator.next(corpus, target.seeds.size());
    check(target, input);
    if (new_places() > 0 && input.size() <= longest) {
      corpus.push_back(std::move(input));
      ++shared->joined;
    }
  }
  shared->places = all_places();
}

int check_all(const Target& target, const Options& options) {
  if (options.files.empty()) {
    make_up(target, options);
  }
  for (const auto& name : options.files) {
    std::ifstream file(name, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    if (!file || input.size() > kMaxInput) {
      std::fprintf(stderr, "%s: cannot be read, or is longer than 1 MiB\n", name.c_str());
      return kWrongArguments;
    }
    check(target, input);
    std::printf("%s: nothing found\n", name.c_str());
  }
  shared->done = true;
  return 0;
}

// Inputs are small here, and the product takes ones of megabytes: who needs a piece of the stack for every
// level of an input is to be found out all the same.
int on_a_small_stack(const std::function<int()>& work) {
  struct Task {
    const std::function<int()>& work;
    int status = kWrongArguments;
  } task{work};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread{};
  const int error = pthread_create(
      &thread, &attributes,
      [](void* of) -> void* {
        auto& one = *static_cast<Task*>(of);
        one.status = one.work();
        return nullptr;
      },
      &task);
  if (error != 0) {
    std::fprintf(stderr, "no thread: %s\n", std::strerror(error));
    return kWrongArguments;
  }
  pthread_join(thread, nullptr);
  return task.status;
}

// ---- watching

// Waits for the child; kills it when one input takes more than `hang` seconds of processor time.
int watch(pid_t child, std::int64_t hang) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  clockid_t clock = 0;
  clock_getcpuclockid(child, &clock);
  std::uint64_t input = 0;
  std::int64_t begun = 0;
  for (pollfd ended{fd, POLLIN, 0}; poll(&ended, 1, 500) <= 0;) {
    if (const auto now = cpu_us(clock); shared->inputs != input) {
      input = shared->inputs;
      begun = now;
    } else if (input != 0 && now - begun > hang * 1'000'000) {
      std::snprintf(shared->what.data(), shared->what.size(), "no end after %lld s of processor time",
                    static_cast<long long>(hang));
      kill(child, SIGKILL);
    }
  }
  close(fd);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::string ending(int status) {
  if (shared->what[0] != '\0') {
    return shared->what.data();
  }
  return WIFSIGNALED(status) ? std::string("killed by ") + strsignal(WTERMSIG(status))
                             : "ended with status " + std::to_string(WEXITSTATUS(status));
}

int told(const Target& target, const Options& options, int status, double seconds) {
  const auto inputs = shared->inputs.load();
  if (shared->done && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    if (options.files.empty()) {
      std::printf(
          "fuzz_%s: seed %llu: %llu inputs in %.1f s (%.0f a second); corpus of %llu, %llu joined; "
          "%llu places reached; slowest %.1f ms, heap at most %zu KiB; nothing found\n",
          std::string(target.name).c_str(), static_cast<unsigned long long>(options.seed),
          static_cast<unsigned long long>(inputs), seconds, static_cast<double>(inputs) / seconds,
          static_cast<unsigned long long>(shared->seeds), static_cast<unsigned long long>(shared->joined),
          static_cast<unsigned long long>(shared->places), static_cast<double>(shared->slowest_us) / 1000,
          shared->largest_heap / 1024);
    }
    return 0;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kWrongArguments) {
    return kWrongArguments;
  }
  const std::string_view input(shared->input.data(), shared->size);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_of(input)));
  const auto path = options.artifacts + "/fuzz-" + std::string(target.name) + "-" + digits;
  std::ofstream(path, std::ios::binary) << input;
  std::fprintf(stderr, "fuzz_%s: seed %llu, input %llu: FOUND: %s\nthe input: %s\nagain with: fuzz_%s %s\n",
               std::string(target.name).c_str(), static_cast<unsigned long long>(options.seed),
               static_cast<unsigned long long>(inputs), ending(status).c_str(), path.c_str(),
               std::string(target.name).c_str(), path.c_str());
  return kFound;
}

void add_corpus(Target& target) {
  for (const auto& file : source_files("tests/fuzz/corpus/" + std::string(target.name), "")) {
    target.seeds.push_back(read_source(file));
  }
  for (auto& seed : target.seeds) {
    seed.resize(std::min(seed.size(), kMaxInput));
  }
  if (target.seeds.empty()) {
    target.seeds.emplace_back();
  }
}

}  // namespace

void broken(const std::string& what) {
  heap_limit = SIZE_MAX;
  std::snprintf(shared->what.data(), shared->what.size(), "%s", what.c_str());
  std::fprintf(stderr, "broken: %s\n", what.c_str());
  // An abort, so that a debugger and the sanitizers show where.
  std::abort();
}

std::size_t heap_peak() {
  return heap_most;
}
void forget_heap_peak() {
  heap_most = heap_now;
}

std::uint64_t hash_of(std::string_view input, std::uint64_t salt) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ salt;  // FNV-1a
  for (const char byte : input) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  }
  return hash ^ hash >> 29;
}

std::vector<std::string_view> pieces_of(std::string_view input, std::size_t most) {
  std::vector<std::string_view> pieces;
  auto hash = hash_of(input, most);
  while (!input.empty() && pieces.size() + 1 < most) {
    const auto size = 1 + hash % input.size();
    pieces.push_back(input.substr(0, size));
    input.remove_prefix(size);
    hash = hash_of(std::string_view(reinterpret_cast<const char*>(&hash), sizeof hash));
  }
  if (!input.empty()) {
    pieces.push_back(input);
  }
  return pieces;
}

std::string read_source(const std::filesystem::path& path) {
  std::ifstream file(std::filesystem::path(FIREBOSS_SOURCE_DIR) / path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::exit(kWrongArguments);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of_source(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  const auto text = read_source(path);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<std::filesystem::path> source_files(const std::filesystem::path& folder,
                                                std::string_view extension) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  const std::filesystem::path root(FIREBOSS_SOURCE_DIR);
  for (const auto& entry : std::filesystem::directory_iterator(root / folder, none)) {
    if (entry.is_regular_file() && (extension.empty() || entry.path().extension() == extension)) {
      files.push_back(std::filesystem::relative(entry.path(), root));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run(Target target, int argc, char** argv) {
  Options options;
  CLI::App app("Fuzzer of " + std::string(target.name));
  app.add_option("--iterations", options.iterations, "Inputs to make up, beside the seeds");
  app.add_option("--seconds", options.seconds, "End earlier, after so long; 0: never");
  app.add_option("--seed", options.seed, "Same seed, same inputs");
  app.add_option("--hang", options.hang, "Seconds of processor time that one input may take");
  app.add_option("--artifacts", options.artifacts, "Where an input is left with which something was found");
  app.add_option("files", options.files, "Inputs to check instead of made-up ones");
  CLI11_PARSE(app, argc, argv);
  add_corpus(target);
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return kWrongArguments;
  }
  shared = new (memory) Shared;
  const auto begun = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int status = on_a_small_stack([&] { return check_all(target, options); });
    std::exit(status);
  }
  const int status = child < 0 ? 0 : watch(child, options.hang);
  return told(target, options, status, std::chrono::duration<double>(Clock::now() - begun).count());
}

}  // namespace fireboss::fuzz

// Read by the sanitizers, where there are any: what they find is to end like any other crash.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:detect_leaks=0";
}
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}
// NOLINTEND(bugprone-reserved-identifier)

// Every use of operator new in the program is counted.
void* operator new(std::size_t size) {
  return fireboss::fuzz::take(size);
}
void* operator new[](std::size_t size) {
  return fireboss::fuzz::take(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fireboss::fuzz::try_to_take(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fireboss::fuzz::try_to_take(size);
}
void operator delete(void* memory) noexcept {
  fireboss::fuzz::give(memory);
}
void operator delete[](void* memory) noexcept {
  fireboss::fuzz::give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  fireboss::fuzz::give(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  fireboss::fuzz::give(memory);
}
