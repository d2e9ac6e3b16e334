#pragma once
// Arithmetic of rates. Rates are fractions in [0, 1] here; ppm where they are stored.
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::canary {

struct Interval {
  double low = 0, high = 1;
};

// Wilson's score interval for `failures` of `calls`; z = 1.96 is 95 %. Without calls: everything is possible.
[[nodiscard]] Interval wilson(std::int64_t failures, std::int64_t calls, double z = 1.959964);

// Exactly and at least k of n, each with probability p.
[[nodiscard]] double binomial(int k, int n, double p);
[[nodiscard]] double binomial_tail(int k, int n, double p);

// Nearest rank: the smallest value that at least a share q of the values does not exceed. 0 without values.
[[nodiscard]] Millis quantile(std::span<const Millis> values, double q);

// "1%", "0.5 %", "0.01": a rate from 0 to 1.
[[nodiscard]] Result<double> parse_rate(std::string_view text);
[[nodiscard]] std::int64_t ppm(double rate);

}  // namespace fireboss::canary
