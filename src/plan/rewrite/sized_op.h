#pragma once
// Instructions on arrays of the bounds and their sizes.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hlo_run/builder.h"
#include "plan/rewrite/sized_arrays.h"

namespace hlo::plan {

using build::Op;

inline Shape AtBounds(const Shape& shape) { return Shape::Array(shape.type(), shape.dims()); }
inline bool IsSame(Op a, Op b) { return a.instruction() == b.instruction(); }

// An array of the bounds, and the sizes of its dimensions; these are null for static ones.
struct SizedOp {
  Op array;
  std::vector<Op> sizes;
  bool HasSizes() const {
    return std::any_of(sizes.begin(), sizes.end(), [](const Op& size) { return size.ok(); });
  }
};
// The results of an instruction; none if there is no rule for it.
using SizedOps = std::vector<SizedOp>;

struct SizedInstruction {
  SizedInstruction(const Instruction& instruction, const std::vector<SizeNumbers>& sizes, int64_t size_count);

  Op Number(int64_t value) { return builder.Constant(ElementType::kS32, static_cast<double>(value)); }
  Op SizeOf(const SizedOp& x, int64_t d);
  std::vector<Op> Arrays() const;
  // Emits the instruction on other arrays, with results of the bounds and some other attributes.
  Op Emit(const std::vector<Op>& arrays, const std::vector<AttrEntry>& other = {});
  // Gives the results of an emitted instruction their sizes.
  static SizedOps Results(Op emitted, const std::vector<std::vector<Op>>& sizes);

  // Returns a copy of `to_apply` in the module; null if it calls other computations.
  build::Function ToApply();
  // Returns the neutral element of `to_apply` for the initial value in operand 1; null if it has none.
  Op NeutralElement();

  const Instruction& instruction;
  build::Builder builder;
  std::vector<SizedOp> operands;
};

// Returns pred[dims]: true for the positions below `size` along dimension d.
Op IsWithin(build::Builder& builder, build::Dims dims, int64_t d, Op size);
// Returns the array with a scalar in place of the elements from `size` on along dimension d.
Op Masked(Op x, int64_t d, Op size, Op fill);
// Returns the smaller of two sizes, of which each may be null.
Op SmallerSize(Op a, Op b);

// Defined in sized_indexing.cc.
SizedOps SizedGather(SizedInstruction& gather);
SizedOps SizedScatter(SizedInstruction& scatter);
SizedOps SizedUpdate(SizedInstruction& update);
SizedOps SizedSort(SizedInstruction& sort);

// Defined in sized_windows.cc.
SizedOps SizedReduceWindow(SizedInstruction& reduce);
SizedOps SizedSelectAndScatter(SizedInstruction& scatter);
SizedOps SizedConvolution(SizedInstruction& convolution);
SizedOps SizedScan(SizedInstruction& scan);
// Reduces any number of arrays by any combiner.
SizedOps SizedReduce(SizedInstruction& reduce);

}  // namespace hlo::plan
