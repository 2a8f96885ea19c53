#pragma once
// Warp-specialised GEMM of bf16, f16 or bytes on Hopper: thread block tiles of 128 rows by 64, 128 or 256
// columns by 128 bytes of terms. One producer warpgroup issues TMA copies into a pipeline of three to six
// stages, two consumer warpgroups multiply 64 rows each. The kernel is persistent: thread blocks process tile
// after tile; the assignment does not affect results. FP8 accumulators have too few bits, so those of each
// stage are added in f32, with tiles of 128 x 128. Results pass through shared memory, so that a warp stores
// whole lines. The patches of convolutions are copied in im2col mode.

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/mma_gemm_body.h"
#include "kernels/cuda/gemm/tma_gemm_args.h"

namespace hlo::cuda {

struct WgmmaTile {
  static constexpr uint32_t kRows = 128, kDepthBytes = 128;
  static constexpr uint32_t kThreads = 384, kConsumerWarps = 8;
  // A warp stores 16 rows of up to 128 f32 or 256 16-bit results at a time.
  static constexpr uint32_t kWarpStagingBytes = 16 * (128 * 4 + 32);
  static constexpr uint32_t kStagingBytes = kConsumerWarps * kWarpStagingBytes;
  // The number of stages that fit beside the staging memory.
  static constexpr uint32_t Stages(uint32_t columns) { return columns == 256 ? 3 : columns == 128 ? 4 : 6; }
  static constexpr uint32_t StagesBytes(uint32_t columns) {
    return Stages(columns) * (kRows + columns) * kDepthBytes;
  }
  static constexpr size_t SharedBytes(uint32_t columns) { return StagesBytes(columns) + kStagingBytes + 128; }
};

// kRowsA, kRowsB: the operand is MN-major.
template <MmaKind kKind, bool kRowsA, bool kRowsB, uint32_t kTileColumns>
struct WgmmaGemm {
  using Args = TmaGemmArgs;
  static constexpr uint32_t kThreads = WgmmaTile::kThreads, kMinBlocks = 1;
  static constexpr uint32_t kConsumerWarps = WgmmaTile::kConsumerWarps;
  static constexpr uint32_t kColumns = kTileColumns;
  static constexpr uint32_t kDepth = WgmmaTile::kDepthBytes / TermBytes(kKind);
  static constexpr uint32_t kABytes = WgmmaTile::kRows * WgmmaTile::kDepthBytes;
  static constexpr uint32_t kStageBytes = kABytes + kColumns * WgmmaTile::kDepthBytes;
  static constexpr uint32_t kStages = WgmmaTile::Stages(kColumns);
  static constexpr uint32_t kStagesBytes = WgmmaTile::StagesBytes(kColumns);
  static constexpr size_t kSharedBytes = WgmmaTile::SharedBytes(kColumns);
  static_assert(kSharedBytes <= (227 << 10));
  static constexpr uint32_t kSums = GroupSums(kColumns);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const TmaGemmArgs& args) {
    if (IsSwitchedOff(args.gemm)) return;
    std::byte* stages = env.shared();
    auto* full = reinterpret_cast<uint64_t*>(stages + kStagesBytes + WgmmaTile::kStagingBytes);
    uint64_t* empty = full + kStages;
    if (env.thread() == 0) {
      for (uint32_t s = 0; s < kStages; ++s) {
        InitBarrier(env, &full[s], 1);
        InitBarrier(env, &empty[s], kConsumerWarps);
      }
      PublishBarriers(env);
    }
    env.sync_warp();  // Barriers of the block are reached by whole warps.
    env.sync();
    if (env.thread() < 128) {
      ReleaseRegisters<40>(env);
      if (env.thread() == 0) ProduceIn(env, args, stages, full, empty);
    } else {
      AcquireRegisters<232>(env);
      Consume(env, args, stages, full, empty);
    }
  }

 private:
  static HLO_DEVICE uint32_t Steps(const GemmBlock& block) {
    return CeilDiv(block.k_end - block.k_begin, kDepth);
  }

  // The stage of a circular pipeline: the parity of the barriers alternates with each cycle.
  struct PipelineState {
    uint32_t stage = 0, parity = 0;
    HLO_DEVICE void Advance() {
      if (++stage < kStages) return;
      stage = 0;
      parity ^= 1;
    }
  };

  using Im2col = Im2colArgs::Mode;
  template <class Env>
  static HLO_DEVICE void ProduceIn(Env& env, const TmaGemmArgs& args, std::byte* stages, uint64_t* full,
                                   uint64_t* empty) {
    if constexpr (TermBytes(kKind) == 2) {
      constexpr Im2col kMode = kRowsA && kRowsB ? Im2col::kFilterGradient : Im2col::kForward;
      if (args.im2col.mode == kMode) return Produce<kMode>(env, args, stages, full, empty);
    }
    Produce<Im2col::kNone>(env, args, stages, full, empty);
  }

