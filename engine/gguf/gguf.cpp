#include "engine/gguf/gguf.h"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

static_assert(std::endian::native == std::endian::little, "GGUF files are read without swapping bytes");

namespace fireboss::engine {
namespace {

// Far above what real files hold (a few hundred keys, a few thousand tensors), far below what hurts.
constexpr std::uint64_t kMaxEntries = 65'536;
constexpr std::uint32_t kMaxDimensions = 4;

// Value types of the file format.
enum class Kind : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// Smallest size a value of this kind takes in the file; 0 for an unknown kind.
std::uint64_t least_size(std::uint32_t kind) {
  constexpr std::uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return kind < std::size(kSizes) ? kSizes[kind] : 0;
}

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - offset_; }

  [[nodiscard]] tl::unexpected<Error> error(ErrorCode code, std::string_view what) const {
    return error_at(offset_, code, what);
  }
  [[nodiscard]] tl::unexpected<Error> error_at(std::uint64_t where, ErrorCode code,
                                               std::string_view what) const {
    return fail(code, fmt::format("{}: at byte {}: {}", name_, where, what));
  }

  template <typename T>
  [[nodiscard]] Result<T> number(std::string_view what) {
    if (left() < sizeof(T)) {
      return error(ErrorCode::kCorrupt, fmt::format("the file ends inside {}; it is cut short", what));
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  [[nodiscard]] Result<std::string> string(std::string_view what) {
    const auto start = offset_;
    auto length = number<std::uint64_t>(what);
    if (!length) {
      return fail(std::move(length.error()));
    }
    if (*length > left()) {
      return error_at(start, ErrorCode::kCorrupt,
                      fmt::format("{} claims {} bytes but {} are left", what, *length, left()));
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data() + offset_), *length);
    offset_ += *length;
    return text;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::uint64_t offset_ = 0;
};

template <typename T, typename Wide>
Result<Wide> widened(Cursor& in, std::string_view what) {
  auto value = in.number<T>(what);
  if (!value) {
    return fail(std::move(value.error()));
  }
  return static_cast<Wide>(*value);
}

Result<std::int64_t> read_integer(Cursor& in, Kind kind, std::string_view what) {
  switch (kind) {
    case Kind::kU8:
      return widened<std::uint8_t, std::int64_t>(in, what);
    case Kind::kI8:
      return widened<std::int8_t, std::int64_t>(in, what);
    case Kind::kU16:
      return widened<std::uint16_t, std::int64_t>(in, what);
    case Kind::kI16:
      return widened<std::int16_t, std::int64_t>(in, what);
    case Kind::kU32:
      return widened<std::uint32_t, std::int64_t>(in, what);
    case Kind::kI32:
      return widened<std::int32_t, std::int64_t>(in, what);
    case Kind::kBool:
      return widened<std::uint8_t, std::int64_t>(in, what);
    case Kind::kI64:
      return widened<std::int64_t, std::int64_t>(in, what);
    case Kind::kU64: {
      const auto start = in.offset();
      auto value = in.number<std::uint64_t>(what);
      if (!value) {
        return fail(std::move(value.error()));
      }
      if (*value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return in.error_at(start, ErrorCode::kCorrupt, fmt::format("{} is out of range", what));
      }
      return static_cast<std::int64_t>(*value);
    }
    case Kind::kF32:
    case Kind::kF64:
    case Kind::kString:
    case Kind::kArray:
      break;
  }
  return in.error(ErrorCode::kInternal, "not an integer kind");
}

Result<double> read_real(Cursor& in, Kind kind, std::string_view what) {
  return kind == Kind::kF32 ? widened<float, double>(in, what) : widened<double, double>(in, what);
}

Result<GgufValue> read_array(Cursor& in, std::string_view what) {
  const auto start = in.offset();
  auto element = in.number<std::uint32_t>(what);
  if (!element) {
    return fail(std::move(element.error()));
  }
  auto count = in.number<std::uint64_t>(what);
  if (!count) {
    return fail(std::move(count.error()));
  }
  const auto least = least_size(*element);
  if (least == 0) {
    return in.error_at(start, ErrorCode::kCorrupt,
                       fmt::format("{} is an array of unknown type {}", what, *element));
  }
  if (*count > in.left() / least) {
    return in.error_at(start, ErrorCode::kCorrupt,
                       fmt::format("{} claims {} elements but {} bytes are left", what, *count, in.left()));
  }
  const auto kind = static_cast<Kind>(*element);
  if (kind == Kind::kArray) {
    return in.error_at(start, ErrorCode::kUnsupported, fmt::format("{} is an array of arrays", what));
  }
  if (kind == Kind::kString) {
    std::vector<std::string> values;
    values.reserve(*count);
    for (std::uint64_t i = 0; i < *count; ++i) {
      auto value = in.string(what);
      if (!value) {
        return fail(std::move(value.error()));
      }
      values.push_back(std::move(*value));
    }
    return GgufValue(std::move(values));
  }
  if (kind == Kind::kF32 || kind == Kind::kF64) {
    std::vector<double> values;
    values.reserve(*count);
    for (std::uint64_t i = 0; i < *count; ++i) {
      auto value = read_real(in, kind, what);
      if (!value) {
        return fail(std::move(value.error()));
      }
      values.push_back(*value);
    }
    return GgufValue(std::move(values));
  }
  std::vector<std::int64_t> values;
  values.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto value = read_integer(in, kind, what);
    if (!value) {
      return fail(std::move(value.error()));
    }
    values.push_back(*value);
  }
  return GgufValue(std::move(values));
}

template <typename T>
Result<GgufValue> lifted(Result<T> value) {
  if (!value) {
    return fail(std::move(value.error()));
  }
  return GgufValue(std::move(*value));
}

Result<GgufValue> read_value(Cursor& in, std::string_view what) {
  const auto start = in.offset();
  auto raw = in.number<std::uint32_t>(what);
  if (!raw) {
    return fail(std::move(raw.error()));
  }
  if (least_size(*raw) == 0) {
    return in.error_at(start, ErrorCode::kCorrupt, fmt::format("{} has unknown type {}", what, *raw));
  }
  const auto kind = static_cast<Kind>(*raw);
  switch (kind) {
    case Kind::kBool: {
      auto value = in.number<std::uint8_t>(what);
      if (!value) {
        return fail(std::move(value.error()));
      }
      return GgufValue(*value != 0);
    }
    case Kind::kF32:
    case Kind::kF64:
      return lifted(read_real(in, kind, what));
    case Kind::kString:
      return lifted(in.string(what));
    case Kind::kArray:
      return read_array(in, what);
    case Kind::kU8:
    case Kind::kI8:
    case Kind::kU16:
    case Kind::kI16:
    case Kind::kU32:
    case Kind::kI32:
    case Kind::kU64:
    case Kind::kI64:
      return lifted(read_integer(in, kind, what));
  }
  return in.error(ErrorCode::kInternal, "unreachable value type");
}

// A tensor's description; data stays empty until the start of the data section is known.
Result<GgufTensor> read_tensor_info(Cursor& in, const std::string& tensor_name) {
  const auto start = in.offset();
  const auto what = fmt::format("tensor {}", tensor_name);
  auto dimensions = in.number<std::uint32_t>(what);
  if (!dimensions) {
    return fail(std::move(dimensions.error()));
  }
  if (*dimensions == 0 || *dimensions > kMaxDimensions) {
    return in.error_at(start, ErrorCode::kCorrupt,
                       fmt::format("{} has {} dimensions, not 1 to {}", what, *dimensions, kMaxDimensions));
  }
  GgufTensor tensor;
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < *dimensions; ++i) {
    auto size = in.number<std::uint64_t>(what);
    if (!size) {
      return fail(std::move(size.error()));
    }
    // 2^48 elements is beyond any file; the bound keeps all later products inside 64 bits.
    if (*size == 0 || *size > (std::uint64_t{1} << 48) / elements) {
      return in.error_at(start, ErrorCode::kCorrupt,
                         fmt::format("{} has an impossible size {} in dimension {}", what, *size, i));
    }
    elements *= *size;
    tensor.shape.push_back(*size);
  }
  auto type = in.number<std::uint32_t>(what);
  if (!type) {
    return fail(std::move(type.error()));
  }
  if (*type > 1) {
    return in.error_at(start, ErrorCode::kUnsupported,
                       fmt::format("{} is stored in GGML type {}; this engine reads F32 and F16: export the "
                                   "model in one of these",
                                   what, *type));
  }
  tensor.type = static_cast<TensorType>(*type);
  auto offset = in.number<std::uint64_t>(what);
  if (!offset) {
    return fail(std::move(offset.error()));
  }
  tensor.offset = *offset;
  return tensor;
}

