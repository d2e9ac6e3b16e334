// The kernels, written once with GCC's vector types and compiled once per instruction set: the including file
// defines FIREBOSS_LANES (floats in a vector), FIREBOSS_ROWS (rows of a register tile), FIREBOSS_NAME and
// FIREBOSS_TABLE, and is compiled with the flags of its instruction set. For that reason no standard header
// with inline functions may be included here: the linker would keep one copy of them, perhaps the one that
// the processor cannot run.
#include <cstddef>
#include <cstdint>

#include "engine/model/kernels.h"

namespace fireboss::engine {
namespace {

constexpr std::size_t kLanes = FIREBOSS_LANES;
constexpr std::size_t kVectors = kPanel / kLanes;  // vectors in one panel row
constexpr std::size_t kTileRows = FIREBOSS_ROWS;

using Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;
using Integers __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = std::int32_t;

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}
inline Vector splat(float x) {
  return x - Vector{};
}

inline float sum_of(Vector v) {
  float total = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    total += v[i];
  }
  return total;
}

// c[Rows][Panels * kPanel] (+)= a[Rows][inner] b[inner][...]; panel p of b begins at b + p * panel_stride and
// has its rows b_stride apart.
template <std::size_t Rows, std::size_t Panels>
inline __attribute__((always_inline)) void tile(const float* a, std::size_t a_stride, const float* b,
                                                std::size_t b_stride, std::size_t panel_stride,
                                                std::size_t inner, float* c, std::size_t c_stride, bool add) {
  constexpr std::size_t kWide = Panels * kVectors;
  Vector sums[Rows][kWide];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kWide; ++v) {
      sums[r][v] = add ? load(c + r * c_stride + v * kLanes) : Vector{};
    }
  }
  for (std::size_t k = 0; k < inner; ++k) {
    Vector row[kWide];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kWide; ++v) {
      row[v] = load(b + (v / kVectors) * panel_stride + k * b_stride + (v % kVectors) * kLanes);
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vector x = splat(a[r * a_stride + k]);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kWide; ++v) {
        sums[r][v] += x * row[v];
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kWide; ++v) {
      store(c + r * c_stride + v * kLanes, sums[r][v]);
    }
  }
}

// The rows that are left after the full tiles.
template <std::size_t Panels>
inline void short_tile(std::size_t rows, const float* a, std::size_t a_stride, const float* b,
                       std::size_t b_stride, std::size_t panel_stride, std::size_t inner, float* c,
                       std::size_t c_stride, bool add) {
  for (std::size_t r = 0; r < rows; ++r) {
    tile<1, Panels>(a + r * a_stride, a_stride, b, b_stride, panel_stride, inner, c + r * c_stride, c_stride,
                    add);
  }
}

void matmul(const MatmulArgs& args) {
  const std::size_t panel_size = args.inner * kPanel;
  std::size_t panel = args.panel_begin;
  // One row alone does not fill the multiply-add pipeline with one panel.
  if (args.rows < kTileRows) {
    for (; panel + 4 <= args.panel_end; panel += 4) {
      short_tile<4>(args.rows, args.x, args.x_stride, args.panels + panel * panel_size, kPanel, panel_size,
                    args.inner, args.y + panel * kPanel, args.y_stride, args.add);
    }
  }
  for (; panel < args.panel_end; ++panel) {
    const float* b = args.panels + panel * panel_size;
    float* y = args.y + panel * kPanel;
    std::size_t r = 0;
    for (; r + kTileRows <= args.rows; r += kTileRows) {
      tile<kTileRows, 1>(args.x + r * args.x_stride, args.x_stride, b, kPanel, panel_size, args.inner,
                         y + r * args.y_stride, args.y_stride, args.add);
    }
    short_tile<1>(args.rows - r, args.x + r * args.x_stride, args.x_stride, b, kPanel, panel_size, args.inner,
                  y + r * args.y_stride, args.y_stride, args.add);
  }
}

// e^x to about 2 units in the last place for x <= 88; exactly 0 below -87.
inline Vector exponential(Vector x) {
  const Vector clamped = x < -87.0F ? splat(-87.0F) : x;
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
  const Vector shifter = splat(12582912.0F);
  const Vector shifted = clamped * 1.44269504F + shifter;
  const Vector n = shifted - shifter;
  const Vector r = clamped - n * 0.693359375F + n * 2.12194440e-4F;
  Vector p = splat(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Integers exponent = (reinterpret_cast<Integers>(shifted) - 0x4B400000 + 127) << 23;
  const Vector result = p * reinterpret_cast<Vector>(exponent);
  return x < -87.0F ? Vector{} : result;
}

constexpr std::size_t kQueryTile = kMaxSharedHeads;  // query rows that share one pass over the keys
constexpr float kMasked = -1e30F;

struct AttendTile {
  alignas(64) float q[kQueryTile * kMaxHeadDim];
  alignas(64) float out[kQueryTile * kMaxHeadDim];
  alignas(64) float scores[kQueryTile * kKeyBlock];
  float highest[kQueryTile];
  float sum[kQueryTile];
  std::size_t last[kQueryTile];  // last visible position of the row
};

// c[rows][columns] (+)= a b over a b with rows b_stride apart; columns is a multiple of kPanel.
inline void multiply(std::size_t rows, std::size_t columns, const float* a, std::size_t a_stride,
                     const float* b, std::size_t b_stride, std::size_t inner, float* c, std::size_t c_stride,
                     bool add) {
  for (std::size_t column = 0; column < columns; column += kPanel) {
    std::size_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows) {
      tile<kTileRows, 1>(a + r * a_stride, a_stride, b + column, b_stride, 0, inner,
                         c + r * c_stride + column, c_stride, add);
    }
    short_tile<1>(rows - r, a + r * a_stride, a_stride, b + column, b_stride, 0, inner,
                  c + r * c_stride + column, c_stride, add);
  }
}

