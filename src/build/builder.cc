#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/arena.h"
#include "base/status.h"
#include "build/emit.h"
#include "check/instruction.h"
#include "hlo_run/parse.h"
#include "types/wide.h"

namespace hlo::build {
namespace {

std::shared_ptr<const SourceText> Text(std::string_view text) {
  return std::make_shared<SourceText>("<builder>", std::string(text));
}

// Returns the first error with its rule and notes in one line.
std::string FirstError(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    std::string message = diagnostic.message;
    if (!diagnostic.rule.empty()) message += fmt::format("  [{}]", diagnostic.rule);
    for (const Note& note : diagnostic.notes) message += "; " + note.message;
    return message;
  }
  return "it is not valid";
}

// True if all elements are equal bit patterns.
bool IsUniform(const Literal& value) {
  const int64_t width = ByteCount(value.type());
  for (int64_t i = 1; i < value.element_count(); ++i) {
    if (std::memcmp(value.data(), value.data() + i * width, static_cast<size_t>(width)) != 0) return false;
  }
  return true;
}

// True if the type can represent the value; floats are rounded.
bool Holds(ElementType type, double value) {
  if (IsFloat(type) || IsComplex(type)) return true;
  const double low = IsSigned(type) ? -std::ldexp(1.0, static_cast<int>(BitWidth(type)) - 1) : 0.0;
  const double high = std::ldexp(1.0, static_cast<int>(BitWidth(type)) - (IsSigned(type) ? 1 : 0));
  return value >= low && value < high && value == std::trunc(value);
}

absl::StatusOr<Literal> ScalarLiteral(ElementType type, double value) {
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::Create(Shape::Scalar(type)));
  DispatchWide(type, [&]<class W>() { Storer<W>(type)(literal.mutable_data(), 0, static_cast<W>(value)); });
  return literal;
}

}  // namespace

const Shape& Op::shape() const {
  static const Shape* const kNone = new Shape();
  return instruction_ == nullptr ? *kNone : instruction_->shape();
}

Builder::Builder(std::string_view module_name) : module_(std::make_shared<Module>(nullptr)) {
  module_->set_name(Keep(module_name));
  open_.push_back(module_->NewComputation(UniqueName("main")));
}

void* Builder::Allocate(size_t byte_count, size_t alignment) {
  return module_->arena().Allocate(byte_count, alignment);
}
std::string_view Builder::Keep(std::string_view text) { return module_->arena().Copy(text); }
IntList Builder::Keep(Dims numbers) { return module_->arena().Copy(numbers); }
IntLists Builder::Keep(const Groups& lists) {
  std::vector<IntList> kept;
  for (const std::vector<int64_t>& list : lists) kept.push_back(Keep(Dims(list)));
  return module_->arena().Copy(absl::Span<const IntList>(kept));
}

