// Shape rules of while, conditional, call and fusion (shape-rules 3.22): arguments, parameters and results of
// called computations.

#include <algorithm>
#include <charconv>

#include "base/counted.h"
#include "check/interface.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kControlRule = "3.22";

// Returns the computation in attribute A; reports one that is missing or has no root.
template <class A>
const Computation* Called(RuleContext& c) {
  const Computation* called = c.Get<A>();
  if (called != nullptr && called->root() != nullptr) [[likely]]
    return called;
  c.Error(c.range_of<A>(), kControlRule, "{} needs a computation as its {}, but there is none",
          Name(c.instruction().opcode()), Info(A::kId).spelling);
  return nullptr;
}

bool ParameterCount(RuleContext& c, SourceRange at, const Computation& called, size_t count) {
  if (called.parameters().size() == count) [[likely]]
    return true;
  c.Error(at, kControlRule, "'{}' must have {} parameter{}, but it has {}", called.name(), count,
          count == 1 ? "" : "s", called.parameters().size())
      .Note(called.name_range(), "'{}' is defined here", called.name());
  return false;
}

// Checks that operand i matches `parameter`.
bool OperandFits(RuleContext& c, int64_t i, const Instruction& parameter) {
  switch (MatchOf(c.operand(i), parameter.shape(), c.options())) {
    case Fit::kSame:
      return true;
    case Fit::kLayoutDiffers:
      c.ErrorIfStrict(c.operand_range(i), kControlRule,
                      "operand {} is {}, but parameter '{}' of '{}' has the layout of {}", i,
                      LayoutText(c.operand(i)), parameter.name(), parameter.parent()->name(),
                      LayoutText(parameter.shape()));
      return true;
    case Fit::kDiffers:
      c.OperandError(i, kControlRule, "operand {} is {}, but parameter '{}' of '{}' is {}", i,
                     Text(c.operand(i)), parameter.name(), parameter.parent()->name(),
                     Text(parameter.shape()))
          .Note(parameter.shape_range(), "parameter '{}'", parameter.name());
      return false;
  }
  return false;
}

// Compares the root of a called computation with the declared shape. check.cc compares the first of several
// computations.
void RootFits(RuleContext& c, SourceRange at, const Computation& called) {
  const Shape& root = called.root()->shape();
  switch (MatchOf(c.declared(), root, c.options())) {
    case Fit::kSame:
      return;
    case Fit::kLayoutDiffers:
      c.ErrorIfStrict(at, kControlRule, "'{}' returns {}, but {} declares the layout of {}", called.name(),
                      LayoutText(root), Name(c.instruction().opcode()), LayoutText(c.declared()));
      return;
    case Fit::kDiffers:
      c.Error(at, kControlRule, "'{}' returns {}, but {} declares {}", called.name(), Text(root),
              Name(c.instruction().opcode()), Text(c.declared()))
          .Note(called.root()->name_range(), "the root of '{}'", called.name());
  }
}

// Returns `shape` with the dynamic flags of `other`, which is compatible.
Shape WithFlagsOf(const Shape& shape, const Shape& other) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements(shape.elements().begin(), shape.elements().end());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = WithFlagsOf(elements[i], other.element(i));
    return Shape::Tuple(std::move(elements));
  }
  Shape result = shape;
  if (!shape.IsArray()) return result;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (other.IsDynamic(d) && !shape.IsDynamic(d)) result.set_dim(d, shape.dim(d), true);
  }
  return result;
}

absl::Span<Computation* const> Branches(RuleContext& c, Computation* (&pair)[2]) {
  if (c.instruction().Has<attr::branch_computations>()) return c.Get<attr::branch_computations>();
  pair[0] = c.Get<attr::true_computation>();
  pair[1] = c.Get<attr::false_computation>();
  return pair;
}

SourceRange BranchRange(RuleContext& c, size_t j) {
  if (c.instruction().Has<attr::branch_computations>()) return c.range_of<attr::branch_computations>();
  return j == 0 ? c.range_of<attr::true_computation>() : c.range_of<attr::false_computation>();
}

