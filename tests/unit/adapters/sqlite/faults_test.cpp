// What can go wrong with the file: locked, full, corrupt, not ours, not writable, killed in the middle.
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/adapters/sqlite/store.h"
#include "tests/unit/adapters/sqlite/sqlite_fixture.h"

namespace fireboss::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FaultsTest : public SqliteTest {
 protected:
  void put_file(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  // The error of opening, or "opened".
  Error open_error(OpenMode mode = OpenMode::kCreate) {
    auto store = SqliteStore::open(path_, mode);
    return store ? Error{ErrorCode::kInternal, "opened"} : store.error();
  }
};

// A second connection that holds the write lock, as another program would.
class Intruder {
 public:
  explicit Intruder(const std::string& path) {
    sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr);
    locked_ = sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;
  ~Intruder() { sqlite3_close(handle_); }
  void let_go() { sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr); }
  [[nodiscard]] bool locked() const { return locked_; }

 private:
  sqlite3* handle_ = nullptr;
  bool locked_ = false;
};

TEST_F(FaultsTest, LockedBySomebodyElseIsBusyAndHealsByItself) {
  const auto store = open_store();
  ASSERT_TRUE(store->record(record_of("a", 1)));
  Intruder intruder(path_);
  ASSERT_TRUE(intruder.locked());
  const auto refused = store->record(record_of("a", 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(path_), HasSubstr("write lock"), HasSubstr("fuser")));
  EXPECT_TRUE(store->state("a")) << "reading goes on meanwhile";
  intruder.let_go();
  const auto recorded = store->record(record_of("a", 3));
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->event, 2) << "the refused one took no id";
}

TEST_F(FaultsTest, FullDiskKeepsWhatIsThereAndHealsByItself) {
  const auto store = open_store();
  auto big = record_of("a", 1);
  big.event.payload = "\"" + std::string(20'000, 'x') + "\"";
  ASSERT_TRUE(store->record(big));
  const auto pages = store->database().integer("PRAGMA page_count")->value();
  ASSERT_TRUE(store->database().execute("PRAGMA max_page_count = " + std::to_string(pages + 2)));
  const auto refused = store->record(big);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(path_), HasSubstr("make room")));
  EXPECT_EQ(count_of(*store, "event"), 1);
  EXPECT_EQ(count_of(*store, "day_count WHERE count > 1"), 0) << "nothing of the refused record stays";
  ASSERT_TRUE(store->database().execute("PRAGMA max_page_count = 1000000"));
  ASSERT_TRUE(store->record(big));
  EXPECT_EQ(store->database().text("PRAGMA integrity_check")->value(), "ok");
}

TEST_F(FaultsTest, AFileThatIsNoDatabaseIsNotTouched) {
  const std::string text(5000, 'n');
  put_file(text);
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr("no Fireboss database")));
  std::ifstream in(path_, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(FaultsTest, AnotherProgramsDatabaseIsNotTouched) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  sqlite3_exec(other, "CREATE TABLE theirs (x)", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr("another program"), HasSubstr("[daemon]")));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal")) << "their journal mode was changed";
}

TEST_F(FaultsTest, ACorruptPageIsNamedWithAWayOut) {
  {
    const auto store = open_store();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(store->record(record_of("a", i)));
    ASSERT_TRUE(store->database().execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t page = 1; page * 4096 < size; ++page) {  // all but the first, which holds the header
    file.seekp(static_cast<std::streamoff>(page * 4096));
    file << std::string(4096, '\xa5');
  }
  file.close();
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt) << error.message;
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr(".bak-")));
}

TEST_F(FaultsTest, AMissingFolderIsNamed) {
  path_ = folder_ + "/none/fireboss.db";
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr("make the folder first")));
}

TEST_F(FaultsTest, AMissingFileIsMadeOnlyWhenAskedFor) {
  const auto error = open_error(OpenMode::kExisting);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
}

