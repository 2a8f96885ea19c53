#include "reference/scalar_function.h"

#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/combiners.h"
#include "reference/elementwise.h"

namespace hlo::reference {
namespace {

// Elementwise steps on numbered registers; the first registers are the parameters.
struct Registers {
  struct Node {
    ScalarStep step;
    std::array<int32_t, 3> operands;
    int32_t result;
  };
  std::vector<WideScalar> values;  // Constants are preset.
  std::vector<Node> nodes;
  std::vector<int32_t> results;
};

class RegisterFunction : public ScalarFunction {
 public:
  explicit RegisterFunction(Registers registers)
      : r_(std::move(registers)), cost_(kNanosecondsAStep * static_cast<int64_t>(r_.nodes.size() + 1)) {}

  absl::Status Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) override {
    for (size_t i = 0; i < arguments.size(); ++i) r_.values[i] = arguments[i];
    HLO_RETURN_IF_ERROR(deadline_.Spend(cost_));
    for (const Registers::Node& node : r_.nodes) {
      const auto [a, b, c] = node.operands;
      r_.values[node.result] = node.step(r_.values[a], r_.values[b], r_.values[c]);
    }
    for (size_t i = 0; i < results.size(); ++i) results[i] = r_.values[r_.results[i]];
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kNanosecondsAStep = 4;
  Registers r_;
  int64_t cost_;
  DeadlineChecker deadline_;
};

// Flattens a computation and its callees. Fails if it contains anything but scalars and elementwise steps.
class Flattener {
 public:
  bool Flatten(const Computation& computation, absl::Span<const ElementType> argument_types) {
    std::vector<int32_t> parameters;
    for (size_t i = 0; i < computation.parameters().size(); ++i) parameters.push_back(NewRegister());
    for (size_t i = 0; i < argument_types.size(); ++i)
      parameters[i] =
          Converted(parameters[i], argument_types[i], computation.parameters()[i]->shape().type());
    return Append(computation, parameters, 0, &r_.results);
  }
  Registers Take() { return std::move(r_); }

 private:
  // The registers of a value: one for a scalar, one per element for a tuple.
  using Value = std::vector<int32_t>;
  using Values = absl::flat_hash_map<const Instruction*, Value>;
  static constexpr size_t kMaxNodes = 1 << 12;
  static constexpr int kMaxDepth = 32;

  int32_t NewRegister() {
    r_.values.emplace_back();
    return static_cast<int32_t>(r_.values.size()) - 1;
  }

  // Returns a register with the value in another type.
  int32_t Converted(int32_t value, ElementType from, ElementType to) {
    if (from == to) return value;
    const int32_t result = NewRegister();
    r_.nodes.push_back({ConvertStep(from, to), {value, 0, 0}, result});
    return result;
  }

  bool Append(const Computation& computation, const Value& arguments, int depth, Value* result) {
    if (depth > kMaxDepth) return false;
    Values values;
    for (const Instruction* instruction : PostOrder(computation)) {
      if (Info(instruction->opcode()).has(kSideEffect) || r_.values.size() > kMaxNodes) return false;
      std::optional<Value> value = Flatten(*instruction, arguments, values, depth);
      if (!value) return false;
      values.emplace(instruction, *std::move(value));
    }
    *result = std::move(values[computation.root()]);
    return true;
  }

  std::optional<Value> Flatten(const Instruction& instruction, const Value& arguments, const Values& values,
                               int depth) {
    if (!instruction.shape().IsScalar() && !instruction.shape().IsTuple()) return std::nullopt;
    auto operand = [&](int64_t i) -> const Value& { return values.find(instruction.operand(i))->second; };
    switch (instruction.opcode()) {
      case Opcode::kParameter:
        if (!instruction.shape().IsScalar()) return std::nullopt;
        return Value{arguments[instruction.Get<attr::number>()]};
      case Opcode::kConstant:
        return Constant(instruction);
      case Opcode::kTuple:
      case Opcode::kCall:
      case Opcode::kFusion:
        return Group(instruction, values, depth);
      case Opcode::kGetTupleElement:
        return Value{operand(0)[instruction.Get<attr::index>()]};
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kOptBarrier:
        if (!instruction.operand(0)->shape().IsScalar()) return std::nullopt;
        return Value{
            Converted(operand(0)[0], instruction.operand(0)->shape().type(), instruction.shape().type())};
      default:
        return Elementwise(instruction, values);
    }
  }

