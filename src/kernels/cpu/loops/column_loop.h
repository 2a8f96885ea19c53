#pragma once
// This file compiles reductions of a few columns to one loop over rows, which combines each row with
// accumulators in memory as it computes the row's values. Several short rows are combined at a time, each
// with its own accumulators.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/cpu/loops/tile_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

class ColumnLoop {
 public:
  // Returns null if there is no such loop.
  static std::shared_ptr<const ColumnLoop> Make(const loops::Reduction& reduction,
                                                const loops::LoopProgram& body);

  // The number of rows that are combined at a time, and the length of their parts: if there are several rows,
  // along the last dimension, otherwise the whole row.
  // Part p of row r is combined with the accumulators from (p * group_size() + r % group_size()) *
  // part_length() on.
  int64_t group_size() const { return group_size_; }
  int64_t part_length() const { return part_length_; }
  // Combines all rows with the accumulators, in order, on this thread. Returns false if there is no native
  // code, or none yet.
  bool Run(void* const* arguments, absl::InlinedVector<void*, 4> accumulators) const;

 private:
  ColumnLoop(const loops::Reduction& reduction, const loops::LoopProgram& body, int64_t group_size);

  int64_t group_size_, part_length_;
  std::vector<int32_t> arguments_;  // Those of the body.
  std::vector<std::array<std::byte, 16>> constants_;
  std::unique_ptr<TileProgram> program_;  // Its arguments: those of the body, accumulators and constants.
};

}  // namespace hlo::cpu
