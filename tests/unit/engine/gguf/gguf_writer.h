#pragma once
// Writes GGUF bytes for tests, right or deliberately wrong.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::engine {

class GgufWriter {
 public:
  template <typename T>
  GgufWriter& number(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  GgufWriter& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  GgufWriter& header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    return number<std::uint32_t>(0x46554747).number(version).number(tensors).number(keys);
  }
  GgufWriter& u32(std::string_view key, std::uint32_t value) {
    return text(key).number<std::uint32_t>(4).number(value);
  }
  GgufWriter& string(std::string_view key, std::string_view value) {
    return text(key).number<std::uint32_t>(8).text(value);
  }
  GgufWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                     std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(shape.size()));
    for (const auto size : shape) {
      number(size);
    }
    return number(type).number(offset);
  }
  GgufWriter& align(std::size_t to = 32) {
    bytes_.resize((bytes_.size() + to - 1) / to * to);
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::vector<char> bytes_;
};

}  // namespace fireboss::engine
