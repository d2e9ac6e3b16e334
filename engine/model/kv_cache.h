#pragma once
// Keys and values of one sequence, in 32-bit floats: keys[layer][kv_head][block][head_dim][kKeyBlock],
// values[layer][kv_head][position][head_dim].
#include <cstddef>

#include "engine/model/float_buffer.h"
#include "engine/model/weights.h"

namespace fireboss::engine {

class KvCache {
 public:
  // Room for `positions` positions; memory is taken as they are written.
  KvCache(const ModelShape& shape, std::size_t positions);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  // Floats from one key/value head to the next.
  [[nodiscard]] std::size_t head_stride() const { return capacity_ * head_dim_; }
  [[nodiscard]] const float* keys(std::size_t layer) const { return keys_.data() + layer * layer_stride(); }
  [[nodiscard]] const float* values(std::size_t layer) const {
    return values_.data() + layer * layer_stride();
  }

  // Stores a position's key and value, each [kv_heads][head_dim].
  void write(std::size_t layer, std::size_t position, const float* key, const float* value);
  // Takes over the first `positions` positions of a cache of the same shape and capacity.
  void copy_prefix(const KvCache& other, std::size_t positions);

 private:
  [[nodiscard]] std::size_t layer_stride() const { return kv_heads_ * head_stride(); }

  std::size_t layers_;
  std::size_t kv_heads_;
  std::size_t head_dim_;
  std::size_t capacity_;
  FloatBuffer keys_;
  FloatBuffer values_;
};

}  // namespace fireboss::engine
