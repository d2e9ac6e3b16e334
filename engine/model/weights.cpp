#include "engine/model/weights.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/model/kernels.h"

namespace fireboss::engine {
namespace {

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -value : value;
  }
  const std::uint32_t bits =
      sign | (exponent == 31 ? 0x7F800000U : (exponent + 112) << 23) | (fraction << 13);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Reads tensors of a file, keeps account of which were used, and remembers the first error.
class Loader {
 public:
  explicit Loader(const Gguf& file) : file_(file) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  void refuse(ErrorCode code, std::string_view what) {
    if (!error_) {
      error_ = Error{code, fmt::format("{}: {}", file_.name(), what)};
    }
  }

  // An integer key between 1 and `most`.
  std::size_t count(std::string_view key, std::int64_t most) {
    const auto value = file_.integer(key);
    if (!value) {
      note(value.error());
      return 1;
    }
    if (*value < 1 || *value > most) {
      refuse(ErrorCode::kCorrupt, fmt::format("{} is {}, not 1 to {}", key, *value, most));
      return 1;
    }
    return static_cast<std::size_t>(*value);
  }
  std::size_t count_or(std::string_view key, std::int64_t most, std::size_t otherwise) {
    return file_.has(key) ? count(key, most) : otherwise;
  }
  double positive(std::string_view key) {
    const auto value = file_.real(key);
    if (!value) {
      note(value.error());
      return 1;
    }
    if (!(*value > 0) || !std::isfinite(*value)) {
      refuse(ErrorCode::kCorrupt, fmt::format("{} is {}, not positive", key, *value));
      return 1;
    }
    return *value;
  }

  FloatBuffer vector(const std::string& name, std::size_t size) {
    const auto* tensor = expect(name, {size});
    if (tensor == nullptr) {
      return {};
    }
    FloatBuffer out(size);
    read(name, *tensor, 0, size, out.data());
    return out;
  }

  Matrix matrix(const std::string& name, std::size_t inner, std::size_t outer) {
    const auto* tensor = expect(name, {inner, outer});
    if (tensor == nullptr) {
      return {};
    }
    Matrix out{.inner = inner, .outer = outer, .panels = {}};
    out.panels = FloatBuffer(out.panel_count() * inner * kPanel);
    std::vector<float> row(inner);
    for (std::size_t o = 0; o < outer; ++o) {
      if (!read(name, *tensor, o * inner, inner, row.data())) {
        break;
      }
      float* place = out.panels.data() + (o / kPanel) * inner * kPanel + o % kPanel;
      for (std::size_t i = 0; i < inner; ++i) {
        place[i * kPanel] = row[i];
      }
    }
    return out;
  }

  void refuse_unused() {
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!used_.contains(name)) {
        refuse(ErrorCode::kUnsupported,
               fmt::format("tensor {} belongs to no part of the model that this engine computes", name));
      }
    }
  }

 private:
  void note(const Error& error) {
    if (!error_) {
      error_ = error;
    }
  }

  const GgufTensor* expect(const std::string& name, const std::vector<std::uint64_t>& shape) {
    if (error_) {
      return nullptr;
    }
    const auto found = file_.tensor(name);
    if (!found) {
      note(found.error());
      return nullptr;
    }
    used_.insert(name);
    if ((*found)->shape != shape) {
      refuse(ErrorCode::kCorrupt,
             fmt::format("tensor {} (at byte {}) has shape [{}], expected [{}]", name, (*found)->offset,
                         fmt::join((*found)->shape, ", "), fmt::join(shape, ", ")));
      return nullptr;
    }
    return *found;
  }

  bool read(const std::string& name, const GgufTensor& tensor, std::size_t begin, std::size_t count,
            float* out) {
    for (std::size_t i = 0; i < count; ++i) {
      if (tensor.type == TensorType::kF32) {
        std::memcpy(out + i, tensor.data.data() + (begin + i) * 4, 4);
      } else {
        std::uint16_t half;
        std::memcpy(&half, tensor.data.data() + (begin + i) * 2, 2);
        out[i] = half_to_float(half);
      }
      if (!std::isfinite(out[i])) {
        refuse(ErrorCode::kCorrupt, fmt::format("tensor {} (at byte {}): element {} is not a finite number",
                                                name, tensor.offset, begin + i));
        return false;
      }
    }
    return true;
  }

  const Gguf& file_;
  std::set<std::string, std::less<>> used_;
  std::optional<Error> error_;
};

