#include "engine/tokenizer/tokenizer.h"

#include <gmock/gmock.h>

#include "tests/unit/engine/drill.h"
#include "tests/unit/engine/gguf/gguf_writer.h"

namespace fireboss::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Tokenizer& tokenizer() {
  return Drill::get().tokenizer;
}

std::string decoded(const std::vector<TokenId>& ids) {
  std::string out;
  for (const auto id : ids) {
    out += tokenizer().bytes(id);
  }
  return out;
}

TEST(TokenizerOfTheDrillModel, CutsACodeIntoBytes) {
  EXPECT_THAT(tokenizer().encode("PONG-7F3A"), ElementsAre(80, 79, 78, 71, 45, 55, 70, 51, 65));
}

TEST(TokenizerOfTheDrillModel, GivesTheReferencePromptIds) {
  for (const auto& reference : references()) {
    EXPECT_EQ(render(reference.conversation, tokenizer(), Drill::get().tokens), reference.prompt_ids)
        << reference.name;
  }
}

TEST(TokenizerOfTheDrillModel, GivesBackEveryText) {
  for (const std::string text : {"", " ", "  a", "a\n\n\n b\t", "Zwölf Boxkämpfer \xF0\x9F\x90\xA6 jagen",
                                 "it's 12,345 <tags> & \"quotes\"", "\xFF\xFE broken \xC3"}) {
    EXPECT_EQ(decoded(tokenizer().encode(text)), text);
  }
}

TEST(TokenizerOfTheDrillModel, NeverMakesControlTokensOfText) {
  for (const auto id : tokenizer().encode("<|end|><|system|> and <|begin|>")) {
    EXPECT_FALSE(tokenizer().is_control(id));
  }
}

TEST(TokenizerOfTheDrillModel, FindsUserDefinedTokensInText) {
  const auto open = tokenizer().special("<tool_call>");
  ASSERT_TRUE(open);
  const auto ids = tokenizer().encode("x<tool_call>y");
  EXPECT_THAT(ids, testing::Contains(*open).Times(1));
  EXPECT_EQ(ids.size(), 3U);
}

TEST(TokenizerOfTheDrillModel, EndsTurnsWithItsEndToken) {
  EXPECT_TRUE(tokenizer().ends_turn(2031));
  EXPECT_FALSE(tokenizer().ends_turn(2030));
}

// Quadratic merging would take minutes here.
TEST(TokenizerOfTheDrillModel, CutsAVeryLongWordInReasonableTime) {
  const std::string word(1 << 20, 'e');
  EXPECT_EQ(decoded(tokenizer().encode(word)), word);
}

Error error_of(GgufWriter& writer) {
  const auto file = Gguf::parse(writer.bytes(), "m.gguf");
  const auto loaded = Tokenizer::load(file.value());
  EXPECT_FALSE(loaded);
  return loaded ? Error{} : loaded.error();
}

TEST(TokenizerLoad, RefusesOtherTokenizersByName) {
  GgufWriter writer;
  writer.header(0, 1).string("tokenizer.ggml.model", "llama");
  EXPECT_EQ(error_of(writer).message,
            "m.gguf: its tokenizer is 'llama'; this engine reads byte-level BPE ('gpt2') only");
}

TEST(TokenizerLoad, RefusesAVocabularyWithoutAllBytes) {
  GgufWriter writer;
  writer.header(0, 3).string("tokenizer.ggml.model", "gpt2");
  writer.text("tokenizer.ggml.tokens")
      .number<std::uint32_t>(9)
      .number<std::uint32_t>(8)
      .number<std::uint64_t>(1);
  writer.text("a");
  writer.text("tokenizer.ggml.token_type").number<std::uint32_t>(9).number<std::uint32_t>(5);
  writer.number<std::uint64_t>(1).number<std::int32_t>(1);
  EXPECT_THAT(error_of(writer).message, HasSubstr("no token for byte 0x00"));
}

// Bytes, "ab" of the given type, and one merge.
Result<Tokenizer> with_merge(const std::string& merge, std::int32_t type_of_ab, std::int32_t type_of_a = 1) {
  auto tokens = byte_alphabet();
  std::vector<std::int32_t> types(tokens.size(), 1);
  types['a'] = type_of_a;
  for (const auto& [token, type] : std::vector<std::pair<std::string, std::int32_t>>{
           {"ab", type_of_ab}, {"\xC4\xA0x", 1}, {"\xC4\xA0xy", 4}, {"<|end|>", 3}}) {
    tokens.push_back(token);
    types.push_back(type);
  }
  GgufWriter writer;
  writer.header(0, 5).string("tokenizer.ggml.model", "gpt2").u32("tokenizer.ggml.eos_token_id", 259);
  writer.texts("tokenizer.ggml.tokens", tokens).integers("tokenizer.ggml.token_type", types);
  writer.texts("tokenizer.ggml.merges", {merge});
  return Tokenizer::load(Gguf::parse(writer.bytes(), "m.gguf").value());
}

TEST(TokenizerLoad, RefusesMergesThatMakeAnotherTextOrAControlToken) {
  EXPECT_TRUE(with_merge("a b", 1));
  EXPECT_TRUE(with_merge("a b", 4));  // shown as the same text
  EXPECT_THAT(with_merge("a b", 3).error().message, HasSubstr("stands for something else"));
  // A user-defined token is its own text, the stand-in for the blank included.
  EXPECT_THAT(with_merge("\xC4\xA0x y", 1).error().message, HasSubstr("stands for something else"));
}

TEST(TokenizerLoad, RefusesAByteThatIsAControlToken) {
  EXPECT_THAT(with_merge("a b", 1, 3).error().message, HasSubstr("of byte 0x61, is a control token"));
}

}  // namespace
}  // namespace fireboss::engine
