#include "base/os/credential.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "base/os/file_descriptor.h"

namespace fireboss {

Result<std::string> read_credential(const std::string& name, const std::string& unit) {
  constexpr std::size_t kMost = 64 * 1024;
  const auto what = "credential '" + name + "'";
  const auto remedy = ": add LoadCredential=" + name + ":PATH to " + unit;
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  if (directory == nullptr)
    return fail(ErrorCode::kNotFound, what + ": " + unit + " was started without credentials" + remedy);
  const auto path = std::string(directory) + "/" + name;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return fail(ErrorCode::kNotFound, what + ": " + path + ": " + std::strerror(errno) + remedy);
  std::string secret(kMost, '\0');
  const auto got = ::read(file.get(), secret.data(), secret.size());
  if (got < 0)
    return fail(ErrorCode::kDenied, what + ": " + path + ": " + std::strerror(errno));
  secret.resize(static_cast<std::size_t>(got));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r' || secret.back() == ' '))
    secret.pop_back();
  if (secret.empty() || secret.find_first_of("\r\n") != std::string::npos)
    return fail(ErrorCode::kInvalid, what + " is empty or has several lines: it must hold one secret");
  return secret;
}

}  // namespace fireboss
