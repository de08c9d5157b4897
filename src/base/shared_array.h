// base/shared_array.h
//
// SharedArray<T>: items made once and never changed, in one block of memory behind one pointer.
// Copies share the block, from any thread; the last one frees it. What lists and maps of
// projections are made of, which are kept by the hundred thousand: std::shared_ptr<T[]> and a size
// take three times the room.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace mainspring {

template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  // `fill(items)` gets `size` items as their default constructor leaves them, numbers unset.
  template <class Fill>
  SharedArray(std::size_t size, const Fill& fill) {
    if (size == 0) return;
    block_ = new (::operator new(sizeof(Block) + size * sizeof(T)))
        Block{{1}, static_cast<std::uint32_t>(size)};
    std::uninitialized_default_construct_n(block_->items(), size);
    fill(block_->items());
  }
  SharedArray(const SharedArray& other) : block_(other.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedArray(SharedArray&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedArray& operator=(SharedArray other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedArray() {
    if (block_ == nullptr || block_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_n(block_->items(), block_->size);
    ::operator delete(block_);
  }

  const T* data() const { return block_ == nullptr ? nullptr : block_->items(); }
  std::size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  bool empty() const { return block_ == nullptr; }
  bool shares_with(const SharedArray& other) const { return block_ == other.block_; }

 private:
  struct alignas(std::uint64_t) Block {
    std::atomic<std::uint32_t> owners;
    std::uint32_t size;
    T* items() { return std::launder(reinterpret_cast<T*>(this + 1)); }
  };
  static_assert(alignof(T) <= alignof(Block));

  Block* block_ = nullptr;
};

}  // namespace mainspring
