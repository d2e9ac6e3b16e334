#include "engine/model/weights.h"

#include <limits>

#include <gmock/gmock.h>

#include "tests/unit/engine/drill.h"

namespace fireboss::engine {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

// The drill model's file with some bytes replaced.
struct Altered {
  std::vector<std::byte> bytes;

  Altered() : bytes(Drill::get().file.bytes().begin(), Drill::get().file.bytes().end()) {}

  // Replaces the first occurrence of a text by one of the same length.
  void replace(std::string_view from, std::string_view to) {
    auto* text = reinterpret_cast<char*>(bytes.data());
    const auto at = std::string_view(text, bytes.size()).find(from);
    ASSERT_NE(at, std::string_view::npos);
    ASSERT_EQ(from.size(), to.size());
    std::ranges::copy(to, text + at);
  }
  [[nodiscard]] Error load() const {
    const auto file = Gguf::parse(bytes, "m.gguf");
    const auto weights = Weights::load(file.value());
    EXPECT_FALSE(weights);
    return weights ? Error{} : weights.error();
  }
};

TEST(WeightsLoad, ReadsTheShapeOfTheDrillModel) {
  const auto& shape = Drill::get().weights.shape;
  EXPECT_EQ(shape.layers, 4U);
  EXPECT_EQ(shape.heads, 4U);
  EXPECT_EQ(shape.kv_heads, 2U);
  EXPECT_EQ(shape.head_dim, 32U);
  EXPECT_EQ(shape.feed_forward, 288U);
  EXPECT_EQ(shape.vocabulary, 2039U);
  EXPECT_EQ(shape.context, 16384U);
  EXPECT_EQ(Drill::get().weights.output.outer, 0U);
}

TEST(WeightsLoad, PacksSoThatRowsComeBack) {
  const auto& drill = Drill::get();
  const auto* tensor = drill.gguf.tensor("token_embd.weight").value();
  std::vector<float> row(128);
  drill.weights.embedding.copy_row(2038, row.data());
  std::uint16_t half;
  std::memcpy(&half, tensor->data.data() + (2038 * 128 + 5) * 2, 2);
  // IEEE 754 binary16, a normal number.
  const int exponent = half >> 10 & 31;
  ASSERT_TRUE(exponent > 0 && exponent < 31);
  const float expected = std::ldexp(static_cast<float>(1024 + (half & 1023)), exponent - 25);
  EXPECT_EQ(row[5], (half >> 15) != 0 ? -expected : expected);
}

TEST(WeightsLoad, RefusesOtherArchitecturesByName) {
  Altered file;
  file.replace("\x05\0\0\0\0\0\0\0llama"s, "\x05\0\0\0\0\0\0\0qwen9"s);
  EXPECT_EQ(file.load().message, "m.gguf: its architecture is 'qwen9'; this engine computes 'llama' only");
}

TEST(WeightsLoad, RefusesATensorThatIsMissing) {
  Altered file;
  file.replace("blk.2.ffn_up.weight", "blk.2.ffn_xx.weight");
  EXPECT_EQ(file.load().message, "m.gguf: tensor blk.2.ffn_up.weight is missing");
}

TEST(WeightsLoad, RefusesATensorThatItWouldLeaveOut) {
  Altered file;
  // One layer less in the metadata leaves the tensors of the last one unused.
  file.replace("llama.block_count\x04\0\0\0\x04"s, "llama.block_count\x04\0\0\0\x03"s);
  EXPECT_THAT(file.load().message, HasSubstr("tensor blk.3.attn_k.weight belongs to no part of the model"));
}

TEST(WeightsLoad, RefusesShapesThatDoNotFit) {
  Altered file;
  file.replace("llama.feed_forward_length\x04\0\0\0\x20\x01"s,
               "llama.feed_forward_length\x04\0\0\0\x30\x01"s);
  EXPECT_THAT(file.load().message, HasSubstr("has shape [128, 288], expected [128, 304]"));
}

TEST(WeightsLoad, RefusesWeightsThatAreNotFinite) {
  Altered file;
  const auto* tensor = Drill::get().gguf.tensor("blk.1.attn_v.weight").value();
  const std::uint16_t half_nan = 0x7E00;
  std::memcpy(file.bytes.data() + tensor->offset + 2 * 77, &half_nan, 2);
  EXPECT_THAT(file.load().message, HasSubstr("element 77 is not a finite number"));
}

}  // namespace
}  // namespace fireboss::engine
