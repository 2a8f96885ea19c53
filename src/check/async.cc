// Shape rules of single async-start, async-update and async-done instructions (shape-rules 3.27).
// module_async.cc checks their chains.

#include "base/counted.h"
#include "check/interface.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kAsyncRule = "3.27";

// Requires the shape `((bound parameters...), bound result, context...)`.
bool CheckAsyncShape(RuleContext& c) {
  const Shape& declared = c.declared();
  if (declared.IsTuple() && declared.elements().size() >= 2 && declared.element(0).IsTuple()) [[likely]]
    return true;
  c.Error(c.instruction().shape_range(), kAsyncRule,
          "{} must declare ((parameters...), result, ...), but it is {}", Name(c.instruction().opcode()),
          Text(declared));
  return false;
}

// Compares element 0 with the first parameters of the called computation.
bool ParametersFit(RuleContext& c, const Computation& called) {
  const absl::Span<const Shape> bound = c.declared().element(0).elements();
  if (bound.size() > called.parameters().size()) {
    c.Error(c.instruction().shape_range(), kAsyncRule, "async-start binds {}, but '{}' has {}",
            Counted(bound.size(), "parameter"), called.name(), called.parameters().size())
        .Note(called.name_range(), "'{}' is defined here", called.name());
    return false;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    const Instruction& parameter = *called.parameter(static_cast<int64_t>(i));
    if (IsPrefix(bound[i], parameter.shape())) continue;
    c.Error(c.instruction().shape_range(), kAsyncRule, "async-start binds parameter {} as {}, but '{}' is {}",
            i, Text(bound[i]), parameter.name(), Text(parameter.shape()))
        .Note(parameter.name_range(), "parameter '{}'", parameter.name());
    return false;
  }
  return true;
}

bool OperandsFit(RuleContext& c) {
  const absl::Span<const Shape> bound = c.declared().element(0).elements();
  if (static_cast<int64_t>(bound.size()) != c.operand_count()) {
    c.Error({}, kAsyncRule, "async-start has {}, but its shape binds {}",
            Counted(c.operand_count(), "operand"), Counted(bound.size(), "parameter"));
    return false;
  }
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    switch (MatchOf(c.operand(i), bound[i], c.options())) {
      case Fit::kSame:
        break;
      case Fit::kLayoutDiffers:
        c.ErrorIfStrict(c.operand_range(i), kAsyncRule,
                        "operand {} is {}, but the shape of async-start binds {}", i,
                        LayoutText(c.operand(i)), LayoutText(bound[i]));
        break;
      case Fit::kDiffers:
        c.OperandError(i, kAsyncRule, "operand {} is {}, but the shape of async-start binds {}", i,
                       Text(c.operand(i)), Text(bound[i]));
        return false;
    }
  }
  return true;
}

bool ResultFits(RuleContext& c, const Computation& called) {
  const Shape& root = called.root()->shape();
  if (IsPrefix(c.declared().element(1), root)) return true;
  c.Error(c.instruction().shape_range(), kAsyncRule, "the result of async-start is {}, but '{}' returns {}",
          Text(c.declared().element(1)), called.name(), Text(root))
      .Note(called.root()->name_range(), "the root of '{}'", called.name());
  return false;
}

// Returns the shape at an output index of ((all parameters), full result, contexts...); nullptr if there is
// none.
const Shape* FullSubshapeAt(RuleContext& c, const Computation& called, IntList index) {
  if (index.empty()) return nullptr;
  const IntList rest = index.subspan(1);
  if (index[0] == 1) return SubshapeAt(called.root()->shape(), rest);
  if (index[0] != 0) return SubshapeAt(c.declared(), index);
  if (rest.empty()) return &c.declared().element(0);
  if (!InRange(rest[0], static_cast<int64_t>(called.parameters().size()))) return nullptr;
  return SubshapeAt(called.parameter(rest[0])->shape(), rest.subspan(1));
}

void CheckStartAlias(RuleContext& c, const Computation& called, const OutputOperandAlias& alias) {
  const SourceRange at = c.range_of<attr::output_to_operand_aliasing>();
  if (!InRange(alias.operand, static_cast<int64_t>(called.parameters().size()))) {
    c.Error(at, kAsyncRule, "the alias names operand {}, but '{}' has {}", alias.operand, called.name(),
            Counted(called.parameters().size(), "parameter"));
    return;
  }
  const Shape* output = FullSubshapeAt(c, called, alias.output_index);
  const Shape* input = SubshapeAt(called.parameter(alias.operand)->shape(), alias.operand_index);
  if (output == nullptr) {
    c.Error(at, kAsyncRule, "the alias names output {}, which async-start does not have",
            Text(alias.output_index));
  } else if (input == nullptr) {
    c.Error(at, kAsyncRule, "the alias names {} of operand {}, which it does not have",
            Text(alias.operand_index), alias.operand);
  } else if (!Equal(*output, *input,
                    {.ignore_layout = true, .ignore_dynamic = true, .ignore_buffer = true})) {
    c.Error(at, kAsyncRule, "output {} is {}, but the operand it aliases is {}", Text(alias.output_index),
            Text(*output), Text(*input));
  }
}

}  // namespace

Inferred AsyncStart(RuleContext& c) {
  if (!CheckAsyncShape(c)) return Failed();
  const Computation* called = c.Get<attr::calls>();
  if (called == nullptr || called->root() == nullptr) {
    c.Error({}, kAsyncRule, "async-start needs a computation to call");
    return Failed();
  }
  bool ok = ParametersFit(c, *called);
  ok &= ResultFits(c, *called);
  ok &= OperandsFit(c);
  for (const OutputOperandAlias& alias : c.Get<attr::output_to_operand_aliasing>())
    CheckStartAlias(c, *called, alias);
  return ok ? AsDeclared() : Failed();
}

Inferred AsyncUpdate(RuleContext& c) {
  if (!CheckAsyncShape(c)) return Failed();
  for (const OutputOperandAlias& alias : c.Get<attr::output_to_operand_aliasing>()) {
    const bool contexts = !alias.output_index.empty() && alias.output_index[0] == 2 &&
                          !alias.operand_index.empty() && alias.operand_index[0] == 2;
    if (alias.operand == 0 && contexts) continue;
    c.Error(c.range_of<attr::output_to_operand_aliasing>(), kAsyncRule,
            "async-update may only alias element 2 of its operand 0 to its own element 2");
  }
  return AsDeclared();
}

Inferred AsyncDone(RuleContext&) { return AsDeclared(); }

}  // namespace hlo::check
