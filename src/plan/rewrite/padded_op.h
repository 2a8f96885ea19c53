#pragma once
// Instructions of the modules that dynamic padding makes: arrays that are padded to their bounds, and sizes.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hlo_run/builder.h"
#include "plan/rewrite/dynamic_padding.h"

namespace hlo::plan {

using build::Op;

// Returns the shape with static dimensions of the sizes of the bounds.
inline Shape PaddedShape(const Shape& shape) { return Shape::Array(shape.type(), shape.dims()); }
inline bool IsSame(Op a, Op b) { return a.instruction() == b.instruction(); }

// A padded array, and the sizes of its dimensions; these are null for static ones.
struct PaddedOp {
  Op array;
  std::vector<Op> sizes;
  bool HasSizes() const {
    return std::any_of(sizes.begin(), sizes.end(), [](const Op& size) { return size.ok(); });
  }
};
// The results of an instruction; none if there is no rule for it.
using PaddedOps = std::vector<PaddedOp>;

// The instruction that is expanded, and the module that replaces it.
struct PaddedInstruction {
  PaddedInstruction(const Instruction& instruction, const std::vector<SizeNumbers>& sizes,
                    int64_t size_count);

  Op Number(int64_t value) { return builder.Constant(ElementType::kS32, static_cast<double>(value)); }
  Op SizeOf(const PaddedOp& x, int64_t d);
  std::vector<Op> Arrays() const;
  // Emits the instruction on other arrays, with padded results and some other attributes.
  Op Emit(const std::vector<Op>& arrays, const std::vector<AttrEntry>& other = {});
  // Gives the results of an emitted instruction their sizes.
  static PaddedOps Results(Op emitted, const std::vector<std::vector<Op>>& sizes);

  // Returns a copy of `to_apply` in the module; null if it calls other computations.
  build::Function ToApply();
  // Returns the neutral element of `to_apply` for the initial value in operand 1; null if it has none.
  Op NeutralElement();

  const Instruction& instruction;
  build::Builder builder;
  std::vector<PaddedOp> operands;
};

// Returns pred[dims]: true for the positions below `size` along dimension d.
Op IsWithin(build::Builder& builder, build::Dims dims, int64_t d, Op size);
// Returns the array with a scalar in place of the elements from `size` on along dimension d.
Op Masked(Op x, int64_t d, Op size, Op fill);
// Returns the smaller of two sizes, of which each may be null.
Op SmallerSize(Op a, Op b);

// Defined in padded_indexing.cc.
PaddedOps PaddedGather(PaddedInstruction& gather);
PaddedOps PaddedScatter(PaddedInstruction& scatter);
PaddedOps PaddedUpdate(PaddedInstruction& update);
PaddedOps PaddedSort(PaddedInstruction& sort);

// Defined in padded_windows.cc.
PaddedOps PaddedReduceWindow(PaddedInstruction& reduce);
PaddedOps PaddedSelectAndScatter(PaddedInstruction& scatter);
PaddedOps PaddedConvolution(PaddedInstruction& convolution);
PaddedOps PaddedScan(PaddedInstruction& scan);
// Reduces any number of arrays by any combiner.
PaddedOps PaddedReduce(PaddedInstruction& reduce);

}  // namespace hlo::plan
