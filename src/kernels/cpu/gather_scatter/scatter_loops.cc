#include "kernels/cpu/gather_scatter/scatter_loops.h"

#include <cstring>
#include <type_traits>

#include "kernels/cpu/elementwise/fold_ops.h"
#include "kernels/cpu/simd/first_nan.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

struct Replacement {
  template <class T>
  T operator()(T, T update) const {
    return update;
  }
};

constexpr int64_t kBlock = 8;  // The elements of a block.

// Calls f(k) for the elements of a block. A loop that is unrolled completely would not be vectorised.
template <class F>
[[gnu::always_inline]] inline void EachOfBlock(const F& f) {
#pragma GCC unroll 1
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t k = 0; k < kBlock; ++k) f(k);
}

template <class T>
using Block = typename VectorOf<T, kBlock* static_cast<int>(sizeof(T))>::type;

template <class T>
Block<T> LoadBlock(const void* from) {
  Block<T> block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

// Stores the lower halves.
void StoreBlock(Block<uint32_t> block, void* to) {
  const auto halves = __builtin_convertvector(block, Block<uint16_t>);
  std::memcpy(to, &halves, sizeof halves);
}

Block<float> WidenBlock(const bfloat16* from) {
  return BitsOf<Block<float>>(__builtin_convertvector(LoadBlock<uint16_t>(from), Block<uint32_t>) << 16);
}
Block<float> WidenBlock(const float16* from) {
#if defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  Block<float> block;
  for (int64_t k = 0; k < kBlock; ++k) block[k] = from[k].ToFloat();
  return block;
#endif
}

// Returns the codes of NaNs with the signs of the floats.
Block<uint32_t> SignedNan(Block<float> block, uint32_t nan) {
  return (BitsOf<Block<uint32_t>>(block) >> 16 & 0x8000u) | nan;
}
void NarrowBlock(Block<float> block, bfloat16* to) {
  const auto bits = BitsOf<Block<uint32_t>>(block);
  const Block<uint32_t> rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const Block<uint32_t> codes = block == block ? rounded : SignedNan(block, 0x7fc0);
  StoreBlock(codes, to);
}
void NarrowBlock(Block<float> block, float16* to) {
#if defined(__F16C__)
  const Block<uint32_t> rounded = __builtin_convertvector(
      BitsOf<Block<uint16_t>>(_mm256_cvtps_ph(block, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)),
      Block<uint32_t>);
  const Block<uint32_t> codes = block == block ? rounded : SignedNan(block, 0x7e00);
  StoreBlock(codes, to);
#else
  for (int64_t k = 0; k < kBlock; ++k) to[k] = float16::FromFloat(block[k]);
#endif
}

// An operation on bf16 or f16, which rounds the result in f32.
template <class F, class T>
struct RoundedFromF32 {
  T operator()(T a, T b) const { return T::FromFloat(F()(a.ToFloat(), b.ToFloat())); }
  // Combines kBlock elements.
  void Combine(T* to, const T* from) const {
    const Block<float> a = WidenBlock(to), b = WidenBlock(from);
    if constexpr (std::is_same_v<F, scalar::Add>) {
      NarrowBlock(a + b, to);
    } else {
      alignas(32) float left[kBlock], right[kBlock], results[kBlock];
      std::memcpy(left, &a, sizeof left);
      std::memcpy(right, &b, sizeof right);
      EachOfBlock([&](int64_t k) { results[k] = F()(left[k], right[k]); });
      NarrowBlock(LoadBlock<float>(results), to);
    }
  }
};

template <class F, class T>
void ByOffset(int64_t n, void* result, const int64_t* at, const void* update, const int64_t* from) {
  const F f;
  T* r = static_cast<T*>(result);
  const T* u = static_cast<const T*>(update);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] >= 0) r[at[i]] = f(r[at[i]], u[from[i]]);
  }
}

template <class F, class T>
void ByIndex(int64_t n, void* result, int64_t count, const int32_t* index, const void* update) {
  const F f;
  T* r = static_cast<T*>(result);
  const T* u = static_cast<const T*>(update);
  const auto most = static_cast<uint64_t>(count);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<uint64_t>(index[i]);
    if (at < most) r[at] = f(r[at], u[i]);
  }
}

// kLength: the length of the rows if it is known.
template <class F, class T, int64_t kLength>
void ByRowOfLength(int64_t n, int64_t length, void* result, const int64_t* at, const void* update,
                   const int64_t* from) {
  if constexpr (kLength > 0) length = kLength;
  const F f;
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] < 0) continue;
    T* r = static_cast<T*>(result) + at[i];
    const T* u = static_cast<const T*>(update) + from[i];
    HLO_INDEPENDENT_ITERATIONS
    for (int64_t k = 0; k < length; ++k) r[k] = f(r[k], u[k]);
  }
}

