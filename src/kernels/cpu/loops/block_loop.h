#pragma once
// This file runs a loop block by block, as the prologue of a product (on blocks of an operand) or as its
// epilogue (on blocks of its result).

#include <cstdint>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

// Adapts `program`, which has the iteration space of the array. Argument `array` is the array, with elements
// of `byte_count` bytes; its pointer is set per block. All arguments must outlive the function. `stays` is
// true if stores hit the cache.
class BlockLoop {
 public:
  BlockLoop(const TileProgram& program, absl::Span<void* const> arguments, int32_t array, int64_t byte_count,
            bool stays)
      : program_(program), arguments_(arguments), array_(array), byte_count_(byte_count), stays_(stays) {}
  BlockFunction function() const { return {&Run, this, program_.nanoseconds_per_element()}; }

 private:
  static void Run(const void* loop, const ArrayBlock& block);

  const TileProgram& program_;
  absl::Span<void* const> arguments_;
  int32_t array_;
  int64_t byte_count_;
  bool stays_;
};

}  // namespace hlo::cpu
