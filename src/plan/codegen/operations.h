#pragma once
// Lowers instructions to elementwise operations of loops.

#include <optional>

#include "hlo_run/module.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"
#include "loops/scalar_function.h"

namespace hlo::plan {

// True if the instruction is an elementwise operation of loops.
bool HasOperation(const Instruction& instruction);
// True if all instructions of the computation are elementwise operations on scalars.
bool IsElementwiseCode(const Computation& computation);
// True if the to_apply of a map is elementwise.
bool IsElementwiseMap(const Instruction& map);
// Appends the instruction to the program and rounds the result to its type.
loops::Value ApplyInstruction(const Instruction& instruction, absl::Span<const loops::Value> operands,
                              loops::LoopProgram& program);
loops::Value ApplyInstruction(const Instruction& instruction, absl::Span<const loops::Value> operands,
                              loops::ScalarFunction& code);
loops::Value Rounded(ElementType type, loops::Value value, loops::LoopProgram& program);

// True for bf16 and f16, whose operations are computed in f32 and rounded.
inline bool IsHalf(ElementType type) { return type == ElementType::kBF16 || type == ElementType::kF16; }

// True if the root of a to_apply is one operation on an accumulator and a value that may be reassociated.
bool IsReassociable(const Instruction& root);

// Returns the operation that a to_apply performs on an accumulator and a value of bf16 or f16, also if it
// converts both to f32 and the result back, as XLA:CPU's passes write it; or that of any other type if it is
// reassociable. Returns nullopt for other computations.
std::optional<Opcode> ElementwiseCombiner(const Computation& to_apply);

// True if the initial values and results of a reduction of arrays or windows, and the parameters and results
// of its to_apply, have the element types of the operands.
bool CombinesInOperandTypes(const Instruction& reduce);

// The to_apply of a reduction as a function of accumulators, then values; nullopt if it has other operations
// than elementwise ones on scalars.
struct ReduceCode {
  loops::ScalarFunction code;
  loops::Reassociation reassociation;
  std::optional<Opcode> fold;  // The operation, except for rounding, if it may be reassociated.
};
std::optional<ReduceCode> FindReduceCode(const Instruction& reduce);

}  // namespace hlo::plan
