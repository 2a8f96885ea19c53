// Shape rules of reduce, reduce-window and select-and-scatter (shape-rules 3.17).

#include <bitset>

#include "base/counted.h"
#include "check/support.h"
#include "check/window.h"

namespace hlo::check {
namespace {

constexpr std::string_view kReduceRule = "3.17";

using ReducedArrays = absl::InlinedVector<Reduced, 4>;

// Checks the operands of a reduction: k inputs of equal sizes, then k scalar initial values.
bool ReductionOperands(RuleContext& c, ReducedArrays* arrays) {
  if (c.operand_count() < 2 || c.operand_count() % 2 != 0) {
    c.Error({}, kReduceRule, "{} takes k arrays and k initial values, but has {}",
            Name(c.instruction().opcode()), Counted(c.operand_count(), "operand"));
    return false;
  }
  const int64_t count = c.operand_count() / 2;
  bool ok = RequireScalars(c, count, count, kReduceRule);
  for (int64_t j = 0; j < count; ++j) {
    if (!RequireArray(c, j, kReduceRule)) return false;
    if (j > 0 && !SameDimensions(c.operand(j), c.operand(0))) {
      c.NoteOperand(c.OperandError(j, kReduceRule,
                                   "arrays that reduce together have equal sizes, but they are {} and {}",
                                   Text(c.operand(0)), Text(c.operand(j))),
                    0);
      ok = false;
    }
    arrays->push_back({c.operand(count + j).type(), c.operand(j).type()});
  }
  return ok;
}

}  // namespace

Inferred Reduce(RuleContext& c) {
  ReducedArrays arrays;
  bool ok = ReductionOperands(c, &arrays);
  const Computation& reducer = *c.Get<attr::to_apply>();
  const SourceRange at = c.range_of<attr::to_apply>();
  ok = ok && CheckReducer(c, at, reducer, arrays);
  const IntList dimensions = c.Get<attr::dimensions>();
  if (!c.operand_count() || !c.operand(0).IsArray()) return Failed();
  const Shape& x = c.operand(0);
  ok &= RequireDistinctDimensions(c, c.range_of<attr::dimensions>(), kReduceRule, "dimensions", dimensions,
                                  x.rank());
  if (!ok) return Failed();
  CheckParameterPrecision(c, at, reducer);
  std::bitset<Shape::kMaxRank> reduced;
  for (int64_t d : dimensions) reduced.set(d);
  Shape result = Shape::Scalar(x.type());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!reduced[d]) result.AppendDim(x.dim(d), x.IsDynamic(d));
  }
  const Shape& root = reducer.root()->shape();
  if (!root.IsTuple()) {
    result.set_type(root.type());
    return result;
  }
  std::vector<Shape> elements(arrays.size(), result);
  for (size_t j = 0; j < elements.size(); ++j) elements[j].set_type(root.element(j).type());
  return Shape::Tuple(std::move(elements));
}

Inferred ReduceWindow(RuleContext& c) {
  ReducedArrays arrays;
  if (!ReductionOperands(c, &arrays)) return Failed();
  const Computation& reducer = *c.Get<attr::to_apply>();
  const SourceRange at = c.range_of<attr::to_apply>();
  bool ok = CheckReducer(c, at, reducer, arrays);
  if (ok) CheckParameterPrecision(c, at, reducer);
  absl::InlinedVector<Shape, 2> results;
  for (size_t j = 0; j < arrays.size(); ++j) {
    results.push_back(WindowOutput(c, kReduceRule, c.operand(j), arrays[j].init));
    if (!results.back().IsValid()) return Failed();
  }
  if (!ok) return Failed();
  if (!reducer.root()->shape().IsTuple()) return std::move(results[0]);
  return Shape::Tuple({results.begin(), results.end()});
}

namespace {

// Checks that `select` maps two elements to pred.
bool CheckSelect(RuleContext& c, ElementType type) {
  const Computation& select = *c.Get<attr::select>();
  const SourceRange at = c.range_of<attr::select>();
  const bool two = select.parameters().size() == 2;
  bool fits = two && select.root()->shape().IsScalar(ElementType::kPred);
  for (int64_t i = 0; two && i < 2; ++i) {
    fits =
        fits && select.parameter(i)->shape().IsScalar() && SameFp(select.parameter(i)->shape().type(), type);
  }
  if (fits) return true;
  c.Error(at, kReduceRule, "'{}' must take two {}[] and give pred[]", select.name(), Name(type))
      .Note(select.name_range(), "'{}' has {} and gives {}", select.name(),
            Counted(select.parameters().size(), "parameter"), Text(select.root()->shape()));
  return false;
}

}  // namespace

Inferred SelectAndScatter(RuleContext& c) {
  if (!RequireArrays(c, kReduceRule)) return Failed();
  const Shape& x = c.operand(0);
  const Shape& source = c.operand(1);
  bool ok = CheckSelect(c, x.type());
  const Reduced array{c.operand(2).type(), source.type()};
  ok &= RequireScalars(c, 2, 1, kReduceRule) &&
        CheckReducer(c, c.range_of<attr::scatter>(), *c.Get<attr::scatter>(), {&array, 1});
  const Shape windowed = WindowOutput(c, kReduceRule, x, x.type());
  if (!windowed.IsValid()) return Failed();
  if (!CompatibleIgnoringFpPrecision(windowed, source)) {
    c.NoteOperand(c.OperandError(1, kReduceRule, "the windows on {} give {}, but the source is {}", Text(x),
                                 Text(windowed), Text(source)),
                  0);
    ok = false;
  }
  return ok ? Like(x) : Failed();
}

}  // namespace hlo::check
