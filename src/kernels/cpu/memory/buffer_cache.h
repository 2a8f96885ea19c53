#pragma once
// This file allocates memory for the duration of a call. Each thread caches small blocks, so that a loop that
// calls kernels repeatedly allocates nothing.

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace hlo::cpu {

// Larger blocks are not cached, because processing them takes far longer than allocating them.
inline constexpr size_t kMaxCachedBytes = 256 << 10;

// Returns at least `bytes` bytes of uninitialised memory, aligned to 64. FreeBlock needs the same size, and
// should be called by the same thread. Each thread caches a few blocks per size.
void* AllocateBlock(size_t bytes);
void FreeBlock(void* block, size_t bytes);

template <class T>
struct CachingAllocator {
  using value_type = T;
  CachingAllocator() = default;
  template <class U>
  CachingAllocator(const CachingAllocator<U>&) {}  // NOLINT: all are equal
  T* allocate(size_t n) { return static_cast<T*>(AllocateBlock(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { FreeBlock(p, n * sizeof(T)); }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    if constexpr (sizeof...(Args) == 0)
      ::new (static_cast<void*>(p)) U;
    else
      ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const CachingAllocator&) const { return true; }
};

// Elements are default-initialised, that is, uninitialised for plain types.
template <class T>
using CachedVector = std::vector<T, CachingAllocator<T>>;

}  // namespace hlo::cpu
