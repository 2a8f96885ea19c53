#include "kernels/cpu/elementwise/stored_folds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/vectorize.h"
#include "kernels/cpu/elementwise/fold_ops.h"
#include "kernels/cpu/elementwise/integer_folds.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/elementwise/vector_folds.h"
#include "kernels/cpu/simd/bf16_sums.h"

namespace hlo::cpu {
namespace {

using namespace folds;

constexpr int kAtOnce = StoredFolds::kAtOnce;

#if defined(HLO_LOADS_REST)
// Reduces rows of less than two vectors.
template <class F, class T, class A, int kRows>
[[gnu::always_inline]] inline void FoldShortRows(int64_t n, const T* const (&rows)[kRows],
                                                 A (&results)[kRows]) {
  const Vector<A> identity = Broadcast(static_cast<A>(F::kIdentity));
  Vector<A> v[kRows][2];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    for (Vector<A>& part : v[r]) part = identity;
    results[r] = FoldRest<F, T, A, 2>(rows[r], n, v[r]);
    if (F::kAnyOrder && results[r] != results[r]) results[r] = std::numeric_limits<A>::quiet_NaN();
  }
}
#endif

// Reduces rows in parallel, each in the same order: kVectors partial results, the tail, then by halving.
template <class F, class T, class A, int kRows, int kVectors = 2>
[[gnu::always_inline]] inline void FoldRows(int64_t n, const T* const (&rows)[kRows], A (&results)[kRows]) {
  constexpr int64_t kLane = kLanes<A>, kStep = kVectors * kLane;
  const F f;
  if (n < kStep) {
#if defined(HLO_LOADS_REST)
    // In this order, sums in f64 are those of the reference.
    if constexpr (sizeof(T) == 4 && kVectors == 2) return FoldShortRows<F, T, A>(n, rows, results);
#endif
    for (int r = 0; r < kRows; ++r) {
      results[r] = rows[r][0];
      for (int64_t i = 1; i < n; ++i) results[r] = f(results[r], static_cast<A>(rows[r][i]));
    }
    return;
  }
  Vector<A> v[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < kVectors; ++p) v[r][p] = LoadAs<A>(rows[r] + p * kLane);
  }
  int64_t i = kStep;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      PrefetchAhead(rows[r] + i);
#pragma GCC unroll 8
      for (int p = 0; p < kVectors; ++p)
        v[r][p] = F::template Vectors<A>(v[r][p], LoadAs<A>(rows[r] + i + p * kLane));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    results[r] = FoldRest<F, T, A, kVectors>(rows[r] + i, n - i, v[r]);
    // Canonicalises a NaN, whose payload depends on the other operand.
    if (F::kAnyOrder && results[r] != results[r]) results[r] = std::numeric_limits<A>::quiet_NaN();
  }
}

template <class F, class T, class A>
void Rows(int64_t n, const void* const* rows, void* results) {
  const T* at[kAtOnce];
  for (int r = 0; r < kAtOnce; ++r) at[r] = static_cast<const T*>(rows[r]);
  A sums[kAtOnce];
  FoldRows<F, T, A, kAtOnce>(n, at, sums);
  for (int r = 0; r < kAtOnce; ++r) static_cast<T*>(results)[r] = static_cast<T>(sums[r]);
}

template <class F, class T, class A>
void Row(int64_t n, const void* row, void* result) {
  const T* const at[] = {static_cast<const T*>(row)};
  A sum[1];
  if constexpr (F::kAnyOrder) {
    constexpr int kMany = 8;  // Independent accumulators hide the latency.
    if (n >= kMany * kLanes<A>)
      FoldRows<F, T, A, 1, kMany>(n, at, sum);
    else
      FoldRows<F, T, A, 1>(n, at, sum);
  } else {
    FoldRows<F, T, A, 1>(n, at, sum);
  }
  *static_cast<T*>(result) = static_cast<T>(sum[0]);
}

// Reduces a long row in parts, in the same way as several rows.
template <class F, class T, class A>
void LongRow(int64_t n, const void* row, void* result) {
  constexpr int64_t kShort = 2048;
  if (n < kShort) return Row<F, T, A>(n, row, result);
  const F f;
  const T* from = static_cast<const T*>(row);
  const int64_t part = n / kAtOnce;
  const T* const at[kAtOnce] = {from, from + part, from + 2 * part, from + 3 * part};
  A sums[kAtOnce];
  FoldRows<F, T, A, kAtOnce>(part, at, sums);
  A sum = sums[0];
  for (int r = 1; r < kAtOnce; ++r) sum = f(sum, sums[r]);
  for (int64_t i = kAtOnce * part; i < n; ++i) sum = f(sum, static_cast<A>(from[i]));
  *static_cast<T*>(result) = static_cast<T>(sum);
}

