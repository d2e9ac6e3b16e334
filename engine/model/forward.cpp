#include "engine/model/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fireboss::engine {
namespace {

// Multiplications below which waking another thread costs more than it saves.
constexpr std::size_t kWorthSharing = 1 << 20;
// Rows of one part of an attention.
constexpr std::size_t kAttendRows = 96;

}  // namespace

Forward::Forward(const Weights& weights, const Kernels& kernels, std::size_t context, std::size_t rows,
                 std::size_t threads)
    : weights_(weights),
      kernels_(kernels),
      team_(threads),
      max_rows_(rows),
      width_(padded(weights.shape.width, kPanel)),
      q_size_(weights.shape.heads * weights.shape.head_dim),
      kv_size_(weights.shape.kv_heads * weights.shape.head_dim),
      ffn_size_(padded(weights.shape.feed_forward, kPanel)),
      logits_size_(padded(weights.shape.vocabulary, kPanel)),
      cosines_(context * weights.shape.rope_dim / 2),
      sines_(context * weights.shape.rope_dim / 2),
      logits_(rows * logits_size_) {
  at_.hidden = FloatBuffer(rows * width_);
  at_.normed = FloatBuffer(rows * width_);
  at_.q = FloatBuffer(rows * q_size_);
  at_.k = FloatBuffer(rows * kv_size_);
  at_.v = FloatBuffer(rows * kv_size_);
  at_.attended = FloatBuffer(rows * q_size_);
  at_.gate = FloatBuffer(rows * ffn_size_);
  at_.up = FloatBuffer(rows * ffn_size_);
  const std::size_t pairs = weights.shape.rope_dim / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const double divisor = weights.rope_factors.empty() ? 1.0 : weights.rope_factors[pair];
    const double frequency =
        std::pow(weights.shape.rope_base,
                 -2.0 * static_cast<double>(pair) / static_cast<double>(weights.shape.rope_dim)) /
        divisor;
    // In double: at position 16,000 a float angle is off by 1e-3.
    for (std::size_t position = 0; position < context; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      cosines_.data()[position * pairs + pair] = static_cast<float>(std::cos(angle));
      sines_.data()[position * pairs + pair] = static_cast<float>(std::sin(angle));
    }
  }
}

void Forward::multiply(const Matrix& matrix, const float* x, std::size_t x_stride, std::size_t rows, float* y,
                       std::size_t y_stride, bool add) {
  const std::size_t panels = matrix.panel_count();
  const bool share = rows * matrix.inner * matrix.outer >= kWorthSharing;
  const std::size_t parts = share ? std::min(team_.size(), panels) : 1;
  team_.each(parts, [&](std::size_t part) {
    kernels_.matmul({.x = x,
                     .x_stride = x_stride,
                     .rows = rows,
                     .panels = matrix.panels.data(),
                     .inner = matrix.inner,
                     .panel_begin = panels * part / parts,
                     .panel_end = panels * (part + 1) / parts,
                     .y = y,
                     .y_stride = y_stride,
                     .add = add});
  });
}

void Forward::norm_rows(const FloatBuffer& weight, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    kernels_.rms_norm(at_.hidden.data() + r * width_, weight.data(), weights_.shape.width,
                      weights_.shape.epsilon, at_.normed.data() + r * width_);
  }
}

void Forward::rotate(float* heads, std::size_t count, std::size_t position) const {
  const std::size_t pairs = weights_.shape.rope_dim / 2;
  const float* cosines = cosines_.data() + position * pairs;
  const float* sines = sines_.data() + position * pairs;
  for (std::size_t head = 0; head < count; ++head) {
    float* at = heads + head * weights_.shape.head_dim;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const float x = at[2 * pair];
      const float y = at[2 * pair + 1];
      at[2 * pair] = x * cosines[pair] - y * sines[pair];
      at[2 * pair + 1] = x * sines[pair] + y * cosines[pair];
    }
  }
}

void Forward::write_cache(std::size_t layer, std::span<const Segment> segments) {
  std::size_t row = 0;
  for (const auto& segment : segments) {
    for (std::size_t i = 0; i < segment.tokens.size(); ++i, ++row) {
      float* key = at_.k.data() + row * kv_size_;
      rotate(key, weights_.shape.kv_heads, segment.position + i);
      segment.cache->write(layer, segment.position + i, key, at_.v.data() + row * kv_size_);
    }
  }
}

