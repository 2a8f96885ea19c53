// This file implements tile operations on f32 and f64.

#include <cmath>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/small_float_codes.h"

namespace hlo::cpu {
namespace {

// Returns the operation, computed in the precision that the opcode's row defines.
template <class T>
TileFn FindScalarOp(Opcode opcode, bool in_own_type) {
  switch (opcode) {
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits)     \
  case Opcode::k##name:                                                                             \
    if ((ScalarPrecision::k##precision != ScalarPrecision::kDouble) != in_own_type) return nullptr; \
    return ScalarLoopOf<scalar::name, T, ScalarPrecision::k##precision>();
#include "hlo_run/opcodes.def"
    default:
      return nullptr;
  }
}

}  // namespace

TileCall FindRoundedTileOp(Opcode opcode, ElementType type) {
  if (type != ElementType::kBF16) return {};
  const auto found = [&]() -> TileFn {
    switch (opcode) {
      case Opcode::kAdd:
        return LoopOf<BF16Operation<scalar::Add>, float>();
      case Opcode::kDivide:
        return LoopOf<BF16Operation<scalar::Divide>, float>();
      case Opcode::kMultiply:
        return LoopOf<BF16Operation<scalar::Multiply>, float>();
      case Opcode::kSqrt:
        return LoopOf<BF16Operation<scalar::Sqrt>, float>();
      case Opcode::kSubtract:
        return LoopOf<BF16Operation<scalar::Subtract>, float>();
      default:
        return nullptr;
    }
  };
  return {found()};
}

TileFn FloatTileOp(Opcode opcode, ComputeType compute_type) {
  return DispatchComputeType(compute_type, [&]<class T>() -> TileFn {
    if constexpr (std::is_floating_point_v<T>) {
      if (const TileFn exact = FindScalarOp<T>(opcode, true)) return exact;
      if (const TileFn vector = VectorTileOp(opcode, compute_type)) return vector;
      return FindScalarOp<T>(opcode, false);
    } else {
      return nullptr;
    }
  });
}

}  // namespace hlo::cpu
