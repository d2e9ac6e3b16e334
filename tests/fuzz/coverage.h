#pragma once
// Which places of the product were reached. Only a build with FIREBOSS_FUZZ has the calls that tell.
#include <cstddef>

namespace fireboss::fuzz {

void begin_coverage();
// How many steps from place to place were taken since begin_coverage() that no input took before.
[[nodiscard]] std::size_t new_places();
[[nodiscard]] std::size_t all_places();

}  // namespace fireboss::fuzz
