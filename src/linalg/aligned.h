#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace bdnn {

// Uninitialised memory, aligned to cache lines.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size)
      : data_(static_cast<T*>(::operator new(size * sizeof(T), kAlign))), size_(size) {}

  // Makes room for `size` elements; the content is lost if the buffer has to grow.
  void make_room(std::size_t size) {
    if (data_ == nullptr || size > size_) *this = AlignedBuffer(size);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlign); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace bdnn
