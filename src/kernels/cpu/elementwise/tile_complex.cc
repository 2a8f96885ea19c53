// This file implements tile operations on c64 and c128.

#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {
namespace {

template <class T>
TileFn FindComplexOp(Opcode opcode) {
  switch (opcode) {
// Sums and products of c64 are rounded to f32 individually.
#define HLO_CASE(name)  \
  case Opcode::k##name: \
    return LoopOf<scalar::name, T>();
    HLO_CASE(Add)
    HLO_CASE(Imag)
    HLO_CASE(Multiply)
    HLO_CASE(Negate)
    HLO_CASE(Real)
    HLO_CASE(Subtract)
#undef HLO_CASE
#define HLO_CASE(name)                                    \
  case Opcode::k##name:                                   \
    if constexpr (std::is_same_v<T, std::complex<float>>) \
      return LoopOf<ByWayOfF64<scalar::name>, T>();       \
    else                                                  \
      return LoopOf<scalar::name, T>();
    HLO_CASE(Abs)
    HLO_CASE(Acos)
    HLO_CASE(Acosh)
    HLO_CASE(Asin)
    HLO_CASE(Asinh)
    HLO_CASE(Atan2)
    HLO_CASE(Atanh)
    HLO_CASE(Cosh)
    HLO_CASE(Cosine)
    HLO_CASE(Divide)
    HLO_CASE(Exp2)
    HLO_CASE(Exponential)
    HLO_CASE(ExponentialMinusOne)
    HLO_CASE(Log)
    HLO_CASE(Log2)
    HLO_CASE(LogPlusOne)
    HLO_CASE(Logistic)
    HLO_CASE(Power)
    HLO_CASE(Rsqrt)
    HLO_CASE(Sign)
    HLO_CASE(Sine)
    HLO_CASE(Sinh)
    HLO_CASE(Sqrt)
    HLO_CASE(Tan)
    HLO_CASE(Tanh)
#undef HLO_CASE
    default:
      return nullptr;
  }
}

}  // namespace

TileFn ComplexTileOp(Opcode opcode, Lane lane) {
  switch (lane) {
    case Lane::kC64:
      return FindComplexOp<std::complex<float>>(opcode);
    case Lane::kC128:
      return FindComplexOp<std::complex<double>>(opcode);
    default:
      return nullptr;
  }
}

}  // namespace hlo::cpu
