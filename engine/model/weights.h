#pragma once
// The weights of a Llama-architecture model, as 32-bit floats packed for the kernels. Nothing of the file is
// referenced after loading.
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/gguf/gguf.h"
#include "engine/model/float_buffer.h"

namespace fireboss::engine {

struct ModelShape {
  std::size_t layers = 0;
  std::size_t width = 0;  // of the residual stream
  std::size_t heads = 0;  // query heads; a multiple of kv_heads
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t feed_forward = 0;
  std::size_t vocabulary = 0;
  std::size_t context = 0;   // longest sequence the model was made for
  std::size_t rope_dim = 0;  // leading dimensions of a head that are rotated, in neighbouring pairs
  double rope_base = 0;
  float epsilon = 0;  // of the RMS norms
};

// A matrix of outer rows of inner inputs (y = W x), stored as [panel][inner][kPanel].
struct Matrix {
  std::size_t inner = 0;
  std::size_t outer = 0;
  FloatBuffer panels;

  [[nodiscard]] std::size_t panel_count() const;
  // W's row `outer_index`, written to out[0..inner).
  void copy_row(std::size_t outer_index, float* out) const;
};

struct LayerWeights {
  FloatBuffer attention_norm, feed_forward_norm;
  Matrix q, k, v, o, gate, up, down;
};

struct Weights {
  ModelShape shape;
  std::string name;  // general.name, or empty
  Matrix embedding;  // outer = vocabulary
  Matrix output;     // empty when the embedding is tied: use output_matrix()
  FloatBuffer output_norm;
  std::vector<LayerWeights> layers;
  std::vector<double> rope_factors;  // rope_dim / 2 divisors of the angles, or empty

  [[nodiscard]] const Matrix& output_matrix() const { return output.outer > 0 ? output : embedding; }

  // kUnsupported for another architecture or a feature that this engine does not compute; an unknown tensor
  // is such a feature, since leaving it out would give wrong answers. kCorrupt for shapes that do not fit and
  // for weights that are not finite.
  [[nodiscard]] static Result<Weights> load(const Gguf& file);
};

}  // namespace fireboss::engine