// Returns a unique name of letters, digits, `_`, `.` and `-` that starts with a letter or `_`; appends `.N`
// if the name is taken.
std::string_view Builder::UniqueName(std::string_view wanted) {
  std::string name(wanted);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  if (name.empty() || !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_'))
    name.insert(0, 1, '_');
  if (ParseElementType(name)) name += '_';  // Readers would parse it as a shape.
  const std::string root = name;
  while (!names_.emplace(name, 0).second) name = fmt::format("{}.{}", root, ++names_[root]);
  return Keep(std::string_view(name));
}

Op Builder::Fail(Place place, std::string_view message) {
  if (status_.ok()) {
    const std::string_view file = place.file_name();
    const std::string text =
        fmt::format("{}:{}: {}", file.substr(file.rfind('/') + 1), place.line(), message);
    status_ = absl::InvalidArgumentError(text);
  }
  return Op(this, nullptr);
}

Op Builder::Emit(Opcode opcode, const std::vector<Op>& operands, const std::vector<AttrEntry>& attributes,
                 Shape shape, std::optional<ElementType> type, Place place) {
  if (!status_.ok() || !Ready(place, operands)) return Op(this, nullptr);
  std::vector<Instruction*> instructions;
  for (size_t i = 0; i < operands.size(); ++i) {
    Instruction* operand = operands[i].instruction();
    if (operands[i].builder() != this) {
      return Fail(place, fmt::format("operand {} of {} is of another builder", i, Name(opcode)));
    }
    if (operand->parent() != open_.back()) {
      return Fail(
          place,
          fmt::format("operand {} of {}, '{}', belongs to computation '{}', not to '{}': pass it as a "
                      "parameter",
                      i, Name(opcode), operand->name(), operand->parent()->name(), open_.back()->name()));
    }
    instructions.push_back(operand);
  }
  Instruction* instruction = module_->AddInstruction(open_.back(), opcode, UniqueName(Name(opcode)),
                                                     std::move(shape), instructions, attributes);
  Diagnostics diagnostics;
  if (!instruction->shape().IsValid() && !InferMissingShape(*module_, *instruction, diagnostics)) {
    return Fail(place, FirstError(diagnostics));
  }
  if (type && instruction->shape().IsArray()) {
    Shape typed = instruction->shape();
    typed.set_type(*type);
    InstructionEditor::SetShape(*instruction, std::move(typed));
  }
  check::CheckInstruction(*instruction, diagnostics, {});
  if (!diagnostics.ok()) return Fail(place, FirstError(diagnostics));
  return Op(this, instruction);
}

Op Builder::Parameter(int64_t number, const Shape& shape, std::string_view name, Place place) {
  constexpr int64_t kMaxParameters = 1 << 20;
  if (!status_.ok()) return Op(this, nullptr);
  if (number < 0 || number >= kMaxParameters) {
    return Fail(place,
                fmt::format("parameter number {} is not between 0 and {}", number, kMaxParameters - 1));
  }
  const absl::Span<Instruction* const> known = open_.back()->parameters();
  if (number < static_cast<int64_t>(known.size()) && known[number] != nullptr) {
    return Fail(place, fmt::format("there is a parameter {} already, '{}'", number, known[number]->name()));
  }
  const Op parameter = Emit(Opcode::kParameter, {}, {Attr<attr::number>(number)}, shape, {}, place);
  if (!parameter.ok()) return parameter;
  InstructionEditor::SetParameter(*open_.back(), number, parameter.instruction());
  return name.empty() ? parameter : SetName(parameter, name);
}

Op Builder::Parameter(int64_t number, std::string_view shape, std::string_view name, Place place) {
  Diagnostics diagnostics;
  const auto text = Text(shape);
  const Shape parsed = ParseShape(*text, diagnostics);
  if (!diagnostics.ok()) return Fail(place, FirstError(diagnostics));
  return Parameter(number, parsed, name, place);
}

Op Builder::Constant(const Literal& value, Place place) {
  const Shape& shape = value.shape();
  if (!shape.IsValid()) return Fail(place, "the literal of a constant has no value");
  if (shape.IsArray() && value.element_count() > 1 && !shape.HasDynamicDim() && value.data() != nullptr &&
      IsUniform(value)) {
    absl::StatusOr<Literal> scalar = Literal::Create(Shape::Scalar(shape.type()));
    if (!scalar.ok()) return Fail(place, Message(scalar.status()));
    std::memcpy(scalar->mutable_data(), value.data(), static_cast<size_t>(ByteCount(shape.type())));
    return Broadcast({Constant(*scalar, place), place}, shape.dims());
  }
  const Literal* kept = module_->arena().New<Literal>(value);
  return Emit(Opcode::kConstant, {}, {Attr<attr::literal>(kept)}, shape, {}, place);
}

Op Builder::Constant(std::string_view text, Place place) {
  const absl::StatusOr<Literal> value = ParseLiteral(*Text(text), Shape());
  if (!value.ok()) return Fail(place, Message(value.status()));
  return Constant(*value, place);
}

Op Builder::Constant(ElementType type, double value, Place place) {
  if (!Holds(type, value)) return Fail(place, fmt::format("{} is not a value of {}", value, Name(type)));
  const absl::StatusOr<Literal> literal = ScalarLiteral(type, value);
  return literal.ok() ? Constant(*literal, place) : Fail(place, Message(literal.status()));
}

Op Builder::Iota(const Shape& shape, int64_t dimension, Place place) {
  if (shape.HasDynamicDim()) return Fail(place, "iota takes a shape of fixed sizes, not " + ToString(shape));
  return Emit(Opcode::kIota, {}, {Attr<attr::iota_dimension>(dimension)}, shape, {}, place);
}
Op Builder::Iota(ElementType type, int64_t size, Place place) {
  if (size < 0) return Fail(place, fmt::format("the size of an iota is {}", size));
  return Iota(Shape::Array(type, {size}), 0, place);
}

Op Builder::Tuple(const std::vector<Op>& elements, Place place) {
  return Emit(Opcode::kTuple, elements, {}, {}, {}, place);
}
Op Builder::AfterAll(const std::vector<Op>& tokens, Place place) {
  for (const Op& token : tokens) {
    if (token.ok() && !token.shape().IsToken()) {
      return Fail(place, fmt::format("after-all takes tokens, but '{}' is {}", token.instruction()->name(),
                                     ToString(token.shape())));
    }
  }
  return Emit(Opcode::kAfterAll, tokens, {}, {}, {}, place);
}
Op Builder::CreateToken(Place place) { return AfterAll({}, place); }
Op Builder::ReplicaId(Place place) { return Emit(Opcode::kReplicaId, {}, {}, {}, {}, place); }
Op Builder::PartitionId(Place place) { return Emit(Opcode::kPartitionId, {}, {}, {}, {}, place); }

Op Builder::CustomCall(std::string_view target, const std::vector<Op>& operands, const Shape& shape,
                       std::string_view backend_config, bool has_side_effect, Place place) {
  if (target.starts_with('$')) return Fail(place, "custom-call targets that start with '$' are reserved");
  std::vector<AttrEntry> attributes = {Attr<attr::custom_call_target>(Keep(target))};
  if (has_side_effect) attributes.push_back(Attr<attr::custom_call_has_side_effect>(true));
  if (!backend_config.empty()) attributes.push_back(Attr<attr::backend_config>(Json{Keep(backend_config)}));
  return Emit(Opcode::kCustomCall, operands, attributes, shape, {}, place);
}

Function Builder::Define(std::string_view name, const std::vector<Shape>& parameters,
                         const std::function<Op(const std::vector<Op>&)>& body, Place place) {
  if (!status_.ok()) return {this, nullptr};
  Computation* computation = module_->NewComputation(UniqueName(name));
  open_.push_back(computation);
  std::vector<Op> values;
  for (const Shape& shape : parameters) {
    values.push_back(Parameter(static_cast<int64_t>(values.size()), shape, "", place));
  }
  const Op root = status_.ok() ? body(values) : Op();
  open_.pop_back();
  if (status_.ok() && (!root.ok() || root.builder() != this || root.instruction()->parent() != computation)) {
    Fail(place, fmt::format("the body of '{}' returns no value of it", computation->name()));
  }
  if (!status_.ok()) return {this, nullptr};
  InstructionEditor::SetRoot(*computation, root.instruction());
  module_->AddComputation(computation);
  return {this, computation};
}

Function Builder::Scalar(Opcode opcode, ElementType type, Place place) {
  const Shape scalar = Shape::Scalar(type);
  return Define(
      fmt::format("{}_{}", hlo::Name(opcode), hlo::Name(type)), {scalar, scalar},
      [&](const std::vector<Op>& p) { return Emit(opcode, p, {}, {}, {}, place); }, place);
}

Function Builder::Comparator(ComparisonDirection direction, const std::vector<ElementType>& types,
                             Place place) {
  std::vector<Shape> parameters;
  for (ElementType type : types) parameters.insert(parameters.end(), 2, Shape::Scalar(type));
  if (types.empty()) {
    Fail(place, "a comparator needs the types of what it compares");
    return {this, nullptr};
  }
  const ComparisonOrder order = IsFloat(types[0]) ? ComparisonOrder::kTotal : ComparisonOrder::kPartial;
  return Define(
      fmt::format("compare_{}", hlo::Name(types[0])), parameters,
      [&](const std::vector<Op>& p) {
        return Compare({p[0], place}, p[1], direction, {}, order);
      },
      place);
}

Op Builder::SetName(Op op, std::string_view name) {
  if (op.ok() && op.builder() == this) InstructionEditor::SetName(*op.instruction(), UniqueName(name));
  return op;
}

Op Builder::SetAttribute(Op op, AttrEntry attribute) {
  if (op.ok() && op.builder() == this)
    InstructionEditor::SetAttribute(*module_, *op.instruction(), attribute.id, attribute.value);
  return op;
}

absl::StatusOr<CheckedModule> Builder::Build(Op root, const CheckOptions& options, Place place) {
  if (status_.ok() && open_.size() != 1) Fail(place, "Build stands inside a Define");
  if (status_.ok() &&
      (!root.ok() || root.builder() != this || root.instruction()->parent() != open_.back())) {
    Fail(place, "the root of the entry is not a value of it");
  }
  HLO_RETURN_IF_ERROR(status_);
  InstructionEditor::SetRoot(*open_.back(), root.instruction());
  module_->AddComputation(open_.back());
  module_->set_entry(open_.back());
  Diagnostics diagnostics;
  absl::StatusOr<CheckedModule> checked = Check(module_, diagnostics, options);
  status_ = absl::FailedPreconditionError("the builder has built its module already");
  return checked;
}

bool Ready(Place place, const std::vector<Op>& operands) {
  bool ready = true;
  Builder* builder = nullptr;
  for (const Op& op : operands) {
    ready &= op.ok();
    if (builder == nullptr) builder = op.builder();
  }
  if (!ready && builder != nullptr && builder->status().ok()) builder->Fail(place, "an operand has no value");
  return ready;
}

bool ReadyArrays(Place place, std::string_view what, const std::vector<Op>& operands) {
  if (!Ready(place, operands)) return false;
  for (const Op& op : operands) {
    if (op.shape().IsArray()) continue;
    Refuse(op, place, "{} takes arrays, but '{}' is {}", what, op.instruction()->name(),
           ToString(op.shape()));
    return false;
  }
  return true;
}

Op Emit(Place place, Opcode opcode, const std::vector<Op>& operands, const std::vector<AttrEntry>& attributes,
        Shape shape, std::optional<ElementType> type) {
  for (const Op& op : operands) {
    if (op.builder() != nullptr) {
      return op.builder()->Emit(opcode, operands, attributes, std::move(shape), type, place);
    }
  }
  return Op();
}

IntList KeepDims(const Op& at, Dims dims) {
  return at.builder() == nullptr ? IntList() : at.builder()->Keep(dims);
}

attr_kind::PrecisionList KeepPrecision(const Op& at, const std::vector<Precision>& precision) {
  if (at.builder() == nullptr) return {};
  return at.builder()->module().arena().Copy(absl::Span<const Precision>(precision));
}

}  // namespace hlo::build
