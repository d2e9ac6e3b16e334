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
  GgufWriter& real(std::string_view key, float value) {
    return text(key).number<std::uint32_t>(6).number(value);
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    text(key).number<std::uint32_t>(9).number<std::uint32_t>(8).number<std::uint64_t>(values.size());
    for (const auto& value : values) {
      text(value);
    }
    return *this;
  }
  GgufWriter& integers(std::string_view key, const std::vector<std::int32_t>& values) {
    text(key).number<std::uint32_t>(9).number<std::uint32_t>(5).number<std::uint64_t>(values.size());
    for (const auto value : values) {
      number(value);
    }
    return *this;
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

// The 256 tokens of byte-level BPE, by GPT-2's printable stand-ins.
inline std::vector<std::string> byte_alphabet() {
  std::vector<std::string> out;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const auto point = printable ? byte : next++;
    if (point < 0x80) {
      out.emplace_back(1, static_cast<char>(point));
    } else {
      out.push_back({static_cast<char>(0xC0U | point >> 6U), static_cast<char>(0x80U | (point & 0x3FU))});
    }
  }
  return out;
}

}  // namespace fireboss::engine
