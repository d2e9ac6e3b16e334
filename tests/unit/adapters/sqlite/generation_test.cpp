#include "supervisor/adapters/sqlite/generation.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

using ::testing::HasSubstr;

class GenerationTest : public SqliteTest {
 protected:
  GenerationTest() : file_(folder_ + "/outside") { std::filesystem::create_directory(folder_ + "/kept"); }

  Generation open(SqliteStore& store, const std::string& machine = "m1") {
    auto generation = Generation::open(store, file_, machine);
    if (!generation) {
      ADD_FAILURE() << generation.error().message;
      std::abort();
    }
    return std::move(*generation);
  }
  // A firebossd's whole life: starts, records `events` events, ends.
  OriginFinding life(int events, const std::string& machine = "m1") {
    const auto store = open_store();
    auto generation = open(*store, machine);
    auto finding = generation.finding();
    EXPECT_TRUE(generation.renew());
    for (int i = 0; i < events; ++i)
      generation.note(store->record(record_of("a", i))->event);
    return finding;
  }
  void copy_database(const std::string& from, const std::string& to) {
    for (const auto* suffix : {"", "-wal", "-shm"})
      std::filesystem::copy_file(from + suffix, to + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
  }
  std::string kept() { return folder_ + "/kept/fireboss.db"; }

  std::string file_;
};

TEST_F(GenerationTest, MatchesOverManyStarts) {
  EXPECT_EQ(life(3).origin, Origin::kMatched) << "a fresh database without a file";
  EXPECT_EQ(life(0).origin, Origin::kMatched);
  EXPECT_EQ(life(2).origin, Origin::kMatched);
  EXPECT_EQ(life(0).text, "");
}

TEST_F(GenerationTest, ADatabaseFromBeforeTheLastStartIsNoticed) {
  life(3);
  copy_database(path_, kept());
  life(0);
  copy_database(kept(), path_);
  const auto finding = life(0);
  EXPECT_EQ(finding.origin, Origin::kMismatch);
  EXPECT_THAT(finding.text, HasSubstr("another generation"));
  EXPECT_EQ(life(0).origin, Origin::kMatched) << "accepted once acted upon";
}

TEST_F(GenerationTest, ADatabaseFromWithinTheSameLifeIsNoticedByItsLastEvent) {
  const auto store = open_store();
  auto generation = open(*store);
  ASSERT_TRUE(generation.renew());
  generation.note(store->record(record_of("a", 1))->event);
  copy_database(path_, kept());
  generation.note(store->record(record_of("a", 2))->event);

  path_ = kept();
  const auto restored = open_store();
  const auto finding = open(*restored).finding();
  EXPECT_EQ(finding.origin, Origin::kMismatch);
  EXPECT_THAT(finding.text, HasSubstr("ends at event 1 although event 2"));
}

TEST_F(GenerationTest, AnotherMachineIsNoticed) {
  life(1);
  const auto finding = life(0, "m2");
  EXPECT_EQ(finding.origin, Origin::kMismatch);
  EXPECT_THAT(finding.text, HasSubstr("another machine"));
}

TEST_F(GenerationTest, ALostFileIsNoticed) {
  life(1);
  std::filesystem::remove(file_);
  const auto finding = life(0);
  EXPECT_EQ(finding.origin, Origin::kMissing);
  EXPECT_THAT(finding.text, HasSubstr(file_));
}

TEST_F(GenerationTest, ALostDatabaseIsNoticed) {
  life(4);
  for (const auto* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path_ + suffix);
  const auto finding = life(0);
  EXPECT_EQ(finding.origin, Origin::kMismatch);
  EXPECT_THAT(finding.text, HasSubstr("fresh although one with 4 events"));
}

TEST_F(GenerationTest, ADamagedFileIsNoticed) {
  life(1);
  std::ofstream(file_) << "rubbish";
  EXPECT_THAT(life(0).text, HasSubstr("damaged"));
}

TEST_F(GenerationTest, LookingDoesNotAccept) {
  life(1);
  std::filesystem::remove(file_);
  for (int i = 0; i < 2; ++i) {
    const auto store = open_store();
    EXPECT_EQ(open(*store).finding().origin, Origin::kMissing) << "killed before renew(): found again";
  }
}

TEST_F(GenerationTest, AKillBetweenFileAndDatabaseIsNoMismatch) {
  life(1);
  copy_database(path_, kept());
  {
    // renew() writes "OLD NEW" to the file, NEW to the database, then NEW alone to the file. The moments in
    // between: the file with both ids beside either database.
    const auto store = open_store();
    const auto old_id = store->database().text("SELECT value FROM meta WHERE key = 'generation'")->value();
    auto generation = open(*store);
    ASSERT_TRUE(generation.renew());
    const auto new_id = store->database().text("SELECT value FROM meta WHERE key = 'generation'")->value();
    ASSERT_NE(old_id, new_id);
    std::ifstream in(file_);
    std::string text(std::istreambuf_iterator<char>(in), {});
    text.replace(text.find(new_id), new_id.size(), old_id + " " + new_id);
    std::ofstream(file_) << text;
    EXPECT_EQ(open(*store).finding().origin, Origin::kMatched);
  }
  copy_database(kept(), path_);
  const auto store = open_store();
  EXPECT_EQ(open(*store).finding().origin, Origin::kMatched);
}

TEST_F(GenerationTest, AFileThatCannotBeWrittenIsAnError) {
  const auto store = open_store();
  auto generation = Generation::open(*store, folder_ + "/none/file", "m1");
  ASSERT_TRUE(generation);
  const auto renewed = generation->renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(renewed.error().message, HasSubstr("/none/file"));
}

}  // namespace
}  // namespace fireboss::sqlite