std::uint64_t byte_size(const GgufTensor& tensor) {
  return tensor.elements() * (tensor.type == TensorType::kF32 ? 4 : 2);
}

}  // namespace

std::uint64_t GgufTensor::elements() const {
  std::uint64_t product = 1;
  for (const auto size : shape) {
    product *= size;
  }
  return product;
}

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes, std::string name) {
  Gguf file;
  file.name_ = std::move(name);
  Cursor in(bytes, file.name_);
  auto magic = in.number<std::uint32_t>("the magic number");
  if (!magic || *magic != 0x46554747) {
    return in.error_at(0, ErrorCode::kInvalid, "this is not a GGUF file (no GGUF magic)");
  }
  auto version = in.number<std::uint32_t>("the version");
  if (!version) {
    return fail(std::move(version.error()));
  }
  if (*version != 3) {
    return in.error_at(
        4, ErrorCode::kUnsupported,
        fmt::format("GGUF version {:#x} is not supported, only version 3 in little endian", *version));
  }
  auto tensor_count = in.number<std::uint64_t>("the tensor count");
  if (!tensor_count) {
    return fail(std::move(tensor_count.error()));
  }
  auto key_count = in.number<std::uint64_t>("the key count");
  if (!key_count) {
    return fail(std::move(key_count.error()));
  }
  if (*tensor_count > kMaxEntries || *key_count > kMaxEntries) {
    return in.error_at(8, ErrorCode::kCorrupt,
                       fmt::format("{} tensors and {} keys; at most {} of each are accepted", *tensor_count,
                                   *key_count, kMaxEntries));
  }
  for (std::uint64_t i = 0; i < *key_count; ++i) {
    const auto start = in.offset();
    auto key = in.string("a metadata key");
    if (!key) {
      return fail(std::move(key.error()));
    }
    auto value = read_value(in, fmt::format("the value of {}", *key));
    if (!value) {
      return fail(std::move(value.error()));
    }
    if (!file.metadata_.emplace(*key, std::move(*value)).second) {
      return in.error_at(start, ErrorCode::kCorrupt, fmt::format("key {} occurs twice", *key));
    }
  }
  std::uint64_t alignment = 32;
  if (file.has("general.alignment")) {
    auto value = file.integer("general.alignment");
    if (!value) {
      return fail(std::move(value.error()));
    }
    alignment = static_cast<std::uint64_t>(*value);
    if (*value <= 0 || *value > 1 << 20 || !std::has_single_bit(alignment)) {
      return in.error(ErrorCode::kCorrupt,
                      fmt::format("general.alignment is {}, not a power of two", *value));
    }
  }
  for (std::uint64_t i = 0; i < *tensor_count; ++i) {
    const auto start = in.offset();
    auto tensor_name = in.string("a tensor name");
    if (!tensor_name) {
      return fail(std::move(tensor_name.error()));
    }
    auto tensor = read_tensor_info(in, *tensor_name);
    if (!tensor) {
      return fail(std::move(tensor.error()));
    }
    if (!file.tensors_.emplace(*tensor_name, std::move(*tensor)).second) {
      return in.error_at(start, ErrorCode::kCorrupt, fmt::format("tensor {} occurs twice", *tensor_name));
    }
  }
  const auto data_start = (in.offset() + alignment - 1) / alignment * alignment;
  for (auto& [tensor_name, tensor] : file.tensors_) {
    const auto size = byte_size(tensor);
    if (tensor.offset % alignment != 0) {
      return in.error_at(data_start, ErrorCode::kCorrupt,
                         fmt::format("tensor {} starts at offset {}, which is not a multiple of {}",
                                     tensor_name, tensor.offset, alignment));
    }
    if (data_start > bytes.size() || tensor.offset > bytes.size() - data_start ||
        size > bytes.size() - data_start - tensor.offset) {
      return in.error_at(data_start, ErrorCode::kCorrupt,
                         fmt::format("tensor {} needs {} bytes at offset {} of the data, but the file has {} "
                                     "bytes; it is cut short",
                                     tensor_name, size, tensor.offset, bytes.size()));
    }
    tensor.offset += data_start;
    tensor.data = bytes.subspan(tensor.offset, size);
  }
  return file;
}

