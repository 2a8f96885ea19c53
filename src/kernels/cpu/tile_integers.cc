// Tile operations on integers and pred.

#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

template <class T>
TileFn Find(Opcode opcode) {
  switch (opcode) {
#define HLO_CASE(name)  \
  case Opcode::k##name: \
    return LoopOf<scalar::name, T>();
    HLO_CASE(Abs)
    HLO_CASE(Add)
    HLO_CASE(And)
    HLO_CASE(Clamp)
    HLO_CASE(CountLeadingZeros)
    HLO_CASE(Divide)
    HLO_CASE(Maximum)
    HLO_CASE(Minimum)
    HLO_CASE(Mulhi)
    HLO_CASE(Multiply)
    HLO_CASE(Negate)
    HLO_CASE(Not)
    HLO_CASE(Or)
    HLO_CASE(Popcnt)
    HLO_CASE(Power)
    HLO_CASE(Remainder)
    HLO_CASE(ShiftLeft)
    HLO_CASE(ShiftRightArithmetic)
    HLO_CASE(ShiftRightLogical)
    HLO_CASE(Sign)
    HLO_CASE(Subtract)
    HLO_CASE(Xor)
#undef HLO_CASE
    default:
      return nullptr;
  }
}

}  // namespace

TileFn IntegerTileOp(Opcode opcode, Lane lane) {
  return DispatchLane(lane, [&]<class T>() -> TileFn {
    if constexpr (std::is_integral_v<T>)
      return Find<T>(opcode);
    else
      return nullptr;
  });
}

}  // namespace hlo::cpu
