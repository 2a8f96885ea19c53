// Shape rules of tokens, I/O with side effects, domain and copy pairs (shape-rules 3.25). module_pairs.cc
// checks the pairs.

#include "check/interface.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kTokenRule = "3.25";

bool RequireToken(RuleContext& c, int64_t i) {
  if (c.operand(i).IsToken()) [[likely]]
    return true;
  c.OperandError(i, kTokenRule, "operand {} of {} must be a token, but it is {}", i,
                 Name(c.instruction().opcode()), Text(c.operand(i)));
  return false;
}

// XLA does not check this.
void WarnUnlessToken(RuleContext& c, int64_t i) {
  if (c.operand(i).IsToken()) [[likely]]
    return;
  c.Warning(c.operand_range(i), kTokenRule, "operand {} of {} should be a token, but it is {}", i,
            Name(c.instruction().opcode()), Text(c.operand(i)));
}

// Returns the first element of the declared tuple, which is the shape of the received data; nullptr after an
// error.
const Shape* DeclaredData(RuleContext& c) {
  const Shape& declared = c.declared();
  if (declared.IsTuple() && !declared.elements().empty()) [[likely]]
    return &declared.element(0);
  c.Error(c.instruction().shape_range(), kTokenRule,
          "{} must declare a tuple that starts with its data, but it is {}", Name(c.instruction().opcode()),
          declared.IsValid() ? Text(declared) : "missing");
  return nullptr;
}

// Returns element i of an operand that must be a tuple of `count` elements.
const Shape* OperandElement(RuleContext& c, int64_t i, size_t count) {
  const Shape& operand = c.operand(0);
  if (operand.IsTuple() && operand.elements().size() >= count) [[likely]]
    return &operand.element(i);
  c.OperandError(0, kTokenRule, "{} takes the tuple that its start makes, but operand 0 is {}",
                 Name(c.instruction().opcode()), Text(operand));
  return nullptr;
}

Shape Transfer(const Shape& data) {
  return Shape::Tuple({data, Shape::Scalar(ElementType::kU32), Shape::Token()});
}

}  // namespace

Inferred AfterAll(RuleContext& c) {
  for (int64_t i = 0; i < c.operand_count(); ++i) WarnUnlessToken(c, i);
  return Shape::Token();
}

Inferred AddDependency(RuleContext& c) { return RequireToken(c, 1) ? Like(c.operand(0)) : Failed(); }

Inferred Domain(RuleContext& c) { return Like(c.operand(0)); }

Inferred Infeed(RuleContext& c) {
  const bool token = RequireToken(c, 0);
  const Shape* data = DeclaredData(c);
  return token && data != nullptr ? Inferred(Shape::Tuple({*data, Shape::Token()})) : Failed();
}

Inferred Outfeed(RuleContext& c) {
  if (!RequireToken(c, 1)) return Failed();
  const Shape* shape = c.Get<attr::outfeed_shape>();
  if (shape != nullptr) {
    switch (MatchOf(*shape, c.operand(0), c.options())) {
      case Fit::kSame:
        break;
      case Fit::kLayoutDiffers:
        c.ErrorIfStrict(c.range_of<attr::outfeed_shape>(), kTokenRule,
                        "outfeed_shape is {}, but operand 0 is {}", LayoutText(*shape),
                        LayoutText(c.operand(0)));
        break;
      case Fit::kDiffers:
        c.NoteOperand(c.Error(c.range_of<attr::outfeed_shape>(), kTokenRule,
                              "outfeed_shape is {}, but operand 0 is {}", Text(*shape), Text(c.operand(0))),
                      0);
        return Failed();
    }
  }
  return Shape::Token();
}

Inferred Send(RuleContext& c) {
  WarnUnlessToken(c, 1);
  return Transfer(c.operand(0));
}

Inferred SendDone(RuleContext&) { return Shape::Token(); }

Inferred Recv(RuleContext& c) {
  WarnUnlessToken(c, 0);
  const Shape* data = DeclaredData(c);
  return data != nullptr ? Inferred(Transfer(*data)) : Failed();
}

Inferred RecvDone(RuleContext& c) {
  const Shape* data = OperandElement(c, 0, 1);
  return data != nullptr ? Inferred(Shape::Tuple({*data, Shape::Token()})) : Failed();
}

Inferred CopyStart(RuleContext& c) {
  return Shape::Tuple({c.operand(0), c.operand(0), Shape::Scalar(ElementType::kU32)});
}

Inferred CopyDone(RuleContext& c) {
  const Shape* target = OperandElement(c, 0, 2);
  if (target == nullptr) return Failed();
  const Shape& source = c.operand(0).element(1);
  switch (MatchOf(*target, source, c.options(), {.ignore_memory_space = true})) {
    case Fit::kSame:
      return Like(*target);
    case Fit::kLayoutDiffers:
      c.ErrorIfStrict(c.operand_range(0), kTokenRule, "copy-done copies {} to {}; the layouts must be equal",
                      LayoutText(source), LayoutText(*target));
      return Like(*target);
    case Fit::kDiffers:
      c.OperandError(0, kTokenRule, "copy-done copies {} to {}; the shapes must be equal", Text(source),
                     Text(*target));
      return Failed();
  }
  return Failed();
}

}  // namespace hlo::check
