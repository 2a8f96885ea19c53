#pragma once
// Bandwidth-bound reductions of an array by one operation. The grouping of elements depends on shape and type
// only: a group of threads computes each result, or a chunk of one. Thread t folds the vectors t, t + group,
// ... element-wise, then its own lanes, then the group combines pairwise. A second launch folds the chunks in
// the same way. Sums of floats of 32 bits and fewer accumulate in f64.

#include <type_traits>

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/reduce/reduce_op.h"

namespace hlo::cuda {

constexpr uint32_t kReduceThreads = 256;

struct ReduceArgs {
  const void* in = nullptr;
  const void* init = nullptr;
  void* out = nullptr;
  void* partials = nullptr;  // [result][chunk] in the fold's compute type; nullptr: one chunk.
  ReduceOp fold = ReduceOp::kAdd;
  ElementKind kind, init_kind, result_kind;
  uint32_t init_bytes = 4, result_bytes = 4;
  int64_t offset = 0;
  IndexMap kept, reduced;
  uint32_t kept_count = 0, reduced_count = 0;
  uint32_t chunks = 1, chunk_length = 0;
  uint32_t group = 1;         // Rows: threads per chunk. Columns: adjacent vectors per thread block.
  bool vectors = false;       // 16-byte vectors are contiguous and aligned.
  uint64_t identity[2] = {};  // Identity element of the fold in its compute type.
};

// Elements in their compute type. Narrow integers are widened to 32 bits, which shuffles require.
template <class E>
struct PlainReduction {
  using Stored = typename E::Stored;
  using ComputeType = typename E::ComputeType;
  using Sum = std::conditional_t<sizeof(ComputeType) < 4, uint32_t, ComputeType>;
  static HLO_DEVICE Sum Load(Stored x, ElementKind kind) { return static_cast<Sum>(E::Load(x, kind)); }
  static HLO_DEVICE Sum Combine(ReduceOp fold, Sum a, Sum b, ElementKind kind) {
    return static_cast<Sum>(E::Combine(fold, static_cast<ComputeType>(a), static_cast<ComputeType>(b), kind));
  }
};
// Accumulates in f64.
template <class E>
struct WideSum {
  using Stored = typename E::Stored;
  using Sum = double;
  static HLO_DEVICE Sum Load(Stored x, ElementKind kind) { return static_cast<double>(E::Load(x, kind)); }
  static HLO_DEVICE Sum Combine(ReduceOp, Sum a, Sum b, ElementKind) { return a + b; }
};

// Loads or stores a scalar of `bytes` bytes with conversion from or to the compute type.
template <class Sum>
HLO_DEVICE Sum ReadReduced(const void* from, uint32_t bytes, ElementKind kind) {
  if constexpr (std::is_floating_point_v<Sum>) {
    if (bytes == 8) return static_cast<Sum>(*static_cast<const double*>(from));
    if (bytes == 4) return static_cast<Sum>(*static_cast<const float*>(from));
    return static_cast<Sum>(HalfElement::Load(*static_cast<const uint16_t*>(from), kind));
  } else if constexpr (std::is_integral_v<Sum>) {
    if (bytes == 1) return static_cast<Sum>(*static_cast<const uint8_t*>(from));
    if (bytes == 2) return static_cast<Sum>(*static_cast<const uint16_t*>(from));
    return *static_cast<const Sum*>(from);
  } else {
    return *static_cast<const Sum*>(from);
  }
}
template <class Sum>
HLO_DEVICE void WriteReduced(void* to, uint32_t at, uint32_t bytes, ElementKind kind, Sum value) {
  if constexpr (std::is_floating_point_v<Sum>) {
    if (bytes == 8)
      static_cast<double*>(to)[at] = static_cast<double>(value);
    else if (bytes == 4)
      static_cast<float*>(to)[at] = static_cast<float>(value);
    else
      static_cast<uint16_t*>(to)[at] = HalfElement::Store(static_cast<float>(value), kind);
  } else if constexpr (std::is_integral_v<Sum>) {
    if (bytes == 1)
      static_cast<uint8_t*>(to)[at] = static_cast<uint8_t>(value);
    else if (bytes == 2)
      static_cast<uint16_t*>(to)[at] = static_cast<uint16_t>(value);
    else
      static_cast<Sum*>(to)[at] = value;
  } else {
    static_cast<Sum*>(to)[at] = value;
  }
}

// The common part of row and column reductions. F: PlainReduction or WideSum; kReduceOp: args.fold as a
// constant.
template <class F, ReduceOp kReduceOp>
struct ReduceBody {
  using Stored = typename F::Stored;
  using Sum = typename F::Sum;
  static constexpr uint32_t kVector = 16 / sizeof(Stored);
  static constexpr uint32_t kAhead = 4;  // Vectors that are loaded before the first is folded.
  struct alignas(16) Vector {
    Stored x[kVector];
  };

