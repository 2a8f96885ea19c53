#include "plan/codegen/operations.h"

#include <algorithm>

#include "ir/combiners.h"
#include "ir/comparators.h"
#include "ir/result_shapes.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {
namespace {

// True for a conversion of complex numbers to real ones, which converts their real parts.
bool ConvertsRealParts(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert && IsComplex(instruction.operand(0)->shape().type()) &&
         !IsComplex(instruction.shape().type()) && !IsPred(instruction.shape().type());
}

std::optional<loops::Operation> OperationOf(const Instruction& instruction) {
  if (instruction.operand_count() == 0 || !instruction.operand(0)->shape().IsArray() ||
      !instruction.shape().IsArray())
    return std::nullopt;
  const ElementType from = instruction.operand(0)->shape().type(), to = instruction.shape().type();
  if (instruction.opcode() == Opcode::kStochasticConvert)
    return loops::FindStochasticConvert(from, instruction.operand(1)->shape().type(), to);
  // The reference evaluates operands of mixed precision.
  const bool has_predicate = instruction.opcode() == Opcode::kSelect;
  for (int64_t i = has_predicate ? 2 : 1; i < instruction.operand_count(); ++i) {
    if (instruction.operand(i)->shape().type() != instruction.operand(has_predicate ? 1 : 0)->shape().type())
      return std::nullopt;
  }
  switch (instruction.opcode()) {
    case Opcode::kCompare:
      return loops::FindCompare(instruction.Get<attr::direction>(), IsTotalOrder(instruction), from);
    case Opcode::kSelect:
      return instruction.operand(1)->shape().type() == to ? std::optional(loops::SelectOf(to)) : std::nullopt;
    case Opcode::kConvert:
    case Opcode::kCopy:
      return loops::FindConvert(ConvertsRealParts(instruction) ? ComponentType(from) : from, to);
    case Opcode::kReducePrecision:
      return from == to ? loops::FindReducePrecision(from, instruction.Get<attr::exponent_bits>(),
                                                     instruction.Get<attr::mantissa_bits>())
                        : std::nullopt;
    case Opcode::kBitcast:
      // Without layouts a bitcast is elementwise.
      if (instruction.operand(0)->shape().layout() != nullptr || instruction.shape().layout() != nullptr)
        return std::nullopt;
      return loops::FindBitcast(from, to);
    case Opcode::kBitcastConvert:
      return loops::FindBitcast(from, to);
    case Opcode::kIsFinite:
      return loops::FindScalarOperation(instruction.opcode(), from);
    case Opcode::kComplex:
      return ComplexOf(from) == to ? loops::FindScalarOperation(instruction.opcode(), from) : std::nullopt;
    case Opcode::kAbs:
    case Opcode::kImag:
    case Opcode::kReal:
      return ComponentType(from) == to ? loops::FindScalarOperation(instruction.opcode(), from)
                                       : std::nullopt;
    default:
      if (!(Info(instruction.opcode()).has(kElementwise) || instruction.opcode() == Opcode::kClamp) ||
          from != to)
        return std::nullopt;
      return loops::FindScalarOperation(instruction.opcode(), from);
  }
}

// True if results need no rounding, as for operations that return one of their operands.
bool IsExact(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kSelect:
    case Opcode::kAbs:
    case Opcode::kNegate:
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kCompare:
    case Opcode::kIsFinite:
    case Opcode::kStochasticConvert:
      return true;
    default:
      return false;
  }
}

bool NeedsRounding(const Instruction& instruction) {
  const ElementType type = instruction.shape().type();
  // Even exact operations may leave the range of a small integer type: -(-8) of s4.
  if (!IsExact(instruction.opcode()) || IsIntegral(type)) return true;
  // The f8 types with "nuz" in their names have no -0, and f8e8m0fnu has no negative number.
  return instruction.opcode() == Opcode::kNegate && BitWidth(type) <= 8;
}

// True for a conversion from this type that is at most a rounding.
bool KeepsComputeType(const Instruction& instruction, ElementType from) {
  return instruction.opcode() == Opcode::kConvert &&
         loops::ComputeTypeOf(from) == loops::ComputeTypeOf(instruction.shape().type());
}

template <class Program>
loops::Value Apply(const Instruction& instruction, absl::Span<const loops::Value> operands,
                   Program& program) {
  const ElementType type = instruction.shape().type();
  const loops::ComputeType compute_type = loops::ComputeTypeOf(type);
  if (const auto rounded = loops::FindRoundedOperation(instruction.opcode(), type); rounded.has_value())
    return program.Apply(*rounded, compute_type, operands);
  ElementType from = instruction.operand(0)->shape().type();
  loops::Value real;
  if (ConvertsRealParts(instruction)) {
    const std::optional<loops::Operation> part = loops::FindScalarOperation(Opcode::kReal, from);
    from = ComponentType(from);
    real = program.Apply(*part, loops::ComputeTypeOf(from), operands);
    operands = {&real, 1};
  }
  loops::Value value = KeepsComputeType(instruction, from)
                           ? operands[0]
                           : program.Apply(*OperationOf(instruction), compute_type, operands);
  const std::optional<loops::Operation> round = loops::FindRounding(type);
  if (round.has_value() && NeedsRounding(instruction)) value = program.Apply(*round, compute_type, {value});
  return value;
}

}  // namespace