  template <Im2col kMode, class Env>
  static HLO_DEVICE void Produce(Env& env, const TmaGemmArgs& args, std::byte* stages, uint64_t* full,
                                 uint64_t* empty) {
    PipelineState pipe;
    HLO_ROLLED
    for (uint32_t x = env.block().x; x < args.blocks; x += env.grid().x) {
      const GemmBlock block = BlockOf(args.gemm, x);
      const uint32_t steps = Steps(block);
      const uint32_t row = block.row_tile * WgmmaTile::kRows, column = block.column_tile * kColumns;
      [[maybe_unused]] const PixelIndex first =
          kMode == Im2col::kForward ? PixelAt(args.im2col, args.im2col.patches_are_b ? column : row)
                                    : PixelIndex{};
      HLO_ROLLED
      for (uint32_t step = 0; step < steps; ++step, pipe.Advance()) {
        uint64_t* barrier = &full[pipe.stage];
        WaitFor(env, &empty[pipe.stage], pipe.parity ^ 1);
        ArriveExpecting(env, barrier, kStageBytes);
        std::byte* stage = stages + pipe.stage * kStageBytes;
        const StageTile tile{stage, stage + kABytes, WgmmaTile::kRows, kColumns, row, column};
        const uint32_t k = block.k_begin + step * kDepth;
        if constexpr (kMode == Im2col::kForward) {
          CopyConvolution<kRowsA, kRowsB>(env, args, tile, k, first, barrier);
        } else if constexpr (kMode == Im2col::kFilterGradient) {
          CopyFilterGradient(env, args, tile, k, barrier);
        } else {
          CopyTile<kRowsA>(env, stage, args.a, WgmmaTile::kRows, row, k, block.batch * args.a_batch_step,
                           barrier);
          CopyTile<kRowsB>(env, stage + kABytes, args.b, kColumns, column, k, block.batch * args.b_batch_step,
                           barrier);
        }
      }
    }
  }

  template <bool kRows>
  static HLO_DEVICE MatrixDescriptor Describe(uint32_t address, uint32_t step) {
    return kRows ? DescribeRows(address + step * 16 * 128, kDepth) : DescribeTerms(address + step * 32);
  }

  // Multiplies along the terms of a stage, whose operands start at these shared memory addresses.
  template <class Env>
  static HLO_DEVICE void MultiplyStage(WarpgroupMma<Env>& gemms, GroupSum<kKind> (&sums)[kSums], uint32_t a,
                                       uint32_t b, bool adds) {
    gemms.Begin();
    HLO_UNROLL
    for (uint32_t part = 0; part < WgmmaTile::kDepthBytes / 32; ++part)
      gemms.template Multiply<kKind, kRowsA, kRowsB>(sums, Describe<kRowsA>(a, part),
                                                     Describe<kRowsB>(b, part), adds || part > 0);
    gemms.Commit();
  }

  template <class Env>
  static HLO_DEVICE void Consume(Env& env, const TmaGemmArgs& args, std::byte* stages, uint64_t* full,
                                 uint64_t* empty) {
    const uint32_t group = env.thread() / 128 - 1;
    const bool signals = env.thread() % kWarpSize == 0;
    // 64 rows occupy 8 KB in either layout.
    const uint32_t first = SharedAddress(env, stages), first_a = first + group * 64 * 128;
    PipelineState pipe;
    WarpgroupMma<Env> gemms(env);
    HLO_ROLLED
    for (uint32_t x = env.block().x; x < args.blocks; x += env.grid().x) {
      const GemmBlock block = BlockOf(args.gemm, x);
      const uint32_t steps = Steps(block);
      GroupSum<kKind> sums[kSums];
      [[maybe_unused]] uint32_t before = 0;
      HLO_ROLLED
      for (uint32_t step = 0; step < steps; ++step) {
        WaitFor(env, &full[pipe.stage], pipe.parity);
        const uint32_t stage = pipe.stage * kStageBytes;
        if constexpr (IsOfFloatBytes(kKind)) {
          GroupSum<kKind> of_stage[kSums];
          MultiplyStage(gemms, of_stage, first_a + stage, first + stage + kABytes, false);
          gemms.template Wait<0>();
          env.sync_warp();
          if (signals) Arrive(env, &empty[pipe.stage]);
          HLO_UNROLL
          for (uint32_t i = 0; i < kSums; ++i) sums[i] = step == 0 ? of_stage[i] : sums[i] + of_stage[i];
        } else {
          MultiplyStage(gemms, sums, first_a + stage, first + stage + kABytes, step > 0);
          // The previous stage has been read completely.
          gemms.template Wait<1>();
          env.sync_warp();
          if (step > 0 && signals) Arrive(env, &empty[before]);
          before = pipe.stage;
        }
        pipe.Advance();
      }
      if constexpr (!IsOfFloatBytes(kKind)) {
        gemms.template Wait<0>();
        env.sync_warp();
        if (signals) Arrive(env, &empty[before]);
      }
      Store(env, args, block, group, sums);
    }
  }

