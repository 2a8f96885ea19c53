#pragma once
// A loop that runs over an array block by block, as a product asks for blocks of an operand or finishes those
// of its result.

#include <cstdint>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

// `program` has the array's positions. Of its arguments, number `array` stands for the array, of elements of
// `byte_count` bytes, and has no pointer of its own. All outlive the function. Stays: what is stored lies in
// the cache already.
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
