#pragma once
// This file reduces the values of programs whose rows of inner positions are short. A tile holds several
// rows, because the setup of a row would take longer than its elements.

#include <cstdint>
#include <memory>

#include "kernels/cpu/loops/tile_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

class Accumulators;

class ShortRows {
 public:
  // Returns null unless the reduction folds single values whose rows are short.
  static std::shared_ptr<const ShortRows> Make(const loops::Reduction& reduction,
                                               const loops::LoopProgram& body);

  // Reduces rows [begin, end) to elements from 0 on. Requires a reduction of rows.
  void ReduceRows(void* const* arguments, int64_t begin, int64_t end, Accumulators& to) const;
  // Combines all rows with the accumulators, in order. Requires a reduction of columns.
  void ReduceColumns(void* const* arguments, Accumulators& to) const;

 private:
  ShortRows(loops::LoopProgram joined, int64_t length, const TileCall& fold);

  // Calls visit(values, row, rows) for rows [begin, end), several at a time.
  template <class Visit>
  void VisitRows(void* const* arguments, int64_t begin, int64_t end, const Visit& visit) const;

  TileProgram program_;  // Its inner positions are those of all rows.
  int64_t length_, count_, width_;
  TileCall fold_;  // Reduces rows; no function for columns.
};

}  // namespace hlo::cpu
