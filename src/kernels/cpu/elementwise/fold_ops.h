#pragma once
// This file defines functors for the associative binary operations on a lane type.

#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {

// Calls visit.template operator()<F>() with the opcode's functor for type T; returns false if there is none.
template <class T, class Visit>
bool VisitFoldOp(Opcode opcode, Visit&& visit) {
  constexpr bool is_float = std::is_floating_point_v<T>;
  const auto take = [&]<class F>() {
    if constexpr (std::is_invocable_r_v<T, F, T, T>) {
      visit.template operator()<F>();
      return true;
    }
    return false;
  };
  switch (opcode) {
    case Opcode::kAdd:
      return take.template operator()<scalar::Add>();
    case Opcode::kAnd:
      return take.template operator()<scalar::And>();
    case Opcode::kMaximum:
      return take.template operator()<std::conditional_t<is_float, FloatMaximum, scalar::Maximum>>();
    case Opcode::kMinimum:
      return take.template operator()<std::conditional_t<is_float, FloatMinimum, scalar::Minimum>>();
    case Opcode::kMultiply:
      return take.template operator()<scalar::Multiply>();
    case Opcode::kOr:
      return take.template operator()<scalar::Or>();
    case Opcode::kXor:
      return take.template operator()<scalar::Xor>();
    default:
      return false;
  }
}

}  // namespace hlo::cpu
