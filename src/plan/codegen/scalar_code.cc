#include "plan/codegen/scalar_code.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/element_types.h"
#include "plan/codegen/operations.h"

namespace hlo::plan {
namespace {

constexpr int kMaxDepth = 8;

bool HasWhile(const Computation& computation) {
  return std::any_of(computation.instructions().begin(), computation.instructions().end(),
                     [](const Instruction* instruction) {
                       const auto called = instruction->called_computations();
                       return instruction->opcode() == Opcode::kWhile ||
                              std::any_of(called.begin(), called.end(),
                                          [](const Computation* c) { return HasWhile(*c); });
                     });
}

void AddLeafTypes(const Shape& shape, std::vector<ElementType>* types) {
  if (!shape.IsTuple()) return types->push_back(shape.type());
  for (const Shape& element : shape.elements()) AddLeafTypes(element, types);
}

struct Context {
  absl::Span<const int64_t> lanes = {};  // Arrays of this shape count as scalars: one per lane.
  CodeTarget target = CodeTarget::kTiles;
  int depth = 0;
  loops::Value active = loops::ScalarFunction::kAll;  // The predicate under which the code runs.
};

// Lowers scalar instructions to operations of a function.
class ScalarCode {
 public:
  // The values of the leaves of an instruction.
  using Values = std::vector<loops::Value>;

  explicit ScalarCode(loops::ScalarFunction& code, const Context& context = {})
      : code_(code), context_(context) {}
  void Bind(const Instruction& instruction, Values values) { values_[&instruction] = std::move(values); }
  bool Has(const Instruction& instruction) const { return values_.contains(&instruction); }
  const Values& ValueOf(const Instruction& instruction) const { return values_.at(&instruction); }

  // Lowers an instruction whose operands have been lowered. Returns false if it is not an operation on
  // scalars.
  bool Add(const Instruction& instruction) {
    if (Has(instruction)) return true;
    for (const Instruction* operand : instruction.operands()) {
      if (!Has(*operand)) return false;
    }
    if (!HasLaneShape(instruction.shape())) return false;
    std::optional<Values> values = Lower(instruction);
    if (!values.has_value()) return false;
    Bind(instruction, *std::move(values));
    return true;
  }
  // Lowers a whole computation. Returns nullopt if that fails.
  std::optional<Values> AddAll(const Computation& computation) {
    for (const Instruction* instruction : PostOrder(computation)) {
      if (code_.value_count() > MaxValues(context_.target) || !Add(*instruction)) return std::nullopt;
    }
    return ValueOf(*computation.root());
  }

  // Returns the limit on values: the interpreter keeps a tile for each of them.
  static int64_t MaxValues(CodeTarget target) { return target == CodeTarget::kTiles ? 60 : 240; }

 private:
  bool HasLaneShape(const Shape& shape) const {
    if (shape.IsTuple()) {
      return std::all_of(shape.elements().begin(), shape.elements().end(),
                         [&](const Shape& element) { return HasLaneShape(element); });
    }
    return shape.IsArray() && (shape.IsScalar() || shape.dims() == context_.lanes);
  }

  std::optional<Values> Lower(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return Constant(instruction);
      case Opcode::kCall:
      case Opcode::kFusion:
        return Called(*instruction.called_computations()[0], Operands(instruction), context_.active);
      case Opcode::kConditional:
        return Conditional(instruction);
      case Opcode::kWhile:
        return While(instruction);
      case Opcode::kTuple:
        return Concatenated(Operands(instruction));
      case Opcode::kGetTupleElement:
        return Element(instruction);
      case Opcode::kOptBarrier:
        return ValueOf(*instruction.operand(0));
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
        if (!instruction.operand(0)->shape().IsScalar() || MixesTypes(instruction)) return std::nullopt;
        return ValueOf(*instruction.operand(0));
      default:
        if (!HasOperation(instruction)) return std::nullopt;
        return Values{ApplyInstruction(instruction, Concatenated(Operands(instruction)), code_)};
    }
  }

