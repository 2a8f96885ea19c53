#pragma once
// The environment of kernel bodies on the device: built-ins and inline PTX. HostEnv (emulator.h) has the same
// interface.

#include <type_traits>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

#ifdef __CUDACC__

// The compiler also compiles kernel bodies as host functions; those are never called.
#ifdef __CUDA_ARCH__
#define HLO_ON_DEVICE(...) __VA_ARGS__
#define HLO_DEVICE_VALUE(type, ...) return (__VA_ARGS__)
#else
#define HLO_ON_DEVICE(...)
#define HLO_DEVICE_VALUE(type, ...) \
  return type {}
#endif

class DeviceEnv {
 public:
  HLO_DEVICE uint32_t thread() const { HLO_DEVICE_VALUE(uint32_t, threadIdx.x); }
  HLO_DEVICE uint32_t threads() const { HLO_DEVICE_VALUE(uint32_t, blockDim.x); }
  HLO_DEVICE Dim3 block() const { HLO_DEVICE_VALUE(Dim3, Dim3{blockIdx.x, blockIdx.y, blockIdx.z}); }
  HLO_DEVICE Dim3 grid() const { HLO_DEVICE_VALUE(Dim3, Dim3{gridDim.x, gridDim.y, gridDim.z}); }
  HLO_DEVICE std::byte* shared() const {
#ifdef __CUDA_ARCH__
    extern __shared__ __align__(1024) std::byte hlo_shared_memory[];
    return hlo_shared_memory;
#else
    return nullptr;
#endif
  }

  HLO_DEVICE void sync() const { HLO_ON_DEVICE(__syncthreads();) }
  HLO_DEVICE void sync_warp() const { HLO_ON_DEVICE(__syncwarp();) }

  // All 32 lanes participate. T has 4, 8 or 16 bytes.
  template <class T>
  HLO_DEVICE T shfl(T v, int lane) const {
    return ByWords(v, [&](uint32_t w) { HLO_DEVICE_VALUE(uint32_t, __shfl_sync(kAll, w, lane)); });
  }
  template <class T>
  HLO_DEVICE T shfl_xor(T v, int mask) const {
    return ByWords(v, [&](uint32_t w) { HLO_DEVICE_VALUE(uint32_t, __shfl_xor_sync(kAll, w, mask)); });
  }
  template <class T>
  HLO_DEVICE T shfl_up(T v, int distance) const {
    return ByWords(v, [&](uint32_t w) { HLO_DEVICE_VALUE(uint32_t, __shfl_up_sync(kAll, w, distance)); });
  }
  template <class T>
  HLO_DEVICE T shfl_down(T v, int distance) const {
    return ByWords(v, [&](uint32_t w) { HLO_DEVICE_VALUE(uint32_t, __shfl_down_sync(kAll, w, distance)); });
  }
  HLO_DEVICE uint32_t ballot(bool p) const { HLO_DEVICE_VALUE(uint32_t, __ballot_sync(kAll, p)); }
  // Returns the mask of lanes with the same value.
  HLO_DEVICE uint32_t match_any(uint32_t v) const { HLO_DEVICE_VALUE(uint32_t, __match_any_sync(kAll, v)); }
  // The same for values of 8 bits, by a ballot for each bit.
  HLO_DEVICE uint32_t match_digit(uint32_t v) const {
    uint32_t same = kAll;
#ifdef __CUDA_ARCH__
    HLO_UNROLL
    for (int bit = 0; bit < 8; ++bit) {
      uint32_t lanes;
      asm volatile(
          "{\n.reg .pred p;\n.reg .b32 t;\n"
          "and.b32 t, %1, %2;\nsetp.ne.u32 p, t, 0;\n"
          "vote.sync.ballot.b32 %0, p, 0xffffffff;\n@!p not.b32 %0, %0;\n}"
          : "=r"(lanes)
          : "r"(v), "r"(1u << bit));
      same &= lanes;
    }
#endif
    return same;
  }

