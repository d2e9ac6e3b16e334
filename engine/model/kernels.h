#pragma once
// The inner loops of the forward pass, in one implementation per instruction set; the best one that the
// processor has is chosen at start. All arithmetic is 32-bit floating point. Every output element is
// accumulated in one fixed order, whatever the shape of the batch it is computed in, so a reply does not
// depend on what else the engine is doing.
#include <cstddef>
#include <vector>

namespace fireboss::engine {

// Weight matrices are packed in panels of this many output columns; rows of activations are padded to it.
inline constexpr std::size_t kPanel = 16;
// Keys are stored transposed, in blocks of this many positions.
inline constexpr std::size_t kKeyBlock = 64;
inline constexpr std::size_t kMaxHeadDim = 256;
// Query heads on one key/value head, at most.
inline constexpr std::size_t kMaxSharedHeads = 48;

[[nodiscard]] constexpr std::size_t padded(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

struct MatmulArgs {
  const float* x;  // [rows][x_stride], x_stride >= inner
  std::size_t x_stride;
  std::size_t rows;
  const float* panels;  // [panel][inner][kPanel], 64-byte aligned
  std::size_t inner;
  std::size_t panel_begin, panel_end;  // which output columns: panel * kPanel and on
  float* y;                            // [rows][y_stride], y_stride >= panel_end * kPanel
  std::size_t y_stride;
  bool add;  // y += x w instead of y = x w
};

// Causal attention of consecutive positions of one sequence, for the query heads of one key/value head.
// Row r, of position first_position + r, sees the positions 0..first_position + r.
struct AttendArgs {
  const float* q;  // [rows][q_stride], head h at h * head_dim
  std::size_t q_stride;
  float* out;  // [rows][out_stride], head h at h * head_dim
  std::size_t out_stride;
  std::size_t rows;
  std::size_t first_position;
  const float* keys;        // [kv_head][block][head_dim][kKeyBlock]
  const float* values;      // [kv_head][position][head_dim]; positions up to the last visible one are read
  std::size_t head_stride;  // floats from one kv_head to the next, in keys and in values
  std::size_t heads, kv_heads;
  std::size_t head_dim;  // a multiple of kPanel, at most kMaxHeadDim
  std::size_t kv_head;
};

struct Kernels {
  const char* name;  // "cpu-avx2", "cpu-generic"
  void (*matmul)(const MatmulArgs& args);
  void (*attend)(const AttendArgs& args);
  // y = x / rms(x) * weight, n a multiple of nothing.
  void (*rms_norm)(const float* x, const float* weight, std::size_t n, float epsilon, float* y);
  // gate = silu(gate) * up, n a multiple of kPanel.
  void (*silu_multiply)(float* gate, const float* up, std::size_t n);
};

// All implementations that this processor can run, best first; never empty.
[[nodiscard]] std::vector<const Kernels*> usable_kernels();

}  // namespace fireboss::engine
