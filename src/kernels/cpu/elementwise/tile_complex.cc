// This file implements tile operations on c64 and c128.

#include "kernels/cpu/elementwise/complex_quotient.h"
#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {
namespace {

template <class T>
TileFn FindComplexOp(Opcode opcode) {
  switch (opcode) {
// Sums and products of c64 are rounded to f32 individually.
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  case Opcode::k##name:                                                                         \
    return ScalarLoopOf<scalar::name, T, ScalarPrecision::k##precision>();
#include "hlo_run/opcodes.def"
    default:
      return nullptr;
  }
}

}  // namespace

TileFn ComplexTileOp(Opcode opcode, ComputeType compute_type) {
  switch (compute_type) {
    case ComputeType::kC64:
      if (opcode == Opcode::kDivide) return LoopOf<ComplexQuotient, std::complex<float>>();
      return FindComplexOp<std::complex<float>>(opcode);
    case ComputeType::kC128:
      return FindComplexOp<std::complex<double>>(opcode);
    default:
      return nullptr;
  }
}

}  // namespace hlo::cpu
