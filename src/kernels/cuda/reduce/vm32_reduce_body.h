#pragma once
// Reductions of rows that a program of the 32-bit VM computes (vm32.h): vectors of adjacent elements, and
// accumulators in registers. A warp or a thread block folds a row, or a chunk of a long one. The grouping
// depends on the shape alone: lane l takes the vectors l, l + group, ... in order. Each of the four elements
// of a vector has an accumulator, and the lanes are combined by a butterfly.

#include "kernels/cuda/reduce/vm32_fold.h"
#include "kernels/cuda/vm/vm32_body.h"

namespace hlo::cuda {

struct Vm32ReduceArgs {
  Vm32Program program;  // Its last result is the value that is reduced.
  const void* init = nullptr;
  void* output = nullptr;
  void* partials = nullptr;  // [kept, chunks], if a row has several chunks.
  uint32_t kept = 0, reduced = 0, chunks = 1, chunk_length = 0;
  uint32_t group = kWarpSize;  // Threads per chunk: a warp or a block.
  Vm32Fold fold = Vm32Fold::kAddF;
  VmMemory init_memory = VmMemory::k4, output_memory = VmMemory::k4;
};
static_assert(sizeof(Vm32ReduceArgs) <= 4096);

// Accumulators of f32 sums.
struct Vm32Sum {
  using Type = double;
  static HLO_DEVICE double Identity(Vm32Fold) { return -0.0; }
  static HLO_DEVICE double Of(uint32_t value) { return static_cast<double>(F32OfBits(value)); }
  static HLO_DEVICE double Fold(Vm32Fold, double a, double b) { return a + b; }
  static HLO_DEVICE uint32_t Result(double sum) { return BitsOfF32(static_cast<float>(sum)); }
};

// Accumulators of all other folds.
struct Vm32Word {
  using Type = uint32_t;
  static HLO_DEVICE uint32_t Identity(Vm32Fold fold) {
    switch (fold) {
      case Vm32Fold::kMaximumF:
        return 0xff800000u;
      case Vm32Fold::kMinimumF:
        return 0x7f800000u;
      case Vm32Fold::kMaximumS:
        return 0x80000000u;
      case Vm32Fold::kMinimumS:
        return 0x7fffffffu;
      case Vm32Fold::kMinimumU:
      case Vm32Fold::kAnd:
        return 0xffffffffu;
      default:
        return 0;
    }
  }
  static HLO_DEVICE uint32_t Of(uint32_t value) { return value; }
  static HLO_DEVICE uint32_t Fold(Vm32Fold fold, uint32_t a, uint32_t b) {
    const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
    switch (fold) {
      case Vm32Fold::kMaximumF:
        return BitsOfF32(Vm32Maximum(F32OfBits(a), F32OfBits(b)));
      case Vm32Fold::kMinimumF:
        return BitsOfF32(Vm32Minimum(F32OfBits(a), F32OfBits(b)));
      case Vm32Fold::kMaximumS:
        return x < y ? b : a;
      case Vm32Fold::kMinimumS:
        return y < x ? b : a;
      case Vm32Fold::kMaximumU:
        return a < b ? b : a;
      case Vm32Fold::kMinimumU:
        return b < a ? b : a;
      case Vm32Fold::kAnd:
        return a & b;
      case Vm32Fold::kOr:
        return a | b;
      default:
        return a + b;
    }
  }
  static HLO_DEVICE uint32_t Result(uint32_t value) { return value; }
};

// Folds the values of a group of threads. `shared` has an accumulator for each warp.
template <class Accumulator, class Env>
HLO_DEVICE typename Accumulator::Type FoldGroup(Env& env, Vm32Fold fold, uint32_t group,
                                                typename Accumulator::Type* shared,
                                                typename Accumulator::Type value) {
  for (int d = kWarpSize / 2; d > 0; d /= 2) value = Accumulator::Fold(fold, value, env.shfl_xor(value, d));
  if (group == kWarpSize) return value;
  constexpr uint32_t kWarps = kVm32Threads / kWarpSize;
  if (env.thread() % kWarpSize == 0) shared[env.thread() / kWarpSize] = value;
  env.sync();
  value = shared[env.thread() % kWarps];
  for (int d = kWarps / 2; d > 0; d /= 2) value = Accumulator::Fold(fold, value, env.shfl_xor(value, d));
  return value;
}

template <class Accumulator>
HLO_DEVICE void StoreReduced(const Vm32ReduceArgs& args, uint32_t output, typename Accumulator::Type value) {
  using V = VmValue<1>;
  const V init = VmRead<V>(args.init_memory, ElementType::kF32, args.init, 0);
  value = Accumulator::Fold(args.fold, Accumulator::Of(init.words[0]), value);
  VmWrite(args.output_memory, ElementType::kF32, args.output, output, V::Of(Accumulator::Result(value)));
}

template <class Accumulator, int kVectors, bool kAll>
struct Vm32ReduceRows {
  using Args = Vm32ReduceArgs;
  using Type = typename Accumulator::Type;
  static constexpr uint32_t kThreads = kVm32Threads, kMinBlocks = kAll ? 2 : 4;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    Vm32Vector* slots = reinterpret_cast<Vm32Vector*>(env.shared() + kWarpsBytes) + env.thread();
    const uint32_t group = args.group, lane = env.thread() % group;
    const uint32_t unit = env.block().x * (kThreads / group) + env.thread() / group;
    const bool works = unit < args.kept * args.chunks;
    const uint32_t output = unit / args.chunks, chunk = unit - output * args.chunks;
    const uint32_t begin = output * args.reduced + chunk * args.chunk_length;
    const uint32_t row_end = (output + 1) * args.reduced;
    const uint32_t end = chunk + 1 < args.chunks ? begin + args.chunk_length : row_end;
    Type sums[kVm32Width];
    HLO_UNROLL
    for (Type& sum : sums) sum = Accumulator::Identity(args.fold);
    const uint32_t step = group * kVm32Width;
    HLO_ROLLED
    for (uint32_t first = begin + lane * kVm32Width; works && first < end; first += step * kVectors) {
      const Vm32Positions positions{first, end, step};
      Vm32Vector values[kVectors] = {};
      Vm32Kernel<kVectors, kAll>::RunCode(args.program, positions, slots, values);
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kVm32Width; ++j) {
          if (j < positions.Left(u))
            sums[j] = Accumulator::Fold(args.fold, sums[j], Accumulator::Of(values[u].x[j]));
        }
      }
    }
    const Type low = Accumulator::Fold(args.fold, sums[0], sums[1]),
               high = Accumulator::Fold(args.fold, sums[2], sums[3]);
    const Type sum = FoldGroup<Accumulator>(env, args.fold, group, reinterpret_cast<Type*>(env.shared()),
                                            Accumulator::Fold(args.fold, low, high));
    if (lane != 0 || !works) return;
    if (args.chunks > 1)
      static_cast<Type*>(args.partials)[unit] = sum;
    else
      StoreReduced<Accumulator>(args, output, sum);
  }

  static constexpr size_t kWarpsBytes = 64;  // Accumulators of the warps, before the slots.
};

