#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/os/file_descriptor.h"
#include "engine/gguf/gguf.h"

namespace fireboss::engine {
namespace {

tl::unexpected<Error> system_failure(const std::string& path, std::string_view what, int error) {
  const auto code = error == ENOENT                     ? ErrorCode::kNotFound
                    : error == EACCES || error == EPERM ? ErrorCode::kDenied
                                                        : ErrorCode::kUnavailable;
  return fail(code, fmt::format("{}: {}: {}", path, what, std::system_category().message(error)));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return system_failure(path, "cannot open", errno);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) {
    return system_failure(path, "cannot stat", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalid, path + ": not a regular file");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    return fail(ErrorCode::kCorrupt, path + ": the file is empty");
  }
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) {
    return system_failure(path, "cannot map", errno);
  }
  return MappedFile({static_cast<const std::byte*>(memory), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace fireboss::engine