// Turns one row of scores into weights relative to the row's running maximum, and rescales what was summed.
inline void soften(AttendTile& work, std::size_t row, std::size_t block_begin, std::size_t head_dim) {
  float* scores = work.scores + row * kKeyBlock;
  // last >= block_begin is not given: a row may see nothing of the tile's last block.
  const std::size_t visible = work.last[row] + 1 > block_begin ? work.last[row] + 1 - block_begin : 0;
  for (std::size_t i = visible; i < kKeyBlock; ++i) {
    scores[i] = kMasked;
  }
  Vector best = load(scores);
  for (std::size_t i = kLanes; i < kKeyBlock; i += kLanes) {
    const Vector v = load(scores + i);
    best = v > best ? v : best;
  }
  float highest = work.highest[row];
  for (std::size_t i = 0; i < kLanes; ++i) {
    highest = best[i] > highest ? best[i] : highest;
  }
  Vector total{};
  for (std::size_t i = 0; i < kKeyBlock; i += kLanes) {
    const Vector weight = exponential(load(scores + i) - highest);
    store(scores + i, weight);
    total += weight;
  }
  if (highest != work.highest[row]) {
    const float shrink = exponential(splat(work.highest[row] - highest))[0];
    work.sum[row] *= shrink;
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      store(work.out + row * head_dim + d, load(work.out + row * head_dim + d) * shrink);
    }
    work.highest[row] = highest;
  }
  work.sum[row] += sum_of(total);
}

// Rows of one tile: the query heads that share a key/value head, for `count` positions from `first` on.
void attend_tile(const AttendArgs& args, AttendTile& work, std::size_t kv_head, std::size_t first,
                 std::size_t count) {
  const std::size_t shared = args.heads / args.kv_heads;
  const std::size_t rows = shared * count;
  const std::size_t head_dim = args.head_dim;
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head_dim));
  for (std::size_t r = 0; r < rows; ++r) {
    const float* q =
        args.q + (first + r / shared) * args.q_stride + (kv_head * shared + r % shared) * head_dim;
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      store(work.q + r * head_dim + d, load(q + d) * scale);
      store(work.out + r * head_dim + d, Vector{});
    }
    work.highest[r] = kMasked;
    work.sum[r] = 0;
    work.last[r] = args.first_position + first + r / shared;
  }
  const float* keys = args.keys + kv_head * args.head_stride;
  const float* values = args.values + kv_head * args.head_stride;
  const std::size_t end = args.first_position + first + count;  // positions that any row sees
  for (std::size_t begin = 0; begin < end; begin += kKeyBlock) {
    const std::size_t used = end - begin < kKeyBlock ? end - begin : kKeyBlock;
    multiply(rows, kKeyBlock, work.q, head_dim, keys + begin * head_dim, kKeyBlock, head_dim, work.scores,
             kKeyBlock, false);
    for (std::size_t r = 0; r < rows; ++r) {
      soften(work, r, begin, head_dim);
    }
    multiply(rows, head_dim, work.scores, kKeyBlock, values + begin * head_dim, head_dim, used, work.out,
             head_dim, true);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    float* out =
        args.out + (first + r / shared) * args.out_stride + (kv_head * shared + r % shared) * head_dim;
    const float factor = 1.0F / work.sum[r];
    for (std::size_t d = 0; d < head_dim; d += kLanes) {
      store(out + d, load(work.out + r * head_dim + d) * factor);
    }
  }
}

void attend(const AttendArgs& args) {
  AttendTile work;
  const std::size_t step = kQueryTile / (args.heads / args.kv_heads);
  for (std::size_t first = 0; first < args.rows; first += step) {
    attend_tile(args, work, args.kv_head, first, args.rows - first < step ? args.rows - first : step);
  }
}

void rms_norm(const float* x, const float* weight, std::size_t n, float epsilon, float* y) {
  Vector squares{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    squares += load(x + i) * load(x + i);
  }
  float total = sum_of(squares);
  for (; i < n; ++i) {
    total += x[i] * x[i];
  }
  const float factor = 1.0F / __builtin_sqrtf(total / static_cast<float>(n) + epsilon);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    store(y + i, load(x + i) * factor * load(weight + i));
  }
  for (; i < n; ++i) {
    y[i] = x[i] * factor * weight[i];
  }
}

void silu_multiply(float* gate, const float* up, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Vector x = load(gate + i);
    const Vector bounded = x < -80.0F ? splat(-80.0F) : x;  // exponential() takes at most 88
    store(gate + i, x / (exponential(-bounded) + 1.0F) * load(up + i));
  }
}

}  // namespace

extern const Kernels FIREBOSS_TABLE;
const Kernels FIREBOSS_TABLE{FIREBOSS_NAME, matmul, attend, rms_norm, silu_multiply};

}  // namespace fireboss::engine
