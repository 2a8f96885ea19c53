// Shape rules of elementwise opcodes, clamp and select (shape-rules 3.2 to 3.5). There is no implicit
// broadcasting (2.3).

#include "base/counted.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kUnary = "3.2";
constexpr std::string_view kBinary = "3.3";

bool UnaryOperand(RuleContext& c, TypeSet set) {
  return RequireArray(c, 0, kUnary) && RequireType(c, 0, set, kUnary);
}

Inferred Unary(RuleContext& c, TypeSet set) {
  if (!UnaryOperand(c, set)) return Failed();
  return Like(c.operand(0));
}

// Requires two arrays to have the same sizes.
bool SameSizes(RuleContext& c, int64_t i, int64_t j, std::string_view rule) {
  const Shape& a = c.operand(i);
  const Shape& b = c.operand(j);
  if (SameDimensions(a, b)) [[likely]]
    return true;
  c.NoteOperand(
      c.OperandError(j, rule,
                     "{} takes arrays of equal sizes, but they are {} and {}; nothing broadcasts implicitly",
                     Name(c.instruction().opcode()), Text(a), Text(b)),
      i);
  return false;
}

bool SameFpTypes(RuleContext& c, int64_t i, int64_t j, std::string_view rule) {
  if (SameFp(c.operand(i).type(), c.operand(j).type())) [[likely]]
    return true;
  c.NoteOperand(c.OperandError(j, rule, "{} takes arrays of one element type, but they are {} and {}",
                               Name(c.instruction().opcode()), Text(c.operand(i)), Text(c.operand(j))),
                i);
  return false;
}

bool BinaryOperands(RuleContext& c, std::string_view rule = kBinary) {
  if (!RequireArrays(c, rule)) return false;
  const bool types = SameFpTypes(c, 0, 1, rule);
  return SameSizes(c, 0, 1, rule) && types;
}

// Joins two arrays of the same sizes: a dimension is dynamic if either is, and a known size overrides `?`.
Inferred JoinedShapes(const Shape& a, const Shape& b, ElementType type) {
  if (!a.HasDynamicDim() && !b.HasDynamicDim()) [[likely]]
    return Like(a, type);
  Shape result = a;
  result.set_type(type);
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (a.IsUnbounded(i))
      result.set_dim(i, b.dim(i), b.IsDynamic(i));
    else if (!b.IsUnbounded(i))
      result.set_dim(i, a.dim(i), a.IsDynamic(i) || b.IsDynamic(i));
  }
  return result;
}

Inferred BinaryOf(RuleContext& c, TypeSet set) {
  if (!BinaryOperands(c)) return Failed();
  if (set != kAllTypes && !(RequireType(c, 0, set, kBinary) && RequireType(c, 1, set, kBinary)))
    return Failed();
  return JoinedShapes(c.operand(0), c.operand(1),
                      WiderType(c, c.operand(0).type(), c.operand(1).type(), "1.2"));
}

// Returns the operand's dimensions with the declared element type.
Inferred Retyped(RuleContext& c, std::string_view rule) {
  if (c.declared().IsArray()) [[likely]]
    return Like(c.operand(0), c.declared().type());
  c.Error(c.instruction().shape_range(), rule, "{} gives an array, but the instruction declares {}",
          Name(c.instruction().opcode()), Text(c.declared()));
  return Failed();
}

}  // namespace

Inferred UnaryFloat(RuleContext& c) { return Unary(c, kFloatSet); }
Inferred UnaryFloatOrComplex(RuleContext& c) { return Unary(c, kFloatSet | kComplexSet); }
Inferred UnaryNumeric(RuleContext& c) { return Unary(c, kIntegralSet | kFloatSet | kComplexSet); }
Inferred UnarySigned(RuleContext& c) { return Unary(c, kSignedSet | kFloatSet | kComplexSet); }
Inferred UnaryLogical(RuleContext& c) { return Unary(c, kPredSet | kIntegralSet); }
Inferred UnaryIntegral(RuleContext& c) { return Unary(c, kIntegralSet); }

// abs of a complex number is its modulus, which is real.
Inferred UnaryToReal(RuleContext& c) {
  if (!UnaryOperand(c, kSignedSet | kFloatSet | kComplexSet)) return Failed();
  return Like(c.operand(0), ComponentType(c.operand(0).type()));
}

Inferred ComplexPart(RuleContext& c) {
  if (!UnaryOperand(c, kFloatSet | kComplexSet)) return Failed();
  return Like(c.operand(0), ComponentType(c.operand(0).type()));
}

Inferred IsFinite(RuleContext& c) {
  if (!UnaryOperand(c, kFloatSet)) return Failed();
  return Like(c.operand(0), ElementType::kPred);
}

