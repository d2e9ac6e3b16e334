#include "engine/gguf/gguf.h"

#include <random>

#include <gmock/gmock.h>

#include "tests/unit/engine/drill.h"
#include "tests/unit/engine/gguf/gguf_writer.h"

namespace fireboss::engine {
namespace {

using testing::HasSubstr;

Error error_of(const GgufWriter& writer) {
  const auto file = Gguf::parse(writer.bytes(), "m.gguf");
  EXPECT_FALSE(file);
  return file ? Error{} : file.error();
}

TEST(GgufFile, GivesValuesAndTensorData) {
  GgufWriter writer;
  writer.header(1, 2).u32("general.alignment", 32).string("general.name", "tiny");
  writer.tensor("w", {2, 3}, 0, 0).align();
  for (int i = 0; i < 6; ++i) {
    writer.number(static_cast<float>(i));
  }
  const auto file = Gguf::parse(writer.bytes(), "m.gguf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text("general.name"), "tiny");
  EXPECT_EQ(file->integer("general.alignment"), 32);
  const auto tensor = file->tensor("w");
  ASSERT_TRUE(tensor);
  EXPECT_EQ((*tensor)->data.size(), 24U);
  float last;
  std::memcpy(&last, (*tensor)->data.data() + 20, 4);
  EXPECT_EQ(last, 5.0F);
}

TEST(GgufFile, NamesTheKeyThatIsMissingOrOfAnotherType) {
  GgufWriter writer;
  writer.header(0, 1).u32("n", 1);
  const auto file = Gguf::parse(writer.bytes(), "m.gguf");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->text("n").error().message, "m.gguf: metadata key n is not a string");
  EXPECT_EQ(file->integer("k").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(file->tensor("t").error().message, "m.gguf: tensor t is missing");
}

TEST(GgufFile, RefusesWhatIsNoGguf) {
  GgufWriter writer;
  writer.text("not a model at all");
  EXPECT_EQ(error_of(writer).message, "m.gguf: at byte 0: this is not a GGUF file (no GGUF magic)");
}

TEST(GgufFile, RefusesOtherVersionsAndByteOrders) {
  GgufWriter writer;
  writer.header(0, 0, 2);
  EXPECT_EQ(error_of(writer).code, ErrorCode::kUnsupported);
  GgufWriter swapped;
  swapped.header(0, 0, 0x03000000);
  EXPECT_THAT(error_of(swapped).message, HasSubstr("0x3000000"));
}

TEST(GgufFile, RefusesAStringLongerThanTheFile) {
  GgufWriter writer;
  writer.header(0, 1).number<std::uint64_t>(~std::uint64_t{0});
  EXPECT_THAT(error_of(writer).message,
              HasSubstr("at byte 24: a metadata key claims 18446744073709551615 bytes"));
}

TEST(GgufFile, RefusesAnArrayLongerThanTheFileBeforeItTakesMemory) {
  GgufWriter writer;
  writer.header(0, 1).text("a").number<std::uint32_t>(9).number<std::uint32_t>(8);
  writer.number<std::uint64_t>(std::uint64_t{1} << 60);
  EXPECT_THAT(error_of(writer).message, HasSubstr("claims 1152921504606846976 elements"));
}

TEST(GgufFile, RefusesArraysOfArraysAndUnknownTypes) {
  GgufWriter nested;
  nested.header(0, 1).text("a").number<std::uint32_t>(9).number<std::uint32_t>(9).number<std::uint64_t>(0);
  EXPECT_EQ(error_of(nested).code, ErrorCode::kUnsupported);
  GgufWriter unknown;
  unknown.header(0, 1).text("a").number<std::uint32_t>(99).number<std::uint64_t>(0);
  EXPECT_THAT(error_of(unknown).message, HasSubstr("the value of a has unknown type 99"));
}

TEST(GgufFile, RefusesTooManyEntries) {
  GgufWriter writer;
  writer.header(std::uint64_t{1} << 40, 0);
  EXPECT_EQ(error_of(writer).code, ErrorCode::kCorrupt);
}

TEST(GgufFile, RefusesAKeyOrTensorThatOccursTwice) {
  GgufWriter keys;
  keys.header(0, 2).u32("n", 1).u32("n", 2);
  EXPECT_THAT(error_of(keys).message, HasSubstr("key n occurs twice"));
  GgufWriter tensors;
  tensors.header(2, 0).tensor("w", {1}, 0, 0).tensor("w", {1}, 0, 32).align();
  tensors.number(1.0F).align().number(1.0F);
  EXPECT_THAT(error_of(tensors).message, HasSubstr("tensor w occurs twice"));
}

TEST(GgufFile, RefusesShapesWhoseProductOverflows) {
  GgufWriter writer;
  writer.header(1, 0).tensor("w", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0).align();
  EXPECT_THAT(error_of(writer).message, HasSubstr("impossible size"));
  GgufWriter empty;
  empty.header(1, 0).tensor("w", {0}, 0, 0).align();
  EXPECT_THAT(error_of(empty).message, HasSubstr("impossible size 0"));
}

TEST(GgufFile, RefusesQuantisedTensorsByName) {
  GgufWriter writer;
  writer.header(1, 0).tensor("blk.0.attn_q.weight", {32}, 8, 0).align();
  const auto error = error_of(writer);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("blk.0.attn_q.weight is stored in GGML type 8"));
}

TEST(GgufFile, RefusesDataOutsideTheFileOrOffItsAlignment) {
  GgufWriter far;
  far.header(1, 0).tensor("w", {2}, 0, 64).align();
  far.number(1.0F).number(1.0F);
  EXPECT_THAT(error_of(far).message, HasSubstr("tensor w needs 8 bytes at offset 64"));
  GgufWriter wrapped;
  wrapped.header(1, 0).tensor("w", {2}, 0, ~std::uint64_t{31}).align();
  EXPECT_THAT(error_of(wrapped).message, HasSubstr("it is cut short"));
  GgufWriter odd;
  odd.header(1, 0).tensor("w", {1}, 0, 4).align().number(1.0F).number(1.0F);
  EXPECT_THAT(error_of(odd).message, HasSubstr("not a multiple of 32"));
}

TEST(GgufFile, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  GgufWriter writer;
  writer.header(0, 1).u32("general.alignment", 24);
  EXPECT_THAT(error_of(writer).message, HasSubstr("general.alignment is 24"));
}

TEST(GgufFile, RefusesEveryTruncationOfARealFile) {
  const auto bytes = Drill::get().file.bytes();
  // Every length in the first part of the metadata, then a sample: the tables are long.
  for (std::size_t size = 0; size < bytes.size(); size += size < 2000 ? 1 : 4999) {
    const auto file = Gguf::parse(bytes.first(size), "cut");
    ASSERT_FALSE(file) << size;
    EXPECT_THAT(file.error().message, HasSubstr("cut: at byte "));
  }
}

// A flipped byte may leave a file that is still well formed; it must never crash or read outside.
TEST(GgufFile, SurvivesFlippedBytes) {
  const auto bytes = Drill::get().file.bytes();
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t at = random() % (round % 2 == 0 ? 1200 : 64'000);
    const auto kept = copy[at];
    copy[at] = static_cast<std::byte>(random());
    const auto file = Gguf::parse(copy, "flipped");
    if (file) {
      (void)Weights::load(*file);
      (void)Tokenizer::load(*file);
    }
    refused += !file;
    copy[at] = kept;
  }
  EXPECT_GT(refused, 20);
}

TEST(MappedFileOpen, TellsWhatIsWrongWithThePath) {
  EXPECT_EQ(MappedFile::open("/nonexistent/x.gguf").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(MappedFile::open("/dev/null").error().message, HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace fireboss::engine
