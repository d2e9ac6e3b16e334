#pragma once
// Which cached sequence a prompt starts from, and in which slot it runs. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct SlotView {
  std::span<const TokenId> tokens;  // whose keys and values the slot holds
  std::string_view salt;
  bool busy = false;
  std::uint64_t last_used = 0;  // larger is later
};

struct Placement {
  std::size_t slot = 0;    // where to run
  std::size_t source = 0;  // whose first `reused` positions serve; may be `slot` itself
  std::size_t reused = 0;
};

// nullopt when every slot is busy. At most prompt.size() - 1 tokens are reused, since the last one must be
// computed to get logits. The slot with the longest common prefix is continued in place unless it is busy or
// the prompt shares less than half of what it holds: then the least recently used idle slot takes a copy.
[[nodiscard]] std::optional<Placement> place(std::span<const SlotView> slots, std::span<const TokenId> prompt,
                                             std::string_view salt);

}  // namespace fireboss::engine