// Checks the selector: pred for true and false computations, s32 for branch_computations.
bool SelectorFits(RuleContext& c, size_t branch_count) {
  const Shape& selector = c.operand(0);
  if (!selector.IsScalar(ElementType::kPred) && !selector.IsScalar(ElementType::kS32)) {
    c.OperandError(0, kControlRule, "conditional selects by pred[] or s32[], but operand 0 is {}",
                   Text(selector));
    return false;
  }
  const bool is_list = c.instruction().Has<attr::branch_computations>();
  if ((selector.type() == ElementType::kS32) != is_list) {
    c.OperandError(0, kControlRule, "a selector of type {} requires {}", Text(selector),
                   is_list ? "true_computation and false_computation" : "branch_computations");
    return false;
  }
  if (branch_count == 0) {
    c.Error(c.range_of<attr::branch_computations>(), kControlRule, "conditional needs at least one branch");
    return false;
  }
  if (c.operand_count() == static_cast<int64_t>(branch_count) + 1) return true;
  c.Error({}, kControlRule, "conditional has {} branches and so takes {}, but it has {}", branch_count,
          Counted(branch_count + 1, "operand"), c.operand_count());
  return false;
}

std::string_view FrontendValue(const FrontendAttributes& attributes, std::string_view key, bool* present) {
  for (const KeyValue& entry : attributes.entries) {
    if (entry.key == key) {
      *present = true;
      return entry.value;
    }
  }
  *present = false;
  return {};
}

bool IsNonNegativeInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

// Checks requirements of XLA's loader for composite calls, which evaluation does not need.
void CheckComposite(RuleContext& c) {
  const SourceRange at = c.range_of<attr::is_composite>();
  const FrontendAttributes* attributes = c.Get<attr::frontend_attributes>();
  if (attributes == nullptr) {
    c.ErrorIfStrict(at, kControlRule,
                    "a composite call needs frontend_attributes with composite.name, but has none");
    return;
  }
  bool present = false;
  if (FrontendValue(*attributes, "composite.name", &present).empty()) {
    c.ErrorIfStrict(at, kControlRule, "the composite.name of a composite call must not be {}",
                    present ? "empty" : "missing");
  }
  if (FrontendValue(*attributes, "composite.attributes", &present).empty() && present) {
    c.ErrorIfStrict(at, kControlRule, "the composite.attributes of a composite call must not be empty");
  }
  const std::string_view version = FrontendValue(*attributes, "composite.version", &present);
  if (present && !IsNonNegativeInteger(version)) {
    c.ErrorIfStrict(at, kControlRule, "composite.version must be a non-negative integer, but it is '{}'",
                    version);
  }
}

void CheckFusionAlias(RuleContext& c, const OutputOperandAlias& alias) {
  const SourceRange at = c.range_of<attr::output_to_operand_aliasing>();
  if (!InRange(alias.operand, c.operand_count())) {
    c.Error(at, kControlRule, "the alias names operand {}, but the instruction has {}", alias.operand,
            Counted(c.operand_count(), "operand"));
    return;
  }
  const Shape* output = SubshapeAt(c.declared(), alias.output_index);
  const Shape* input = SubshapeAt(c.operand(alias.operand), alias.operand_index);
  if (output == nullptr) {
    c.Error(at, kControlRule, "the alias names output {}, which {} does not have", Text(alias.output_index),
            Text(c.declared()));
  }
  if (input == nullptr) {
    c.Error(at, kControlRule, "the alias names {} of operand {}, which {} does not have",
            Text(alias.operand_index), alias.operand, Text(c.operand(alias.operand)));
  }
  if (output != nullptr && input != nullptr && !Compatible(*output, *input)) {
    c.Error(at, kControlRule, "output {} is {}, but the operand it aliases is {}", Text(alias.output_index),
            Text(*output), Text(*input));
  }
}

}  // namespace