Inferred Copy(RuleContext& c) {
  if (c.operand(0).IsOpaque()) {
    c.OperandError(0, kUnary, "copy cannot copy an opaque value");
    return Failed();
  }
  return Like(c.operand(0));
}

Inferred Convert(RuleContext& c) {
  if (!RequireArray(c, 0, kUnary)) return Failed();
  return Retyped(c, kUnary);
}

Inferred ReducePrecision(RuleContext& c) {
  bool ok = UnaryOperand(c, kFloatSet);
  if (const int64_t bits = c.Get<attr::exponent_bits>(); bits < 1) {
    c.Error(c.range_of<attr::exponent_bits>(), kUnary, "exponent_bits must be at least 1, but it is {}",
            bits);
    ok = false;
  }
  if (const int64_t bits = c.Get<attr::mantissa_bits>(); bits < 0) {
    c.Error(c.range_of<attr::mantissa_bits>(), kUnary, "mantissa_bits must be at least 0, but it is {}",
            bits);
    ok = false;
  }
  return ok ? Like(c.operand(0)) : Failed();
}

Inferred Shuffle(RuleContext& c) {
  if (!RequireArray(c, 0, kUnary)) return Failed();
  const IntList dimensions = c.Get<attr::dimensions>();
  const IntList shifts = c.Get<attr::shifts>();
  const SourceRange at = c.range_of<attr::dimensions>();
  if (dimensions.empty()) {
    c.Error(at, kUnary, "shuffle needs at least one dimension");
    return Failed();
  }
  if (dimensions.size() != shifts.size()) {
    c.Error(c.range_of<attr::shifts>(), kUnary, "{} for {}", Counted(shifts.size(), "shift"),
            Counted(dimensions.size(), "dimension"));
    return Failed();
  }
  if (!RequireDistinctDimensions(c, at, kUnary, "dimensions", dimensions, c.operand(0).rank()))
    return Failed();
  return Like(c.operand(0));
}

Inferred Binary(RuleContext& c) { return BinaryOf(c, kAllTypes); }
Inferred BinaryNoPred(RuleContext& c) { return BinaryOf(c, kIntegralSet | kFloatSet | kComplexSet); }
Inferred BinaryFloatOrComplex(RuleContext& c) { return BinaryOf(c, kFloatSet | kComplexSet); }
Inferred BinaryLogical(RuleContext& c) { return BinaryOf(c, kPredSet | kIntegralSet); }

// Warns about element types that XLA accepts but whose semantics it does not define.
static void WarnUnless(RuleContext& c, TypeSet set) {
  const Shape& x = c.operand(0);
  if (!x.IsArray() || Contains(set, x.type())) return;
  c.Warning(c.operand_range(0), kBinary, "{} of {} elements has no meaning; it cannot be evaluated",
            Name(c.instruction().opcode()), Name(x.type()));
}

Inferred Shift(RuleContext& c) {
  WarnUnless(c, kPredSet | kIntegralSet);
  return BinaryNoPred(c);
}

Inferred Mulhi(RuleContext& c) {
  WarnUnless(c, kPredSet | kIntegralSet);
  return Binary(c);
}

Inferred Extremum(RuleContext& c) {
  WarnUnless(c, kPredSet | kIntegralSet | kFloatSet);
  return Binary(c);
}

Inferred Remainder(RuleContext& c) {
  WarnUnless(c, kPredSet | kIntegralSet | kFloatSet);
  return BinaryNoPred(c);
}

Inferred Complex(RuleContext& c) {
  if (!BinaryOperands(c)) return Failed();
  const ElementType type = c.operand(0).type();
  const std::optional<ElementType> complex = ComplexOf(type);
  if (!complex || c.operand(1).type() != type) {
    c.Error({}, kBinary, "complex takes two f32 or two f64 arrays, but they are {} and {}",
            Text(c.operand(0)), Text(c.operand(1)));
    return Failed();
  }
  return JoinedShapes(c.operand(0), c.operand(1), *complex);
}

Inferred StochasticConvert(RuleContext& c) {
  if (!RequireArrays(c, kBinary)) return Failed();
  const Shape& x = c.operand(0);
  const Shape& random = c.operand(1);
  bool ok = RequireType(c, 0, kFloatSet, kBinary);
  ok &= RequireType(c, 1, SetOf(TypeClass::kUnsigned), kBinary);
  if (ok && BitWidth(x.type()) != BitWidth(random.type())) {
    c.OperandError(1, kBinary, "the random bits must be as wide as {}, but they are {}", Name(x.type()),
                   Name(random.type()));
    ok = false;
  }
  if (!SameSizes(c, 0, 1, kBinary)) return Failed();
  if (!Equal(x, random, {.ignore_element_type = true})) {
    // Layouts and dynamic flags do not affect the values.
    c.ErrorIfStrict(c.operand_range(1), kBinary,
                    "operand and random bits must agree in layout and dynamic dimensions: {} and {}",
                    ToString(x, {.layouts = true}), ToString(random, {.layouts = true}));
  }
  return ok ? Retyped(c, kBinary) : Failed();
}

