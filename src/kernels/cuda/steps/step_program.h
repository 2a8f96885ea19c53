#pragma once
// A step program: small steps with their control flow, which one thread block runs in one launch. A launch
// for each of them would take longer than the steps. steps_body.h is the interpreter, steps_builder.h builds
// programs. Loops that do not depend on each other may also be the tasks of different thread blocks.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/copy/moves_body.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/reduce/vm32_fold.h"
#include "kernels/cuda/vm/vm32.h"

namespace hlo::cuda {

// The head of a task. Its arrays follow, packed; `end` is the offset of the next task.
struct StepTask {
  enum class Kind : uint8_t {
    kLoop,    // A program of the 32-bit VM (vm32.h).
    kReduce,  // A StepReduction of `count` rows, and the program that computes their elements.
    kDot,     // A StepDot of `count` results.
    kMoves,   // Simultaneous moves: `count` of MovesArgs::OneMove.
    kMove,    // The only one of them, which needs no staging.
    kJump,    // To the task at `target`.
    kJumpIf,  // Jumps if `condition` is true.
    kSelect  // Jumps to one of `count` targets, by the s32 `condition`; numbers out of range select the last.
  };

  const void* condition = nullptr;
  uint32_t end = 0, target = 0;
  uint32_t count = 0;  // The number of positions of a loop.
  // The arrays of a loop, in this order after the accesses and starts: strides, code, dimensions, constants
  // and other instructions.
  uint16_t accesses = 0, starts = 0, strides = 0, code = 0, constants = 0, others = 0;
  uint8_t rank = 0;
  Kind kind = Kind::kLoop;
};
static_assert(sizeof(StepTask) % 8 == 0);

// Rows of `length` elements, each of which a warp folds like vm32_reduce_body.h.
struct StepReduction {
  const void* init = nullptr;
  void* output = nullptr;
  uint32_t length = 0;
  Vm32Fold fold = Vm32Fold::kAddF;
  VmMemory init_memory = VmMemory::k4, output_memory = VmMemory::k4;
};
static_assert(sizeof(StepReduction) % 8 == 0);

// A batch of small matrix products. The result is dense.
struct StepDot {
  static constexpr int kDims = 6;
  // The type of sums; integers wrap around. Operands of kF64 and kU64 have it too.
  enum class Sum : uint8_t { kF32, kF64, kU32, kU64 };

  // A dimension of the result: the strides of the operands along it.
  struct Dim {
    FastDiv size;
    int32_t a = 0, b = 0;
  };
  const void* a = nullptr;
  const void* b = nullptr;
  void* output = nullptr;
  uint32_t terms = 0;
  uint32_t lanes = 1;  // The threads that share the terms of a result: a power of two, at most a warp.
  int32_t a_term = 0, b_term = 0;  // The strides between terms.
  // If terms span two dimensions: the strides between rows of terms, and the length of a row.
  int32_t a_row = 0, b_row = 0;
  FastDiv row_length;
  VmMemory a_memory = VmMemory::k4, b_memory = VmMemory::k4, output_memory = VmMemory::k4;
  Sum sum = Sum::kF32;
  bool has_rows = false;
  uint8_t rank = 0;
  Dim dims[kDims];  // Outermost first.
};
static_assert(sizeof(StepDot) % 8 == 0);

// The arrays of a loop; the 32-bit VM runs it like a Vm32Program.
struct StepLoop {
  const Vm32Access* accesses;
  const Vm32Start* starts;
  const int64_t* strides;
  const Vm32Instruction* code;
  const FastDiv* dims;
  const uint32_t* constants;
  const Vm32Other* others;
  uint32_t position_count;
  int rank, code_count;

  // The arrays begin at `arrays`.
  HLO_DEVICE StepLoop(const StepTask& task, const void* arrays)
      : accesses(static_cast<const Vm32Access*>(arrays)),
        starts(reinterpret_cast<const Vm32Start*>(accesses + task.accesses)),
        strides(reinterpret_cast<const int64_t*>(starts + task.starts)),
        code(reinterpret_cast<const Vm32Instruction*>(strides + task.strides)),
        dims(reinterpret_cast<const FastDiv*>(code + task.code)),
        constants(reinterpret_cast<const uint32_t*>(dims + task.rank)),
        others(reinterpret_cast<const Vm32Other*>(constants + task.constants)),
        position_count(task.count),
        rank(task.rank),
        code_count(task.code) {}
};
static_assert(sizeof(Vm32Access) % 8 == 0 && sizeof(Vm32Start) % 8 == 0 && sizeof(Vm32Instruction) == 8 &&
              sizeof(FastDiv) % 4 == 0 && sizeof(Vm32Other) == 4);

struct StepsArgs {
  static constexpr uint32_t kBytes = 16 << 10;
  static constexpr int kLoops = 64;

  alignas(16) std::byte tasks[kBytes];
  uint32_t byte_count = 0;  // A multiple of 16.
  uint32_t end = 0;         // The end of the last task.
  // If true, block (x, y) of the grid runs part x of task y alone, a loop. The offsets of the tasks, and the
  // end of the last one.
  bool is_concurrent = false;
  uint16_t loops[kLoops + 1] = {};
};

}  // namespace hlo::cuda