Inferred While(RuleContext& c) {
  const Computation* condition = Called<attr::condition>(c);
  const Computation* body = Called<attr::body>(c);
  if (condition == nullptr || body == nullptr) return Failed();
  bool ok = ParameterCount(c, c.range_of<attr::condition>(), *condition, 1);
  if (ok) ok = OperandFits(c, 0, *condition->parameter(0));
  if (!ParameterCount(c, c.range_of<attr::body>(), *body, 1))
    ok = false;
  else
    ok &= OperandFits(c, 0, *body->parameter(0));
  const Shape& proceed = condition->root()->shape();
  if (!proceed.IsScalar(ElementType::kPred)) {
    c.Error(c.range_of<attr::condition>(), kControlRule,
            "the condition must return pred[], but '{}' returns {}", condition->name(), Text(proceed))
        .Note(condition->root()->name_range(), "the root of '{}'", condition->name());
    ok = false;
  }
  // The result of the body is its argument in the next iteration.
  if (ok && MatchOf(body->root()->shape(), c.operand(0), c.options()) == Fit::kDiffers) {
    c.Error(c.range_of<attr::body>(), kControlRule, "'{}' returns {}, but the loop carries {}", body->name(),
            Text(body->root()->shape()), Text(c.operand(0)))
        .Note(body->root()->name_range(), "the root of '{}'", body->name());
    return Failed();
  }
  return ok ? Like(body->root()->shape()) : Failed();
}

Inferred Conditional(RuleContext& c) {
  Computation* pair[2];
  const absl::Span<Computation* const> branches = Branches(c, pair);
  for (const Computation* branch : branches) {
    if (branch != nullptr && branch->root() != nullptr) continue;
    c.Error({}, kControlRule,
            "conditional needs branch_computations, or a true_computation and a false_computation");
    return Failed();
  }
  if (!SelectorFits(c, branches.size())) return Failed();
  bool ok = true;
  for (size_t j = 0; j < branches.size(); ++j) {
    const bool counted = ParameterCount(c, BranchRange(c, j), *branches[j], 1);
    ok &= counted && OperandFits(c, static_cast<int64_t>(j) + 1, *branches[j]->parameter(0));
  }
  if (!ok) return Failed();
  const Shape& first = branches[0]->root()->shape();
  if (c.declared().IsValid()) {
    for (size_t j = 1; j < branches.size(); ++j) RootFits(c, BranchRange(c, j), *branches[j]);
    return Like(first);
  }
  Shape result = first;
  for (size_t j = 1; j < branches.size(); ++j) {
    if (!Compatible(first, branches[j]->root()->shape())) {
      c.Error(BranchRange(c, j), kControlRule, "'{}' returns {}, but '{}' returns {}", branches[j]->name(),
              Text(branches[j]->root()->shape()), branches[0]->name(), Text(first));
      return Failed();
    }
    result = WithFlagsOf(result, branches[j]->root()->shape());
  }
  return result;
}

Inferred Call(RuleContext& c) {
  const Computation* called = Called<attr::to_apply>(c);
  if (called == nullptr) return Failed();
  if (c.instruction().Has<attr::is_composite>() && c.Get<attr::is_composite>()) CheckComposite(c);
  if (called->parameters().size() != static_cast<size_t>(c.operand_count())) {
    c.Error(c.range_of<attr::to_apply>(), kControlRule, "'{}' has {}, but the call gives it {}",
            called->name(), Counted(called->parameters().size(), "parameter"),
            Counted(c.operand_count(), "operand"))
        .Note(called->name_range(), "'{}' is defined here", called->name());
    return Failed();
  }
  bool ok = true;
  for (int64_t i = 0; i < c.operand_count(); ++i) ok &= OperandFits(c, i, *called->parameter(i));
  return ok ? Like(called->root()->shape()) : Failed();
}

Inferred Fusion(RuleContext& c) {
  const Computation* called = Called<attr::calls>(c);
  if (called == nullptr) return Failed();
  const auto count = static_cast<int64_t>(called->parameters().size());
  if (count > c.operand_count()) {
    c.Error(c.range_of<attr::calls>(), kControlRule, "'{}' has {}, but the fusion has {}", called->name(),
            Counted(count, "parameter"), Counted(c.operand_count(), "operand"))
        .Note(called->name_range(), "'{}' is defined here", called->name());
    return Failed();
  }
  if (count < c.operand_count()) {
    c.Warning(c.operand_range(count), kControlRule,
              "the fusion has {}, but '{}' takes only {}; the others are unused",
              Counted(c.operand_count(), "operand"), called->name(), count);
  }
  bool ok = true;
  for (int64_t i = 0; i < count; ++i) ok &= OperandFits(c, i, *called->parameter(i));
  RootFits(c, c.range_of<attr::calls>(), *called);
  for (const OutputOperandAlias& alias : c.Get<attr::output_to_operand_aliasing>())
    CheckFusionAlias(c, alias);
  return ok ? AsDeclared() : Failed();
}

}  // namespace hlo::check
