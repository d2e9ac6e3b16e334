#include "engine/tokenizer/pretokenizer.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace fireboss::engine {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces(std::string_view text) {
  const Pretokenizer pretokenizer;
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto piece = pretokenizer.first_piece(text);
    out.emplace_back(piece);
    text.remove_prefix(piece.size());
  }
  return out;
}

TEST(Pretokenizer, JoinsOneLeadingSpaceToAWord) {
  EXPECT_THAT(pieces("say  two words"), ElementsAre("say", " ", " two", " words"));
}

TEST(Pretokenizer, LeavesTheLastOfARunOfSpacesToWhatFollows) {
  EXPECT_THAT(pieces("a\n\n  b"), ElementsAre("a", "\n\n ", " b"));
  EXPECT_THAT(pieces("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(pieces("a \n"), ElementsAre("a", " \n"));
}

TEST(Pretokenizer, SplitsContractionsNumbersAndPunctuation) {
  EXPECT_THAT(pieces("it's 12ab, (x)"), ElementsAre("it", "'s", " 12", "ab", ",", " (", "x", ")"));
}

TEST(Pretokenizer, KnowsLettersAndSpacesBeyondAscii) {
  EXPECT_THAT(pieces("Zwölf٣é"), ElementsAre("Zwölf", "٣", "é"));
  EXPECT_THAT(pieces("a\u00a0\u3000b"), ElementsAre("a", "\u00a0", "\u3000", "b"));
}

TEST(Pretokenizer, TakesBytesThatAreNoTextOneByOne) {
  EXPECT_THAT(pieces("a\xFF\xFE"), ElementsAre("a", "\xFF", "\xFE"));
}

}  // namespace
}  // namespace fireboss::engine
