// Shape rules of sources, tuples, random numbers, dimension sizes and custom calls (shape-rules 3.7, 3.8,
// 3.20, 3.23, 3.24).

#include "base/counted.h"
#include "check/interface.h"
#include "check/support.h"

namespace hlo::check {

// Shape-rules 3.7.

Inferred Constant(RuleContext& c) {
  const Literal* literal = c.Get<attr::literal>();
  if (literal != nullptr && literal->shape().IsValid()) return Like(literal->shape());
  if (c.instruction().is_elided()) return AsDeclared();
  c.Error({}, "3.7", "the constant has no value");
  return Failed();
}

Inferred Parameter(RuleContext&) { return AsDeclared(); }

Inferred DeviceId(RuleContext&) { return Shape::Scalar(ElementType::kU32); }

Inferred Iota(RuleContext& c) {
  constexpr std::string_view kRule = "3.7";
  const Shape& result = c.declared();
  const SourceRange at = c.instruction().shape_range();
  if (!result.IsValid()) return AsDeclared();
  if (!result.IsArray() || result.rank() == 0) {
    c.Error(at, kRule, "iota gives an array of rank 1 or more, but the instruction declares {}",
            Text(result));
    return Failed();
  }
  if (IsPred(result.type())) c.Error(at, kRule, "iota has no pred elements: {}", Text(result));
  if (const int64_t d = c.Get<attr::iota_dimension>(); !InRange(d, result.rank())) {
    c.Error(c.range_of<attr::iota_dimension>(), kRule, "iota_dimension is {}, but {} has dimensions 0..{}", d,
            Text(result), result.rank() - 1);
  }
  return AsDeclared();
}

// Shape-rules 3.8.

Inferred Tuple(RuleContext& c) { return TupleOf(c.instruction().operands()); }

Inferred GetTupleElement(RuleContext& c) {
  constexpr std::string_view kRule = "3.8";
  const Shape& tuple = c.operand(0);
  const int64_t index = c.Get<attr::index>();
  if (!tuple.IsTuple()) {
    c.OperandError(0, kRule, "get-tuple-element takes a tuple, but its operand is {}", Text(tuple));
    return Failed();
  }
  const auto arity = static_cast<int64_t>(tuple.elements().size());
  if (!InRange(index, arity)) {
    c.NoteOperand(c.Error(c.range_of<attr::index>(), kRule, "index is {}, but the tuple has {}", index,
                          Counted(arity, "element")),
                  0);
    return Failed();
  }
  return Like(tuple.element(index));
}

Inferred OptBarrier(RuleContext& c) { return Like(c.operand(0)); }

// Shape-rules 3.20.

Inferred Rng(RuleContext& c) {
  constexpr std::string_view kRule = "3.20";
  if (c.operand_count() == 3) {
    // StableHLO's rng has the result shape as its third operand.
    c.ErrorIfStrict(c.operand_range(2), kRule, "rng takes two scalars; the third operand is ignored");
  } else if (c.operand_count() != 2) {
    c.Error({}, kRule, "rng takes two scalars, but has {}", Counted(c.operand_count(), "operand"));
    return Failed();
  }
  bool ok = true;
  for (int64_t i : {0, 1}) {
    if (c.operand(i).IsScalar()) continue;
    c.OperandError(i, kRule, "rng takes two scalars, but operand {} is {}", i, Text(c.operand(i)));
    ok = false;
  }
  if (!ok) return Failed();
  const ElementType type = c.operand(0).type();
  if (c.operand(1).type() != type) {
    c.OperandError(1, kRule, "the operands of rng have one type, but they are {} and {}", Name(type),
                   Name(c.operand(1).type()));
    ok = false;
  }
  const RandomDistribution distribution = c.Get<attr::distribution>();
  const TypeSet types =
      distribution == RandomDistribution::kNormal ? kFloatSet : kFloatSet | kIntegralSet | kPredSet;
  if (!Contains(types, type)) {
    c.Error(c.range_of<attr::distribution>(), kRule, "{} needs {} operands, but they are {}",
            Word(distribution), DescribeTypes(types), Name(type));
    ok = false;
  }
  const Shape& result = c.declared();
  if (!result.IsValid()) return AsDeclared();
  if (!result.IsArray() || !SameFp(result.type(), type)) {
    c.Error(c.instruction().shape_range(), kRule, "rng gives an array of {}, but the instruction declares {}",
            Name(type), Text(result));
  } else if (result.type() != type) {
    c.MixedPrecision(c.instruction().shape_range(), kRule, "rng gives {}, but the instruction declares {}",
                     Name(type), Text(result));
  }
  return ok ? AsDeclared() : Failed();
}

Inferred RngBitGenerator(RuleContext& c) {
  constexpr std::string_view kRule = "3.20";
  const Shape& result = c.declared();
  const SourceRange at = c.instruction().shape_range();
  if (!result.IsValid()) return AsDeclared();
  if (!result.IsTuple()) {
    c.Warning(at, kRule, "rng-bit-generator gives a tuple of state and bits, but the instruction declares {}",
              Text(result));
  } else if (result.elements().size() != 2) {
    c.Error(at, kRule, "rng-bit-generator gives a tuple of state and bits, but the instruction declares {}",
            Text(result));
  } else if (!Compatible(result.element(0), c.operand(0))) {
    c.NoteOperand(c.Error(at, kRule, "element 0 is the state, {}, but the instruction declares {}",
                          Text(c.operand(0)), Text(result.element(0))),
                  0);
  }
  return AsDeclared();
}

Inferred RngGetAndUpdateState(RuleContext&) { return Shape::Array(ElementType::kU64, {2}); }

// Shape-rules 3.24.

namespace {

constexpr std::string_view kDynamicSize = "3.24";

bool SizedDimension(RuleContext& c, int64_t* d) {
  if (!RequireArray(c, 0, kDynamicSize) || !RequireOneDimension(c, kDynamicSize, d)) return false;
  const Shape& x = c.operand(0);
  if (!InRange(*d, x.rank())) {
    c.NoteOperand(c.Error(c.range_of<attr::dimensions>(), kDynamicSize, "dimension {} does not exist in {}",
                          *d, Text(x)),
                  0);
    return false;
  }
  if (x.dim(*d) > std::numeric_limits<int32_t>::max()) {
    c.OperandError(0, kDynamicSize, "the size of dimension {} must fit s32, but it is {}", *d, x.dim(*d));
    return false;
  }
  return true;
}

}  // namespace

Inferred GetDimensionSize(RuleContext& c) {
  int64_t d = 0;
  if (!SizedDimension(c, &d)) return Failed();
  return Shape::Scalar(ElementType::kS32);
}

Inferred SetDimensionSize(RuleContext& c) {
  int64_t d = 0;
  bool ok = SizedDimension(c, &d);
  if (!c.operand(1).IsScalar(ElementType::kS32)) {
    c.OperandError(1, kDynamicSize, "the size is an s32 scalar, but operand 1 is {}", Text(c.operand(1)));
    ok = false;
  }
  if (!ok) return Failed();
  Shape result = c.operand(0);
  result.set_dim(d, result.dim(d), true);
  return result;
}

// Shape-rules 3.23.

namespace {

constexpr std::string_view kCustomCall = "3.23";

void CheckLayoutConstraints(RuleContext& c) {
  const AttrEntry* entry = c.instruction().Find(AttrId::operand_layout_constraints);
  const std::string_view target = c.Get<attr::custom_call_target>();
  if (entry == nullptr || target == "LayoutConstraint" || target == "control_dep") return;
  const auto constraints = entry->value.As<attr_kind::ShapeList>();
  const auto count = static_cast<int64_t>(constraints.size());
  if (count != c.operand_count()) {
    c.Error(entry->range, kCustomCall, "{} for {}", Counted(count, "layout constraint"),
            Counted(c.operand_count(), "operand"));
  }
  for (int64_t i = 0; i < std::min(count, c.operand_count()); ++i) {
    if (Compatible(*constraints[i], c.operand(i))) continue;
    c.NoteOperand(c.Error(entry->range, kCustomCall, "layout constraint {} is for {}, but the operand is {}",
                          i, Text(*constraints[i]), Text(c.operand(i))),
                  i);
  }
}

bool HasFrontendAttribute(RuleContext& c, std::string_view key) {
  const FrontendAttributes* attributes = c.Get<attr::frontend_attributes>();
  if (attributes == nullptr) return false;
  for (const KeyValue& entry : attributes->entries) {
    if (entry.key == key) return true;
  }
  return false;
}

void CheckOutputOperandAliases(RuleContext& c) {
  const AttrEntry* entry = c.instruction().Find(AttrId::output_to_operand_aliasing);
  if (entry == nullptr) return;
  const std::string_view target = c.Get<attr::custom_call_target>();
  const bool pins = target == "Pin" || target == "Unpin";
  for (const OutputOperandAlias& alias : entry->value.As<attr_kind::AliasList>()) {
    if (!InRange(alias.operand, c.operand_count())) {
      c.Error(entry->range, kCustomCall, "an alias names operand {}, but there are {}", alias.operand,
              c.operand_count());
      continue;
    }
    const Shape* output = SubshapeAt(c.declared(), alias.output_index);
    const Shape* operand = SubshapeAt(c.operand(alias.operand), alias.operand_index);
    if (output == nullptr || operand == nullptr) {
      c.Error(entry->range, kCustomCall, "an alias names {} of {}, which has no such element",
              Text(output == nullptr ? alias.output_index : alias.operand_index),
              Text(output == nullptr ? c.declared() : c.operand(alias.operand)));
      continue;
    }
    if (HasFrontendAttribute(c, "xla_skip_custom_call_alias_shape_check")) return;
    const bool fits =
        Equal(*output, *operand, {.ignore_layout = true, .ignore_dynamic = true, .ignore_buffer = pins});
    const bool effective_scalar = output->IsArray() && output->ElementCount() == 1;
    if (!fits) {
      c.Error(entry->range, kCustomCall, "output {} is {}, but operand {} whose memory it takes is {}",
              Text(alias.output_index), Text(*output), alias.operand, Text(*operand));
    } else if (c.options().layout_sensitive &&
               !Equal(*output, *operand, {.ignore_memory_space = effective_scalar, .ignore_buffer = pins})) {
      c.Error(entry->range, kCustomCall, "output {} is {}, but operand {} whose memory it takes is {}",
              Text(alias.output_index), LayoutText(*output), alias.operand, LayoutText(*operand));
    }
  }
}

}  // namespace

Inferred CustomCall(RuleContext& c) {
  if (!c.declared().IsValid()) return AsDeclared();
  CheckLayoutConstraints(c);
  CheckOutputOperandAliases(c);
  if (c.Get<attr::custom_call_target>() == "GetRngSeed" &&
      (c.operand_count() != 0 || !c.declared().IsScalar(ElementType::kU64))) {
    c.Error({}, kCustomCall, "GetRngSeed takes nothing and gives u64[], but it has {} and declares {}",
            Counted(c.operand_count(), "operand"), Text(c.declared()));
  }
  if (c.instruction().Has<attr::to_apply>() && c.instruction().Has<attr::called_computations>()) {
    c.Warning(c.range_of<attr::called_computations>(), kCustomCall,
              "XLA forgets called_computations where to_apply is given too");
  }
  return AsDeclared();
}

}  // namespace hlo::check
