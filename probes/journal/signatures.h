#pragma once
// What a log line is a sign of. One RE2 set over all signatures; nothing here reads a file.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fireboss::probes {

struct Signature {
  std::string name;             // "vllm.engine_dead"
  std::string signature_class;  // a verdict's word: "engine_dead", "gpu_fault_hw", ...
  std::string match, unless;    // RE2; `unless` may be empty
  std::string pid, unit;        // RE2 with one group, or empty
  std::vector<std::string> examples, near_misses;
};

// Whose lines are looked for: lines that name another process or unit are left out. Empty: everybody's.
struct Whose {
  std::vector<std::uint32_t> pids;
  std::string unit;
};

class SignatureSet {
 public:
  // `text` in the form of signatures.toml, `source` its name for errors. Every mistake of a signature
  // (unknown key or class, a name used twice, an expression that RE2 refuses) is told with the line it is on.
  [[nodiscard]] static Result<SignatureSet> parse(std::string_view text, const std::string& source);
  // signatures.toml as it was when this program was built.
  [[nodiscard]] static Result<SignatureSet> builtin();

  SignatureSet(SignatureSet&&) noexcept;
  SignatureSet& operator=(SignatureSet&&) noexcept;
  ~SignatureSet();

  [[nodiscard]] const std::vector<Signature>& all() const;
  // Indices into all(), ascending. `line`: one line without its end, any bytes.
  [[nodiscard]] std::vector<std::size_t> match(std::string_view line, const Whose& whose = {}) const;
  // The process that a line names which matches this signature, if the signature knows where.
  [[nodiscard]] std::optional<std::uint32_t> pid_of(std::size_t signature, std::string_view line) const;
  // Offset of the first byte at or after `from` at which some signature may match, npos if none can: lines
  // without one need no match(). `text` may hold many lines.
  [[nodiscard]] std::size_t find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit SignatureSet(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// The words that a signature's class may be (cases of design section 6: verdicts of a reply or of log and
// state).
[[nodiscard]] bool is_signature_class(std::string_view word);

}  // namespace fireboss::probes
