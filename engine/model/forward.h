#pragma once
// The forward pass of a Llama model over a batch of sequences.
#include <cstddef>
#include <span>
#include <vector>

#include "engine/model/kernels.h"
#include "engine/model/kv_cache.h"
#include "engine/model/team.h"
#include "engine/model/weights.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

// New tokens of one sequence. Their keys and values are written at positions from `position` on; everything
// before must have been written by earlier calls.
struct Segment {
  KvCache* cache = nullptr;
  std::span<const TokenId> tokens;  // not empty, each below the vocabulary's size
  std::size_t position = 0;         // position + tokens.size() <= cache->capacity()
  bool wants_logits = false;        // of the last token
};

class Forward {
 public:
  // `weights` and `kernels` must outlive this. Sequences are at most `context` long, batches at most `rows`.
  Forward(const Weights& weights, const Kernels& kernels, std::size_t context, std::size_t rows,
          std::size_t threads = 1);

  [[nodiscard]] std::size_t max_rows() const { return max_rows_; }

  // Logits of the segments that want them, in their order, each `vocabulary` floats; valid until the next
  // call. A row does not depend on what else is in the batch, nor on how its sequence was cut into calls.
  std::vector<std::span<const float>> run(std::span<const Segment> segments);

 private:
  struct Activations {
    FloatBuffer hidden, normed, q, k, v, attended, gate, up;
  };

  void multiply(const Matrix& matrix, const float* x, std::size_t x_stride, std::size_t rows, float* y,
                std::size_t y_stride, bool add);
  void norm_rows(const FloatBuffer& weight, std::size_t rows);
  void rotate(float* heads, std::size_t count, std::size_t position) const;
  void write_cache(std::size_t layer, std::span<const Segment> segments);
  void attend(std::size_t layer, std::span<const Segment> segments);
  void feed_forward(const LayerWeights& layer, std::size_t rows);
  // Moves the rows that logits are wanted of to the front; returns the segments cut down to these rows.
  std::vector<Segment> keep_last_rows(std::span<const Segment> segments);

  const Weights& weights_;
  const Kernels& kernels_;
  Team team_;
  std::size_t max_rows_;
  std::size_t width_, q_size_, kv_size_, ffn_size_, logits_size_;  // row strides, padded to kPanel
  FloatBuffer cosines_, sines_;                                    // [position][rope_dim / 2]
  Activations at_;
  FloatBuffer logits_;  // [row][logits_size_]
};

}  // namespace fireboss::engine
