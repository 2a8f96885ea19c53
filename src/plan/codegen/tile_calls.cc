#include "plan/codegen/tile_calls.h"

#include <algorithm>

#include "ir/comparators.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {
namespace {

cpu::TileCall CallOf(const Instruction& instruction) {
  if (instruction.operand_count() == 0 || !instruction.operand(0)->shape().IsArray() ||
      !instruction.shape().IsArray())
    return {};
  const ElementType from = instruction.operand(0)->shape().type(), to = instruction.shape().type();
  if (instruction.opcode() == Opcode::kStochasticConvert)
    return cpu::FindTileStochasticConvert(from, instruction.operand(1)->shape().type(), to);
  // The reference evaluates operands of mixed precision.
  const bool takes_predicate = instruction.opcode() == Opcode::kSelect;
  for (int64_t i = takes_predicate ? 2 : 1; i < instruction.operand_count(); ++i) {
    if (instruction.operand(i)->shape().type() !=
        instruction.operand(takes_predicate ? 1 : 0)->shape().type())
      return {};
  }
  switch (instruction.opcode()) {
    case Opcode::kCompare:
      return cpu::FindTileCompare(instruction.Get<attr::direction>(), IsTotalOrder(instruction), from);
    case Opcode::kSelect:
      return instruction.operand(1)->shape().type() == to ? cpu::FindTileSelect(to) : cpu::TileCall{};
    case Opcode::kConvert:
    case Opcode::kCopy:
      return cpu::FindTileConvert(from, to);
    case Opcode::kReducePrecision:
      return from == to ? cpu::FindTileReducePrecision(from, instruction.Get<attr::exponent_bits>(),
                                                       instruction.Get<attr::mantissa_bits>())
                        : cpu::TileCall{};
    case Opcode::kBitcast:
      // Without layouts a bitcast is elementwise.
      if (instruction.operand(0)->shape().layout() != nullptr || instruction.shape().layout() != nullptr)
        return {};
      return cpu::FindTileBitcast(from, to);
    case Opcode::kBitcastConvert:
      return cpu::FindTileBitcast(from, to);
    case Opcode::kIsFinite:
      return cpu::FindTileOp(instruction.opcode(), from);
    case Opcode::kComplex:
      return ComplexOf(from) == to ? cpu::FindTileOp(instruction.opcode(), from) : cpu::TileCall{};
    case Opcode::kAbs:
    case Opcode::kImag:
    case Opcode::kReal:
      return ComponentType(from) == to ? cpu::FindTileOp(instruction.opcode(), from) : cpu::TileCall{};
    default:
      if (!(Info(instruction.opcode()).has(kElementwise) || instruction.opcode() == Opcode::kClamp) ||
          from != to)
        return {};
      return cpu::FindTileOp(instruction.opcode(), from);
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
  // Even exact operations may leave the range of a small integer type: -(-8) of s4.
  return !IsExact(instruction.opcode()) || IsIntegral(instruction.shape().type());
}

// True for a conversion that is at most a rounding.
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

}  // namespace

bool HasTileCall(const Instruction& instruction) { return CallOf(instruction).function != nullptr; }

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
                           return HasTileCall(*instruction);
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

cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileProgram& program) {
  return Apply(instruction, operands, program);
}

cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileCode& code) {
  return Apply(instruction, operands, code);
}

cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program) {
  const cpu::TileCall round = cpu::RoundTile(type);
  return round.function == nullptr ? value : program.Apply(round, cpu::LaneOf(type), {value});
}

bool IsReassociable(const Instruction& root) {
  return Info(root.opcode()).has(kAssociative) && root.operand(0)->opcode() == Opcode::kParameter &&
         root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
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
  std::optional<cpu::TileCode> code = FindCombinerCode(to_apply, types);
  if (!code.has_value()) return std::nullopt;
  const Instruction& root = *to_apply.root();
  if (count > 1 || !IsReassociable(root)) return ReduceCode{*std::move(code), cpu::Grouping::kNone, {}};
  // A sum of small floats is rounded once, at its end.
  const cpu::Lane lane = cpu::LaneOf(types[0]);
  cpu::TileCode regrouped({lane, lane});
  cpu::TileValue sum = regrouped.Apply(CallOf(root), lane, {0, 1});
  const cpu::TileCall cut = cpu::RoundTile(types[0]);
  if (cut.function != nullptr && IsIntegral(types[0])) sum = regrouped.Apply(cut, lane, {sum});
  regrouped.Yield(sum);
  return ReduceCode{std::move(regrouped), cpu::Grouping::kAny, cpu::FindTileFold(root.opcode(), types[0])};
}

}  // namespace hlo::plan
