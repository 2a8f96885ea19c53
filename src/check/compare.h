#pragma once
// Compares declared with inferred shapes. Shape-rules 3.1 defines the comparison classes.

#include "check/rules.h"

namespace hlo::check {

// Returns the shape that the result of a rule represents.
Shape Materialize(const Inferred& inferred, const Shape& declared);

// Reports a declared shape that disagrees with the inferred one.
void CompareWithDeclared(RuleContext& context, const Inferred& inferred);

// Requires all float operands to have the same type, unless the opcode is exempt.
void CheckMixedPrecision(RuleContext& context);

// Checks the operand count and the required attributes of opcodes.def. The reader has checked them, but a
// builder has not.
bool CheckForm(RuleContext& context);

// Checks sizes and the layouts of all leaves (shape-rules 1.3, 1.4).
bool CheckShapeIsValid(RuleContext& context, const Shape& shape, SourceRange at);

}  // namespace hlo::check
