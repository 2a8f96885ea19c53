#include "ir/element_types.h"

#include <algorithm>
#include <optional>

#include "ir/result_shapes.h"

namespace hlo {
namespace {

const Shape& ArrayOf(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

// Returns the number of leading operands whose elements are moved to the results.
int64_t MovedCount(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kConcatenate) return instruction.operand_count();
  if (opcode == Opcode::kScatter) return (instruction.operand_count() - 1) / 2;
  if (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kPad) return 2;
  return Info(opcode).has(kMovement) ? 1 : 0;
}

// True if a result differs in type from an operand in its group: operands k, k + count, k + 2 * count, ...
// belong to result k.
bool GroupsMix(const Instruction& instruction, int64_t operands, int64_t count) {
  const absl::Span<const Shape> results = ResultShapes(instruction);
  for (int64_t k = 0; k < operands; ++k) {
    const Shape& result = ArrayOf(results[k % count]);
    if (!result.IsArray(ArrayOf(instruction.operand(k)->shape()).type())) return true;
  }
  return false;
}

bool ScatterMixes(const Instruction& scatter) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  for (int64_t k = 0; k < count; ++k) {
    const ElementType type = scatter.operand(k)->shape().type();
    if (!scatter.operand(count + 1 + k)->shape().IsArray(type) ||
        !to_apply.parameter(k)->shape().IsArray(type) ||
        !to_apply.parameter(count + k)->shape().IsArray(type))
      return true;
  }
  return GroupsMix(scatter, count, count);
}

// True if all float operands and results usually have one type.
bool ComputesInOneType(Opcode opcode) {
  constexpr Opcode kOpcodes[] = {Opcode::kBatchNormGrad,
                                 Opcode::kBatchNormInference,
                                 Opcode::kBatchNormTraining,
                                 Opcode::kCholesky,
                                 Opcode::kMap,
                                 Opcode::kRng,
                                 Opcode::kSelectAndScatter,
                                 Opcode::kTopk,
                                 Opcode::kTriangularSolve};
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

// True if operands and results include two different float types.
bool HasTwoFloatTypes(const Instruction& instruction) {
  std::optional<ElementType> type;
  const auto adds = [&](const Shape& shape) {
    if (!shape.IsArray() || !IsFloat(shape.type())) return false;
    if (!type.has_value()) type = shape.type();
    return *type != shape.type();
  };
  for (const Instruction* operand : instruction.operands()) {
    if (adds(operand->shape())) return true;
  }
  for (const Shape& result : ResultShapes(instruction)) {
    if (adds(result)) return true;
  }
  return false;
}

}  // namespace

ElementType TypeToMove(const Instruction& instruction, int64_t k) {
  if (k >= MovedCount(instruction)) return ArrayOf(instruction.operand(k)->shape()).type();
  const absl::Span<const Shape> results = ResultShapes(instruction);
  return ArrayOf(results[instruction.opcode() == Opcode::kScatter ? k : 0]).type();
}

bool MixesTypes(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return GroupsMix(instruction, instruction.operand_count(), instruction.operand_count() / 2);
    case Opcode::kSort:
      return GroupsMix(instruction, instruction.operand_count(), instruction.operand_count());
    case Opcode::kScatter:
      return ScatterMixes(instruction);
    default:
      return ComputesInOneType(instruction.opcode()) ? HasTwoFloatTypes(instruction)
                                                     : GroupsMix(instruction, MovedCount(instruction), 1);
  }
}

bool FftKeepsPrecision(const Instruction& fft) {
  const ElementType input = fft.operand(0)->shape().type(), output = fft.shape().type();
  const FftType type = fft.Get<attr::fft_type>();
  const bool is_double = input == ElementType::kF64 || input == ElementType::kC128;
  const ElementType real = is_double ? ElementType::kF64 : ElementType::kF32,
                    complex = is_double ? ElementType::kC128 : ElementType::kC64;
  return input == (type == FftType::kRfft ? real : complex) &&
         output == (type == FftType::kIrfft ? real : complex);
}

}  // namespace hlo
