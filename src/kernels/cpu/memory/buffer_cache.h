#pragma once
// Memory for the time of a call. Each thread caches small blocks for the next call, so that a loop that calls
// kernels repeatedly allocates nothing.

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace hlo::cpu {

// Larger ones are not kept: what is done with them takes far longer than allocating them.
inline constexpr size_t kLargestKept = 256 << 10;

// At least so many bytes, undefined, aligned to 64. They are given back with the same count, best by the
// thread that took them: each keeps a few blocks of a size, and frees others.
void* TakeBlock(size_t bytes);
void GiveBlock(void* block, size_t bytes);

template <class T>
struct KeptAllocator {
  using value_type = T;
  KeptAllocator() = default;
  template <class U>
  KeptAllocator(const KeptAllocator<U>&) {}  // NOLINT: all are one
  T* allocate(size_t n) { return static_cast<T*>(TakeBlock(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { GiveBlock(p, n * sizeof(T)); }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    if constexpr (sizeof...(Args) == 0)
      ::new (static_cast<void*>(p)) U;
    else
      ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const KeptAllocator&) const { return true; }
};

// Elements that are not given a value have none, as those of a plain array.
template <class T>
using KeptVector = std::vector<T, KeptAllocator<T>>;

}  // namespace hlo::cpu
