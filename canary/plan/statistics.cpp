#include "canary/plan/statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

namespace fireboss::canary {

Interval wilson(std::int64_t failures, std::int64_t calls, double z) {
  if (calls <= 0) {
    return {};
  }
  const auto n = static_cast<double>(calls);
  const double rate = static_cast<double>(failures) / n;
  const double centre = rate + z * z / (2 * n);
  const double half = z * std::sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // Exact at the ends, where rounding would leave a trace.
  return {failures == 0 ? 0.0 : std::max(0.0, (centre - half) / scale),
          failures == calls ? 1.0 : std::min(1.0, (centre + half) / scale)};
}

double binomial(int k, int n, double p) {
  if (k < 0 || k > n) {
    return 0;
  }
  if (p <= 0 || p >= 1) {
    return k == (p <= 0 ? 0 : n) ? 1 : 0;
  }
  const double ways = std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
  return std::exp(ways + k * std::log(p) + (n - k) * std::log1p(-p));
}

double binomial_tail(int k, int n, double p) {
  double sum = 0;
  for (int i = std::max(k, 0); i <= n; ++i) {
    sum += binomial(i, n, p);
  }
  return std::min(sum, 1.0);
}

Millis quantile(std::span<const Millis> values, double q) {
  if (values.empty()) {
    return Millis(0);
  }
  std::vector<Millis> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

Result<double> parse_rate(std::string_view text) {
  std::string_view number = text;
  double scale = 1;
  if (!number.empty() && number.back() == '%') {
    scale = 100;
    number.remove_suffix(1);
    while (!number.empty() && number.back() == ' ') {
      number.remove_suffix(1);
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(value) || value < 0 ||
      value / scale > 1) {
    return fail(ErrorCode::kInvalid, "'" + std::string(text.substr(0, 32)) +
                                         "' is no rate; write \"1%\" or \"0.01\", from 0 to 100%");
  }
  return value / scale;
}

std::int64_t ppm(double rate) {
  return static_cast<std::int64_t>(std::llround(rate * 1e6));
}

}  // namespace fireboss::canary
