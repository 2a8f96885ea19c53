#include "plan/rewrite/mixed_types.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo_run/builder.h"
#include "ir/element_types.h"
#include "ir/result_shapes.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/replacement.h"

namespace hlo::plan {
namespace {

using build::Op;

bool IsReduction(Opcode opcode) { return opcode == Opcode::kReduce || opcode == Opcode::kReduceWindow; }

// True if the results have the type that TypeToMove returns for operand 0.
bool IsMovement(Opcode opcode) {
  return opcode == Opcode::kConcatenate || opcode == Opcode::kPad || opcode == Opcode::kDynamicUpdateSlice ||
         Info(opcode).has(kMovement);
}

// True if a reduction combines each initial value with a single element. It does so in mixed precision only:
// the replacement would ignore the initial values (ReducesSingleElements).
bool ReducesNothing(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReduce &&
         absl::c_all_of(instruction.Get<attr::dimensions>(),
                        [&](int64_t d) { return instruction.operand(0)->shape().dim(d) == 1; });
}

// Returns the types in which the instruction reads its operands; empty for unsupported instructions. A
// reduction computes in the types of its combiner; sums are rounded to the type of another initial value
// (semantics 5.1), which is not supported.
std::vector<ElementType> OperandTypes(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const bool is_reduction = IsReduction(opcode);
  if (!is_reduction && opcode != Opcode::kSort && opcode != Opcode::kTopk && !IsMovement(opcode)) return {};
  if (ReducesNothing(instruction)) return {};
  std::vector<ElementType> types;
  const int64_t count = instruction.operand_count();
  for (int64_t k = 0; k < count; ++k) {
    if (!instruction.operand(k)->shape().IsArray()) return {};
    const bool is_initial = is_reduction && 2 * k >= count;
    // The combiner takes the accumulators first, the reduction takes the initial values last.
    types.push_back(is_reduction ? instruction.Get<attr::to_apply>()
                                       ->parameter(is_initial ? k - count / 2 : k + count / 2)
                                       ->shape()
                                       .type()
                                 : TypeToMove(instruction, k));
    if (is_initial && instruction.operand(k)->shape().type() != types.back()) return {};
  }
  return types;
}

}  // namespace

std::optional<CheckedModule> SeparateTypes(const Instruction& instruction) {
  const std::vector<ElementType> types = OperandTypes(instruction);
  if (types.empty()) return std::nullopt;
  build::Builder builder(instruction.name());
  std::vector<Op> operands;
  bool converts = false;
  for (size_t k = 0; k < types.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    converts = converts || instruction.operand(number)->shape().type() != types[k];
    const Op operand = builder.Parameter(number, instruction.operand(number)->shape().WithoutLayouts());
    operands.push_back(CallBuilder::As(operand, types[k]));
  }
  std::vector<AttrEntry> attributes(instruction.attributes().begin(), instruction.attributes().end());
  if (instruction.Has<attr::to_apply>()) {
    const build::Function code = Imported(builder, *instruction.Get<attr::to_apply>());
    if (code.computation == nullptr) return std::nullopt;
    for (AttrEntry& attribute : attributes) {
      if (attribute.id == attr::to_apply::kId) attribute = build::Attr<attr::to_apply>(code.computation);
    }
  }
  const Shape shape = IsMovement(instruction.opcode()) ? instruction.shape().WithoutLayouts()
                                                       : Shape();  // Others are inferred.
  const Op separate = builder.Emit(instruction.opcode(), operands, attributes, shape);
  if (!separate.ok()) return std::nullopt;
  std::vector<Op> results =
      separate.shape().IsTuple() ? build::Elements(separate) : std::vector<Op>{separate};
  const absl::Span<const Shape> declared = ResultShapes(instruction);
  for (size_t k = 0; k < results.size(); ++k) {
    converts = converts || results[k].shape().type() != declared[k].type();
    results[k] = CallBuilder::As(results[k], declared[k].type());
  }
  if (!converts) return std::nullopt;  // The replacement would be the instruction itself.
  return BuildReplacement(builder, results, instruction);
}

}  // namespace hlo::plan