  // Bytes is 4, 8 or 16, and the alignment of both pointers. Bytes beyond `valid_bytes` are zero-filled. The
  // copy is visible to this thread after a wait that covers its group, and to other threads after a
  // subsequent sync.
  template <int Bytes>
  HLO_DEVICE void copy_async(void* shared, const void* global, int valid_bytes) const {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(to), "l"(global), "r"(valid_bytes)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0],[%1],%2,%3;" ::"r"(to), "l"(global), "n"(Bytes),
                   "r"(valid_bytes)
                   : "memory");
#elif defined(__CUDA_ARCH__)
    using Word = std::conditional_t<Bytes == 4, uint32_t, std::conditional_t<Bytes == 8, uint2, uint4> >;
    if (valid_bytes == Bytes) {
      *static_cast<Word*>(shared) = *static_cast<const Word*>(global);
    } else {
      auto* to = static_cast<uint8_t*>(shared);
      const auto* from = static_cast<const uint8_t*>(global);
      for (int i = 0; i < Bytes; ++i) to[i] = i < valid_bytes ? from[i] : 0;
    }
#endif
  }
  HLO_DEVICE void commit() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  // Waits until all committed groups but the latest N have completed.
  template <int N>
  HLO_DEVICE void wait() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
  }

  // Loads data that are not read again soon. T has 16 bytes.
  template <class T>
  HLO_DEVICE T load_once(const T* p) const {
    static_assert(sizeof(T) == 16 && alignof(T) == 16);
#ifdef __CUDA_ARCH__
    const uint4 words = __ldcs(reinterpret_cast<const uint4*>(p));
    T value;
    __builtin_memcpy(&value, &words, sizeof value);
    return value;
#else
    return *p;
#endif
  }

  // Atomics on global or shared memory; they return the old value.
  HLO_DEVICE uint32_t atomic_add(uint32_t* p, uint32_t v) const {
    HLO_DEVICE_VALUE(uint32_t, atomicAdd(p, v));
  }
  HLO_DEVICE uint32_t atomic_max(uint32_t* p, uint32_t v) const {
    HLO_DEVICE_VALUE(uint32_t, atomicMax(p, v));
  }
  HLO_DEVICE uint32_t atomic_min(uint32_t* p, uint32_t v) const {
    HLO_DEVICE_VALUE(uint32_t, atomicMin(p, v));
  }
  HLO_DEVICE uint32_t atomic_or(uint32_t* p, uint32_t v) const { HLO_DEVICE_VALUE(uint32_t, atomicOr(p, v)); }
  HLO_DEVICE uint64_t atomic_add(uint64_t* p, uint64_t v) const {
    HLO_DEVICE_VALUE(uint64_t, atomicAdd(reinterpret_cast<unsigned long long*>(p), v));
  }
  HLO_DEVICE uint64_t atomic_max(uint64_t* p, uint64_t v) const {
    HLO_DEVICE_VALUE(uint64_t, atomicMax(reinterpret_cast<unsigned long long*>(p), v));
  }

  HLO_DEVICE void fence() const { HLO_ON_DEVICE(__threadfence();) }
  // Volatile accesses for flags between thread blocks.
  template <class T>
  HLO_DEVICE T load_volatile(const T* p) const {
    return *static_cast<const volatile T*>(p);
  }
  template <class T>
  HLO_DEVICE void store_volatile(T* p, T v) const {
    *static_cast<volatile T*>(p) = v;
  }

 private:
  static constexpr uint32_t kAll = 0xffffffffu;

  template <class T, class Exchange>
  static HLO_DEVICE T ByWords(T v, Exchange&& exchange) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
    uint32_t words[sizeof(T) / 4];
    __builtin_memcpy(words, &v, sizeof(T));
    for (uint32_t& word : words) word = exchange(word);
    __builtin_memcpy(&v, words, sizeof(T));
    return v;
  }
};

#endif  // __CUDACC__

}  // namespace hlo::cuda
