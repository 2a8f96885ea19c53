#pragma once
// Row programs: several loops and reductions over the same rows in one launch. A warp or a thread block runs
// all parts on its row. Code of the 32-bit VM (vm32.h) computes vectors of adjacent elements. Values that
// pass from part to part stay in shared memory: each thread reads only the elements that it has written, so
// they need no barriers. Results of reductions and other values with one element per row are kept once per
// warp. Sums have the grouping of vm32_reduce_body.h.

#include "kernels/cuda/reduce/vm32_reduce_body.h"

namespace hlo::cuda {

// Instructions from the end of the part before to code_end.
struct RowsPart {
  enum class Kind : uint8_t {
    kLoop,      // At all positions of the row.
    kPerRow,    // At the first position, by every thread; one thread stores.
    kReduction  // At all positions; the last result is reduced.
  };
  static constexpr uint8_t kNone = 255;

  // These describe a reduction.
  const void* init = nullptr;
  void* output = nullptr;  // Null: the result stays in the kernel.

  int16_t code_end = 0;
  Kind kind = Kind::kLoop;
  Vm32Fold fold = Vm32Fold::kAddF;
  VmMemory init_memory = VmMemory::k4, output_memory = VmMemory::k4;
  Vm32Rounding rounding = Vm32Rounding::kNone;  // The rounding of the kept result.
  uint8_t scalar = kNone;                       // The kept result.
};

struct RowsArgs {
  static constexpr int kParts = 20;
  // The maximal number of values with one element per row.
  static constexpr int kScalars = 16;

  Vm32Program program;
  RowsPart parts[kParts];
  uint32_t rows = 0, length = 0;
  uint32_t group = kWarpSize;  // Threads per row: a warp or a block.
  uint32_t row_step = 0;       // Vectors between values that are kept.
  uint16_t part_count = 0, slot_count = 0;
};

// The accumulators of a thread.
template <class Accumulator>
struct RowsFold {
  using Type = typename Accumulator::Type;
  Type sums[kVm32Width];

  HLO_DEVICE explicit RowsFold(Vm32Fold fold) {
    HLO_UNROLL
    for (Type& sum : sums) sum = Accumulator::Identity(fold);
  }
  template <int kVectors>
  HLO_DEVICE void Add(Vm32Fold fold, Vm32Positions positions, const Vm32Vector (&values)[kVectors]) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) {
        if (j < positions.Left(u))
          sums[j] = Accumulator::Fold(fold, sums[j], Accumulator::Of(values[u].x[j]));
      }
    }
  }
  // Returns the result of the row to all threads of the group.
  template <class Env>
  HLO_DEVICE uint32_t Finish(Env& env, const RowsPart& part, uint32_t group, std::byte* shared) const {
    const Type low = Accumulator::Fold(part.fold, sums[0], sums[1]),
               high = Accumulator::Fold(part.fold, sums[2], sums[3]);
    const Type sum = FoldGroup<Accumulator>(env, part.fold, group, reinterpret_cast<Type*>(shared),
                                            Accumulator::Fold(part.fold, low, high));
    const uint32_t init = VmRead<VmValue<1>>(part.init_memory, ElementType::kF32, part.init, 0).words[0];
    return Accumulator::Result(Accumulator::Fold(part.fold, Accumulator::Of(init), sum));
  }
};

// `kAll`: all instructions and accesses of the 32-bit VM; otherwise those that need no call.
template <int kVectors, bool kAll>
struct RowsVm {
  using Args = RowsArgs;
  using Vm = Vm32Kernel<kVectors, kAll, true>;
  static constexpr uint32_t kThreads = kVm32Threads, kMinBlocks = kAll ? 2 : 4;
  static constexpr uint32_t kWarps = kThreads / kWarpSize;
  // Shared memory begins with two sets of accumulators of warps, which are used alternately, and the scalars
  // of each warp.
  static constexpr size_t kFoldBytes = kWarps * 8;
  static constexpr size_t kHeaderBytes = 2 * kFoldBytes + sizeof(uint32_t) * kWarps * RowsArgs::kScalars;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t group = args.group, lane = env.thread() % group, warp = env.thread() / kWarpSize;
    const uint32_t number = env.block().x * (kThreads / group) + env.thread() / group;
    if (number >= args.rows) return;  // All threads of a warp return together.
    const uint32_t begin = number * args.length, end = begin + args.length, step = group * kVm32Width;
    std::byte* folds = env.shared();
    Vm32Vector* slots = reinterpret_cast<Vm32Vector*>(env.shared() + kHeaderBytes) + env.thread();
    Vm32Vector* vectors = slots + args.slot_count * kVectors * kThreads;
    Vm32Row row{vectors, args.row_step,
                reinterpret_cast<uint32_t*>(env.shared() + 2 * kFoldBytes) + warp * RowsArgs::kScalars, false,
                env.thread() % kWarpSize == 0};
    int code_begin = 0;
    HLO_ROLLED
    for (int p = 0; p < args.part_count; ++p) {
      const RowsPart& part = args.parts[p];
      const bool per_row = part.kind == RowsPart::Kind::kPerRow,
                 reduces = part.kind == RowsPart::Kind::kReduction;
      const bool in_f64 = part.fold == Vm32Fold::kAddF;
      RowsFold<Vm32Sum> sums(part.fold);
      RowsFold<Vm32Word> words(part.fold);
      row.vectors = vectors;
      row.stores = !per_row || lane == 0;
      HLO_ROLLED
      for (uint32_t first = per_row ? begin : begin + lane * kVm32Width; first < end;
           first += step * kVectors) {
        const Vm32Positions positions{first, per_row ? begin + 1 : end, step};
        Vm32Vector values[kVectors] = {};
        Vm::RunRange(args.program, code_begin, part.code_end, positions, slots, values, row);
        if (per_row) break;
        if (reduces && in_f64) sums.Add(part.fold, positions, values);
        if (reduces && !in_f64) words.Add(part.fold, positions, values);
        row.vectors += kVectors * kThreads;
      }
      code_begin = part.code_end;
      if (reduces) {
        const uint32_t result =
            in_f64 ? sums.Finish(env, part, group, folds) : words.Finish(env, part, group, folds);
        folds = env.shared() + (folds == env.shared() ? kFoldBytes : 0);
        if (part.output != nullptr && lane == 0)
          VmWrite(part.output_memory, ElementType::kF32, part.output, number, VmValue<1>::Of(result));
        if (part.scalar != RowsPart::kNone && row.keeps_scalars) {
          Vm32Vector kept[1] = {{{result, 0, 0, 0}}};
          Vm32Round(part.rounding, kept);
          row.scalars[part.scalar] = kept[0].x[0];
        }
      }
      if (reduces || per_row) env.sync_warp();  // Scalars are visible.
    }
  }
};

using RowsVm4 = RowsVm<1, false>;
using RowsVm8 = RowsVm<2, false>;
using WideRowsVm4 = RowsVm<1, true>;
using WideRowsVm8 = RowsVm<2, true>;

}  // namespace hlo::cuda
