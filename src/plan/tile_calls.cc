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
  if (instruction.opcode() == Opcode::kStochasticConvert)
    return cpu::FindTileStochasticConvert(from, instruction.operand(1)->shape().type(), to);
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
    case Opcode::kBitcast:
      // Where it is that, element by element.
      if (instruction.operand(0)->shape().layout() != nullptr || instruction.shape().layout() != nullptr)
        return {};
      return cpu::FindTileBitcast(from, to);
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

// The values of scalar instructions, as they are appended to tile code.
class ScalarCode {
 public:
  // Arrays of the sizes `lanes` count as scalars too: one for each lane.
  explicit ScalarCode(cpu::TileCode& code, absl::Span<const int64_t> lanes = {}, int depth = 0)
      : code_(code), lanes_(lanes), depth_(depth) {}
  void Enter(const Instruction& instruction, cpu::TileValue value) { values_[&instruction] = value; }
  bool Has(const Instruction& instruction) const { return values_.contains(&instruction); }
  cpu::TileValue Of(const Instruction& instruction) const { return values_.at(&instruction); }
  // After its operands. False where it is no elementwise operation on scalars.
  bool Add(const Instruction& instruction) {
    if (values_.contains(&instruction)) return true;
    const Shape& shape = instruction.shape();
    if (!shape.IsArray() || !(shape.IsScalar() || shape.dims() == lanes_)) return false;
    if (instruction.opcode() == Opcode::kConstant) return shape.IsScalar() && AddConstant(instruction);
    if (instruction.opcode() == Opcode::kCall) return AddCall(instruction);
    if (instruction.opcode() == Opcode::kBroadcast && Has(*instruction.operand(0))) {
      Enter(instruction, Of(*instruction.operand(0)));
      return instruction.operand(0)->shape().IsScalar();
    }
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
  static constexpr int kDeepest = 8;
  static constexpr int64_t kMostSteps = 64;

  bool AddCall(const Instruction& call) {
    if (depth_ == kDeepest) return false;
    const Computation& called = *call.called_computations()[0];
    ScalarCode inner(code_, lanes_, depth_ + 1);
    for (int64_t i = 0; i < call.operand_count(); ++i) {
      if (!Has(*call.operand(i))) return false;
      inner.Enter(*called.parameter(i), Of(*call.operand(i)));
    }
    for (const Instruction* instruction : PostOrder(called)) {
      if (code_.step_count() > kMostSteps || !inner.Add(*instruction)) return false;
    }
    Enter(call, inner.Of(*called.root()));
    return true;
  }
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
  absl::Span<const int64_t> lanes_;
  int depth_;
  absl::flat_hash_map<const Instruction*, cpu::TileValue> values_;
};

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

cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program) {
  const cpu::TileCall round = cpu::RoundTile(type);
  return round.function == nullptr ? value : program.Apply(round, cpu::LaneOf(type), {value});
}

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

namespace {}  // namespace

std::optional<cpu::TileCode> FindLaneCode(const Computation& computation, absl::Span<const int64_t> lanes) {
  constexpr size_t kMostInstructions = 48;
  constexpr int64_t kMostValues = 60;
  const auto parameters = computation.parameters();
  if (computation.instructions().size() > kMostInstructions || parameters.size() > 16) return std::nullopt;
  std::vector<cpu::Lane> inputs;
  for (const Instruction* parameter : parameters) {
    if (!parameter->shape().IsArray() || parameter->shape().dims() != lanes) return std::nullopt;
    inputs.push_back(cpu::LaneOf(parameter->shape().type()));
  }
  cpu::TileCode code(inputs);
  ScalarCode values(code, lanes);
  for (size_t k = 0; k < parameters.size(); ++k) values.Enter(*parameters[k], static_cast<cpu::TileValue>(k));
  const Instruction& root = *computation.root();
  for (const Instruction* instruction : PostOrder(computation)) {
    if (instruction->opcode() == Opcode::kTuple && instruction == &root) continue;
    if (!values.Add(*instruction)) return std::nullopt;
  }
  if (root.opcode() == Opcode::kTuple) {
    for (const Instruction* element : root.operands()) code.Yield(values.Of(*element));
  } else {
    code.Yield(values.Of(root));
  }
  if (code.step_count() + static_cast<int64_t>(inputs.size()) > kMostValues) return std::nullopt;
  return code;
}

namespace {

std::optional<cpu::TileCode> FindScalarCode(const Computation& computation) {
  return FindLaneCode(computation, {});
}

bool IsScalarOf(const Shape& shape, ElementType type) { return shape.IsScalar() && shape.type() == type; }

}  // namespace

std::optional<cpu::TileCode> FindCombinerCode(const Computation& to_apply,
                                              absl::Span<const ElementType> types) {
  const auto parameters = to_apply.parameters();
  const size_t count = types.size();
  const Shape& result = to_apply.root()->shape();
  if (count > 8 || parameters.size() != 2 * count || (count > 1 && !result.IsTuple())) return std::nullopt;
  const absl::Span<const Shape> results =
      result.IsTuple() ? result.elements() : absl::MakeConstSpan(&result, 1);
  if (results.size() != count) return std::nullopt;
  for (size_t k = 0; k < count; ++k) {
    if (!IsScalarOf(parameters[k]->shape(), types[k]) || !IsScalarOf(results[k], types[k]) ||
        !IsScalarOf(parameters[count + k]->shape(), types[k]))
      return std::nullopt;
  }
  return FindScalarCode(to_apply);
}

std::optional<cpu::TileCode> FindComparatorCode(const Computation& to_apply,
                                                absl::Span<const ElementType> types) {
  const auto parameters = to_apply.parameters();
  if (parameters.size() != 2 * types.size() || !IsScalarOf(to_apply.root()->shape(), ElementType::kPred))
    return std::nullopt;
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (!IsScalarOf(parameters[k]->shape(), types[k / 2])) return std::nullopt;
  }
  return FindScalarCode(to_apply);
}

std::optional<ReduceCode> FindReduceCode(const Instruction& reduce) {
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  // Arrays and inits of the parameters' types: else the reference converts.
  const auto count = static_cast<size_t>(reduce.operand_count() / 2);
  std::vector<ElementType> types;
  for (size_t k = 0; k < count; ++k) {
    types.push_back(reduce.operand(k)->shape().type());
    if (reduce.operand(static_cast<int64_t>(count + k))->shape().type() != types[k]) return std::nullopt;
  }
  std::optional<cpu::TileCode> code = FindCombinerCode(to_apply, types);
  if (!code.has_value()) return std::nullopt;
  const Instruction& root = *to_apply.root();
  if (count > 1 || !IsRegrouped(root)) return ReduceCode{*std::move(code), cpu::Grouping::kNone, {}};
  // A sum of small floats rounds once, at its end.
  const cpu::Lane lane = cpu::LaneOf(types[0]);
  cpu::TileCode regrouped({lane, lane});
  cpu::TileValue sum = regrouped.Apply(CallOf(root), lane, {0, 1});
  const cpu::TileCall cut = cpu::RoundTile(types[0]);
  if (cut.function != nullptr && IsIntegral(types[0])) sum = regrouped.Apply(cut, lane, {sum});
  regrouped.Yield(sum);
  return ReduceCode{std::move(regrouped), cpu::Grouping::kAny, cpu::FindTileFold(root.opcode(), types[0])};
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
