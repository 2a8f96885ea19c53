#include "build/emit.h"

namespace hlo::build {
namespace {

Op Binary(Opcode opcode, const Operand& lhs, const Op& rhs, Dims broadcast_dimensions,
          const std::vector<AttrEntry>& attributes = {}) {
  Op x = lhs, y = rhs;
  if (!BroadcastTogether(lhs.place, Name(opcode), &x, &y, broadcast_dimensions))
    return Op(lhs.builder(), nullptr);
  return Emit(lhs.place, opcode, {x, y}, attributes);
}

// Floats have both a total and a partial order, other types a single one.
ComparisonOrder TotalOrder(const Op& x) {
  return x.ok() && IsFloat(x.type()) ? ComparisonOrder::kTotal : ComparisonOrder::kPartial;
}

Function Identity(Place place, Builder& builder, const Shape& shape) {
  return builder.Define(
      "identity", {shape}, [](const std::vector<Op>& p) { return p[0]; }, place);
}

// Returns the operand's shape with another element type.
Shape Retyped(const Op& operand, ElementType type) {
  Shape shape = operand.shape();
  shape.set_type(type);
  return shape;
}

}  // namespace

#define HLO_BUILD_1(name, opcode) \
  Op name(Operand operand) { return Emit(operand.place, Opcode::k##opcode, {operand}); }
#define HLO_BUILD_2(name, opcode)                                     \
  Op name(Operand lhs, Op rhs, Dims broadcast_dimensions) {           \
    return Binary(Opcode::k##opcode, lhs, rhs, broadcast_dimensions); \
  }
#define HLO_BUILD_3(name, opcode)
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  HLO_BUILD_##operands(builder, name)
#include "hlo_run/opcodes.def"
HLO_BUILD_1(Copy, Copy)
HLO_BUILD_1(OptimizationBarrier, OptBarrier)
HLO_BUILD_1(Round, RoundNearestAfz)
#undef HLO_BUILD_1
#undef HLO_BUILD_2
#undef HLO_BUILD_3

#define HLO_DEFINE(name)                                                                           \
  Op name(Operand lhs, Op rhs, Dims broadcast_dimensions) {                                        \
    return Compare(lhs, rhs, ComparisonDirection::k##name, broadcast_dimensions);                  \
  }                                                                                                \
  Op name##TotalOrder(Operand lhs, Op rhs, Dims broadcast_dimensions) {                            \
    return Compare(lhs, rhs, ComparisonDirection::k##name, broadcast_dimensions, TotalOrder(lhs)); \
  }
HLO_BUILD_COMPARISON(HLO_DEFINE)
#undef HLO_DEFINE

Op Compare(Operand lhs, Op rhs, ComparisonDirection direction, Dims broadcast_dimensions,
           ComparisonOrder order) {
  std::vector<AttrEntry> attributes = {Attr<attr::direction>(direction)};
  if (order != ComparisonOrder::kPartial) attributes.push_back(Attr<attr::order>(order));
  return Binary(Opcode::kCompare, lhs, rhs, broadcast_dimensions, attributes);
}

Op WithAccuracy(Operand function, const ResultAccuracy& accuracy) {
  if (!function.ok()) return function;
  const Opcode opcode = function.instruction()->opcode();
  if (FindAttribute(opcode, "result_accuracy") == AttrId::kNone) {
    return Refuse(function, function.place, "{} has no result accuracy", Name(opcode));
  }
  Builder& b = *function.builder();
  return b.SetAttribute(function, Attr<attr::result_accuracy>(b.Keep(accuracy)));
}

Op Atan(Operand operand) { return Atan2({operand, operand.place}, FullLike(operand, 1)); }
Op Conj(Operand operand) {
  const Place place = operand.place;
  return Complex({Real(operand), place}, Neg({Imag(operand), place}));
}
Op Square(Operand operand) { return Mul(operand, operand); }

Op Select(Operand pred, Op on_true, Op on_false) {
  if (!Ready(pred.place, {pred, on_true, on_false})) return Op(pred.builder(), nullptr);
  if (on_true.shape().IsTuple() && on_false.shape().IsTuple()) {
    Builder& b = *pred.builder();
    return Conditional(pred, on_true, Identity(pred.place, b, on_true.shape()), on_false,
                       Identity(pred.place, b, on_false.shape()));
  }
  Op p = pred;
  BroadcastScalars(pred.place, {&p, &on_true, &on_false});
  return Emit(pred.place, Opcode::kSelect, {p, on_true, on_false});
}

Op Clamp(Operand min, Op operand, Op max) {
  if (!Ready(min.place, {min, operand, max})) return Op(min.builder(), nullptr);
  Op low = min;
  BroadcastScalars(min.place, {&low, &operand, &max});
  return Emit(min.place, Opcode::kClamp, {low, operand, max});
}

Op ScalarLike(Operand prototype, double value) {
  if (!ReadyArrays(prototype.place, "ScalarLike", {prototype})) return Op(prototype.builder(), nullptr);
  return prototype.builder()->Constant(prototype.type(), value, prototype.place);
}
Op FullLike(Operand prototype, double value) {
  const Op scalar = ScalarLike(prototype, value);
  return scalar.ok() && prototype.rank() > 0 ? Broadcast({scalar, prototype.place}, prototype.dims())
                                             : scalar;
}

// Converts a complex number to a real type by its real part.
Op ConvertElementType(Operand operand, ElementType type) {
  if (!ReadyArrays(operand.place, "convert", {operand})) return Op(operand.builder(), nullptr);
  Op x = operand;
  if (IsComplex(x.type()) && !IsComplex(type)) x = Real(operand);
  return Emit(operand.place, Opcode::kConvert, {x}, {}, Retyped(x, type));
}

// Narrower elements add a most minor dimension, wider ones consume it.
Op BitcastConvertType(Operand operand, ElementType type) {
  if (!ReadyArrays(operand.place, "bitcast-convert", {operand})) return Op(operand.builder(), nullptr);
  const int64_t from = BitWidth(operand.type()), to = BitWidth(type);
  Shape shape = Retyped(operand, type);
  if (from > to) {
    shape.AppendDim(from / to);
  } else if (from < to && shape.rank() > 0) {
    Shape narrower = Shape::Array(type, {});
    for (int64_t i = 0; i + 1 < shape.rank(); ++i) narrower.AppendDim(shape.dim(i), shape.IsDynamic(i));
    shape = narrower;
  }
  return Emit(operand.place, Opcode::kBitcastConvert, {operand}, {}, shape);
}

Op StochasticConvertType(Operand operand, Op random, ElementType type) {
  if (!ReadyArrays(operand.place, "stochastic-convert", {operand, random}))
    return Op(operand.builder(), nullptr);
  return Emit(operand.place, Opcode::kStochasticConvert, {operand, random}, {}, Retyped(operand, type));
}

Op ReducePrecision(Operand operand, int64_t exponent_bits, int64_t mantissa_bits) {
  return Emit(operand.place, Opcode::kReducePrecision, {operand},
              {Attr<attr::exponent_bits>(exponent_bits), Attr<attr::mantissa_bits>(mantissa_bits)});
}

Op operator-(Operand x) { return Neg(x); }
Op operator~(Operand x) { return Not(x); }
Op operator+(Operand x, Operand y) { return Add(x, y); }
Op operator-(Operand x, Operand y) { return Sub(x, y); }
Op operator*(Operand x, Operand y) { return Mul(x, y); }
Op operator/(Operand x, Operand y) { return Div(x, y); }
Op operator%(Operand x, Operand y) { return Rem(x, y); }
Op operator&(Operand x, Operand y) { return And(x, y); }
Op operator|(Operand x, Operand y) { return Or(x, y); }
Op operator^(Operand x, Operand y) { return Xor(x, y); }
Op operator<<(Operand x, Operand y) { return ShiftLeft(x, y); }
Op operator>>(Operand x, Operand y) {
  return x.ok() && IsSigned(x.type()) ? ShiftRightArithmetic(x, y) : ShiftRightLogical(x, y);
}

}  // namespace hlo::build
