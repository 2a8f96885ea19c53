#include "plan/select/conditions.h"

#include "absl/algorithm/container.h"
#include "ir/element_types.h"
#include "loops/gemm_problem.h"
#include "plan/codegen/scalar_code.h"
#include "plan/codegen/scan_code.h"
#include "reference/custom/matrix_calls.h"
#include "types/physical_layout.h"

namespace hlo::plan {

bool Always(const Instruction& /*instruction*/) { return true; }

// All arrays are real, or all are complex.
bool HasOneField(const Instruction& instruction) {
  const auto is_complex = [](const Instruction* value) { return IsComplex(value->shape().type()); };
  return absl::c_all_of(instruction.operands(), [&](const Instruction* operand) {
    return is_complex(operand) == is_complex(&instruction);
  });
}

bool HasGemmTypes(const Instruction& instruction) {
  return instruction.operand_count() >= 2 &&
         loops::GemmSupports(instruction.operand(0)->shape().type(), instruction.operand(1)->shape().type(),
                             instruction.shape().type());
}

bool HasFftTypes(const Instruction& fft) { return FftKeepsPrecision(fft); }

bool HasUntiledLayouts(const Instruction& bitcast) {
  return IsUntiled(bitcast.shape()) && IsUntiled(bitcast.operand(0)->shape());
}

bool KeepsType(const Instruction& gather) {
  return gather.operand(0)->shape().type() == gather.shape().type();
}

bool CallsLibrary(const Instruction& call) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  return target == "TopK" || target == "__gpu$TopK" || target == kCsrProductTarget ||
         reference::custom::MatrixCallOf(call).has_value();
}

bool DrawsNumbers(const Instruction& rng) {
  return IsFloat(rng.shape().type()) || IsIntegral(rng.shape().type());
}

bool HasU64State(const Instruction& instruction) {
  const bool has_state_operand = instruction.opcode() == Opcode::kRngBitGenerator;
  return (has_state_operand ? instruction.operand(0)->shape() : instruction.shape())
      .IsArray(ElementType::kU64);
}

bool MovesFewDimensions(const Instruction& shuffle) { return shuffle.Get<attr::dimensions>().size() <= 4; }

bool HasS32Positions(const Instruction& topk) {
  return topk.shape().IsTuple() && topk.shape().element(1).IsArray(ElementType::kS32);
}

// The computations that the instruction applies can be lowered to scalar functions.
bool HasScalarCode(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kScan)
    return FindScanCode(instruction, CodeTarget::kThreads).has_value();
  return absl::c_all_of(instruction.called_computations(), [](const Computation* computation) {
    return FindLaneCode(*computation, {}, CodeTarget::kThreads).has_value();
  });
}

}  // namespace hlo::plan
