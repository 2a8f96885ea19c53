#include "kernels/cpu/gather_scatter/scatter_loops.h"

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

// An operation on bf16 or f16, which rounds the result in f32.
template <class F, class T>
struct RoundedFromF32 {
  T operator()(T a, T b) const { return T::FromFloat(F()(a.ToFloat(), b.ToFloat())); }
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
