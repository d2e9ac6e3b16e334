#include "engine/model/kv_cache.h"

#include <cstring>

#include "engine/model/kernels.h"

namespace fireboss::engine {

KvCache::KvCache(const ModelShape& shape, std::size_t positions)
    : layers_(shape.layers),
      kv_heads_(shape.kv_heads),
      head_dim_(shape.head_dim),
      capacity_(padded(positions, kKeyBlock)),
      keys_(layers_ * layer_stride()),
      values_(layers_ * layer_stride()) {}

void KvCache::write(std::size_t layer, std::size_t position, const float* key, const float* value) {
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    const std::size_t base = layer * layer_stride() + head * head_stride();
    const std::size_t block = position / kKeyBlock;
    float* keys = keys_.data() + base + block * kKeyBlock * head_dim_ + position % kKeyBlock;
    for (std::size_t d = 0; d < head_dim_; ++d) {
      keys[d * kKeyBlock] = key[head * head_dim_ + d];
    }
    std::memcpy(values_.data() + base + position * head_dim_, value + head * head_dim_,
                head_dim_ * sizeof(float));
  }
}

void KvCache::copy_prefix(const KvCache& other, std::size_t positions) {
  for (std::size_t part = 0; part < layers_ * kv_heads_; ++part) {
    const std::size_t base = part * head_stride();
    std::memcpy(keys_.data() + base, other.keys_.data() + base,
                padded(positions, kKeyBlock) * head_dim_ * sizeof(float));
    std::memcpy(values_.data() + base, other.values_.data() + base, positions * head_dim_ * sizeof(float));
  }
}

}  // namespace fireboss::engine