  const ReduceArgs& args;
  Sum sums[kVector];

  explicit HLO_DEVICE ReduceBody(const ReduceArgs& a) : args(a) {
    HLO_UNROLL
    for (uint32_t j = 0; j < kVector; ++j) sums[j] = Identity();
  }
  HLO_DEVICE Sum Identity() const {
    Sum identity;
    __builtin_memcpy(&identity, args.identity, sizeof identity);
    return identity;
  }
  HLO_DEVICE Sum Combine(Sum a, Sum b) const { return F::Combine(kReduceOp, a, b, args.kind); }
  HLO_DEVICE void Accumulate(uint32_t j, Stored x) { sums[j] = Combine(sums[j], F::Load(x, args.kind)); }
  HLO_DEVICE void Accumulate(const Vector& v) {
    HLO_UNROLL
    for (uint32_t j = 0; j < kVector; ++j) Accumulate(j, v.x[j]);
  }
  HLO_DEVICE const Stored* At(int64_t offset) const {
    return static_cast<const Stored*>(args.in) + args.offset + offset;
  }
  HLO_DEVICE const Vector& VectorAt(int64_t offset) const {
    return *reinterpret_cast<const Vector*>(At(offset));
  }
  HLO_DEVICE void StoreSum(uint32_t output, uint32_t chunk, Sum sum) const {
    if (args.partials != nullptr) {
      static_cast<Sum*>(args.partials)[static_cast<int64_t>(output) * args.chunks + chunk] = sum;
      return;
    }
    const Sum init = ReadReduced<Sum>(args.init, args.init_bytes, args.init_kind);
    WriteReduced(args.out, output, args.result_bytes, args.result_kind, Combine(init, sum));
  }

  // Returns the end of the chunk that starts at `begin`.
  HLO_DEVICE uint32_t EndOf(uint32_t begin) const {
    const uint32_t left = args.reduced_count - begin;
    return begin + (left < args.chunk_length ? left : args.chunk_length);
  }
  // Folds the vectors at index(0), index(1), ...; issues all loads before the first fold.
  template <class Index>
  HLO_DEVICE void FoldPrefetched(Index&& index) {
    Vector vectors[kAhead];
    HLO_UNROLL
    for (uint32_t u = 0; u < kAhead; ++u) vectors[u] = VectorAt(index(u));
    HLO_UNROLL
    for (uint32_t u = 0; u < kAhead; ++u) Accumulate(vectors[u]);
  }

  template <class Env>
  HLO_DEVICE void Rows(Env& env) {
    const uint32_t group = args.group, lane = env.thread() % group;
    const uint32_t unit = env.block().x * (kReduceThreads / group) + env.thread() / group;
    const uint32_t output = unit / args.chunks, chunk = unit - output * args.chunks;
    const bool works = output < args.kept_count;
    const uint32_t begin = chunk * args.chunk_length, end = EndOf(begin);
    const int64_t row = works ? args.kept.Offset(output) : 0;
    const uint32_t step = group * kVector;
    for (uint32_t first = begin + lane * kVector; works && first < end; first += kAhead * step) {
      if (args.vectors && end - first >= (kAhead - 1) * step + kVector) {
        FoldPrefetched([&](uint32_t u) { return row + args.reduced.Offset(first + u * step); });
        continue;
      }
      for (uint32_t at = first; at < end && at - first < kAhead * step; at += step) {
        if (args.vectors && end - at >= kVector) {
          Accumulate(VectorAt(row + args.reduced.Offset(at)));
          continue;
        }
        HLO_UNROLL
        for (uint32_t j = 0; j < kVector; ++j) {
          if (at + j < end) Accumulate(j, *At(row + args.reduced.Offset(at + j)));
        }
      }
    }
    Sum sum = OfVector();
    for (uint32_t d = 1; d < group && d < kWarpSize; d *= 2)
      sum = Combine(sum, env.shfl_xor(sum, static_cast<int>(d)));
    if (group > kWarpSize) {  // The group is the whole thread block.
      auto* warps = reinterpret_cast<Sum*>(env.shared());
      if (lane % kWarpSize == 0) warps[lane / kWarpSize] = sum;
      env.sync();
      for (uint32_t w = 1; lane == 0 && w < kReduceThreads / kWarpSize; ++w) sum = Combine(sum, warps[w]);
    }
    if (works && lane == 0) StoreSum(output, chunk, sum);
  }
  HLO_DEVICE Sum OfVector() {
    HLO_UNROLL
    for (uint32_t half = kVector / 2; half > 0; half /= 2) {
      HLO_UNROLL
      for (uint32_t j = 0; j < kVector; ++j) {
        if (j < half) sums[j] = Combine(sums[j], sums[j + half]);
      }
    }
    return sums[0];
  }

