#include "engine/generate/prefix.h"

#include <algorithm>

namespace fireboss::engine {

std::optional<Placement> place(std::span<const SlotView> slots, std::span<const TokenId> prompt,
                               std::string_view salt) {
  std::optional<std::size_t> oldest;
  std::size_t best = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& slot = slots[i];
    if (!slot.busy && (!oldest || slot.last_used < slots[*oldest].last_used)) {
      oldest = i;
    }
    if (slot.salt != salt) {
      continue;
    }
    const auto common =
        static_cast<std::size_t>(std::ranges::mismatch(slot.tokens, prompt).in1 - slot.tokens.begin());
    // Of equal ones an idle slot, which needs no copy.
    if (common > longest || (common == longest && common > 0 && slots[best].busy && !slot.busy)) {
      longest = common;
      best = i;
    }
  }
  if (!oldest) {
    return std::nullopt;
  }
  const std::size_t reused = std::min(longest, prompt.size() - 1);
  if (reused == 0) {
    return Placement{.slot = *oldest, .source = *oldest, .reused = 0};
  }
  const bool in_place = !slots[best].busy && longest * 2 >= slots[best].tokens.size();
  return Placement{.slot = in_place ? best : *oldest, .source = best, .reused = reused};
}

}  // namespace fireboss::engine
