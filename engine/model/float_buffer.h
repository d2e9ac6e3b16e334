#pragma once
// Page-aligned zeroed floats. Pages that are never written take no memory, so buffers may be sized for the
// longest context.
#include <cstddef>
#include <new>
#include <span>
#include <sys/mman.h>
#include <utility>

namespace fireboss::engine {

class FloatBuffer {
 public:
  FloatBuffer() = default;
  // Throws std::bad_alloc.
  explicit FloatBuffer(std::size_t size) : size_(size) {
    if (size == 0) {
      return;
    }
    void* memory =
        ::mmap(nullptr, size * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    data_ = static_cast<float*>(memory);
  }
  FloatBuffer(FloatBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  FloatBuffer& operator=(FloatBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~FloatBuffer() {
    if (data_ != nullptr) {
      ::munmap(data_, size_ * sizeof(float));
    }
  }

  [[nodiscard]] float* data() { return data_; }
  [[nodiscard]] const float* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fireboss::engine
