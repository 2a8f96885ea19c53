#pragma once
// Does the declared shape agree with the inferred one? Comparison classes: shape-rules 3.1.

#include "check/rules.h"

namespace hlo::check {

// The shape that a rule's result stands for.
Shape Materialize(const Inferred& inferred, const Shape& declared);

// Reports a declared shape that does not agree with the inferred one.
void CompareWithDeclared(RuleContext& context, const Inferred& inferred);

// Floating types of the operands must be one, except where the opcode is exempt.
void CheckMixedPrecision(RuleContext& context);

// Operand count and required attributes, as opcodes.def states them. Readers have checked it, builders have
// not.
bool CheckForm(RuleContext& context);

// Sizes, and the layouts of all leaves (shape-rules 1.3, 1.4).
bool CheckShapeIsValid(RuleContext& context, const Shape& shape, SourceRange at);

}  // namespace hlo::check
