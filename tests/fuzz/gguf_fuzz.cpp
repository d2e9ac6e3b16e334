// Model files: refused with words, or loaded; and what is loaded can be used: a tokenizer gives every text
// back, a model computes a token without reading anything that is not its own.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"
#include "engine/model/forward.h"
#include "engine/model/weights.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/engine/gguf/gguf_writer.h"

namespace fireboss::engine {
namespace {

using fuzz::hold;

constexpr std::size_t kMaxContext = 16;
// Larger ones are loaded, but not computed with.
constexpr std::size_t kMaxWork = 1 << 20;

std::string_view view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_values(const Gguf& file, std::span<const std::byte> bytes) {
  for (const auto& [name, tensor] : file.tensors()) {
    hold(!tensor.shape.empty() && tensor.shape.size() <= 4, "a tensor of no dimension, or of five");
    hold(tensor.data.size() == tensor.elements() * (tensor.type == TensorType::kF32 ? 4 : 2),
         "a tensor whose data has another size");
    hold(tensor.data.data() >= bytes.data() &&
             tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size(),
         "a tensor beside the file");
    hold(tensor.data.data() == bytes.data() + tensor.offset, "a tensor that is not where it says");
  }
  for (const auto& [key, value] : file.metadata()) {
    const int readable =
        static_cast<int>(file.integer(key).has_value()) + static_cast<int>(file.real(key).has_value()) +
        static_cast<int>(file.text(key).has_value()) + static_cast<int>(file.texts(key).has_value()) +
        static_cast<int>(file.integers(key).has_value());
    hold(readable <= 1, "a value of two types");
  }
}

void check_tokenizer(const Gguf& file) {
  const auto tokenizer = Tokenizer::load(file);
  if (!tokenizer) {
    hold(!tokenizer.error().message.empty(), "an error without words");
    return;
  }
  std::vector<std::string> texts{"", "Hello,  world's 12\n\n x", "<|end|> <tool_call>{\"a\":1}</tool_call>",
                                 "ab ba\xC3\xA4\xFF"};
  for (std::size_t id = 0; id < tokenizer->size() && texts.size() < 40; id += 1 + tokenizer->size() / 32) {
    texts.push_back("a" + tokenizer->bytes(static_cast<TokenId>(id)) + "b");
  }
  for (const auto& text : texts) {
    std::string back;
    for (const auto id : tokenizer->encode(text)) {
      hold(id >= 0 && static_cast<std::size_t>(id) < tokenizer->size(), "a token that there is not");
      hold(!tokenizer->is_control(id), "a text becomes a control token");
      back += tokenizer->bytes(id);
    }
    hold(back == text, "a text is not what its tokens stand for");
  }
}

void check_model(const Gguf& file) {
  const auto weights = Weights::load(file);
  if (!weights) {
    hold(!weights.error().message.empty(), "an error without words");
    return;
  }
  const auto& shape = weights->shape;
  hold(shape.heads % shape.kv_heads == 0 && shape.rope_dim <= shape.head_dim && shape.context > 0,
       "an odd shape");
  const auto context = std::min(shape.context, kMaxContext);
  if (shape.vocabulary * shape.width > kMaxWork || shape.heads * shape.head_dim * shape.width > kMaxWork ||
      shape.feed_forward * shape.width > kMaxWork || shape.layers > 8) {
    return;
  }
  for (const auto* kernels : usable_kernels()) {
    Forward forward(*weights, *kernels, context, 4);
    KvCache cache(shape, context);
    const auto last = static_cast<TokenId>(shape.vocabulary - 1);
    const std::vector<TokenId> tokens(std::min<std::size_t>(context, 3), last);
    const Segment segment{.cache = &cache, .tokens = tokens, .position = 0, .wants_logits = true};
    const auto logits = forward.run(std::span(&segment, 1));
    hold(logits.size() == 1 && logits.front().size() == shape.vocabulary, "logits of another size");
  }
}

void check(std::string_view input) {
  // At another alignment every time: a file mapped into memory is aligned, a tensor in it need not be.
  std::string copy(fuzz::hash_of(input) % 4, ' ');
  const auto skip = copy.size();
  copy += input;
  const auto bytes = std::as_bytes(std::span(copy)).subspan(skip);
  const auto file = Gguf::parse(bytes, "m.gguf");
  if (!file) {
    hold(file.error().message.starts_with("m.gguf"), "an error that does not name the file");
    return;
  }
  check_values(*file, bytes);
  check_tokenizer(*file);
  check_model(*file);
}

// ---- seeds: a small model with all its parts

struct Parts {
  std::uint64_t keys = 0;
  std::vector<std::string> tokens;
};

void tokenizer_keys(GgufWriter& out, Parts& parts) {
  parts.tokens = byte_alphabet();
  std::vector<std::int32_t> types(parts.tokens.size(), 1);
  const auto add = [&](const std::string& token, std::int32_t type) {
    parts.tokens.push_back(token);
    types.push_back(type);
  };
  for (const auto* token : {"ab",
                            "\xC4\xA0"
                            "a",
                            "ba", "abba"}) {
    add(token, 1);
  }
  add("<tool_call>", 4);
  add("<|begin|>", 3);
  add("<|end|>", 3);
  out.string("tokenizer.ggml.model", "gpt2");
  out.string("tokenizer.ggml.pre", "gpt-2");
  out.texts("tokenizer.ggml.tokens", parts.tokens);
  out.integers("tokenizer.ggml.token_type", types);
  out.texts("tokenizer.ggml.merges", {"a b", "\xC4\xA0 a", "b a", "ab ba"});
  out.u32("tokenizer.ggml.eos_token_id", 262);
  parts.keys += 6;
}

std::string small_model(bool with_tokenizer, bool with_weights) {
  constexpr std::uint32_t kWidth = 16;
  GgufWriter body;
  Parts parts;
  body.string("general.architecture", "llama");
  ++parts.keys;
  if (with_tokenizer) {
    tokenizer_keys(body, parts);
  }
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape;
  };
  std::vector<Tensor> tensors;
  if (with_weights) {
    for (const auto& [key, value] :
         std::vector<std::pair<const char*, std::uint32_t>>{{"llama.block_count", 1},
                                                            {"llama.embedding_length", kWidth},
                                                            {"llama.attention.head_count", 1},
                                                            {"llama.attention.head_count_kv", 1},
                                                            {"llama.feed_forward_length", kWidth},
                                                            {"llama.context_length", 8},
                                                            {"llama.rope.dimension_count", kWidth}}) {
      body.u32(key, value);
      ++parts.keys;
    }
    body.real("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    body.real("llama.rope.freq_base", 10'000);
    parts.keys += 2;
    const std::uint64_t vocabulary = with_tokenizer ? parts.tokens.size() : 4;
    tensors = {{"token_embd.weight", {kWidth, vocabulary}}, {"output_norm.weight", {kWidth}}};
    for (const auto* name : {"attn_norm", "ffn_norm"}) {
      tensors.push_back({"blk.0." + std::string(name) + ".weight", {kWidth}});
    }
    for (const auto* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      tensors.push_back({"blk.0." + std::string(name) + ".weight", {kWidth, kWidth}});
    }
  }
  GgufWriter out;
  out.header(tensors.size(), parts.keys);
  std::string bytes(view(out.bytes()));
  bytes += view(body.bytes());
  GgufWriter infos;
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    infos.tensor(tensor.name, tensor.shape, 1, offset);
    std::uint64_t elements = 2;
    for (const auto size : tensor.shape) {
      elements *= size;
    }
    offset += (elements + 31) / 32 * 32;
  }
  bytes += view(infos.bytes());
  bytes.resize((bytes.size() + 31) / 32 * 32);
  for (std::uint64_t i = 0; i < offset; ++i) {  // halves near one quarter
    bytes += i % 2 == 0 ? static_cast<char>(i) : '\x34';
  }
  return bytes;
}

}  // namespace
}  // namespace fireboss::engine

int main(int argc, char** argv) {
  using fireboss::engine::small_model;
  return fireboss::fuzz::run(
      {.name = "gguf",
       .check = fireboss::engine::check,
       .seeds = {small_model(false, false), small_model(true, false), small_model(false, true),
                 small_model(true, true)},
       .tokens = {"GGUF", "general.alignment", "llama.", "tokenizer.ggml.", "output.weight",
                  "rope_freqs.weight", "<|end|>", "\xC4\xA0", "a <|end|>", "<| end|>",
                  "llama.attention.key_length", "llama.rope.scaling.type", "gpt-2", "blk.1."},
       .max_size = 32'768,
       .heap_fixed = std::size_t{4} << 20,
       .heap_per_byte = 128},
      argc, argv);
}
