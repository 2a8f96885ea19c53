#pragma once
// This file compiles loops and reductions over the same rows.

#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"
#include "loops/row_program.h"

namespace hlo::cpu {

class RowProgram {
 public:
  // Reductions require SupportsRowRanges().
  explicit RowProgram(loops::RowProgram source);

  void AllowNativeCode();
  // Computes the same bits as running the parts one after the other.
  void Run(void* const* arguments) const;

 private:
  double nanoseconds() const;

  std::vector<std::variant<TileProgram, ReduceProgram>> parts_;
  int64_t rows_, block_;
  int32_t argument_count_;
  std::vector<int64_t> kept_bytes_;
};

}  // namespace hlo::cpu