// Checks the comparison that `type` declares against that of the element type (shape-rules 3.4).
static bool CheckComparison(RuleContext& c) {
  constexpr std::string_view kRule = "3.4";
  const ElementType element = c.operand(1).type();
  const bool exact = IsIntegral(element) || IsPred(element);
  if (const AttrEntry* order = c.instruction().Find(AttrId::order)) {
    if (exact && order->value.As<ComparisonOrder>() == ComparisonOrder::kPartial) {
      c.Error(order->range, kRule, "{} elements are totally ordered, but order is PARTIAL", Name(element));
      return false;
    }
  }
  const AttrEntry* entry = c.instruction().Find(AttrId::type);
  if (entry == nullptr) return true;
  const auto type = entry->value.As<ComparisonType>();
  if (exact && type == ComparisonType::kFloat) {
    c.Error(entry->range, kRule, "{} elements do not compare as FLOAT", Name(element));
    return false;
  }
  const ComparisonType usual = IsSigned(element) ? ComparisonType::kSigned
                               : exact           ? ComparisonType::kUnsigned
                                                 : ComparisonType::kFloat;
  if (type != usual && !(IsFloat(element) && type == ComparisonType::kTotalOrder)) {
    c.Warning(entry->range, kRule, "type={} is unusual for {} elements: it only asks for the total order",
              Word(type), Name(element));
  }
  return true;
}

Inferred Compare(RuleContext& c) {
  if (!BinaryOperands(c) || !CheckComparison(c)) return Failed();
  return JoinedShapes(c.operand(0), c.operand(1), ElementType::kPred);
}

// clamp(min, x, max): the bounds are scalars or have the sizes of x.
Inferred Clamp(RuleContext& c) {
  constexpr std::string_view kRule = "3.5";
  if (!RequireArrays(c, kRule)) return Failed();
  const Shape& x = c.operand(1);
  bool ok = true;
  for (int64_t i : {0, 2}) {
    if (!SameFpTypes(c, 1, i, kRule)) {
      ok = false;
    } else if (!c.operand(i).IsScalar() && !SameDimensions(c.operand(i), x)) {
      c.OperandError(i, kRule, "a bound of clamp is a scalar or has the sizes of {}, but it is {}", Text(x),
                     Text(c.operand(i)));
      ok = false;
    }
  }
  return ok ? Like(x) : Failed();
}

namespace {

// Returns the result shape: the more specific branch in dimensions with `?`, dynamic if any operand is.
Shape SelectShape(const Shape& p, const Shape& t, const Shape& f, ElementType type) {
  Shape result = p.IsScalar() ? t : p;
  result.set_type(type);
  for (int64_t i = 0; i < t.rank(); ++i) {
    if (t.IsUnbounded(i) || f.IsUnbounded(i)) {
      result.set_dim(i, t.IsUnbounded(i) ? f.dim(i) : t.dim(i), t.IsDynamic(i) && f.IsDynamic(i));
    } else {
      const bool from_p = !p.IsScalar() && p.IsDynamic(i);
      result.set_dim(i, t.dim(i), from_p || t.IsDynamic(i) || f.IsDynamic(i));
    }
  }
  return result;
}

}  // namespace

Inferred Select(RuleContext& c) {
  constexpr std::string_view kRule = "3.5";
  if (!RequireArrays(c, kRule)) return Failed();
  const Shape& p = c.operand(0);
  const Shape& t = c.operand(1);
  const Shape& f = c.operand(2);
  bool ok = RequireType(c, 0, kPredSet, kRule);
  ok &= SameFpTypes(c, 1, 2, kRule);
  if (!SameSizes(c, 1, 2, kRule)) return Failed();
  if (!p.IsScalar() && !(SameDimensions(p, t) && SameDimensions(p, f))) {
    c.OperandError(0, kRule, "the predicate is a scalar or has the sizes of {}, but it is {}", Text(t),
                   Text(p));
    ok = false;
  }
  if (!ok) return Failed();
  const ElementType type = WiderType(c, t.type(), f.type(), "1.2");
  if (p.HasDynamicDim() || t.HasDynamicDim() || f.HasDynamicDim()) return SelectShape(p, t, f, type);
  return Like(p.IsScalar() ? t : p, type);
}

}  // namespace hlo::check
