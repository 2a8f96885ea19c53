#include "debug/shadow/extended_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reference/elementwise.h"

namespace hlo::debug {
namespace {

using reference::WideScalar;
using ExtendedFn = std::optional<DoubleDouble> (*)(const DoubleDouble& a, const DoubleDouble& b);

constexpr std::array<ExtendedFn, kOpcodeCount> MakeExtendedFunctions() {
  std::array<ExtendedFn, kOpcodeCount> functions = {};
#define ERROR_RULE(name, inheritance, rounding, ...) \
  functions[static_cast<size_t>(Opcode::k##name)] =  \
      []([[maybe_unused]] const DoubleDouble& a,     \
         [[maybe_unused]] const DoubleDouble& b) -> std::optional<DoubleDouble> { return __VA_ARGS__; };
#include "debug/shadow/error_rules.def"
  return functions;
}

DoubleDouble Extended(const WideScalar& x) { return {x.f, x.imag}; }
WideScalar AsScalar(const DoubleDouble& x) {
  WideScalar scalar;
  scalar.f = x.high;
  scalar.imag = std::isfinite(x.high) ? x.low : 0;
  return scalar;
}

// An operand, a constant or the result of an instruction.
struct Node {
  enum Kind { kParameter, kConstant, kExtended, kComplex, kCompare, kSelect, kClamp, kStep } kind = kStep;
  Opcode opcode = Opcode::kTuple;
  size_t number = 0;  // The number of a parameter.
  WideScalar constant;
  reference::ScalarStep step;
  std::array<size_t, 3> operands = {};
  std::array<bool, 2> is_complex = {};  // The operands that are numbers in the table.
  bool gives_complex = false;
};

class Function : public reference::ScalarFunction {
 public:
  explicit Function(ComplexTable& table) : table_(table) {}
  // Returns false if an instruction is not supported.
  bool Compile(const Computation& computation);
  absl::Status Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) override;

 private:
  std::optional<Node> NodeOf(const Instruction& instruction,
                             const absl::flat_hash_map<const Instruction*, size_t>& numbers) const;
  // Returns nullopt if the instruction has no form in double-double.
  std::optional<Node> ComplexNode(const Instruction& instruction, Node node) const;
  WideScalar ValueOf(const Node& node, absl::Span<const WideScalar> arguments) const;
  ComplexDoubleDouble ComplexOperand(const Node& node, size_t number) const;
  WideScalar ComplexValue(const Node& node) const;

  ComplexTable& table_;
  std::vector<Node> nodes_;
  std::vector<WideScalar> values_;
  std::vector<size_t> results_;
};

bool IsF64(const Instruction& instruction) { return instruction.shape().type() == ElementType::kF64; }
bool IsC128(const Instruction& instruction) { return instruction.shape().type() == ElementType::kC128; }

bool Function::Compile(const Computation& computation) {
  absl::flat_hash_map<const Instruction*, size_t> numbers;
  for (const Instruction* instruction : PostOrder(computation)) {
    if (instruction == computation.root() && instruction->opcode() == Opcode::kTuple) continue;
    std::optional<Node> node = NodeOf(*instruction, numbers);
    if (!node) return false;
    numbers.emplace(instruction, nodes_.size());
    nodes_.push_back(*node);
  }
  values_.resize(nodes_.size());
  const Instruction& root = *computation.root();
  if (root.opcode() != Opcode::kTuple) {
    results_ = {numbers.at(&root)};
    return true;
  }
  for (const Instruction* element : root.operands()) results_.push_back(numbers.at(element));
  return true;
}

std::optional<Node> Function::NodeOf(const Instruction& instruction,
                                     const absl::flat_hash_map<const Instruction*, size_t>& numbers) const {
  const Shape& shape = instruction.shape();
  // The other floats and complex numbers have other wide values.
  const bool is_float = shape.IsScalar() && (IsFloat(shape.type()) || IsComplex(shape.type()));
  if (!shape.IsScalar() || (is_float && !IsF64(instruction) && !IsC128(instruction))) return std::nullopt;
  Node node;
  node.opcode = instruction.opcode();
  if (node.opcode == Opcode::kParameter) {
    node.kind = Node::kParameter;
    node.number = static_cast<size_t>(instruction.Get<attr::number>());
    return node;
  }
  if (node.opcode == Opcode::kConstant) {
    if (instruction.is_elided()) return std::nullopt;
    node.kind = Node::kConstant;
    node.constant = reference::LoadScalar(*instruction.Get<attr::literal>(), 0);
    if (IsC128(instruction))
      node.constant.u = table_.Add({DoubleDouble(node.constant.f), DoubleDouble(node.constant.imag)});
    return node;
  }
  if (!reference::IsElementwise(node.opcode) || instruction.operand_count() > 3) return std::nullopt;
  for (int64_t i = 0; i < instruction.operand_count(); ++i)
    node.operands[static_cast<size_t>(i)] = numbers.at(instruction.operand(i));
  if (node.opcode == Opcode::kSelect) {
    node.kind = Node::kSelect;
    return node;
  }
  if (node.opcode == Opcode::kClamp && IsF64(instruction)) {
    node.kind = Node::kClamp;
    return node;
  }
  if (IsC128(instruction) || (instruction.operand_count() > 0 && IsC128(*instruction.operand(0))))
    return ComplexNode(instruction, node);
  const bool takes_f64 = instruction.operand_count() > 0 && IsF64(*instruction.operand(0));
  if (takes_f64 && IsF64(instruction)) {
    node.kind = Node::kExtended;
    if (!EvaluateExtended(node.opcode, 1.0, 1.0)) return std::nullopt;
    return node;
  }
  const std::optional<reference::ScalarStep> step = reference::FindScalarStep(instruction);
  if (!step) return std::nullopt;
  node.step = *step;
  node.kind = takes_f64 && node.opcode == Opcode::kCompare ? Node::kCompare : Node::kStep;
  return node;
}

std::optional<Node> Function::ComplexNode(const Instruction& instruction, Node node) const {
  const absl::Span<Instruction* const> operands = instruction.operands();
  const bool are_extended = std::all_of(operands.begin(), operands.end(), [](const Instruction* operand) {
    return IsF64(*operand) || IsC128(*operand);
  });
  if (!are_extended || operands.size() > 2) return std::nullopt;
  for (size_t k = 0; k < operands.size(); ++k) node.is_complex[k] = IsC128(*operands[k]);
  node.gives_complex = IsC128(instruction);
  node.kind = Node::kComplex;
  if (!EvaluateComplex(node.opcode, {}, {})) return std::nullopt;
  return node;
}

ComplexDoubleDouble Function::ComplexOperand(const Node& node, size_t number) const {
  const WideScalar& value = values_[node.operands[number]];
  return node.is_complex[number] ? table_[value.u] : ComplexDoubleDouble(Extended(value));
}

WideScalar Function::ComplexValue(const Node& node) const {
  const ComplexDoubleDouble a = ComplexOperand(node, 0), b = ComplexOperand(node, 1);
  const ComplexDoubleDouble result = *EvaluateComplex(node.opcode, a, b);
  if (!node.gives_complex) return AsScalar(result.real);
  WideScalar value;
  value.u = table_.Add(result);
  return value;
}

WideScalar Function::ValueOf(const Node& node, absl::Span<const WideScalar> arguments) const {
  const WideScalar &a = values_[node.operands[0]], &b = values_[node.operands[1]],
                   &c = values_[node.operands[2]];
  switch (node.kind) {
    case Node::kParameter:
      return arguments[node.number];
    case Node::kConstant:
      return node.constant;
    case Node::kExtended:
      return AsScalar(*EvaluateExtended(node.opcode, Extended(a), Extended(b)));
    case Node::kComplex:
      return ComplexValue(node);
    case Node::kSelect:
      return a.u != 0 ? b : c;
    case Node::kClamp: {
      const DoubleDouble lower = *EvaluateExtended(Opcode::kMaximum, Extended(a), Extended(b));
      return AsScalar(*EvaluateExtended(Opcode::kMinimum, lower, Extended(c)));
    }
    case Node::kCompare: {
      // The low parts decide between equal high parts.
      if (a.f != b.f || a.imag == b.imag) return node.step(a, b);
      return node.step(AsScalar(a.imag), AsScalar(b.imag));
    }
    case Node::kStep:
      break;
  }
  return node.step(a, b, c);
}

absl::Status Function::Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) {
  for (size_t i = 0; i < nodes_.size(); ++i) values_[i] = ValueOf(nodes_[i], arguments);
  for (size_t i = 0; i < results.size(); ++i) results[i] = values_[results_[i]];
  return absl::OkStatus();
}

}  // namespace

std::optional<DoubleDouble> EvaluateExtended(Opcode opcode, const DoubleDouble& a, const DoubleDouble& b) {
  static constexpr std::array<ExtendedFn, kOpcodeCount> kFunctions = MakeExtendedFunctions();
  const ExtendedFn function = kFunctions[static_cast<size_t>(opcode)];
  return function == nullptr ? std::nullopt : function(a, b);
}

std::unique_ptr<reference::ScalarFunction> ExtendedFunction(const Computation& computation,
                                                            ComplexTable& table) {
  auto function = std::make_unique<Function>(table);
  if (!function->Compile(computation)) return nullptr;
  return function;
}

}  // namespace hlo::debug