// Combines rows in blocks of a constant size, because the compiler's loops over vectors need longer rows.
template <class F, class T>
void ByRowInBlocks(int64_t n, int64_t length, T* result, const int64_t* at, const T* update,
                   const int64_t* from) {
  const F f;
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] < 0) continue;
    T* r = result + at[i];
    const T* u = update + from[i];
    int64_t k = 0;
    for (; k + kBlock <= length; k += kBlock) {
      if constexpr (requires { f.Combine(r, u); }) {
        f.Combine(r + k, u + k);
      } else {
        EachOfBlock([&](int64_t j) { r[k + j] = f(r[k + j], u[k + j]); });
      }
    }
    for (; k < length; ++k) r[k] = f(r[k], u[k]);
  }
}

// Combines vectors whose first kLength elements are rows. Extremes of numbers that are not in order would be
// branches that are often mispredicted.
template <class F, class T, int kLength>
void ByVector(int64_t n, T* result, const int64_t* at, const T* update, const int64_t* from) {
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] < 0) continue;
    T* r = result + at[i];
    const Vector<T> a = LoadFirst(r, kLength), b = LoadFirst(update + from[i], kLength);
    const Vector<T> extreme = std::is_same_v<F, scalar::Maximum> ? MaximumOf<T>(a, b) : MinimumOf<T>(a, b);
    StoreFirst(r, OrFirstNan<T>(extreme, a, b), kLength);
  }
}

template <class F, class T>
constexpr bool kIsExtremeOfFloats = std::is_floating_point_v<T> && (std::is_same_v<F, scalar::Maximum> ||
                                                                    std::is_same_v<F, scalar::Minimum>);

// Rows of points and short vectors need no loop.
template <class F, class T>
void ByRow(int64_t n, int64_t length, void* result, const int64_t* at, const void* update,
           const int64_t* from) {
  if constexpr (kIsExtremeOfFloats<F, T> && kLanes<T> >= 4) {
    T* r = static_cast<T*>(result);
    const T* u = static_cast<const T*>(update);
    if (length == 2) return ByVector<F, T, 2>(n, r, at, u, from);
    if (length == 3) return ByVector<F, T, 3>(n, r, at, u, from);
    if (length == 4) return ByVector<F, T, 4>(n, r, at, u, from);
  }
  constexpr int64_t kLongestInBlocks = 64;
  constexpr bool kIsRounded = requires(T * to) { F().Combine(to, to); };
  if constexpr (sizeof(T) <= 2) {
    if (length >= kBlock && (length < kLongestInBlocks || kIsRounded))
      return ByRowInBlocks<F, T>(n, length, static_cast<T*>(result), at, static_cast<const T*>(update), from);
  }
  switch (length) {
    case 2:
      return ByRowOfLength<F, T, 2>(n, length, result, at, update, from);
    case 3:
      return ByRowOfLength<F, T, 3>(n, length, result, at, update, from);
    case 4:
      return ByRowOfLength<F, T, 4>(n, length, result, at, update, from);
    default:
      return ByRowOfLength<F, T, 0>(n, length, result, at, update, from);
  }
}

template <class F, class T>
constexpr ScatterLoops kLoopsOf = {&ByOffset<F, T>, &ByIndex<F, T>, &ByRow<F, T>};

template <class T>
ScatterLoops RoundingLoops(Opcode opcode) {
  ScatterLoops loops;
  VisitFoldOp<float>(opcode, [&]<class F>() { loops = kLoopsOf<RoundedFromF32<F, T>, T>; });
  return loops;
}

}  // namespace

ScatterLoops FindScatterLoops(std::optional<Opcode> opcode, ElementType type) {
  ScatterLoops loops;
  if (!opcode.has_value()) {
    DispatchWidth(ByteCount(type), [&]<class T>() { loops = kLoopsOf<Replacement, T>; });
  } else if (type == ElementType::kBF16) {
    loops = RoundingLoops<bfloat16>(*opcode);
  } else if (type == ElementType::kF16) {
    loops = RoundingLoops<float16>(*opcode);
  } else if (IsStoredAsComputed(type) && RoundTile(type).function == nullptr) {
    DispatchComputeType(ComputeTypeOf(type), [&]<class T>() {
      VisitFoldOp<T>(*opcode, [&]<class F>() { loops = kLoopsOf<F, T>; });
    });
  }
  return loops;
}

}  // namespace hlo::cpu