  static HLO_DEVICE uint32_t BitsOf(float sum) { return BitsOfFloat(sum); }
  static HLO_DEVICE uint32_t BitsOf(int32_t sum) { return static_cast<uint32_t>(sum); }

  // Stores the tile; the plan guarantees that rows are dense and begin at even offsets.
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const TmaGemmArgs& args, const GemmBlock& block, uint32_t group,
                               const GroupSum<kKind> (&sums)[kSums]) {
    const Gemm& p = args.gemm.gemm;
    if constexpr (!IsOfIntegers(kKind)) {
      if (args.gemm.chunks == 1 && p.epilogue.op_count > 0)
        return StorePasses<Form::kEpilogue>(env, args, block, group, sums);
      if (args.gemm.chunks == 1 && p.result.type != ElementType::kF32)
        return StorePasses<Form::kHalves>(env, args, block, group, sums);
    }
    StorePasses<Form::kWords>(env, args, block, group, sums);
  }

  // Results are staged and stored as words, as 16-bit floats, or as f32 that the epilogue continues
  // with.
  enum class Form : uint8_t { kWords, kHalves, kEpilogue };

  // Passes over some columns at a time: each warp writes its 16 rows into shared memory, from which adjacent
  // lanes store adjacent vectors. The pitch avoids bank conflicts.
  template <Form kForm, class Env>
  static HLO_DEVICE void StorePasses(Env& env, const TmaGemmArgs& args, const GemmBlock& block,
                                     uint32_t group, const GroupSum<kKind> (&sums)[kSums]) {
    constexpr bool kNarrow = kForm == Form::kHalves;
    constexpr uint32_t kBytes = kNarrow ? 2 : 4, kMax = kNarrow ? 256 : 128;
    constexpr uint32_t kPass = kColumns < kMax ? kColumns : kMax;
    constexpr uint32_t kPitch = kPass * kBytes + (kNarrow ? 16 : 32);
    static_assert(16 * kPitch <= WgmmaTile::kWarpStagingBytes);
    const uint32_t warp = env.thread() / kWarpSize - 4, lane = env.thread() % kWarpSize, g = lane / 4,
                   q = lane % 4;
    std::byte* staging = env.shared() + kStagesBytes + warp * WgmmaTile::kWarpStagingBytes;
    const uint32_t first_row = block.row_tile * WgmmaTile::kRows + group * 64 + warp % 4 * 16;
    const bool bf16 = args.gemm.gemm.result.type == ElementType::kBF16;
    HLO_UNROLL
    for (uint32_t pass = 0; pass < kColumns / kPass; ++pass) {
      HLO_UNROLL
      for (uint32_t h = 0; h < 2; ++h) {
        HLO_UNROLL
        for (uint32_t j = 0; j < kPass / 8; ++j) {
          const uint32_t s = 4 * (pass * kPass / 8 + j) + 2 * h;
          std::byte* to = staging + (g + 8 * h) * kPitch + (8 * j + 2 * q) * kBytes;
          if constexpr (kNarrow) {
            const uint32_t x = bf16 ? FloatToBF16(sums[s]) : F16Of(sums[s]),
                           y = bf16 ? FloatToBF16(sums[s + 1]) : F16Of(sums[s + 1]);
            *reinterpret_cast<uint32_t*>(to) = x | y << 16;
          } else {
            *reinterpret_cast<TwoWords*>(to) = {{BitsOf(sums[s]), BitsOf(sums[s + 1])}};
          }
        }
      }
      env.sync_warp();
      StoreStaged<kForm, kPass, kPitch>(args, block, staging, first_row,
                                        block.column_tile * kColumns + pass * kPass, lane);
      env.sync_warp();
    }
  }

  // Stores up to `count` columns from j on, which are not adjacent.
  template <Form kForm>
  static HLO_DEVICE void StoreApart(const GemmArgs& args, const std::byte* from, int64_t row, uint32_t j,
                                    uint32_t count) {
    const Gemm& p = args.gemm;
    HLO_ROLLED
    for (uint32_t v = 0; v < count && j + v < p.n; ++v) {
      const int64_t offset = row + p.result.columns.Offset(j + v);
      if constexpr (kForm == Form::kEpilogue)
        StoreFinished(p.epilogue, args.result, offset, reinterpret_cast<const float*>(from)[v]);
      else if constexpr (kForm == Form::kHalves)
        static_cast<uint16_t*>(args.result)[offset] = reinterpret_cast<const uint16_t*>(from)[v];
      else
        static_cast<uint32_t*>(args.result)[offset] = reinterpret_cast<const uint32_t*>(from)[v];
    }
  }

  // Store kEach elements of a row at `offset`, of which the last may be outside of the result.
  static HLO_DEVICE void StoreEpilogue(const GemmArgs& args, const std::byte* from, int64_t offset,
                                       uint32_t j) {
    const Gemm& p = args.gemm;
    const bool is_whole = j + 8 <= p.n && offset % 8 == 0 && IsAligned16(args.result);
    EightFloats values;
    HLO_UNROLL
    for (uint32_t v = 0; v < 8; ++v) values.x[v] = reinterpret_cast<const float*>(from)[v];
    if (is_whole) return StoreEightFinished(p.epilogue, args.result, offset, values);
    HLO_UNROLL
    for (uint32_t v = 0; v < 8; ++v) {
      if (j + v < p.n) StoreFinished(p.epilogue, args.result, offset + v, values.x[v]);
    }
  }
  template <Form kForm, uint32_t kEach>
  static HLO_DEVICE void StoreUnchanged(const GemmArgs& args, const std::byte* from, std::byte* to,
                                        uint32_t j) {
    const Gemm& p = args.gemm;
    if (j + kEach <= p.n && IsAligned16(to)) {
      *reinterpret_cast<EightHalves*>(to) = *reinterpret_cast<const EightHalves*>(from);
      return;
    }
    // Pairs are aligned to their size.
    HLO_UNROLL
    for (uint32_t v = 0; v < kEach; v += 2) {
      if (j + v >= p.n) break;
      if constexpr (kForm == Form::kHalves)
        reinterpret_cast<uint32_t*>(to)[v / 2] = reinterpret_cast<const uint32_t*>(from)[v / 2];
      else
        reinterpret_cast<TwoWords*>(to)[v / 2] = reinterpret_cast<const TwoWords*>(from)[v / 2];
    }
  }

  template <Form kForm, uint32_t kPass, uint32_t kPitch>
  static HLO_DEVICE void StoreStaged(const TmaGemmArgs& wgmma, const GemmBlock& block,
                                     const std::byte* staging, uint32_t first_row, uint32_t first_column,
                                     uint32_t lane) {
    const GemmArgs& args = wgmma.gemm;
    const Gemm& p = args.gemm;
    constexpr uint32_t kBytes = kForm == Form::kHalves ? 2 : 4, kEach = kForm == Form::kWords ? 4 : 8;
    constexpr uint32_t kLanes = kPass / kEach;  // Vectors of a row.
    const bool to_parts = args.chunks > 1;
    HLO_ROLLED
    for (uint32_t x = lane; x < 16 * kLanes; x += kWarpSize) {
      const uint32_t row = x / kLanes, in_row = x % kLanes * kEach;
      uint32_t i = first_row + row, j = first_column + in_row;
      if constexpr (kRowsA && kRowsB) {
        // The number of channels is a multiple of eight, so that no vector crosses the last one.
        if (wgmma.im2col.mode == Im2col::kFilterGradient) {
          uint32_t index = wgmma.im2col.patches_are_b ? j : i;
          if (!FindTapChannel(wgmma.im2col, &index)) continue;
          i = wgmma.im2col.patches_are_b ? i : index;
          j = wgmma.im2col.patches_are_b ? index : j;
        }
      }
      if (i >= p.m || j >= p.n) continue;
      const int64_t offset =
          j + (to_parts ? PartOffset(args, block.chunk, block.batch, i, 0)
                        : p.result.origin + p.result.batch.Offset(block.batch) + p.result.rows.Offset(i));
      const std::byte* from = staging + row * kPitch + in_row * kBytes;
      if (!wgmma.linear_columns && !to_parts) {
        StoreApart<kForm>(args, from, offset - j, j, kEach);
        continue;
      }
      if constexpr (kForm == Form::kEpilogue) {
        StoreEpilogue(args, from, offset, j);
      } else {
        std::byte* to = static_cast<std::byte*>(to_parts ? args.parts : args.result) + offset * kBytes;
        StoreUnchanged<kForm, kEach>(args, from, to, j);
      }
    }
  }
};

}  // namespace hlo::cuda
