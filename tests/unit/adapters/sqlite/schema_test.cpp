#include "supervisor/adapters/sqlite/schema.h"

#include <array>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/adapters/sqlite/lock.h"
#include "supervisor/adapters/sqlite/migrate.h"
#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/adapters/sqlite/store.h"
#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr WallTime kNow{Millis{1'786'431'458'000}};  // 2026-08-11T06:57:38Z

class SchemaTest : public SqliteTest {
 protected:
  // The embedded migrations with one more behind them.
  std::vector<Migration> with_next(std::string_view sql) {
    std::vector<Migration> all(migrations().begin(), migrations().end());
    all.push_back({all.back().version + 1, "next", sql});
    return all;
  }
  Error open_error(std::span<const Migration> known = migrations()) {
    auto store = SqliteStore::open(path_, OpenMode::kExisting, known);
    return store ? Error{ErrorCode::kInternal, "opened"} : store.error();
  }
  std::vector<std::string> backups() {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().find(".bak-") != std::string::npos)
        out.push_back(entry.path().string());
    return out;
  }
  void sql(const std::string& text) {
    auto database = Database::open(path_, Access::kReadWrite);
    ASSERT_TRUE(database);
    const auto done = (*database)->execute(text);
    ASSERT_TRUE(done) << done.error().message;
  }
};

TEST_F(SchemaTest, EveryFileOfTheFolderIsEmbeddedAsItIs) {
  const std::filesystem::path folder = std::filesystem::path(FIREBOSS_SOURCE_DIR) / "migrations";
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".sql")
      continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_EQ(files.size(), migrations().size());
  for (const auto& migration : migrations()) {
    char name[128];
    std::snprintf(name, sizeof name, "%04d_%s.sql", migration.version, std::string(migration.name).c_str());
    EXPECT_EQ(files[name], migration.sql) << name;
  }
}

TEST_F(SchemaTest, EveryTableIsStrict) {
  const auto store = open_store();
  EXPECT_EQ(count_of(*store,
                     "pragma_table_list WHERE schema = 'main' AND type = 'table' AND "
                     "name NOT LIKE 'sqlite_%' AND strict = 0"),
            0);
  EXPECT_GE(count_of(*store, "pragma_table_list WHERE strict = 1"), 12);
}

TEST_F(SchemaTest, AnOlderDatabaseIsLeftAloneAndNamesTheCommand) {
  open_store().reset();
  const auto all = with_next("CREATE TABLE more (x INTEGER) STRICT;");
  const auto error = open_error(all);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(path_), HasSubstr("older"), HasSubstr("run `fireboss migrate`")));
  EXPECT_EQ(open_error().message, "opened") << "it was migrated without being asked";
}

TEST_F(SchemaTest, ANewerDatabaseIsRefusedByWriterReaderAndMigrate) {
  const auto all = with_next("CREATE TABLE more (x INTEGER) STRICT;");
  ASSERT_TRUE(SqliteStore::open(path_, OpenMode::kCreate, all));
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr("newer"), HasSubstr("schema 2"),
                                   HasSubstr("knows 1"), HasSubstr("install the Fireboss that wrote it")));
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, error.message);
  const auto migrated = migrate(path_, kNow, [](const std::string&) {});
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().message, error.message);
  EXPECT_THAT(backups(), ElementsAre());
}

TEST_F(SchemaTest, AnAlteredMigrationIsRefused) {
  open_store().reset();
  std::vector<Migration> edited(migrations().begin(), migrations().end());
  const auto text = std::string(edited[0].sql) + "-- harmless?\n";
  edited[0].sql = text;
  const auto error = open_error(edited);
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, AllOf(HasSubstr("altered"), HasSubstr("migration 1"), HasSubstr(".bak-")));
}

TEST_F(SchemaTest, AnAlteredSchemaIsRefused) {
  for (const auto* change :
       {"DROP INDEX event_by_engine", "CREATE TABLE extra (x)", "ALTER TABLE event ADD COLUMN note TEXT",
        "CREATE TRIGGER t AFTER INSERT ON event "
        "BEGIN DELETE FROM event; END"}) {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::remove(path_ + "-shm");
    open_store().reset();
    sql(change);
    const auto error = open_error();
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << change;
    EXPECT_THAT(error.message, AllOf(HasSubstr("altered"), HasSubstr("tables or indexes"))) << change;
  }
}

TEST_F(SchemaTest, AnEmptiedListOfMigrationsIsRefused) {
  open_store().reset();
  sql("DELETE FROM migration");
  EXPECT_THAT(open_error().message, AllOf(HasSubstr("altered"), HasSubstr("list of migrations")));
}

TEST_F(SchemaTest, StatisticsOfAnalyzeAreNoAlteration) {
  open_store().reset();
  sql("ANALYZE");
  EXPECT_EQ(open_error().message, "opened");
}

TEST_F(SchemaTest, MigrateBacksUpThenApplies) {
  {
    const auto store = open_store();
    ASSERT_TRUE(store->record(record_of("a", 1)));
  }
  const auto all = with_next("ALTER TABLE event ADD COLUMN note TEXT;");
  std::vector<std::string> lines;
  const auto migrated = migrate(
      path_, kNow, [&](const std::string& line) { lines.push_back(line); }, all);
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(migrated->from, 1);
  EXPECT_EQ(migrated->to, 2);
  EXPECT_EQ(migrated->backup, path_ + ".bak-1-20260811T065738Z");
  EXPECT_THAT(backups(), ElementsAre(migrated->backup)) << "and no half-made one beside it";
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("backing up to " + migrated->backup)));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("100 % copied")));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("applying migration 2 (next)")));
  EXPECT_EQ(open_error(all).message, "opened");

  path_ = migrated->backup;  // opens as the old one, with what was in it
  const auto old = SqliteStore::open(path_, OpenMode::kExisting);
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(count_of(**old, "event"), 1);
}

TEST_F(SchemaTest, MigrateOfACurrentDatabaseDoesNothing) {
  open_store().reset();
  std::string said;
  const auto migrated = migrate(path_, kNow, [&](const std::string& line) { said = line; });
  ASSERT_TRUE(migrated);
  EXPECT_EQ(migrated->backup, "");
  EXPECT_THAT(said, HasSubstr("nothing to do"));
  EXPECT_THAT(backups(), ElementsAre());
}

TEST_F(SchemaTest, AMigrationThatFailsLeavesNothingOfItself) {
  open_store().reset();
  const auto all = with_next("CREATE TABLE half (x INTEGER) STRICT; INSERT INTO no_such_table VALUES (1);");
  const auto migrated = migrate(
      path_, kNow, [](const std::string&) {}, all);
  ASSERT_FALSE(migrated);
  EXPECT_THAT(migrated.error().message,
              AllOf(HasSubstr("migration 2 (next)"), HasSubstr("no_such_table"), HasSubstr(".bak-1-")));
  EXPECT_EQ(open_error().message, "opened") << "the old schema is whole";
}

TEST_F(SchemaTest, MigrateStandsBackWhileAFirebossdRuns) {
  open_store().reset();
  const auto lock = lock_database(path_, "firebossd, engines: vllm");
  ASSERT_TRUE(lock);
  const auto migrated = migrate(path_, kNow, [](const std::string&) {});
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, ErrorCode::kBusy);
  EXPECT_THAT(migrated.error().message, HasSubstr("firebossd, engines: vllm"));
}

TEST_F(SchemaTest, MigrateOfAMissingFileSaysSo) {
  const auto migrated = migrate(path_, kNow, [](const std::string&) {});
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
}

}  // namespace
}  // namespace fireboss::sqlite
