#include "supervisor/adapters/sqlite/lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace fireboss::sqlite {
namespace {

constexpr std::size_t kMaxText = 256;

// What the holder wrote, made fit for one line of a terminal.
std::string holder_of(int fd) {
  std::array<char, kMaxText> text{};
  const auto got = ::pread(fd, text.data(), text.size(), 0);
  std::string out;
  for (ssize_t i = 0; i < got; ++i) {
    const auto c = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    if (c == '\n')
      break;
    out += c < 0x20 || c >= 0x7f ? '?' : static_cast<char>(c);
  }
  return out.empty() ? "an unknown program" : out;
}

ErrorCode code_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kDenied;
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kFull;
    default:
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& file, std::string_view what, std::string_view text) {
  FileDescriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  if (!opened) {
    const int error = errno;
    return fail(code_of(error), "cannot open lock file " + file + ": " + std::strerror(error));
  }
  const int fd = opened.get();
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error != EWOULDBLOCK)
      return fail(code_of(error), "cannot lock " + file + ": " + std::strerror(error));
    return fail(ErrorCode::kBusy,
                std::string(what) + " is in use by " + holder_of(fd) +
                    "; stop that one first, or give this one a database and units of its own");
  }
  std::string line = "pid " + std::to_string(::getpid()) + ", " + std::string(text);
  line.resize(std::min(line.size(), kMaxText - 1));
  line += '\n';
  // The name is a courtesy: without room for it the lock holds all the same.
  if (::ftruncate(fd, 0) == 0) [[maybe_unused]]
    const auto written = ::pwrite(fd, line.data(), line.size(), 0);
  return FileLock(std::move(opened));
}

Result<FileLock> lock_database(const std::string& path, std::string_view text) {
  return FileLock::take(path + ".lock", "database " + path, text);
}

Result<FileLock> lock_unit(const std::string& folder, std::string_view unit, std::string_view text) {
  if (unit.empty() || unit.find('/') != std::string_view::npos)
    return fail(ErrorCode::kInvalid, "'" + std::string(unit) + "' is no unit name");
  return FileLock::take(folder + "/unit-" + std::string(unit) + ".lock", "unit " + std::string(unit), text);
}

}  // namespace fireboss::sqlite