void Forward::attend(std::size_t layer, std::span<const Segment> segments) {
  const auto& shape = weights_.shape;
  std::size_t row = 0;
  for (const auto& segment : segments) {
    const std::size_t rows = segment.tokens.size();
    for (std::size_t i = 0; i < rows; ++i) {
      rotate(at_.q.data() + (row + i) * q_size_, shape.heads, segment.position + i);
    }
    // A part is a key/value head and some of the rows.
    const std::size_t pieces = (rows + kAttendRows - 1) / kAttendRows;
    const auto part = [&](std::size_t kv_head, std::size_t first, std::size_t count) {
      kernels_.attend({.q = at_.q.data() + (row + first) * q_size_,
                       .q_stride = q_size_,
                       .out = at_.attended.data() + (row + first) * q_size_,
                       .out_stride = q_size_,
                       .rows = count,
                       .first_position = segment.position + first,
                       .keys = segment.cache->keys(layer),
                       .values = segment.cache->values(layer),
                       .head_stride = segment.cache->head_stride(),
                       .heads = shape.heads,
                       .kv_heads = shape.kv_heads,
                       .head_dim = shape.head_dim,
                       .kv_head = kv_head});
    };
    if (rows * (segment.position + rows) * q_size_ < kWorthSharing) {
      for (std::size_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
        part(kv_head, 0, rows);
      }
    } else {
      team_.each(shape.kv_heads * pieces, [&](std::size_t i) {
        const std::size_t first = i / shape.kv_heads * kAttendRows;
        part(i % shape.kv_heads, first, std::min(kAttendRows, rows - first));
      });
    }
    row += rows;
  }
}

void Forward::feed_forward(const LayerWeights& layer, std::size_t rows) {
  norm_rows(layer.feed_forward_norm, rows);
  multiply(layer.gate, at_.normed.data(), width_, rows, at_.gate.data(), ffn_size_, false);
  multiply(layer.up, at_.normed.data(), width_, rows, at_.up.data(), ffn_size_, false);
  for (std::size_t r = 0; r < rows; ++r) {
    kernels_.silu_multiply(at_.gate.data() + r * ffn_size_, at_.up.data() + r * ffn_size_, ffn_size_);
  }
  multiply(layer.down, at_.gate.data(), ffn_size_, rows, at_.hidden.data(), width_, true);
}

std::vector<Segment> Forward::keep_last_rows(std::span<const Segment> segments) {
  std::vector<Segment> kept;
  std::size_t row = 0;
  for (const auto& segment : segments) {
    const std::size_t last = segment.tokens.size() - 1;
    if (segment.wants_logits) {
      const std::size_t to = kept.size();
      const std::size_t from = row + last;
      if (from != to) {
        std::memcpy(at_.hidden.data() + to * width_, at_.hidden.data() + from * width_,
                    width_ * sizeof(float));
        std::memcpy(at_.normed.data() + to * width_, at_.normed.data() + from * width_,
                    width_ * sizeof(float));
      }
      kept.push_back({.cache = segment.cache,
                      .tokens = segment.tokens.subspan(last),
                      .position = segment.position + last,
                      .wants_logits = true});
    }
    row += segment.tokens.size();
  }
  return kept;
}

std::vector<std::span<const float>> Forward::run(std::span<const Segment> segments) {
  std::size_t rows = 0;
  for (const auto& segment : segments) {
    for (const auto token : segment.tokens) {
      weights_.embedding.copy_row(static_cast<std::size_t>(token), at_.hidden.data() + rows * width_);
      ++rows;
    }
  }
  std::vector<Segment> kept(segments.begin(), segments.end());
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    const auto& layer = weights_.layers[i];
    norm_rows(layer.attention_norm, rows);
    multiply(layer.k, at_.normed.data(), width_, rows, at_.k.data(), kv_size_, false);
    multiply(layer.v, at_.normed.data(), width_, rows, at_.v.data(), kv_size_, false);
    write_cache(i, kept);
    if (i + 1 == weights_.layers.size()) {
      // Of the last layer, a token that is not the last one gives its key and value only.
      kept = keep_last_rows(kept);
      rows = kept.size();
    }
    multiply(layer.q, at_.normed.data(), width_, rows, at_.q.data(), q_size_, false);
    attend(i, kept);
    multiply(layer.o, at_.attended.data(), q_size_, rows, at_.hidden.data(), width_, true);
    feed_forward(layer, rows);
  }
  norm_rows(weights_.output_norm, rows);
  multiply(weights_.output_matrix(), at_.normed.data(), width_, rows, logits_.data(), logits_size_, false);
  std::vector<std::span<const float>> logits;
  for (std::size_t r = 0; r < rows; ++r) {
    logits.emplace_back(logits_.data() + r * logits_size_, weights_.shape.vocabulary);
  }
  return logits;
}

}  // namespace fireboss::engine
