#pragma once
// Reader for GGUF version 3 model files (little endian). The file is untrusted: every length, count and
// offset is checked against the file's size before it is used, and every error names the file and the byte
// offset at which reading stopped.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace fireboss::engine {

enum class TensorType : std::uint32_t { kF32 = 0, kF16 = 1 };

struct GgufTensor {
  std::vector<std::uint64_t> shape;  // fastest-varying dimension first, as in the file; 1 to 4 entries
  TensorType type = TensorType::kF32;
  std::span<const std::byte> data;  // exactly elements() * 4 or * 2 bytes, at any alignment
  std::uint64_t offset = 0;         // of data, from the start of the file; for error messages

  [[nodiscard]] std::uint64_t elements() const;
};

// A metadata value. Integers of all widths become int64, floats become double. Arrays of arrays are refused.
using GgufValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

// What a file holds. Strings are copied; tensor data points into the bytes that were parsed.
class Gguf {
 public:
  // `name` is only used in errors. `bytes` must outlive the result.
  [[nodiscard]] static Result<Gguf> parse(std::span<const std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::map<std::string, GgufTensor, std::less<>>& tensors() const { return tensors_; }
  [[nodiscard]] const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }

  [[nodiscard]] bool has(std::string_view key) const { return metadata_.contains(key); }
  // The value of a key; kNotFound when absent, kInvalid when it has another type.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] Result<double> real(std::string_view key) const;
  [[nodiscard]] Result<std::string> text(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(std::string_view key) const;
  // kNotFound names the tensor and the file.
  [[nodiscard]] Result<const GgufTensor*> tensor(std::string_view tensor_name) const;

 private:
  std::string name_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::map<std::string, GgufTensor, std::less<>> tensors_;
};

// A regular file mapped read-only. A file that is cut short while it is mapped makes the kernel send SIGBUS,
// so a mapping is kept only while a model is being loaded.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace fireboss::engine
