#include "supervisor/adapters/sqlite/generation.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/random.h>
#include <unistd.h>
#include <utility>

namespace fireboss::sqlite {
namespace {

// The file: four lines, the event's id in a field of fixed width at its end, so that note() is one pwrite of
// it.
//   fireboss-generation 1
//   ID [ID]
//   MACHINE
//   00000000000000004711
constexpr std::string_view kTitle = "fireboss-generation 1";
constexpr int kEventDigits = 20;
constexpr std::size_t kMaxFile = 512;

struct Content {
  std::string ids, machine;
  std::int64_t event = 0;
};

std::string event_field(std::int64_t event) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%0*lld\n", kEventDigits, static_cast<long long>(event));
  return out.data();
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// nullopt: not in the form that write() gives it.
std::optional<Content> parse(std::string_view text) {
  if (take_line(text) != kTitle)
    return std::nullopt;
  Content content;
  content.ids = take_line(text);
  content.machine = take_line(text);
  const auto number = take_line(text);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), content.event);
  if (content.ids.empty() || error != std::errc{} || end != number.data() + number.size())
    return std::nullopt;
  return content;
}

bool names(const std::string& ids, const std::string& id) {
  return !id.empty() && (" " + ids + " ").find(" " + id + " ") != std::string::npos;
}

tl::unexpected<Error> trouble(const std::string& file, const char* what, int error) {
  const auto code = error == EACCES || error == EPERM || error == EROFS ? ErrorCode::kDenied
                    : error == ENOSPC || error == EDQUOT                ? ErrorCode::kFull
                    : error == ENOENT || error == ENOTDIR               ? ErrorCode::kNotFound
                                                                        : ErrorCode::kUnavailable;
  return fail(code, std::string("cannot ") + what + " generation file " + file + ": " + std::strerror(error));
}

// nullopt: there is none.
Result<std::optional<std::string>> read(const std::string& file) {
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened && errno == ENOENT)
    return std::nullopt;
  if (!opened)
    return trouble(file, "open", errno);
  std::string text(kMaxFile, '\0');
  const auto got = ::read(opened.get(), text.data(), text.size());
  if (got < 0)
    return trouble(file, "read", errno);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Result<std::string> random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::kUnavailable, std::string("no random bytes: ") + std::strerror(errno));
  std::string out;
  for (const auto byte : bytes) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

bool write_all(int fd, std::string_view text) {
  return ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Generation::Generation(SqliteStore& store, std::string file, std::string machine_id)
    : store_(&store), file_(std::move(file)), machine_id_(std::move(machine_id)) {}

Result<Generation> Generation::open(SqliteStore& store, const std::string& file,
                                    const std::string& machine_id) {
  auto text = read(file);
  if (!text)
    return fail(std::move(text.error()));
  auto& database = store.database();
  auto id = database.text("SELECT value FROM meta WHERE key = 'generation'");
  if (!id)
    return fail(std::move(id.error()));
  auto newest = database.integer("SELECT max(id) FROM event");
  if (!newest)
    return fail(std::move(newest.error()));

  Generation generation(store, file, machine_id);
  generation.id_ = id->value_or("");
  auto& finding = generation.finding_;
  const auto differs = [&](std::string why) { finding = {Origin::kMismatch, std::move(why)}; };
  const auto events = newest->value_or(0);
  if (!*text) {
    if (events > 0 || id->has_value())
      finding = {Origin::kMissing, "generation file " + file + " is missing although the database has " +
                                       std::to_string(events) + " events"};
    return generation;
  }
  const auto content = parse(**text);
  if (!content)
    differs("generation file " + file + " is damaged");
  else if (events == 0 && !id->has_value())
    differs("the database is fresh although one with " + std::to_string(content->event) +
            " events was here before");
  else if (!names(content->ids, generation.id_))
    differs("the database is of another generation than the last one on this machine: restored or copied");
  else if (!machine_id.empty() && content->machine != machine_id)
    differs("the database and its generation file come from another machine");
  else if (events < content->event)
    differs("the database ends at event " + std::to_string(events) + " although event " +
            std::to_string(content->event) + " was recorded: restored from a backup");
  return generation;
}

Result<void> Generation::renew() {
  auto fresh = random_id();
  if (!fresh)
    return fail(std::move(fresh.error()));
  auto newest = store_->database().integer("SELECT max(id) FROM event");
  if (!newest)
    return fail(std::move(newest.error()));
  const auto event = newest->value_or(0);
  // Both ids are good until the database has the new one, so that there is no moment at which a kill would
  // make them disagree. After a mismatch the old id still names the database that is now accepted.
  if (auto done = write(id_.empty() ? *fresh : id_ + " " + *fresh, event); !done)
    return done;
  auto statement = store_->database().prepare(
      "INSERT INTO meta (key, value) VALUES ('generation', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1");
  if (!statement)
    return fail(std::move(statement.error()));
  if (auto done = statement->run(*fresh); !done)
    return done;
  id_ = *fresh;
  return write(id_, event);
}

Result<void> Generation::write(const std::string& ids, std::int64_t event) {
  const auto temporary = file_ + ".new";
  written_ =
      FileDescriptor(::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!written_)
    return trouble(file_, "make", errno);
  const auto text = std::string(kTitle) + "\n" + ids + "\n" + machine_id_ + "\n" + event_field(event);
  if (!write_all(written_.get(), text) || ::fsync(written_.get()) != 0)
    return trouble(file_, "write", errno);
  if (::rename(temporary.c_str(), file_.c_str()) != 0)
    return trouble(file_, "replace", errno);
  const auto folder = std::filesystem::path(file_).parent_path().string();
  if (const FileDescriptor opened(
          ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      opened)
    (void)::fsync(opened.get());
  return {};
}

void Generation::note(std::int64_t event) {
  if (!written_)
    return;
  const auto field = event_field(event);
  const auto at = ::lseek(written_.get(), 0, SEEK_END) - static_cast<off_t>(field.size());
  // A lost note only makes the comparison at the next start less sharp.
  [[maybe_unused]] const auto written = ::pwrite(written_.get(), field.data(), field.size(), at);
}

}  // namespace fireboss::sqlite