bool HasOperation(const Instruction& instruction) { return OperationOf(instruction).has_value(); }

bool IsElementwiseCode(const Computation& computation) {
  return computation.root()->opcode() != Opcode::kConstant &&
         std::all_of(computation.instructions().begin(), computation.instructions().end(),
                     [](const Instruction* instruction) {
                       if (!instruction->shape().IsScalar()) return false;
                       switch (instruction->opcode()) {
                         case Opcode::kParameter:
                           return true;
                         case Opcode::kConstant:
                           return !instruction->is_elided();
                         case Opcode::kCall:
                           return IsElementwiseCode(*instruction->called_computations()[0]);
                         default:
                           return HasOperation(*instruction);
                       }
                     });
}

bool IsElementwiseMap(const Instruction& map) {
  const Computation& code = *map.Get<attr::to_apply>();
  bool fits = map.shape().IsArray() && code.root()->shape().IsArray(map.shape().type());
  for (int64_t i = 0; fits && i < map.operand_count(); ++i)
    fits = map.operand(i)->shape().IsArray(code.parameter(i)->shape().type());
  return fits && IsElementwiseCode(code);
}

loops::Value ApplyInstruction(const Instruction& instruction, absl::Span<const loops::Value> operands,
                              loops::LoopProgram& program) {
  return Apply(instruction, operands, program);
}

loops::Value ApplyInstruction(const Instruction& instruction, absl::Span<const loops::Value> operands,
                              loops::ScalarFunction& code) {
  return Apply(instruction, operands, code);
}

loops::Value Rounded(ElementType type, loops::Value value, loops::LoopProgram& program) {
  const std::optional<loops::Operation> round = loops::FindRounding(type);
  return round.has_value() ? program.Apply(*round, loops::ComputeTypeOf(type), {value}) : value;
}

bool IsReassociable(const Instruction& root) {
  return Info(root.opcode()).has(kAssociative) && IsOnTwoParameters(root);
}

std::optional<Opcode> ElementwiseCombiner(const Computation& to_apply) {
  const Instruction& root = *to_apply.root();
  if (IsReassociable(root)) return root.opcode();
  if (root.opcode() != Opcode::kConvert) return std::nullopt;
  const Instruction& wide = *root.operand(0);
  const ElementType type = root.shape().type();
  if (!IsHalf(type) || wide.shape().type() != ElementType::kF32 || !Info(wide.opcode()).has(kAssociative))
    return std::nullopt;
  for (int64_t k = 0; k < 2; ++k) {
    const Instruction& operand = *wide.operand(k);
    if (operand.opcode() != Opcode::kConvert || operand.operand(0)->opcode() != Opcode::kParameter ||
        operand.operand(0)->shape().type() != type)
      return std::nullopt;
  }
  if (wide.operand(0)->operand(0) == wide.operand(1)->operand(0)) return std::nullopt;
  return wide.opcode();
}

bool CombinesInOperandTypes(const Instruction& reduce) {
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  const absl::Span<const Shape> results = ResultShapes(reduce), combined = ResultShapes(*to_apply.root());
  const int64_t count = reduce.operand_count() / 2;
  for (int64_t k = 0; k < count; ++k) {
    const ElementType type = reduce.operand(k)->shape().type();
    const bool is_uniform = reduce.operand(count + k)->shape().IsArray(type) && results[k].IsArray(type) &&
                            to_apply.parameter(k)->shape().IsArray(type) &&
                            to_apply.parameter(count + k)->shape().IsArray(type) && combined[k].IsArray(type);
    if (!is_uniform) return false;
  }
  return true;
}

std::optional<ReduceCode> FindReduceCode(const Instruction& reduce) {
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  // The reference converts operands that do not have the parameters' types.
  const auto count = static_cast<size_t>(reduce.operand_count() / 2);
  std::vector<ElementType> types;
  for (size_t k = 0; k < count; ++k) {
    types.push_back(reduce.operand(k)->shape().type());
    if (reduce.operand(static_cast<int64_t>(count + k))->shape().type() != types[k]) return std::nullopt;
  }
  std::optional<loops::ScalarFunction> code = FindCombinerCode(to_apply, types);
  if (!code.has_value()) return std::nullopt;
  const Instruction& root = *to_apply.root();
  if (count > 1 || !IsReassociable(root))
    return ReduceCode{*std::move(code), loops::Reassociation::kNone, std::nullopt};
  // A sum of small floats is rounded once, at its end.
  const loops::ComputeType compute_type = loops::ComputeTypeOf(types[0]);
  loops::ScalarFunction regrouped({compute_type, compute_type});
  loops::Value sum = regrouped.Apply(*OperationOf(root), compute_type, {0, 1});
  const std::optional<loops::Operation> cut = loops::FindRounding(types[0]);
  if (cut.has_value() && IsIntegral(types[0])) sum = regrouped.Apply(*cut, compute_type, {sum});
  regrouped.Yield(sum);
  return ReduceCode{std::move(regrouped), loops::Reassociation::kAny, root.opcode()};
}

}  // namespace hlo::plan
