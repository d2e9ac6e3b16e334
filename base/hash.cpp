#include "base/hash.h"

#include <array>
#include <openssl/sha.h>

namespace fireboss {

std::string sha256_hex(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string text;
  text.reserve(digest.size() * 2);
  for (const unsigned char byte : digest) {
    text.push_back(kHex[byte >> 4U]);
    text.push_back(kHex[byte & 0xfU]);
  }
  return text;
}

}  // namespace fireboss
