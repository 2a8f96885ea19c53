#pragma once
// This file represents a loop over a few elements as a list of calls, without register allocation, row
// iteration or allocation. Its cost is the cost of the calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/elementwise/tile_ops.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

struct SmallProgram {
  static constexpr int64_t kScratchBytes = 8192;

  // An operand at byte `offset` of an argument or of the scratch memory, moved by a run-time start.
  struct Operand {
    static constexpr int32_t kScratch = -1;
    int32_t argument = kScratch;
    int32_t start = 0;  // Index of the start, from 1; 0 for none.
    int64_t offset = 0;
    int32_t width = 0;  // Size of an element in bytes.
  };
  // Computes `count` elements, which are the loop's or, in copies, splats and reductions, some of
  // them.
  struct Call {
    TileCall call;
    int64_t count;
    Operand out;
    std::array<Operand, 3> in;
    int64_t reads = kAll;  // The elements of the first operand, if not `count`.
    static constexpr int64_t kAll = -1;
    int64_t ElementsOf(size_t operand) const { return operand == 0 && reads != kAll ? reads : count; }
  };
  struct Start {
    int32_t argument;
    ElementType type;
    int64_t byte_offset;  // Offset of the index.
    int64_t max;
    int64_t byte_stride;
    int32_t number;  // Starts with the same number are contiguous and added.
  };

  // Maximum elements in scratch memory, also if their operands are not contiguous.
  static constexpr int64_t kMaxInFrame = 128, kMaxIrregular = 256;
  int64_t count = 0;
  bool is_in_memory = false;  // There is a single call, on arguments.
  std::vector<Call> calls;
  std::vector<Start> starts;
  static constexpr int32_t kMaxStarts = 32;
  // True for reductions, long copies and programs with copies of single elements, which a tile program
  // replaces at the same cost unless they run often.
  bool is_for_loops = false;
  bool is_for_bytecode = false;  // A native tile program takes less time than Run.

  void Run(void* const* arguments) const;
};

// Returns the program as a list of calls; nullopt if it is too long, or if elements that are not contiguous
// take too many copies.
std::optional<SmallProgram> CompileSmall(const loops::LoopProgram& program);
// Does the same for a reduction of rows of a few values to one element each by an associative operation, or
// by argmin or argmax.
std::optional<SmallProgram> CompileSmall(const loops::ReduceProgram& program);

}  // namespace hlo::cpu
