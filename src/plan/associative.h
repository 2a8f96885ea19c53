#pragma once
// May neighbours be combined first?

#include "hlo_run/module.h"
#include "kernels/cpu/reduce_program.h"

namespace hlo::plan {

// Whether (a . b) . c is a . (b . c) for all values, NaN and zeros of both signs included; false also where
// that is not known. `combiner` is the code of `to_apply`, which takes accumulators and values of `types`.
bool IsAssociative(const Computation& to_apply, const cpu::TileCode& combiner,
                   absl::Span<const ElementType> types);

// Whether the combiner of pairs (value, position) gives, where the first pair's position is the lesser one,
// the pair of the larger or smaller value, the first one of equal values, and NaN before all others; or but
// for the value of equal ones, which is the last one's.
struct PickRule {
  cpu::ReduceProgram::Pick pick = cpu::ReduceProgram::Pick::kNone;
  bool keeps_last_value = false;
};
PickRule FindPick(const Computation& to_apply, const cpu::TileCode& combiner,
                  absl::Span<const ElementType> types);

}  // namespace hlo::plan