// Reduces rows of S into accumulators of T.
template <class F, class S, class T>
void Columns(int64_t n, const void* const* rows, void* accumulators) {
  constexpr int64_t kLane = kLanes<T>;
  const F f;
  T* acc = static_cast<T*>(accumulators);
  const S* at[kAtOnce];
  for (int r = 0; r < kAtOnce; ++r) at[r] = static_cast<const S*>(rows[r]);
  int64_t i = 0;
  for (; i + kLane <= n; i += kLane) {
    Vector<T> v = LoadVector(acc + i);
#pragma GCC unroll 4
    for (int r = 0; r < kAtOnce; ++r) v = F::template Vectors<T>(v, LoadAs<T>(at[r] + i));
    StoreVector(acc + i, v);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < kAtOnce; ++r) {
      if constexpr (std::is_same_v<S, T>)
        acc[i] = f(acc[i], at[r][i]);
      else
        acc[i] = f(acc[i], at[r][i].ToFloat());
    }
  }
}

void SumRow(int64_t n, const void* row, void* result) {
  const float sum = SumOfBF16(n, static_cast<const bfloat16*>(row));
  std::memcpy(result, &sum, sizeof sum);
}

template <class F, class T, class A>
StoredFolds FoldsOf(ElementType stored) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr bool is_sum = std::is_same_v<F, Sum>;
    if (stored == ElementType::kBF16 && is_sum)
      return {nullptr, &SumRow, &SumRow, &Columns<F, bfloat16, float>};
    if (stored == ElementType::kBF16) return {.columns = &Columns<F, bfloat16, float>};
  }
  return {&Rows<F, T, A>, &Row<F, T, A>, &LongRow<F, T, A>, &Columns<F, T, T>};
}

template <class T>
StoredFolds FindStoredFolds(const TileCall& fold, ElementType type) {
  const auto is = [&](Opcode opcode) { return fold.function == FindTileFold(opcode, type).function; };
  if (is(Opcode::kAdd)) return FoldsOf<Sum, T, double>(type);
  if (is(Opcode::kMaximum)) return FoldsOf<Largest, T, T>(type);
  if (is(Opcode::kMinimum)) return FoldsOf<Smallest, T, T>(type);
  return {};
}

// Integers have the same bits in any order.
template <class F, class T>
void IntegerRow(int64_t n, const void* row, void* result) {
  const T all = FoldIntegers<F>(n, static_cast<const T*>(row));
  std::memcpy(result, &all, sizeof all);
}

template <class F, class T>
void IntegerColumns(int64_t n, const void* const* rows, void* accumulators) {
  const F f;
  T* all = static_cast<T*>(accumulators);
  const T *a = static_cast<const T*>(rows[0]), *b = static_cast<const T*>(rows[1]),
          *c = static_cast<const T*>(rows[2]), *d = static_cast<const T*>(rows[3]);
  static_assert(kAtOnce == 4);
  const auto both = [&](T x, T y) { return static_cast<T>(f(x, y)); };
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) all[i] = both(all[i], both(both(a[i], b[i]), both(c[i], d[i])));
}

// Predicates are combined as bytes, whose values 0 and 1 each operation keeps.
StoredFolds FindPredicateFolds(const TileCall& fold) {
  const auto is = [&](Opcode opcode) {
    return fold.function == FindTileFold(opcode, ElementType::kPred).function;
  };
  if (is(Opcode::kOr) || is(Opcode::kAdd) || is(Opcode::kMaximum))
    return {.row = &IntegerRow<scalar::Or, uint8_t>, .columns = &IntegerColumns<scalar::Or, uint8_t>};
  if (is(Opcode::kAnd) || is(Opcode::kMultiply) || is(Opcode::kMinimum))
    return {.row = &IntegerRow<scalar::And, uint8_t>, .columns = &IntegerColumns<scalar::And, uint8_t>};
  if (is(Opcode::kXor))
    return {.row = &IntegerRow<scalar::Xor, uint8_t>, .columns = &IntegerColumns<scalar::Xor, uint8_t>};
  return {};
}

template <class T>
StoredFolds FindIntegerFolds(const TileCall& fold, ElementType type) {
  StoredFolds folds;
  for (const Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kMaximum, Opcode::kMinimum,
                              Opcode::kAnd, Opcode::kOr, Opcode::kXor}) {
    if (fold.function != FindTileFold(opcode, type).function) continue;
    VisitFoldOp<T>(opcode, [&]<class F>() {
      folds.row = &IntegerRow<F, T>;
      folds.columns = &IntegerColumns<F, T>;
    });
    break;
  }
  return folds;
}

}  // namespace

StoredFolds FindStoredFolds(const TileCall& fold, ElementType stored) {
  if (IsStoredAsComputed(stored)) {
    const StoredFolds folds = DispatchComputeType(ComputeTypeOf(stored), [&]<class T>() -> StoredFolds {
      if constexpr (std::is_same_v<T, bool>)
        return FindPredicateFolds(fold);
      else if constexpr (std::is_integral_v<T>)
        return FindIntegerFolds<T>(fold, stored);
      else
        return {};
    });
    if (folds.row != nullptr) return folds;
  }
  if (stored == ElementType::kF32 || stored == ElementType::kBF16)
    return FindStoredFolds<float>(fold, stored);
  if (stored == ElementType::kF64) return FindStoredFolds<double>(fold, stored);
  return {};
}

}  // namespace hlo::cpu
