#include "plan/tile_calls.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"

namespace hlo::plan {
namespace {

cpu::TileCall CallOf(const Instruction& instruction) {
  if (instruction.operand_count() == 0 || !instruction.operand(0)->shape().IsArray() ||
      !instruction.shape().IsArray())
    return {};
  const ElementType from = instruction.operand(0)->shape().type(), to = instruction.shape().type();
  // Operands of mixed precision are the reference's.
  const bool takes_predicate = instruction.opcode() == Opcode::kSelect;
  for (int64_t i = takes_predicate ? 2 : 1; i < instruction.operand_count(); ++i) {
    if (instruction.operand(i)->shape().type() !=
        instruction.operand(takes_predicate ? 1 : 0)->shape().type())
      return {};
  }
  switch (instruction.opcode()) {
    case Opcode::kCompare: {
      const bool total = instruction.Get<attr::order>() == ComparisonOrder::kTotal ||
                         instruction.Get<attr::type>() == ComparisonType::kTotalOrder;
      return cpu::FindTileCompare(instruction.Get<attr::direction>(), total, from);
    }
    case Opcode::kSelect:
      return instruction.operand(1)->shape().type() == to ? cpu::FindTileSelect(to) : cpu::TileCall{};
    case Opcode::kConvert:
    case Opcode::kCopy:
      return cpu::FindTileConvert(from, to);
    case Opcode::kReducePrecision:
      return from == to ? cpu::FindTileReducePrecision(from, instruction.Get<attr::exponent_bits>(),
                                                       instruction.Get<attr::mantissa_bits>())
                        : cpu::TileCall{};
    case Opcode::kBitcastConvert:
      return cpu::FindTileBitcast(from, to);
    case Opcode::kAbs:
    case Opcode::kComplex:
    case Opcode::kImag:
    case Opcode::kIsFinite:
    case Opcode::kReal:
      return cpu::FindTileOp(instruction.opcode(), from);
    default:
      if (!(Info(instruction.opcode()).has(kElementwise) || instruction.opcode() == Opcode::kClamp) ||
          from != to)
        return {};
      return cpu::FindTileOp(instruction.opcode(), from);
  }
}

// Operations whose results need no rounding: they return one of their operands.
bool IsExact(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kSelect:
    case Opcode::kAbs:
    case Opcode::kNegate:
    case Opcode::kBitcastConvert:
    case Opcode::kCompare:
    case Opcode::kIsFinite:
      return true;
    default:
      return false;
  }
}

bool NeedsRounding(const Instruction& instruction) {
  // Integers may leave their range even so: -(-8) of s4.
  return !IsExact(instruction.opcode()) || IsIntegral(instruction.shape().type());
}

// A conversion that at most rounds.
bool KeepsLane(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert &&
         cpu::LaneOf(instruction.operand(0)->shape().type()) == cpu::LaneOf(instruction.shape().type());
}

template <class Program>
cpu::TileValue Apply(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                     Program& program) {
  const ElementType type = instruction.shape().type();
  const cpu::Lane lane = cpu::LaneOf(type);
  const cpu::TileCall rounded = cpu::FindRoundedTileOp(instruction.opcode(), type);
  if (rounded.function != nullptr) return program.Apply(rounded, lane, operands);
  cpu::TileValue value =
      KeepsLane(instruction) ? operands[0] : program.Apply(CallOf(instruction), lane, operands);
  const cpu::TileCall round = cpu::RoundTile(type);
  if (round.function != nullptr && NeedsRounding(instruction)) value = program.Apply(round, lane, {value});
  return value;
}

// One operation on an accumulator and a value that may be grouped at will.
bool IsRegrouped(const Instruction& root) {
  switch (root.opcode()) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      break;
    default:
      return false;
  }
  return root.operand(0)->opcode() == Opcode::kParameter && root.operand(1)->opcode() == Opcode::kParameter &&
         root.operand(0) != root.operand(1);
}

// The values of scalar instructions, as they are appended to tile code.
class ScalarCode {
 public:
  explicit ScalarCode(cpu::TileCode& code) : code_(code) {}
  void Enter(const Instruction& instruction, cpu::TileValue value) { values_[&instruction] = value; }
  bool Has(const Instruction& instruction) const { return values_.contains(&instruction); }
  cpu::TileValue Of(const Instruction& instruction) const { return values_.at(&instruction); }
  // After its operands. False where it is no elementwise operation on scalars.
  bool Add(const Instruction& instruction) {
    if (values_.contains(&instruction)) return true;
    if (!instruction.shape().IsScalar()) return false;
    if (instruction.opcode() == Opcode::kConstant) return AddConstant(instruction);
    if (!HasTileCall(instruction)) return false;
    std::vector<cpu::TileValue> operands;
    for (const Instruction* operand : instruction.operands()) {
      if (!values_.contains(operand)) return false;
      operands.push_back(Of(*operand));
    }
    Enter(instruction, Apply(instruction, operands, code_));
    return true;
  }

