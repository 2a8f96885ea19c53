#pragma once
// GEMM of any element types with accumulators of type T: tiled through shared memory, one thread per element,
// and the reduction of split-K partial sums. Every element accumulates in ascending k.

#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/memory/element_io.h"

namespace hlo::cuda {

// Returns element k of the row that starts at `row`; zero if it is out of bounds.
template <class T>
HLO_DEVICE T TermOf(const Operand& operand, const void* data, const Location& row, uint32_t k) {
  Location term;
  operand.k.Add(k, &term);
  int64_t offset;
  if (!FindElement(operand, row, term, &offset)) return T{};
  return LoadCommonElement<T>(operand.type, data, offset);
}

template <class T>
HLO_DEVICE void StoreResult(const GemmArgs& args, uint32_t batch, uint32_t i, uint32_t j, T sum) {
  const Result& result = args.gemm.result;
  const int64_t offset =
      result.origin + result.batch.Offset(batch) + result.rows.Offset(i) + result.columns.Offset(j);
  if constexpr (std::is_same_v<T, float>) {
    if (args.gemm.epilogue.op_count > 0) return StoreFinished(args.gemm.epilogue, args.result, offset, sum);
  }
  StoreElement<T>(result.type, args.result, offset, sum);
}

// Stores the accumulator to the result or, for split-K, to the partial sums.
template <class T>
HLO_DEVICE void StoreSum(const GemmArgs& args, uint32_t chunk, uint32_t batch, uint32_t i, uint32_t j,
                         T sum) {
  if (args.chunks > 1)
    static_cast<T*>(args.parts)[PartOffset(args, chunk, batch, i, j)] = sum;
  else
    StoreResult(args, batch, i, j, sum);
}

// Thread block tiles of 64 x 64, register tiles of 4 x 4 with stride 16; if T is wider than 8 bytes, 32 x 32
// and 2 x 2.
template <class T>
struct TileGemm {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr int kEach = sizeof(T) > 8 ? 2 : 4, kDepth = 16;
  static constexpr uint32_t kTile = 16 * kEach;
  static constexpr uint32_t kPitch = kTile + 1;
  static constexpr size_t kSharedBytes =
      2 * kDepth * kPitch * sizeof(T) + 2 * kTile * (sizeof(Location) + sizeof(bool));

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const GemmBlock block = BlockOf(args, env.block().x);
    const Gemm& p = args.gemm;
    T* a = reinterpret_cast<T*>(env.shared());
    T* b = a + kDepth * kPitch;
    Location* a_rows = reinterpret_cast<Location*>(b + kDepth * kPitch);
    Location* b_rows = a_rows + kTile;
    const uint32_t a_first = block.row_tile * kTile, b_first = block.column_tile * kTile;
    for (uint32_t r = env.thread(); r < kTile; r += env.threads()) {
      if (a_first + r < p.m) a_rows[r] = RowLocation(p.a, block.batch, a_first + r);
      if (b_first + r < p.n) b_rows[r] = RowLocation(p.b, block.batch, b_first + r);
    }
    T sums[kEach][kEach] = {};
    const uint32_t ty = env.thread() / 16, tx = env.thread() % 16;
    for (uint32_t k = block.k_begin; k < block.k_end; k += kDepth) {
      env.sync();
      Fill(env, p.a, args.a, a_rows, p.m - a_first, k, block.k_end, a);
      Fill(env, p.b, args.b, b_rows, p.n - b_first, k, block.k_end, b);
      env.sync();
      const uint32_t depth = block.k_end - k < kDepth ? block.k_end - k : kDepth;
      for (uint32_t d = 0; d < depth; ++d) {
        T left[kEach], right[kEach];
        HLO_UNROLL
        for (int i = 0; i < kEach; ++i) {
          left[i] = a[d * kPitch + ty + 16 * i];
          right[i] = b[d * kPitch + tx + 16 * i];
        }
        HLO_UNROLL
        for (int i = 0; i < kEach; ++i) {
          HLO_UNROLL
          for (int j = 0; j < kEach; ++j) sums[i][j] = MultiplyAdd(left[i], right[j], sums[i][j]);
        }
      }
    }
    HLO_UNROLL
    for (int i = 0; i < kEach; ++i) {
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j) {
        const uint32_t row = a_first + ty + 16 * i, column = b_first + tx + 16 * j;
        if (row < p.m && column < p.n) StoreSum(args, block.chunk, block.batch, row, column, sums[i][j]);
      }
    }
  }

 private:
  // Fills tile[k][row], zero-padded.
  template <class Env>
  static HLO_DEVICE void Fill(Env& env, const Operand& operand, const void* data, const Location* rows,
                              uint32_t row_count, uint32_t k_first, uint32_t k_end, T* tile) {
    const bool along_k = operand.load_pattern == LoadPattern::kAlongK;
    for (uint32_t x = env.thread(); x < kTile * kDepth; x += env.threads()) {
      const uint32_t row = along_k ? x / kDepth : x % kTile, k = along_k ? x % kDepth : x / kTile;
      const bool exists = row < row_count && k_first + k < k_end;
      tile[k * kPitch + row] = exists ? TermOf<T>(operand, data, rows[row], k_first + k) : T{};
    }
  }
};

