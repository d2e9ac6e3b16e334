#include "engine/model/kernels.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/model/float_buffer.h"

namespace fireboss::engine {
namespace {

void fill(FloatBuffer& buffer, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = normal(random);
  }
}

class KernelsOfThisProcessor : public testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(All, KernelsOfThisProcessor, testing::ValuesIn(usable_kernels()),
                         [](const auto& test) { return std::string(test.param->name + 4); });

// y[r][o] = sum over i of x[r][i] * panels, in double.
TEST_P(KernelsOfThisProcessor, MultiplyAsTheDefinitionDoes) {
  constexpr std::size_t kInner = 37;
  constexpr std::size_t kPanels = 6;
  FloatBuffer panels(kPanels * kInner * kPanel);
  fill(panels, 1);
  for (const std::size_t rows : {1U, 2U, 5U, 6U, 7U, 13U}) {
    FloatBuffer x(rows * kInner);
    FloatBuffer y(rows * kPanels * kPanel);
    fill(x, 2);
    for (const bool add : {false, true}) {
      fill(y, 3);
      std::vector<float> before(y.data(), y.data() + y.size());
      GetParam()->matmul({.x = x.data(),
                          .x_stride = kInner,
                          .rows = rows,
                          .panels = panels.data(),
                          .inner = kInner,
                          .panel_begin = 1,
                          .panel_end = kPanels,
                          .y = y.data(),
                          .y_stride = kPanels * kPanel,
                          .add = add});
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t o = 0; o < kPanels * kPanel; ++o) {
          const auto at = r * kPanels * kPanel + o;
          double expected = add || o < kPanel ? before[at] : 0;
          for (std::size_t i = 0; i < kInner && o >= kPanel; ++i) {
            expected += static_cast<double>(x.data()[r * kInner + i]) *
                        panels.data()[(o / kPanel * kInner + i) * kPanel + o % kPanel];
          }
          ASSERT_NEAR(y.data()[at], expected, 2e-5) << rows << " rows, row " << r << ", output " << o;
        }
      }
    }
  }
}

struct Shape {
  std::size_t heads, kv_heads, head_dim;
};

// A cache of `positions` positions and queries for all of them, attended from `first` on.
struct Attention {
  Shape shape;
  std::size_t positions;
  FloatBuffer q, keys, values;

  Attention(Shape s, std::size_t n)
      : shape(s),
        positions(n),
        q(n * s.heads * s.head_dim),
        keys(s.kv_heads * stride()),
        values(keys.size()) {
    fill(q, 4);
    fill(keys, 5);
    fill(values, 6);
    for (std::size_t i = 0; i < q.size(); ++i) {
      q.data()[i] *= 4;  // scores far apart, as trained heads have them
    }
  }
  [[nodiscard]] std::size_t stride() const { return padded(positions, kKeyBlock) * shape.head_dim; }

  std::vector<float> run(const Kernels& kernels, std::size_t first, std::size_t rows) const {
    const std::size_t width = shape.heads * shape.head_dim;
    std::vector<float> out(rows * width);
    for (std::size_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      kernels.attend({.q = q.data() + first * width,
                      .q_stride = width,
                      .out = out.data(),
                      .out_stride = width,
                      .rows = rows,
                      .first_position = first,
                      .keys = keys.data(),
                      .values = values.data(),
                      .head_stride = stride(),
                      .heads = shape.heads,
                      .kv_heads = shape.kv_heads,
                      .head_dim = shape.head_dim,
                      .kv_head = kv_head});
    }
    return out;
  }
  // By the definition, in double.
  [[nodiscard]] std::vector<double> expected(std::size_t position, std::size_t head) const {
    const std::size_t kv_head = head / (shape.heads / shape.kv_heads);
    const std::size_t d = shape.head_dim;
    std::vector<double> weights;
    double highest = -1e300;
    for (std::size_t p = 0; p <= position; ++p) {
      double score = 0;
      for (std::size_t i = 0; i < d; ++i) {
        score +=
            static_cast<double>(q.data()[(position * shape.heads + head) * d + i]) *
            keys.data()[kv_head * stride() + p / kKeyBlock * kKeyBlock * d + i * kKeyBlock + p % kKeyBlock];
      }
      weights.push_back(score / std::sqrt(static_cast<double>(d)));
      highest = std::max(highest, weights.back());
    }
    double sum = 0;
    std::vector<double> out(d);
    for (std::size_t p = 0; p <= position; ++p) {
      const double weight = std::exp(weights[p] - highest);
      sum += weight;
      for (std::size_t i = 0; i < d; ++i) {
        out[i] += weight * values.data()[kv_head * stride() + p * d + i];
      }
    }
    for (auto& value : out) {
      value /= sum;
    }
    return out;
  }
};

TEST_P(KernelsOfThisProcessor, AttendAsTheDefinitionDoes) {
  for (const Shape shape : {Shape{4, 2, 32}, Shape{3, 3, 16}, Shape{8, 1, 64}}) {
    const Attention attention(shape, 203);
    const std::size_t width = shape.heads * shape.head_dim;
    for (const std::size_t first : {0U, 63U, 64U, 150U}) {
      const std::size_t rows = 203 - first;
      const auto out = attention.run(*GetParam(), first, rows);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t head = 0; head < shape.heads; ++head) {
          const auto expected = attention.expected(first + r, head);
          for (std::size_t i = 0; i < shape.head_dim; ++i) {
            ASSERT_NEAR(out[r * width + head * shape.head_dim + i], expected[i], 2e-5)
                << "position " << first + r << " head " << head;
          }
        }
      }
    }
  }
}

TEST_P(KernelsOfThisProcessor, AttendARowTheSameInEveryBatch) {
  const Attention attention({4, 2, 32}, 203);
  const auto all = attention.run(*GetParam(), 0, 203);
  for (std::size_t position = 0; position < 203; ++position) {
    const auto alone = attention.run(*GetParam(), position, 1);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(alone[i], all[position * alone.size() + i]) << position;
    }
  }
}

TEST_P(KernelsOfThisProcessor, LetANanThrough) {
  Attention attention({4, 2, 32}, 100);
  attention.keys.data()[3] = std::nanf("");  // position 3 of the first key/value head
  const auto out = attention.run(*GetParam(), 0, 100);
  EXPECT_FALSE(std::isnan(out[2 * 128]));
  EXPECT_TRUE(std::isnan(out[3 * 128]));
  EXPECT_TRUE(std::isnan(out[99 * 128]));
  EXPECT_FALSE(std::isnan(out[99 * 128 + 64]));
}

TEST_P(KernelsOfThisProcessor, NormaliseAndGate) {
  std::vector<float> x(37, 2.0F);
  std::vector<float> y(37);
  const std::vector<float> weight(37, 3.0F);
  GetParam()->rms_norm(x.data(), weight.data(), 37, 0.0F, y.data());
  EXPECT_NEAR(y[0], 3, 1e-6);
  EXPECT_NEAR(y[36], 3, 1e-6);
  for (const float value : {-1e4F, -90.0F, -3.0F, 0.0F, 3.0F, 1e4F}) {
    std::vector<float> gate(16, value);
    const std::vector<float> up(16, 2.0F);
    GetParam()->silu_multiply(gate.data(), up.data(), 16);
    const double expected = 2.0 * value / (1 + std::exp(-static_cast<double>(value)));
    EXPECT_NEAR(gate[15], expected, 1e-6 + 1e-6 * std::fabs(expected)) << value;
  }
}

}  // namespace
}  // namespace fireboss::engine
