#include "supervisor/config/read_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file_descriptor.h"
#include "base/time.h"

namespace fireboss::config {
namespace {

tl::unexpected<Error> cannot_read(const std::string& path, int error) {
  const auto message = "cannot read " + path + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return fail(ErrorCode::kNotFound, message);
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kDenied, message + "; the user that reads it is " + std::to_string(::geteuid()));
    default:
      return fail(ErrorCode::kInvalid, message);
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path, bool* writable_by_others) {
  // Non-blocking: a FIFO in place of a file must not hang whoever reads it.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0)
    return cannot_read(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return cannot_read(path, errno);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kInvalid, "cannot read " + path + ": not a regular file");
  if (writable_by_others != nullptr)
    *writable_by_others = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  std::string text;
  // One byte more than allowed, so that a file that grows meanwhile is seen too.
  text.resize(kMaxFileBytes + 1);
  std::size_t length = 0;
  while (length < text.size()) {
    const auto got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannot_read(path, errno);
    if (got == 0)
      break;
    length += static_cast<std::size_t>(got);
  }
  if (length > kMaxFileBytes)
    return fail(ErrorCode::kInvalid, path + " is longer than " + format_size(kMaxFileBytes));
  text.resize(length);
  text.shrink_to_fit();
  return text;
}

std::size_t utf8_valid_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead >= 0xc2 && lead <= 0xdf ? 1 : (lead >> 4) == 0xe ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || i + more >= text.size())
      return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xc0U) != 0x80)
        return i;
    if (more >= 2) {  // overlong, surrogate, beyond U+10FFFF: told by the second byte
      const unsigned second = byte(i + 1);
      if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
          (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
        return i;
    }
    i += more + 1;
  }
  return i;
}

}  // namespace fireboss::config
