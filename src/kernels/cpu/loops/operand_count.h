#pragma once
// This file gives the number of operands of an operation.

#include "loops/operation.h"

namespace hlo::cpu {

inline int OperandCount(const loops::Operation& operation) {
  using Kind = loops::Operation::Kind;
  switch (operation.kind) {
    case Kind::kScalar:
    case Kind::kRoundedScalar:
      return static_cast<int>(Info(operation.opcode).min_operands);
    case Kind::kSelect:
      return 3;
    case Kind::kCompare:
    case Kind::kStochastic:
      return 2;
    default:
      return 1;
  }
}

}  // namespace hlo::cpu
