#pragma once
// This file defines functors for the associative binary operations on a compute type.

#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {

// Calls visit.template operator()<F>() with the opcode's functor for type T; returns false if there is none.
template <class T, class Visit>
bool VisitFoldOp(Opcode opcode, Visit&& visit) {
  const auto take = [&]<class F>() {
    if constexpr (std::is_invocable_r_v<T, F, T, T>) {
      visit.template operator()<F>();
      return true;
    }
    return false;
  };
  switch (opcode) {
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  case Opcode::k##name:                                                                         \
    if constexpr (((traits)&kAssociative) != 0)                                                 \
      return take.template operator()<scalar::name>();                                          \
    else                                                                                        \
      return false;
#include "hlo_run/opcodes.def"
    default:
      return false;
  }
}

}  // namespace hlo::cpu