ModelShape load_shape(const Gguf& file, Loader& loader) {
  // Bounds of what is sane; they keep all products of sizes far from overflow.
  constexpr std::int64_t kMost = 1 << 20;
  ModelShape shape;
  shape.layers = loader.count("llama.block_count", 1024);
  shape.width = loader.count("llama.embedding_length", kMost);
  shape.heads = loader.count("llama.attention.head_count", 4096);
  shape.kv_heads = loader.count_or("llama.attention.head_count_kv", 4096, shape.heads);
  shape.head_dim = loader.count_or("llama.attention.key_length", kMost, shape.width / shape.heads);
  shape.feed_forward = loader.count("llama.feed_forward_length", kMost);
  shape.context = loader.count("llama.context_length", 1 << 24);
  shape.rope_dim = loader.count_or("llama.rope.dimension_count", kMost, shape.head_dim);
  shape.rope_base = file.has("llama.rope.freq_base") ? loader.positive("llama.rope.freq_base") : 10'000.0;
  shape.epsilon = static_cast<float>(loader.positive("llama.attention.layer_norm_rms_epsilon"));
  if (const auto embedding = file.tensor("token_embd.weight"); embedding && (*embedding)->shape.size() == 2) {
    shape.vocabulary = (*embedding)->shape[1];
  }
  if (shape.vocabulary == 0 || shape.vocabulary > 1 << 24) {
    loader.refuse(ErrorCode::kCorrupt, "token_embd.weight is missing or has no vocabulary dimension");
  }
  if (shape.heads % shape.kv_heads != 0 || shape.heads / shape.kv_heads > kMaxSharedHeads) {
    loader.refuse(ErrorCode::kUnsupported,
                  fmt::format("{} query heads on {} key/value heads", shape.heads, shape.kv_heads));
  }
  if (shape.head_dim == 0 || shape.head_dim % kPanel != 0 || shape.head_dim > kMaxHeadDim) {
    loader.refuse(ErrorCode::kUnsupported,
                  fmt::format("heads of {} dimensions; this engine computes multiples "
                              "of {} up to {}",
                              shape.head_dim, kPanel, kMaxHeadDim));
  }
  if (shape.rope_dim % 2 != 0 || shape.rope_dim > shape.head_dim) {
    loader.refuse(ErrorCode::kCorrupt, fmt::format("llama.rope.dimension_count is {} for heads of {}",
                                                   shape.rope_dim, shape.head_dim));
  }
  if (loader.count_or("llama.attention.value_length", kMost, shape.head_dim) != shape.head_dim) {
    loader.refuse(ErrorCode::kUnsupported, "values and keys of different length");
  }
  if (file.has("llama.rope.scaling.type") && file.text("llama.rope.scaling.type") != "none") {
    loader.refuse(ErrorCode::kUnsupported, "llama.rope.scaling.type is not 'none'");
  }
  if (file.has("llama.expert_count") && file.integer("llama.expert_count") != 0) {
    loader.refuse(ErrorCode::kUnsupported, "mixtures of experts are not computed by this engine");
  }
  return shape;
}

}  // namespace

std::size_t Matrix::panel_count() const {
  return padded(outer, kPanel) / kPanel;
}

void Matrix::copy_row(std::size_t outer_index, float* out) const {
  const float* place = panels.data() + (outer_index / kPanel) * inner * kPanel + outer_index % kPanel;
  for (std::size_t i = 0; i < inner; ++i) {
    out[i] = place[i * kPanel];
  }
}

Result<Weights> Weights::load(const Gguf& file) {
  auto architecture = file.text("general.architecture");
  if (!architecture) {
    return fail(std::move(architecture.error()));
  }
  if (*architecture != "llama") {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: its architecture is '{}'; this engine computes 'llama' "
                            "only",
                            file.name(), *architecture));
  }
  Loader loader(file);
  Weights weights;
  weights.name = file.text("general.name").value_or("");
  weights.shape = load_shape(file, loader);
  const auto& shape = weights.shape;
  const auto q_size = shape.heads * shape.head_dim;
  const auto kv_size = shape.kv_heads * shape.head_dim;
  weights.embedding = loader.matrix("token_embd.weight", shape.width, shape.vocabulary);
  if (file.tensors().contains("output.weight")) {
    weights.output = loader.matrix("output.weight", shape.width, shape.vocabulary);
  }
  weights.output_norm = loader.vector("output_norm.weight", shape.width);
  if (file.tensors().contains("rope_freqs.weight")) {
    const auto factors = loader.vector("rope_freqs.weight", shape.rope_dim / 2);
    weights.rope_factors.assign(factors.data(), factors.data() + factors.size());
  }
  for (std::size_t i = 0; i < shape.layers && !loader.error(); ++i) {
    const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}.weight", i, part); };
    LayerWeights layer;
    layer.attention_norm = loader.vector(name("attn_norm"), shape.width);
    layer.q = loader.matrix(name("attn_q"), shape.width, q_size);
    layer.k = loader.matrix(name("attn_k"), shape.width, kv_size);
    layer.v = loader.matrix(name("attn_v"), shape.width, kv_size);
    layer.o = loader.matrix(name("attn_output"), q_size, shape.width);
    layer.feed_forward_norm = loader.vector(name("ffn_norm"), shape.width);
    layer.gate = loader.matrix(name("ffn_gate"), shape.width, shape.feed_forward);
    layer.up = loader.matrix(name("ffn_up"), shape.width, shape.feed_forward);
    layer.down = loader.matrix(name("ffn_down"), shape.feed_forward, shape.width);
    weights.layers.push_back(std::move(layer));
  }
  if (!loader.error()) {
    loader.refuse_unused();
  }
  if (loader.error()) {
    return fail(*loader.error());
  }
  return weights;
}

}  // namespace fireboss::engine
