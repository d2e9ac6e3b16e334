#include "probes/journal/scanner.h"

#include <gtest/gtest.h>

namespace fireboss::probes {
namespace {

const SignatureSet& signatures() {
  static const auto set = SignatureSet::parse(
      "ignore = ['quoted']\n"
      "[[signature]]\nname = 'one'\nclass = 'stall'\nmatch = 'alpha.*omega'\n"
      "[[signature]]\nname = 'two'\nclass = 'engine_dead'\nmatch = 'omega$'\n"
      "[[signature]]\nname = 'three'\nclass = 'busy'\nmatch = '^beta'\n",
      "test");
  EXPECT_TRUE(set) << set.error().message;
  return *set;
}

// "name count first_line; ..." in the order of the findings.
std::string say(const std::vector<Finding>& findings) {
  std::string out;
  for (const auto& f : findings)
    out += (out.empty() ? "" : "; ") + signatures().all()[f.signature].name + " " + std::to_string(f.count) +
           " " + std::to_string(f.first_line);
  return out;
}

// In chunks of that size.
std::string scan(const std::string& text, std::size_t chunk = std::string::npos) {
  Scanner scanner(signatures());
  for (std::size_t at = 0; at < text.size(); at += std::min(chunk, text.size() - at))
    scanner.feed(std::string_view(text).substr(at, chunk));
  return say(scanner.finish());
}

TEST(ScannerTest, CountsLinesAndNumbersTheFirstOne) {
  EXPECT_EQ(scan("x\nalpha to omega\nbeta\nalpha and omega, not at the end\nbeta alpha\n"),
            "one 2 2; two 1 2; three 2 3");
}

TEST(ScannerTest, ResultDoesNotDependOnTheChunks) {
  const std::string text = "x\n\n\nalpha to omega\r\nbeta\nalpha and omega.\n\nbeta\nomega";
  const std::string expected = "one 2 4; two 2 4; three 2 5";
  EXPECT_EQ(scan(text), expected);
  for (std::size_t size = 1; size < text.size() + 2; ++size)
    EXPECT_EQ(scan(text, size), expected) << size;
}

TEST(ScannerTest, LineIsCountedOnceHoweverOftenItMatches) {
  EXPECT_EQ(scan("alpha omega alpha omega omega\n"), "one 1 1; two 1 1");
}

TEST(ScannerTest, MatchDoesNotReachOverALinesEnd) {
  EXPECT_EQ(scan("alpha\nomega.\n"), "");
}

TEST(ScannerTest, IgnoredLineIsNotJudged) {
  EXPECT_EQ(scan("quoted alpha omega\nomega\n"), "two 1 2");
}

TEST(ScannerTest, LastLineNeedsNoEnd) {
  EXPECT_EQ(scan("\n\nomega"), "two 1 3");
}

TEST(ScannerTest, NothingInNothingOut) {
  EXPECT_EQ(scan(""), "");
  EXPECT_EQ(scan("\n"), "");
}

TEST(ScannerTest, EndlessLineIsLookedAtInItsFirstPart) {
  const std::string text = "beta" + std::string(200'000, 'x') + "alpha omega\nomega\n";
  for (const std::size_t size : {std::size_t{1'000}, std::size_t{70'000}, text.size()})
    EXPECT_EQ(scan(text, size), "three 1 1; two 1 2") << size;
}

TEST(ScannerTest, KeepsTheFirstLinesTextBounded) {
  Scanner scanner(signatures());
  scanner.feed("omega\nbeta " + std::string(5'000, 'y') + "\n");
  const auto findings = scanner.finish();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].first_text, "omega");
  EXPECT_EQ(findings[1].first_text.size(), 512u);
}

TEST(ScannerTest, NulBytesAreBytes) {
  EXPECT_EQ(scan(std::string("a\0lpha\nalpha\0omega\n", 19)), "one 1 2; two 1 2");
}

TEST(ScannerTest, CarriageReturnIsNoPartOfTheLine) {
  const std::string text = "x\r\nthe omega\r\nbeta\r\nomega\r";
  for (std::size_t size = 1; size < text.size() + 2; ++size)
    EXPECT_EQ(scan(text, size), "two 2 2; three 1 3") << size;
}

TEST(ScannerTest, EndlessLineEndsWhereItIsCutForEverySearch) {
  const std::string text = "x\n" + std::string(64 * 1024 - 5, 'x') + "omega and more\nomega\n";
  for (const auto size : {std::size_t{1'000}, text.size()})
    EXPECT_EQ(scan(text, size), "two 2 2") << size;
}

TEST(ScannerTest, SignatureThatMatchesNothingAtAllEndsToo) {
  const auto set =
      SignatureSet::parse("[[signature]]\nname = 'all'\nclass = 'stall'\nmatch = '|x'\n", "test");
  ASSERT_TRUE(set) << set.error().message;
  for (const std::size_t size : {1U, 3U, 100U}) {
    Scanner scanner(*set);
    const std::string_view text = "a\n\nb\r\n\n";
    for (std::size_t at = 0; at < text.size(); at += size)
      scanner.feed(text.substr(at, size));
    const auto findings = scanner.finish();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].count, 4);
    EXPECT_EQ(findings[0].first_line, 1);
  }
}

}  // namespace
}  // namespace fireboss::probes