// Folds the chunks of a row by a thread block.
template <class Accumulator>
struct Vm32ReduceJoin {
  using Args = Vm32ReduceArgs;
  using Type = typename Accumulator::Type;
  static constexpr uint32_t kThreads = kVm32Threads;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t output = env.block().x;
    const Type* partials = static_cast<const Type*>(args.partials) + uint64_t{output} * args.chunks;
    Type sum = Accumulator::Identity(args.fold);
    for (uint32_t chunk = env.thread(); chunk < args.chunks; chunk += kThreads)
      sum = Accumulator::Fold(args.fold, sum, partials[chunk]);
    sum = FoldGroup<Accumulator>(env, args.fold, kThreads, reinterpret_cast<Type*>(env.shared()), sum);
    if (env.thread() == 0) StoreReduced<Accumulator>(args, output, sum);
  }
};

using Vm32SumRows4 = Vm32ReduceRows<Vm32Sum, 1, false>;
using Vm32SumRows8 = Vm32ReduceRows<Vm32Sum, 2, false>;
using WideVm32SumRows4 = Vm32ReduceRows<Vm32Sum, 1, true>;
using Vm32WordRows8 = Vm32ReduceRows<Vm32Word, 2, false>;
using WideVm32WordRows4 = Vm32ReduceRows<Vm32Word, 1, true>;
using Vm32SumJoin = Vm32ReduceJoin<Vm32Sum>;
using Vm32WordJoin = Vm32ReduceJoin<Vm32Word>;

}  // namespace hlo::cuda