// One thread per element, or per several elements if the grid is smaller, for results of fewer than 2^31
// elements with few terms, rows or columns.
template <class T>
struct ElementGemm {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr size_t kSharedBytes = 0;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const Gemm& p = args.gemm;
    const uint32_t count = p.batch * p.m * p.n, step = env.grid().x * kThreads;
    for (uint32_t x = env.block().x * kThreads + env.thread(); x < count; x += step) RunElement(args, x);
  }

 private:
  static HLO_DEVICE void RunElement(const GemmArgs& args, uint32_t x) {
    const Gemm& p = args.gemm;
    // Adjacent threads store adjacent elements.
    uint32_t batch, i, j;
    switch (args.innermost) {
      case GemmArgs::Innermost::kBatch:
        batch = x % p.batch;
        j = x / p.batch % p.n;
        i = x / p.batch / p.n;
        break;
      case GemmArgs::Innermost::kRows:
        i = x % p.m;
        j = x / p.m % p.n;
        batch = x / p.m / p.n;
        break;
      default:
        j = x % p.n;
        i = x / p.n % p.m;
        batch = x / p.n / p.m;
        break;
    }
    const Location a_row = RowLocation(p.a, batch, i), b_row = RowLocation(p.b, batch, j);
    T sum{};
    for (uint32_t k = 0; k < p.k; ++k) {
      Location term;
      p.a.k.Add(k, &term);
      int64_t offset;
      if (!FindElement(p.a, a_row, term, &offset)) continue;
      const T left = LoadCommonElement<T>(p.a.type, args.a, offset);
      Location other;
      p.b.k.Add(k, &other);
      if (!FindElement(p.b, b_row, other, &offset)) continue;
      sum = MultiplyAdd(left, LoadCommonElement<T>(p.b.type, args.b, offset), sum);
    }
    StoreResult(args, batch, i, j, sum);
  }
};

// Computes the result as the sum of the split-K partial sums, in order.
template <class T>
struct SumParts {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr size_t kSharedBytes = 0;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const Gemm& p = args.gemm;
    const int64_t matrix = static_cast<int64_t>(p.m) * p.n, count = matrix * p.batch;
    const int64_t x = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (x >= count) return;
    const T* parts = static_cast<const T*>(args.parts);
    T sum = parts[x];
    for (uint32_t chunk = 1; chunk < args.chunks; ++chunk) {
      if (args.clears_nan && chunk + 1 == args.chunks && !(sum == sum)) sum = T{};
      sum = Sum(sum, parts[x + chunk * count]);
    }
    const int64_t batch = x / matrix, in_matrix = x - batch * matrix;
    const uint32_t i = static_cast<uint32_t>(in_matrix / p.n);
    StoreResult(args, static_cast<uint32_t>(batch), i, static_cast<uint32_t>(in_matrix - int64_t{i} * p.n),
                sum);
  }
};

// The same for f32 parts of a dense result of f32, bf16 or f16 without an epilogue, four elements per thread.
struct SumDenseParts {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr size_t kSharedBytes = 0;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const Gemm& p = args.gemm;
    const int64_t count = static_cast<int64_t>(p.m) * p.n;
    const int64_t x = 4 * (static_cast<int64_t>(env.block().x) * kThreads + env.thread());
    if (x >= count) return;
    const float* parts = static_cast<const float*>(args.parts) + x;
    FourFloats sum = *reinterpret_cast<const FourFloats*>(parts);
    uint32_t chunk = 1;
    for (; chunk + kAhead <= args.chunks; chunk += kAhead) {
      FourFloats ahead[kAhead];
      HLO_UNROLL
      for (uint32_t i = 0; i < kAhead; ++i)
        ahead[i] = *reinterpret_cast<const FourFloats*>(parts + (chunk + i) * count);
      HLO_UNROLL
      for (uint32_t i = 0; i < kAhead; ++i) AddTo(&sum, ahead[i]);
    }
    for (; chunk < args.chunks; ++chunk)
      AddTo(&sum, *reinterpret_cast<const FourFloats*>(parts + chunk * count));
    Store(p.result.type, args.result, x, sum);
  }

 private:
  static constexpr uint32_t kAhead = 4;  // Loads in flight.

  static HLO_DEVICE void AddTo(FourFloats* sum, const FourFloats& part) {
    HLO_UNROLL
    for (int v = 0; v < 4; ++v) sum->x[v] += part.x[v];
  }
  static HLO_DEVICE void Store(ElementType type, void* result, int64_t offset, const FourFloats& x) {
    if (type == ElementType::kF32) {
      float* to = static_cast<float*>(result) + offset;
      if (IsAligned16(to)) {
        *reinterpret_cast<FourFloats*>(to) = x;
        return;
      }
      HLO_UNROLL
      for (int v = 0; v < 4; ++v) to[v] = x.x[v];
      return;
    }
    uint16_t* to = static_cast<uint16_t*>(result) + offset;
    HLO_UNROLL
    for (int v = 0; v < 4; ++v) to[v] = type == ElementType::kBF16 ? FloatToBF16(x.x[v]) : F16Of(x.x[v]);
  }
};

}  // namespace hlo::cuda