// Root may write everywhere: these look at it with another user's eyes.
class PermissionTest : public FaultsTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0)
      return;
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  }
  void become_nobody() {
    if (::geteuid() == 0) {
      ASSERT_EQ(::seteuid(65534), 0);
    }
  }
  void TearDown() override {
    if (::getuid() == 0) {
      ASSERT_EQ(::seteuid(0), 0);
    }
    ::chmod(folder_.c_str(), 0755);
  }
};

TEST_F(PermissionTest, AFolderThatCannotBeWrittenIsDenied) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  become_nobody();
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kDenied);
  EXPECT_THAT(error.message, AllOf(HasSubstr(path_), HasSubstr("let the daemon's user write")));
}

TEST_F(PermissionTest, AFileThatCannotBeWrittenIsDenied) {
  open_store();
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  become_nobody();
  const auto error = open_error(OpenMode::kExisting);
  EXPECT_EQ(error.code, ErrorCode::kDenied) << error.message;
  EXPECT_THAT(error.message, HasSubstr(path_));
}

TEST_F(PermissionTest, AReaderNeedsNoWritePermission) {
  {
    const auto store = open_store();
    ASSERT_TRUE(store->record(record_of("a", 1)));
  }
  for (const auto* suffix : {"", "-wal", "-shm"})
    ASSERT_EQ(::chmod((path_ + suffix).c_str(), 0444), 0) << suffix << " is kept after the last close";
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  become_nobody();
  auto reader = Reader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto events = (*reader)->events("a", 0, 10);
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ(events->size(), 1U);
}

TEST_F(PermissionTest, AReaderWithoutReadPermissionIsDenied) {
  open_store();
  ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  become_nobody();
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kDenied);
  EXPECT_THAT(reader.error().message, HasSubstr(path_));
}

// The child records until it is killed and says after each commit that it is done.
[[noreturn]] void record_for_ever(const std::string& path, int say, ports::Record record) {
  auto store = SqliteStore::open(path, OpenMode::kExisting);
  if (!store)
    ::_exit(1);
  record.event.payload = "\"" + std::string(3000, 'x') + "\"";
  for (;;) {
    const auto recorded = (*store)->record(record);
    if (!recorded || ::write(say, &recorded->event, sizeof(recorded->event)) != sizeof(recorded->event))
      ::_exit(2);
  }
}

TEST_F(FaultsTest, AKilledWriterLosesNothingThatWasCommitted) {
  open_store().reset();
  int pipe_fds[2];
  ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
  auto record = record_of("a", 1, "canary");
  record.decisions = {decision_of("no_action", "R1")};
  record.raw_replies = {reply_of("body")};
  record.state = "{}";
  std::int64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      record_for_ever(path_, pipe_fds[1], record);
    const auto until = last + 40 + round * 7;
    while (last < until)
      ASSERT_EQ(::read(pipe_fds[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << status;
    // What it said between our last look and its death.
    ASSERT_EQ(::fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK), 0);
    while (::read(pipe_fds[0], &last, sizeof(last)) == static_cast<ssize_t>(sizeof(last))) {
    }
    ASSERT_EQ(::fcntl(pipe_fds[0], F_SETFL, 0), 0);

    const auto store = open_store();
    const auto newest = store->database().integer("SELECT max(id) FROM event")->value();
    EXPECT_GE(newest, last) << "a commit that was reported is gone";
    EXPECT_LE(newest, last + 1) << "at most one was committed and not yet reported";
    EXPECT_EQ(count_of(*store, "event"), newest);
    EXPECT_EQ(store->database().integer("SELECT sum(count) FROM decision")->value(), newest)
        << "a record is there as a whole or not at all";
    EXPECT_EQ(store->database().integer("SELECT event FROM state")->value(), newest);
    EXPECT_EQ(store->database().text("PRAGMA integrity_check")->value(), "ok");
    EXPECT_EQ(store->database().text("PRAGMA foreign_key_check"), std::nullopt);
    last = newest;
  }
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

}  // namespace
}  // namespace fireboss::sqlite
