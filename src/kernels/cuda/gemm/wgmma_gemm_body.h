#pragma once
// Warp-specialised GEMM of bf16, f16 or bytes on Hopper: thread block tiles of 128 x 256 by 128 bytes of
// terms. One producer warpgroup issues TMA copies into a four-stage pipeline, two consumer warpgroups
// multiply 64 rows each. The kernel is persistent: thread blocks process tile after tile; the assignment does
// not affect results. FP8 accumulators have too few bits, so those of each stage are added in f32, with tiles
// of 128 x 128.

#include "kernels/cuda/gemm/mma_gemm_body.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

struct WgmmaArgs {
  GemmArgs gemm;
  uint32_t blocks = 1;                          // Tiles times chunks times batch.
  uint32_t a_batch_step = 1, b_batch_step = 1;  // 0: the operand is broadcast over the batch.
  TensorMap a, b;
};

struct WgmmaTile {
  static constexpr uint32_t kRows = 128, kDepthBytes = 128;
  static constexpr uint32_t kSlab = 64;                // Contiguous rows per box (MN-major).
  static constexpr uint32_t kStagesBytes = 192 << 10;  // Total size of the pipeline stages.
};

// kRowsA, kRowsB: the operand is MN-major.
template <MmaKind kKind, bool kRowsA, bool kRowsB>
struct WgmmaGemm {
  using Args = WgmmaArgs;
  static constexpr uint32_t kThreads = 384;
  static constexpr uint32_t kConsumerWarps = 8;
  static constexpr uint32_t kColumns = GroupColumns(kKind);
  static constexpr uint32_t kDepth = WgmmaTile::kDepthBytes / TermBytes(kKind);
  static constexpr uint32_t kABytes = WgmmaTile::kRows * WgmmaTile::kDepthBytes;
  static constexpr uint32_t kStageBytes = kABytes + kColumns * WgmmaTile::kDepthBytes;
  static constexpr uint32_t kStages = WgmmaTile::kStagesBytes / kStageBytes;
  static constexpr size_t kSharedBytes = WgmmaTile::kStagesBytes + 128;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const WgmmaArgs& args) {
    std::byte* stages = env.shared();
    auto* full = reinterpret_cast<uint64_t*>(stages + WgmmaTile::kStagesBytes);
    uint64_t* empty = full + kStages;
    if (env.thread() == 0) {
      for (uint32_t s = 0; s < kStages; ++s) {
        InitBarrier(env, &full[s], 1);
        InitBarrier(env, &empty[s], kConsumerWarps);
      }
      PublishBarriers(env);
    }
    env.sync();
    if (env.thread() < 128) {
      GiveRegisters<40>(env);
      if (env.thread() == 0) Produce(env, args, stages, full, empty);
    } else {
      TakeRegisters<232>(env);
      Consume(env, args, stages, full, empty);
    }
  }

 private:
  static HLO_DEVICE uint32_t Steps(const GemmBlock& block) {
    return (block.k_end - block.k_begin + kDepth - 1) / kDepth;
  }

  template <bool kRows, class Env>
  static HLO_DEVICE void CopyOperand(Env& env, std::byte* to, const TensorMap& map, uint32_t width,
                                     uint32_t mn, uint32_t k, uint32_t batch, uint64_t* barrier) {
    if constexpr (kRows) {
      for (uint32_t slab = 0; slab < width / WgmmaTile::kSlab; ++slab)
        CopyBox(env, to + slab * kDepth * 128, map, static_cast<int>(mn + slab * WgmmaTile::kSlab),
                static_cast<int>(k), static_cast<int>(batch), barrier);
    } else {
      CopyBox(env, to, map, static_cast<int>(k), static_cast<int>(mn), static_cast<int>(batch), barrier);
    }
  }

  // A position in the circular pipeline: the parity of the barriers alternates with each cycle.
  struct Place {
    uint32_t stage = 0, parity = 0;
    HLO_DEVICE void Advance() {
      if (++stage < kStages) return;
      stage = 0;
      parity ^= 1;
    }
  };

  template <class Env>
  static HLO_DEVICE void Produce(Env& env, const WgmmaArgs& args, std::byte* stages, uint64_t* full,
                                 uint64_t* empty) {
    Place place;
    HLO_ROLLED
    for (uint32_t x = env.block().x; x < args.blocks; x += env.grid().x) {
      const GemmBlock block = BlockOf(args.gemm, x);
      const uint32_t steps = Steps(block);
      HLO_ROLLED
      for (uint32_t step = 0; step < steps; ++step, place.Advance()) {
        WaitFor(env, &empty[place.stage], place.parity ^ 1);
        ArriveExpecting(env, &full[place.stage], kStageBytes);
        std::byte* stage = stages + place.stage * kStageBytes;
        const uint32_t k = block.k_begin + step * kDepth;
        CopyOperand<kRowsA>(env, stage, args.a, WgmmaTile::kRows, block.row_tile * WgmmaTile::kRows, k,
                            block.batch * args.a_batch_step, &full[place.stage]);
        CopyOperand<kRowsB>(env, stage + kABytes, args.b, kColumns, block.column_tile * kColumns, k,
                            block.batch * args.b_batch_step, &full[place.stage]);
      }
    }
  }

  template <bool kRows>
  static HLO_DEVICE MatrixDescriptor Describe(uint32_t address, uint32_t step) {
    return kRows ? DescribeRows(address + step * 16 * 128, kDepth) : DescribeTerms(address + step * 32);
  }

  // Multiplies along the terms of a stage, whose operands start at these shared memory addresses.
  template <class Env>
  static HLO_DEVICE void MultiplyStage(WarpgroupMma<Env>& gemms, GroupSum<kKind> (&sums)[kGroupSums<kKind>],
                                       uint32_t a, uint32_t b, bool adds) {
    gemms.Begin();
    HLO_UNROLL
    for (uint32_t part = 0; part < WgmmaTile::kDepthBytes / 32; ++part)
      gemms.template Multiply<kKind, kRowsA, kRowsB>(sums, Describe<kRowsA>(a, part),
                                                     Describe<kRowsB>(b, part), adds || part > 0);
    gemms.Commit();
  }

  template <class Env>
  static HLO_DEVICE void Consume(Env& env, const WgmmaArgs& args, std::byte* stages, uint64_t* full,
                                 uint64_t* empty) {
    const uint32_t group = env.thread() / 128 - 1;
    const bool speaks = env.thread() % kWarpSize == 0;
    // 64 rows occupy 8 KB in either layout.
    const uint32_t first = SharedAddress(env, stages), first_a = first + group * 64 * 128;
    Place place;
    WarpgroupMma<Env> gemms(env);
    HLO_ROLLED
    for (uint32_t x = env.block().x; x < args.blocks; x += env.grid().x) {
      const GemmBlock block = BlockOf(args.gemm, x);
      const uint32_t steps = Steps(block);
      GroupSum<kKind> sums[kGroupSums<kKind>];
      [[maybe_unused]] uint32_t before = 0;
      HLO_ROLLED
      for (uint32_t step = 0; step < steps; ++step) {
        WaitFor(env, &full[place.stage], place.parity);
        const uint32_t stage = place.stage * kStageBytes;
        if constexpr (IsOfFloatBytes(kKind)) {
          GroupSum<kKind> of_stage[kGroupSums<kKind>];
          MultiplyStage(gemms, of_stage, first_a + stage, first + stage + kABytes, false);
          gemms.template Wait<0>();
          env.sync_warp();
          if (speaks) Arrive(env, &empty[place.stage]);
          HLO_UNROLL
          for (uint32_t i = 0; i < kGroupSums<kKind>; ++i)
            sums[i] = step == 0 ? of_stage[i] : sums[i] + of_stage[i];
        } else {
          MultiplyStage(gemms, sums, first_a + stage, first + stage + kABytes, step > 0);
          // The previous stage has been read completely.
          gemms.template Wait<1>();
          env.sync_warp();
          if (step > 0 && speaks) Arrive(env, &empty[before]);
          before = place.stage;
        }
        place.Advance();
      }
      if constexpr (!IsOfFloatBytes(kKind)) {
        gemms.template Wait<0>();
        env.sync_warp();
        if (speaks) Arrive(env, &empty[before]);
      }
      Store(env, args.gemm, block, group, sums);
    }
  }

  static HLO_DEVICE uint32_t BitsOf(float sum) { return BitsOfFloat(sum); }
  static HLO_DEVICE uint32_t BitsOf(int32_t sum) { return static_cast<uint32_t>(sum); }

  // Stores adjacent pairs; the plan guarantees that the result supports them.
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const GemmArgs& args, const GemmBlock& block, uint32_t group,
                               const GroupSum<kKind> (&sums)[kGroupSums<kKind>]) {
    const Gemm& p = args.gemm;
    const uint32_t t = env.thread() % 128, g = t % 32 / 4, q = t % 4;
    const bool to_parts = args.chunks > 1;
    const bool bf16 = p.result.type == ElementType::kBF16,
               wide = IsOfIntegers(kKind) || to_parts || !(bf16 || p.result.type == ElementType::kF16);
    HLO_UNROLL
    for (uint32_t h = 0; h < 2; ++h) {
      const uint32_t i = block.row_tile * WgmmaTile::kRows + group * 64 + t / 32 * 16 + g + 8 * h;
      if (i >= p.m) continue;
      const uint32_t column = block.column_tile * kColumns + 2 * q;
      const int64_t place = column + (to_parts ? PartOffset(args, block.chunk, block.batch, i, 0)
                                               : p.result.origin + p.result.batch.Offset(block.batch) +
                                                     p.result.rows.Offset(i));
      uint32_t* words = static_cast<uint32_t*>(to_parts ? args.parts : args.result) + place;
      uint16_t* halves = static_cast<uint16_t*>(args.result) + place;
      HLO_UNROLL
      for (uint32_t j = 0; j < kColumns / 8; ++j) {
        if (column + 8 * j >= p.n) break;
        const GroupSum<kKind> low = sums[4 * j + 2 * h], high = sums[4 * j + 2 * h + 1];
        if constexpr (!IsOfIntegers(kKind)) {
          if (!to_parts && p.epilogue.op_count > 0) {
            StoreFinished(p.epilogue, args.result, place + 8 * j, low);
            StoreFinished(p.epilogue, args.result, place + 8 * j + 1, high);
            continue;
          }
        }
        if (wide) {
          *reinterpret_cast<TwoWords*>(words + 8 * j) = {{BitsOf(low), BitsOf(high)}};
        } else if constexpr (!IsOfIntegers(kKind)) {
          const uint32_t x = bf16 ? FloatToBF16(low) : F16Of(low), y = bf16 ? FloatToBF16(high) : F16Of(high);
          *reinterpret_cast<uint32_t*>(halves + 8 * j) = x | y << 16;
        }
      }
    }
  }
};

}  // namespace hlo::cuda
