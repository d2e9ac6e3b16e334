// Log lines: the same is found however the log is cut into chunks, and it is what each signature by itself
// finds.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "probes/journal/line_level.h"
#include "probes/journal/scanner.h"
#include "probes/journal/signatures.h"
#include "supervisor/app/journal_watch.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::probes {
namespace {

using fuzz::hold;

constexpr std::size_t kMaxLine = 64 * 1024;
constexpr std::size_t kMaxText = 512;

const SignatureSet& signatures() {
  static const SignatureSet kBuiltin = SignatureSet::builtin().value();
  return kBuiltin;
}

bool same(const std::vector<Finding>& a, const std::vector<Finding>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Finding& x, const Finding& y) {
    return x.signature == y.signature && x.count == y.count && x.first_line == y.first_line &&
           x.first_text == y.first_text;
  });
}

std::vector<Finding> scanned(const std::vector<std::string_view>& chunks, const Whose& whose) {
  Scanner scanner(signatures(), whose);
  for (const auto chunk : chunks) {
    scanner.feed(chunk);
  }
  return scanner.finish();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end).substr(0, kMaxLine);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// By one line after the other, without the search over all of them that the scanner begins with.
std::vector<Finding> by_line(const std::vector<std::string_view>& lines, const Whose& whose) {
  std::map<std::size_t, Finding> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const auto hit : signatures().match(lines[i], whose)) {
      auto [at, added] =
          found.try_emplace(hit, Finding{.signature = hit,
                                         .count = 0,
                                         .first_line = static_cast<std::int64_t>(i) + 1,
                                         .first_text = std::string(lines[i].substr(0, kMaxText))});
      ++at->second.count;
    }
  }
  std::vector<Finding> out;
  for (auto& [hit, finding] : found) {
    out.push_back(std::move(finding));
  }
  std::ranges::stable_sort(out, {}, &Finding::first_line);
  return out;
}

// Each signature's own expressions, one at a time.
class OneByOne {
 public:
  OneByOne() {
    for (const auto& signature : signatures().all()) {
      match_.push_back(compiled(signature.match));
      unless_.push_back(signature.unless.empty() ? nullptr : compiled(signature.unless));
    }
  }
  [[nodiscard]] std::vector<std::size_t> match(std::string_view line) const {
    std::vector<std::size_t> hits;
    for (std::size_t i = 0; i < match_.size(); ++i) {
      if (RE2::PartialMatch(line, *match_[i]) && (!unless_[i] || !RE2::PartialMatch(line, *unless_[i]))) {
        hits.push_back(i);
      }
    }
    return hits;
  }

 private:
  static std::unique_ptr<RE2> compiled(const std::string& expression) {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_never_nl(true);
    return std::make_unique<RE2>(expression, options);
  }
  std::vector<std::unique_ptr<RE2>> match_, unless_;
};

void check_watch(const std::vector<std::string_view>& lines) {
  app::JournalWatch watch(signatures(), "vllm.service");
  watch.begin("life-1");
  watch.know_process(100);
  std::map<std::string, std::int64_t> told;
  const auto take = [&](const app::JournalWatch::Events& events) {
    for (const auto& event : events) {
      hold(is_signature_class(event.signature_class), "an event of no known class");
      hold(event.life.empty() || event.life == "life-1", "an event of a life that was not named");
      auto& before = told[event.signature_class + event.life];
      hold(event.count >= std::max<std::int64_t>(1, 2 * before), "told before the number had doubled");
      before = event.count;
    }
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ports::JournalLine line;
    line.message = lines[i];
    line.invocation_id = "life-1";
    line.from_kernel = i % 3 == 0;
    line.from_manager = i % 3 == 1;
    take(watch.on_line(line));
    if (watch.wants_processes() && i % 2 == 0) {
      take(watch.on_processes({100, 250}));
    }
  }
}

// Of some lines only: it takes a search for each of all signatures.
void check_match(const std::vector<std::string_view>& lines) {
  static const OneByOne kOneByOne;
  constexpr std::size_t kLines = 4, kLength = 1024;
  const auto first = lines.empty() ? 0 : fuzz::hash_of(lines.front()) % lines.size();
  for (std::size_t i = first; i < lines.size() && i < first + kLines; ++i) {
    const auto line = lines[i].substr(0, kLength);
    const auto hits = signatures().match(line);
    const auto expected = kOneByOne.match(line);
    hold(std::ranges::includes(expected, hits), "the set finds what the signature by itself does not");
    if (!hits.empty()) {  // else the line may be one of those that are ignored
      hold(hits == expected, "the set does not find what the signature by itself does");
    }
  }
}

void check(std::string_view text) {
  const auto lines = lines_of(text);
  static const Whose kWhose[] = {{}, {.pids = {100, 250}, .unit = "vllm.service"}};
  const auto& whose = kWhose[fuzz::hash_of(text) % std::size(kWhose)];
  const auto whole = scanned({text}, whose);
  hold(same(whole, by_line(lines, whose)), "the scanner finds something else than line by line");
  hold(same(whole, scanned(fuzz::pieces_of(text), whose)), "chunks make a difference");
  if (text.size() <= 512) {
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      bytes.push_back(text.substr(i, 1));
    }
    hold(same(whole, scanned(bytes, whose)), "single bytes make a difference");
  }
  for (const auto line : lines) {
    const auto level = line_level(line);
    hold(level == 2 || level == 3 || level == 4 || level == 6, "a level that there is not");
  }
  check_match(lines);
  check_watch(lines);
}

std::vector<std::string> seeds() {
  std::vector<std::string> logs;
  for (const auto& signature : signatures().all()) {
    std::string log;
    const auto* const end = logs.size() % 2 == 0 ? "\n" : "\r\n";
    for (const auto* list : {&signature.examples, &signature.near_misses}) {
      for (const auto& line : *list) {
        log += line + end;
      }
    }
    logs.push_back(log);
  }
  return logs;
}

std::vector<std::string> tokens() {
  std::set<std::string> words;
  for (const auto& signature : signatures().all()) {
    for (const auto& line : signature.examples) {
      for (std::size_t at = 0; at < line.size();) {
        const auto end = std::min(line.find(' ', at), line.size());
        if (end - at >= 4) {
          words.insert(line.substr(at, end - at));
        }
        at = end + 1;
      }
    }
  }
  return {words.begin(), words.end()};
}

}  // namespace
}  // namespace fireboss::probes

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "journal",
                              .check = fireboss::probes::check,
                              .seeds = fireboss::probes::seeds(),
                              .tokens = fireboss::probes::tokens(),
                              .max_size = 140'000,
                              .heap_fixed = std::size_t{512} << 20,  // the automata's states
                              .heap_per_byte = 64},
                             argc, argv);
}