  std::optional<Value> Constant(const Instruction& instruction) {
    if (!instruction.shape().IsScalar()) return std::nullopt;
    const int32_t result = NewRegister();
    if (!instruction.is_elided()) r_.values[result] = LoadScalar(*instruction.Get<attr::literal>(), 0);
    return Value{result};
  }

  // Returns the concatenated operands: a tuple, or the arguments of a call.
  std::optional<Value> Group(const Instruction& instruction, const Values& values, int depth) {
    Value group;
    for (const Instruction* operand : instruction.operands()) {
      if (!operand->shape().IsScalar()) return std::nullopt;
      group.push_back(values.find(operand)->second[0]);
    }
    if (instruction.opcode() == Opcode::kTuple) return group;
    Value result;
    if (!Append(*instruction.called_computations()[0], group, depth + 1, &result)) return std::nullopt;
    return result;
  }

  std::optional<Value> Elementwise(const Instruction& instruction, const Values& values) {
    const bool is_bitcast = instruction.opcode() == Opcode::kBitcast;
    if ((!is_bitcast && !IsElementwise(instruction.opcode())) || !instruction.shape().IsScalar())
      return std::nullopt;
    const std::optional<ScalarStep> step =
        is_bitcast ? BitcastStep(instruction) : FindScalarStep(instruction);
    if (!step) return std::nullopt;
    Registers::Node node{*step, {0, 0, 0}, 0};
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (!instruction.operand(i)->shape().IsScalar()) return std::nullopt;
      node.operands[i] = values.find(instruction.operand(i))->second[0];
    }
    node.result = NewRegister();
    r_.nodes.push_back(node);
    return Value{node.result};
  }

  Registers r_;
};

// Evaluates other computations with the evaluator, on arrays of one element.
class CalledFunction : public ScalarFunction {
 public:
  CalledFunction(const Computation& computation, Caller& caller)
      : computation_(computation), caller_(caller) {}

  absl::Status Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) override {
    std::vector<Literal> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      HLO_ASSIGN_OR_RETURN(Literal value, Literal::Create(computation_.parameter(i)->shape()));
      StoreScalar(value, 0, arguments[i]);
      values.push_back(std::move(value));
    }
    HLO_ASSIGN_OR_RETURN(const Literal result, caller_.Call(computation_, absl::MakeSpan(values)));
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = LoadScalar(result.shape().IsTuple() ? result.element(static_cast<int64_t>(i)) : result, 0);
    return absl::OkStatus();
  }

 private:
  const Computation& computation_;
  Caller& caller_;
};

}  // namespace

std::unique_ptr<ScalarFunction> Caller::ScalarFunctionOf(const Computation& /*computation*/) {
  return nullptr;
}

absl::StatusOr<std::unique_ptr<ScalarFunction>> ScalarFunction::Make(
    const Computation& computation, Caller& caller, absl::Span<const ElementType> argument_types) {
  if (std::unique_ptr<ScalarFunction> own = caller.ScalarFunctionOf(computation)) return own;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter->shape().IsScalar())
      return absl::UnimplementedError(
          fmt::format("computation '{}' is applied to single elements, but its parameter '{}' is {}",
                      computation.name(), parameter->name(), ToString(parameter->shape())));
  }
  Flattener flattener;
  if (!caller.observes_scalars() && flattener.Flatten(computation, argument_types))
    return std::make_unique<RegisterFunction>(flattener.Take());
  return std::make_unique<CalledFunction>(computation, caller);
}

std::vector<ElementType> TypesOf(absl::Span<const Literal> arrays) {
  std::vector<ElementType> types;
  for (const Literal& array : arrays) types.push_back(array.type());
  return types;
}

bool IsSumOfParameters(const Computation& computation) {
  const Instruction& root = *computation.root();
  return root.opcode() == Opcode::kAdd && computation.parameters().size() == 2 && IsOnTwoParameters(root);
}

}  // namespace hlo::reference