  std::vector<Values> Operands(const Instruction& instruction) const {
    std::vector<Values> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(ValueOf(*operand));
    return operands;
  }
  static Values Concatenated(const std::vector<Values>& parts) {
    Values all;
    for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  Values Element(const Instruction& instruction) const {
    const Shape& tuple = instruction.operand(0)->shape();
    const int64_t index = instruction.Get<attr::index>();
    const auto* begin = ValueOf(*instruction.operand(0)).data();
    for (int64_t k = 0; k < index; ++k) begin += tuple.element(k).LeafCount();
    return {begin, begin + tuple.element(index).LeafCount()};
  }

  std::optional<Values> Called(const Computation& computation, const std::vector<Values>& arguments,
                               loops::Value active) {
    if (context_.depth == kMaxDepth) return std::nullopt;
    ScalarCode inner(code_, {context_.lanes, context_.target, context_.depth + 1, active});
    for (size_t i = 0; i < arguments.size(); ++i)
      inner.Bind(*computation.parameter(static_cast<int64_t>(i)), arguments[i]);
    return inner.AddAll(computation);
  }

  // Computes all branches and selects one of the results. Loops in branches that are not taken are masked,
  // because they might not terminate.
  std::optional<Values> Conditional(const Instruction& conditional) {
    const auto branches = conditional.called_computations();
    const std::vector<Values> operands = Operands(conditional);
    const size_t last = branches.size() - 1;
    const bool has_while =
        std::any_of(branches.begin(), branches.end(), [](const Computation* c) { return HasWhile(*c); });
    std::vector<loops::Value> taken;
    loops::Value active = context_.active;
    std::vector<Values> results;
    for (size_t b = 0; b <= last; ++b) {
      loops::Value counts = active;
      if (b < last) {
        taken.push_back(IsBranch(conditional, operands[0][0], b));
        if (has_while) {
          counts = Both(active, taken[b]);
          active = Both(active, Predicate(Opcode::kNot, {taken[b]}));
        }
      }
      std::optional<Values> values = Called(*branches[b], {operands[b + 1]}, counts);
      if (!values.has_value()) return std::nullopt;
      results.push_back(*std::move(values));
    }
    Values selected = std::move(results[last]);
    std::vector<ElementType> types;
    AddLeafTypes(conditional.shape(), &types);
    for (size_t b = last; b-- > 0;) {
      for (size_t k = 0; k < selected.size(); ++k) {
        const loops::Value choice[] = {taken[b], results[b][k], selected[k]};
        if (choice[1] != choice[2])
          selected[k] = code_.Apply(loops::SelectOf(types[k]), code_.compute_type(choice[1]), choice);
      }
    }
    return selected;
  }
  // Returns the predicate that selects branch `number`. The first branch of a pred is that for true.
  loops::Value IsBranch(const Instruction& conditional, loops::Value choice, size_t number) {
    if (IsPred(conditional.operand(0)->shape().type())) return choice;
    const auto value = static_cast<int32_t>(number);
    const loops::Value wanted = code_.Constant(loops::ComputeType::kS32, &value);
    return code_.Apply(
        *loops::FindCompare(ComparisonDirection::kEq, /*total_order=*/false, ElementType::kS32),
        loops::ComputeType::kPred, {choice, wanted});
  }
  loops::Value Predicate(Opcode opcode, absl::Span<const loops::Value> operands) {
    return code_.Apply(*loops::FindScalarOperation(opcode, ElementType::kPred), loops::ComputeType::kPred,
                       operands);
  }
  loops::Value Both(loops::Value a, loops::Value b) {
    return a == loops::ScalarFunction::kAll ? b : Predicate(Opcode::kAnd, {a, b});
  }

  std::optional<Values> While(const Instruction& loop) {
    const Values& state = ValueOf(*loop.operand(0));
    if (context_.target == CodeTarget::kTiles || context_.depth == kMaxDepth || state.empty())
      return std::nullopt;
    std::optional<loops::ScalarFunction> condition = LoopCode(*loop.Get<attr::condition>(), state),
                                         body = LoopCode(*loop.Get<attr::body>(), state);
    if (!condition.has_value() || !body.has_value()) return std::nullopt;
    const loops::Value first =
        code_.Repeat({*std::move(condition), *std::move(body), context_.active}, state);
    Values after(state.size());
    for (size_t k = 0; k < after.size(); ++k) after[k] = first + static_cast<loops::Value>(k);
    return after;
  }
  // Lowers the condition or the body of a loop.
  std::optional<loops::ScalarFunction> LoopCode(const Computation& computation, const Values& state) const {
    std::vector<loops::ComputeType> inputs;
    Values arguments;
    for (const loops::Value value : state) {
      arguments.push_back(static_cast<loops::Value>(inputs.size()));
      inputs.push_back(code_.compute_type(value));
    }
    loops::ScalarFunction code(inputs);
    ScalarCode inner(code, {context_.lanes, context_.target, context_.depth + 1});
    inner.Bind(*computation.parameter(0), std::move(arguments));
    const std::optional<Values> results = inner.AddAll(computation);
    if (!results.has_value()) return std::nullopt;
    for (const loops::Value result : *results) code.Yield(result);
    return code;
  }

  std::optional<Values> Constant(const Instruction& constant) {
    if (constant.is_elided() || !constant.shape().IsScalar()) return std::nullopt;
    const ElementType type = constant.shape().type();
    alignas(16) std::byte element[16] = {};
    loops::LoadAsComputed(type, constant.Get<attr::literal>()->data(), element);
    return Values{code_.Constant(loops::ComputeTypeOf(type), element)};
  }

  loops::ScalarFunction& code_;
  const Context context_;
  absl::flat_hash_map<const Instruction*, Values> values_;
};

bool IsScalarOfType(const Shape& shape, ElementType type) { return shape.IsScalar() && shape.type() == type; }

}  // namespace

std::optional<loops::ScalarFunction> FindLaneCode(const Computation& computation,
                                                  absl::Span<const int64_t> lanes, CodeTarget target) {
  constexpr size_t kMaxParameters = 16;
  const auto parameters = computation.parameters();
  if (parameters.size() > kMaxParameters) return std::nullopt;
  std::vector<loops::ComputeType> inputs;
  for (const Instruction* parameter : parameters) {
    if (!parameter->shape().IsArray() || parameter->shape().dims() != lanes) return std::nullopt;
    inputs.push_back(loops::ComputeTypeOf(parameter->shape().type()));
  }
  loops::ScalarFunction code(inputs);
  ScalarCode values(code, {lanes, target});
  for (size_t k = 0; k < parameters.size(); ++k) values.Bind(*parameters[k], {static_cast<loops::Value>(k)});
  const std::optional<ScalarCode::Values> results = values.AddAll(computation);
  if (!results.has_value() || code.value_count() > ScalarCode::MaxValues(target)) return std::nullopt;
  for (const loops::Value result : *results) code.Yield(result);
  return code;
}

std::optional<loops::ScalarFunction> FindCombinerCode(const Computation& to_apply,
                                                      absl::Span<const ElementType> types,
                                                      CodeTarget target) {
  const auto parameters = to_apply.parameters();
  const size_t count = types.size();
  const Shape& result = to_apply.root()->shape();
  if (count > 8 || parameters.size() != 2 * count || (count > 1 && !result.IsTuple())) return std::nullopt;
  const absl::Span<const Shape> results =
      result.IsTuple() ? result.elements() : absl::MakeConstSpan(&result, 1);
  if (results.size() != count) return std::nullopt;
  for (size_t k = 0; k < count; ++k) {
    if (!IsScalarOfType(parameters[k]->shape(), types[k]) || !IsScalarOfType(results[k], types[k]) ||
        !IsScalarOfType(parameters[count + k]->shape(), types[k]))
      return std::nullopt;
  }
  return FindLaneCode(to_apply, {}, target);
}

std::optional<loops::ScalarFunction> FindComparatorCode(const Computation& to_apply,
                                                        absl::Span<const ElementType> types,
                                                        CodeTarget target) {
  const auto parameters = to_apply.parameters();
  if (parameters.size() != 2 * types.size() || !IsScalarOfType(to_apply.root()->shape(), ElementType::kPred))
    return std::nullopt;
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (!IsScalarOfType(parameters[k]->shape(), types[k / 2])) return std::nullopt;
  }
  return FindLaneCode(to_apply, {}, target);
}

std::optional<loops::ScalarFunction> FindUnaryCode(const Instruction& root, const Instruction& parameter) {
  constexpr int64_t kMaxSteps = 48;
  loops::ScalarFunction code({loops::ComputeTypeOf(parameter.shape().type())});
  ScalarCode values(code);
  values.Bind(parameter, {0});
  // Lowers what precedes the root: definitions come before uses.
  for (const Instruction* instruction : PostOrder(*root.parent())) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    values.Add(*instruction);
    if (instruction == &root || std::ssize(code.steps()) > kMaxSteps) break;
  }
  if (std::ssize(code.steps()) > kMaxSteps || !values.Has(root)) return std::nullopt;
  code.Yield(values.ValueOf(root)[0]);
  return code;
}

}  // namespace hlo::plan