  template <class Env>
  HLO_DEVICE void Columns(Env& env) {
    const uint32_t lanes = args.group, rows = kReduceThreads / lanes;
    const uint32_t lane = env.thread() % lanes, row = env.thread() / lanes;
    const uint32_t columns = env.block().x / args.chunks, chunk = env.block().x - columns * args.chunks;
    const uint32_t output = (columns * lanes + lane) * kVector;
    const uint32_t begin = chunk * args.chunk_length, end = EndOf(begin);
    uint32_t r = begin + row;
    if (args.vectors && output < args.kept_count) {
      const int64_t column = args.kept.Offset(output);
      for (; r < end && end - r > (kAhead - 1) * rows; r += kAhead * rows)
        FoldPrefetched([&](uint32_t u) { return column + args.reduced.Offset(r + u * rows); });
      for (; r < end; r += rows) Accumulate(VectorAt(column + args.reduced.Offset(r)));
    }
    for (; r < end; r += rows) {
      const int64_t start = args.reduced.Offset(r);
      HLO_UNROLL
      for (uint32_t j = 0; j < kVector; ++j) {
        if (output + j < args.kept_count) Accumulate(j, *At(start + args.kept.Offset(output + j)));
      }
    }
    auto* shared = reinterpret_cast<Sum*>(env.shared());
    for (uint32_t distance = rows / 2; distance > 0; distance /= 2) {
      HLO_UNROLL
      for (uint32_t j = 0; j < kVector; ++j) {
        if (row < 2 * distance) shared[j * kReduceThreads + env.thread()] = sums[j];
      }
      env.sync();
      HLO_UNROLL
      for (uint32_t j = 0; j < kVector; ++j) {
        if (row < distance)
          sums[j] = Combine(sums[j], shared[j * kReduceThreads + env.thread() + distance * lanes]);
      }
      env.sync();
    }
    HLO_UNROLL
    for (uint32_t j = 0; j < kVector; ++j) {
      if (row == 0 && output + j < args.kept_count) StoreSum(output + j, chunk, sums[j]);
    }
  }
};

// Calls visit.template operator()<kReduceOp>() for the folds of F. Wide and complex accumulators only support
// addition (see MatchReduceOp).
template <class F, class Visit>
HLO_DEVICE void WithReduceOp(ReduceOp fold, Visit&& visit) {
  if constexpr (std::is_same_v<F, WideSum<HalfElement>> || std::is_same_v<F, WideSum<FloatElement<float>>> ||
                !std::is_arithmetic_v<typename F::Sum>) {
    visit.template operator()<ReduceOp::kAdd>();
  } else {
    switch (fold) {
      case ReduceOp::kAdd:
        return visit.template operator()<ReduceOp::kAdd>();
      case ReduceOp::kMultiply:
        return visit.template operator()<ReduceOp::kMultiply>();
      case ReduceOp::kMaximum:
        return visit.template operator()<ReduceOp::kMaximum>();
      case ReduceOp::kMinimum:
        return visit.template operator()<ReduceOp::kMinimum>();
      default:
        break;
    }
    if constexpr (std::is_integral_v<typename F::Sum>) {
      if (fold == ReduceOp::kAnd) return visit.template operator()<ReduceOp::kAnd>();
      if (fold == ReduceOp::kOr) return visit.template operator()<ReduceOp::kOr>();
      if (fold == ReduceOp::kXor) return visit.template operator()<ReduceOp::kXor>();
    }
  }
}

template <class F>
struct ReduceRows {
  using Args = ReduceArgs;
  static constexpr uint32_t kThreads = kReduceThreads;
  static constexpr size_t kSharedBytes = kReduceThreads / kWarpSize * sizeof(typename F::Sum);
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    WithReduceOp<F>(args.fold, [&]<ReduceOp kReduceOp>() { ReduceBody<F, kReduceOp>(args).Rows(env); });
  }
};

// Column reductions: adjacent results have adjacent elements; a thread block computes adjacent results.
template <class F>
struct ReduceColumns {
  using Args = ReduceArgs;
  static constexpr uint32_t kThreads = kReduceThreads;
  static constexpr size_t kSharedBytes =
      kReduceThreads * (16 / sizeof(typename F::Stored)) * sizeof(typename F::Sum);
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    WithReduceOp<F>(args.fold, [&]<ReduceOp kReduceOp>() { ReduceBody<F, kReduceOp>(args).Columns(env); });
  }
};

}  // namespace hlo::cuda
