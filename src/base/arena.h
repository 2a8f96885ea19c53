#pragma once
// An arena allocator, which owns everything that the instructions of a module point to.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace hlo {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (auto it = destructors_.rbegin(); it != destructors_.rend(); ++it) it->destroy(it->object);
  }

  // Returns uninitialised bytes.
  void* Allocate(size_t byte_count, size_t alignment) {
    size_t begin = (used_ + alignment - 1) & ~(alignment - 1);
    if (begin + byte_count > capacity_) {
      AddBlock(byte_count);
      begin = 0;
    }
    used_ = begin + byte_count;
    return block_ + begin;
  }

  // Constructs a T in the arena. The arena's destructor runs T's unless it is trivial.
  template <class T, class... Args>
  T* New(Args&&... args) {
    T* object = new (Allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
    if constexpr (!std::is_trivially_destructible_v<T>) {
      destructors_.push_back({object, [](void* p) { static_cast<T*>(p)->~T(); }});
    }
    return object;
  }

  // Copies a range of trivially destructible values.
  template <class T>
  absl::Span<T> Copy(absl::Span<const T> values) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (values.empty()) return {};
    T* data = static_cast<T*>(Allocate(values.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(values.begin(), values.end(), data);
    return {data, values.size()};
  }

  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* data = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(data, text.data(), text.size());
    return {data, text.size()};
  }

 private:
  struct Destructor {
    void* object;
    void (*destroy)(void*);
  };

  void AddBlock(size_t at_least) {
    // The block size grows with the arena, so that a large module does not need thousands of blocks.
    constexpr size_t kSmallest = 32 << 10, kLargest = 1 << 20;
    const size_t wanted = std::clamp(total_ / 4, kSmallest, kLargest);
    capacity_ = std::max(at_least, wanted);
    total_ += capacity_;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity_));
    block_ = blocks_.back().get();
    used_ = 0;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Destructor> destructors_;
  std::byte* block_ = nullptr;
  size_t used_ = 0;
  size_t capacity_ = 0;
  size_t total_ = 0;
};

}  // namespace hlo