 private:
  bool AddConstant(const Instruction& constant) {
    if (constant.is_elided()) return false;
    const ElementType type = constant.shape().type();
    alignas(16) std::byte element[16] = {};
    const cpu::TileCall widen = cpu::LoadTile(type);
    const void* in[] = {constant.Get<attr::literal>()->data()};
    if (widen.function != nullptr)
      widen.function(1, element, in, widen.parameter);
    else
      std::copy_n(static_cast<const std::byte*>(in[0]), ByteCount(type), element);
    Enter(constant, code_.Constant(cpu::LaneOf(type), element));
    return true;
  }

  cpu::TileCode& code_;
  absl::flat_hash_map<const Instruction*, cpu::TileValue> values_;
};

}  // namespace

bool HasTileCall(const Instruction& instruction) { return CallOf(instruction).function != nullptr; }

cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileProgram& program) {
  return Apply(instruction, operands, program);
}

cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program) {
  const cpu::TileCall round = cpu::RoundTile(type);
  return round.function == nullptr ? value : program.Apply(round, cpu::LaneOf(type), {value});
}

std::optional<ReduceCode> FindReduceCode(const Instruction& reduce) {
  constexpr size_t kMostInstructions = 48;
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  const auto parameters = to_apply.parameters();
  if (to_apply.instructions().size() > kMostInstructions || parameters.size() > 16) return std::nullopt;
  std::vector<cpu::Lane> lanes;
  for (const Instruction* parameter : parameters) {
    if (!parameter->shape().IsScalar()) return std::nullopt;
    lanes.push_back(cpu::LaneOf(parameter->shape().type()));
  }
  // Arrays, inits and parameters of one type each: else the reference converts.
  const size_t count = parameters.size() / 2;
  for (size_t k = 0; k < count; ++k) {
    const ElementType type = parameters[k]->shape().type();
    const int64_t init = static_cast<int64_t>(count + k);
    if (parameters[count + k]->shape().type() != type || reduce.operand(k)->shape().type() != type ||
        reduce.operand(init)->shape().type() != type)
      return std::nullopt;
  }
  cpu::TileCode code(lanes);
  const Instruction& root = *to_apply.root();
  // A sum of small floats rounds once, at its end.
  if (count == 1 && IsRegrouped(root)) {
    const cpu::TileCall call = CallOf(root);
    if (call.function == nullptr || root.shape().type() != parameters[0]->shape().type()) return std::nullopt;
    cpu::TileValue sum = code.Apply(call, lanes[0], {0, 1});
    const cpu::TileCall cut = cpu::RoundTile(root.shape().type());
    if (cut.function != nullptr && IsIntegral(root.shape().type())) sum = code.Apply(cut, lanes[0], {sum});
    code.Yield(sum);
    return ReduceCode{std::move(code), true, cpu::FindTileFold(root.opcode(), root.shape().type())};
  }
  ScalarCode values(code);
  for (size_t k = 0; k < parameters.size(); ++k) values.Enter(*parameters[k], static_cast<cpu::TileValue>(k));
  for (const Instruction* instruction : PostOrder(to_apply)) {
    if (instruction->opcode() == Opcode::kTuple && instruction == &root) continue;
    if (!values.Add(*instruction)) return std::nullopt;
  }
  const auto results = root.opcode() == Opcode::kTuple
                           ? std::vector<Instruction*>(root.operands().begin(), root.operands().end())
                           : std::vector<Instruction*>{to_apply.root()};
  if (results.size() != count) return std::nullopt;
  for (size_t k = 0; k < count; ++k) {
    if (results[k]->shape().type() != parameters[k]->shape().type()) return std::nullopt;
    code.Yield(values.Of(*results[k]));
  }
  if (code.step_count() + static_cast<int64_t>(lanes.size()) > 60 || count > 8) return std::nullopt;
  return ReduceCode{std::move(code), false, {}};
}

std::optional<cpu::TileCode> FindUnaryCode(const Instruction& root, const Instruction& parameter) {
  constexpr int64_t kMostSteps = 48;
  cpu::TileCode code({cpu::LaneOf(parameter.shape().type())});
  ScalarCode values(code);
  values.Enter(parameter, 0);
  // Those that the root needs, each after its operands: definitions come before uses in the text.
  for (const Instruction* instruction : PostOrder(*root.parent())) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    values.Add(*instruction);
    if (instruction == &root || code.step_count() > kMostSteps) break;
  }
  if (code.step_count() > kMostSteps || !values.Has(root)) return std::nullopt;
  code.Yield(values.Of(root));
  return code;
}

}  // namespace hlo::plan
