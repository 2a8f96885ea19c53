#pragma once
// May neighbours be combined first?

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::plan {

// Whether (a . b) . c is a . (b . c) for all values, NaN and zeros of both signs included; false also where
// that is not known. `combiner` is the code of `to_apply`, which takes accumulators and values of `types`.
// kNumbers: but for NaN.
enum class Among : uint8_t { kAll, kNumbers };
bool IsAssociative(const Computation& to_apply, const cpu::TileCode& combiner,
                   absl::Span<const ElementType> types, Among among = Among::kAll);

// Whether the combiner of pairs (value, position) gives, where the first pair's position is the lesser one,
// the pair of the larger or smaller value, the first one of equal values, and NaN before all others. With
// picks_last_value, the value alone is that of the second one of equal ones.
struct PickRule {
  cpu::ReduceProgram::Pick pick = cpu::ReduceProgram::Pick::kNone;
  bool picks_last_value = false;
};
PickRule FindPick(const Computation& to_apply, const cpu::TileCode& combiner,
                  absl::Span<const ElementType> types, Among among = Among::kAll);

}  // namespace hlo::plan