namespace {

template <typename T>
Result<T> typed(const Gguf& file, std::string_view key, std::string_view type_name) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    return fail(ErrorCode::kNotFound, fmt::format("{}: metadata key {} is missing", file.name(), key));
  }
  if (const auto* value = std::get_if<T>(&found->second)) {
    return *value;
  }
  return fail(ErrorCode::kInvalid, fmt::format("{}: metadata key {} is not {}", file.name(), key, type_name));
}

}  // namespace

Result<std::int64_t> Gguf::integer(std::string_view key) const {
  return typed<std::int64_t>(*this, key, "an integer");
}

Result<double> Gguf::real(std::string_view key) const {
  return typed<double>(*this, key, "a float");
}

Result<std::string> Gguf::text(std::string_view key) const {
  return typed<std::string>(*this, key, "a string");
}

Result<std::vector<std::string>> Gguf::texts(std::string_view key) const {
  return typed<std::vector<std::string>>(*this, key, "an array of strings");
}

Result<std::vector<std::int64_t>> Gguf::integers(std::string_view key) const {
  return typed<std::vector<std::int64_t>>(*this, key, "an array of integers");
}

Result<const GgufTensor*> Gguf::tensor(std::string_view tensor_name) const {
  const auto found = tensors_.find(tensor_name);
  if (found == tensors_.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("{}: tensor {} is missing", name_, tensor_name));
  }
  return &found->second;
}

}  // namespace fireboss::engine
