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

// Combines integers and predicates in order, which has the same bits as any other order.
template <class F, class T>
T FoldInOrder(int64_t n, const T* a) {
  using Byte = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  const F f;
  const auto* values = reinterpret_cast<const Byte*>(a);
  Byte result = values[0];
  for (int64_t i = 1; i < n; ++i) result = static_cast<Byte>(f(result, values[i]));
  return static_cast<T>(result);
}

}  // namespace hlo::cpu
