#pragma once
// This file reduces small arrays in memory without the state of a Runner, whose setup would take longer than
// the reduction.

#include <memory>

#include "kernels/cpu/elementwise/stored_folds.h"
#include "kernels/cpu/loops/tile_code.h"
#include "kernels/cpu/loops/tile_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

class StoredReduction {
 public:
  // Returns null unless the body only yields a small array, whose elements the combiner takes as they are
  // stored.
  static std::shared_ptr<const StoredReduction> Make(const loops::Reduction& reduction,
                                                     const TileProgram& body, const TileCall& fold);
  // Computes the same bits as the reduction otherwise does.
  void Run(const TileCode& combiner, void* const* arguments) const;

 private:
  StoredReduction() = default;
  void ReduceRows(const std::byte* from, std::byte* results) const;
  void ReduceColumns(const TileCode& combiner, const std::byte* from, int64_t count,
                     std::byte* results) const;

  bool rows_ = false;
  Access access_;
  StoredFolds folds_;
  int64_t kept_ = 0, reduced_ = 0, step_ = 0, width_ = 0;  // `step_` is between outer positions, in bytes.
  int64_t part_ = 0, part_step_ = 0;  // Columns that are contiguous, and the bytes from these to the next.
  int32_t init_ = 0, output_ = 0;
};

}  // namespace hlo::cpu
