#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/journal/signatures.h"

namespace fireboss::probes {

struct Finding {
  std::size_t signature = 0;    // index into SignatureSet::all()
  std::int64_t count = 0;       // lines
  std::int64_t first_line = 0;  // from 1
  std::string first_text;       // that line, at most 512 bytes of it, bytes as they are
};

// Goes through a log of any size in chunks. Lines end with \n (a \r before it is dropped); of a line longer
// than 64 KiB only the first 64 KiB are looked at.
class Scanner {
 public:
  explicit Scanner(const SignatureSet& signatures, Whose whose = {});

  void feed(std::string_view chunk);
  // The last line may have no end. Findings in the order of their first lines.
  [[nodiscard]] std::vector<Finding> finish();

 private:
  void take(std::string_view lines);
  void look_at(std::string_view lines);
  void judge(std::string_view line, std::int64_t number);

  const SignatureSet& signatures_;
  Whose whose_;
  std::vector<std::optional<Finding>> found_;
  std::string rest_;       // a line whose end has not come yet
  bool skipping_ = false;  // ... and which is too long already
  std::int64_t lines_ = 0;
};

}  // namespace fireboss::probes
