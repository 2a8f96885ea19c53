// Parses instructions and their operands (text-format 5.1 to 5.3).

#include <algorithm>

#include "absl/algorithm/container.h"
#include "base/counted.h"
#include "ir/opcode_names.h"
#include "text/parser.h"

namespace hlo::text {

// instruction: `[ROOT] name = right-hand-side`.
bool Parser::ParseInstruction(Scope& scope) {
  const Token start = token();
  const bool is_root = Accept(Tok::kRoot);
  if (!token().IsId()) {
    if (At(Tok::kType)) {
      return Error(token().range(), "'{}' is a type and cannot name an instruction; write '{}_'",
                   lex_.Bytes(token()), lex_.Bytes(token()));
    }
    return Unexpected("the name of an instruction or '}'");
  }
  InstructionParts parts;
  parts.name_range = token().range();
  parts.name = lex_.Word(token());
  parts.first_operand = operands_.size();
  parts.first_attribute = attributes_.size();
  Next();
  bool ok = Expect(Tok::kEqual, "'=' after the name of the instruction");
  ok = ok && ParseRightHandSide(scope, parts);
  Instruction* instruction = ok ? Create(scope, parts) : nullptr;
  Drop(parts);
  if (is_root && scope.root != nullptr) {
    diagnostics_.Error(start.range(), "a second ROOT in this computation")
        .Note(scope.root_range, "the first ROOT is here");
    return false;
  }
  if (is_root) {
    scope.root = instruction != nullptr ? instruction : &poison_;
    scope.root_range = start.range();
  }
  if (instruction == nullptr || instruction == &poison_) {
    scope.names.Insert(parts.name, &poison_);
    return instruction != nullptr;
  }
  return EnterName(scope, instruction, parts.name_range);
}

// Enters a name, which must be unique in the computation and one that XLA leaves unchanged (text-format 3.6).
bool Parser::EnterName(Scope& scope, Instruction* instruction, SourceRange range) {
  const std::string_view name = instruction->name();
  if (name.size() >= 2 && name[0] == '_' && name[1] == '_' && name.substr(0, 6) != "__xla_") {
    scope.names.Insert(name, &poison_);
    return Error(range, "names that start with '__' are reserved; write 'a_{}'", name.substr(2));
  }
  if (IsTypeName(name)) {
    scope.names.Insert(name, &poison_);
    return Error(range, "'{}' is a type and cannot name an instruction; write '{}_'", name, name);
  }
  const auto [first, is_new] = scope.names.Insert(name, instruction);
  if (is_new) return true;
  Diagnostic& diagnostic =
      diagnostics_.Error(range, "a second instruction with the name '{}' in this computation", name);
  if (*first != &poison_) diagnostic.Note((*first)->name_range(), "the first one is here");
  return false;
}

// right-hand-side: `[shape] opcode(operands), attributes`.
bool Parser::ParseRightHandSide(Scope& scope, InstructionParts& parts) {
  if (AtShape()) {
    const uint32_t begin = token().begin;
    if (!ParseShape(&parts.shape)) return false;
    parts.shape_range = From(begin);
  }
  return ParseOpcode(&parts.op) && ParseOperands(scope, parts) && ParseAttributes(scope, parts) &&
         FinishParts(scope, parts);
}

namespace {

// Opcodes with their own `-start` and `-done` opcodes, which are not sugar for async-start.
constexpr Opcode kNativeAsync[] = {Opcode::kAllGather, Opcode::kAllReduce, Opcode::kCollectivePermute,
                                   Opcode::kCopy,      Opcode::kSend,      Opcode::kRecv};

// Older spellings of opcodes and their current names (text-format, Appendix A).
struct OldOpcode {
  std::string_view word;
  Opcode opcode;
};
constexpr OldOpcode kOldOpcodes[] = {{"cross-replica-sum", Opcode::kAllReduce},
                                     {"generate-token", Opcode::kAfterAll},
                                     {"all-reduce-scatter", Opcode::kReduceScatter},
                                     {"equal-to", Opcode::kCompare},
                                     {"not-equal-to", Opcode::kCompare},
                                     {"greater-than", Opcode::kCompare},
                                     {"greater-than-or-equal-to", Opcode::kCompare},
                                     {"less-than", Opcode::kCompare},
                                     {"less-than-or-equal-to", Opcode::kCompare}};

}  // namespace

bool Parser::OpcodeFromWord(std::string_view word, OpcodeWord* op) const {
  if (const auto opcode = hlo::ParseOpcode(word)) {
    op->opcode = *opcode;
    return true;
  }
  constexpr std::pair<std::string_view, Opcode> kSuffixes[] = {
      {"-start", Opcode::kAsyncStart}, {"-update", Opcode::kAsyncUpdate}, {"-done", Opcode::kAsyncDone}};
  for (const auto& [suffix, opcode] : kSuffixes) {
    if (word.size() <= suffix.size() || word.substr(word.size() - suffix.size()) != suffix) continue;
    const auto wrapped = hlo::ParseOpcode(word.substr(0, word.size() - suffix.size()));
    if (!wrapped || absl::c_linear_search(kNativeAsync, *wrapped)) return false;
    op->opcode = opcode;
    op->is_sugar = true;
    op->wrapped = *wrapped;
    return true;
  }
  return false;
}

bool Parser::UnknownOpcode(std::string_view word, SourceRange at) {
  constexpr std::string_view kGone[] = {"tuple-select", "trace", "host-compute", "broadcast-dim-one"};
  if (absl::c_linear_search(kGone, word))
    return Error(at, "the opcode '{}' of old dumps no longer exists", word);
  const std::string_view close = ClosestOpcode(word);
  if (close.empty()) return Error(at, "unknown opcode '{}'", word);
  return Error(at, "unknown opcode '{}'; did you mean '{}'?", word, close);
}

// opcode: a word, possibly sugar such as `add-start`.
bool Parser::ParseOpcode(OpcodeWord* op) {
  if (!At(Tok::kIdent)) return Unexpected("an opcode");
  if (AtUnknownType()) return UnknownType();
  const std::string_view word = lex_.Bytes(token());
  op->range = token().range();
  if (!OpcodeFromWord(word, op)) {
    const auto old = std::find_if(std::begin(kOldOpcodes), std::end(kOldOpcodes),
                                  [&](const OldOpcode& row) { return row.word == word; });
    if (old == std::end(kOldOpcodes)) return UnknownOpcode(word, op->range);
    if (!Tolerate(op->range, "'{}' is the old spelling of '{}'", word, Name(old->opcode))) return false;
    op->opcode = old->opcode;
    op->is_old = true;
  }
  Next();
  return true;
}

// operands: `(a, b)`, `(3)` for a parameter, `({1,2})` for a constant.
bool Parser::ParseOperands(Scope& scope, InstructionParts& parts) {
  if (!Expect(Tok::kLParen, "'(' after the opcode")) return false;
  if (!parts.op.is_sugar && parts.op.opcode == Opcode::kParameter) return ParseParameterNumber();
  if (!parts.op.is_sugar && parts.op.opcode == Opcode::kConstant) return ParseConstantValue(parts);
  if (Accept(Tok::kRParen)) return true;
  do {
    if (!ParseOperand(scope, parts)) return false;
  } while (Accept(Tok::kComma));
  return Expect(Tok::kRParen, "',' or ')' after an operand");
}

void Parser::PushOperand(Instruction* instruction, SourceRange range, InstructionParts& parts) {
  operands_.push_back(instruction);
  operand_ranges_.push_back(range);
  if (instruction == &poison_) parts.poisoned = true;
}

// operand: `[shape] name {#i}`, a nested instruction or, in a single instruction, only a shape. An operand
// without a name is ignored otherwise.
bool Parser::ParseOperand(Scope& scope, InstructionParts& parts) {
  const uint32_t begin = token().begin;
  if (At(Tok::kComma) || At(Tok::kRParen)) {
    Warn(token().range(), "an empty operand is ignored, as XLA does");
    return true;
  }
  Shape shape;
  SourceRange shape_range;
  const bool has_shape = AtShape();
  if (has_shape) {
    if (!ParseShape(&shape)) return false;
    shape_range = From(begin);
    if (At(Tok::kComma) || At(Tok::kRParen)) {
      if (!scope.creates_parameters) {
        Warn(shape_range, "an operand that is only a shape is ignored, as XLA does");
        return true;
      }
      std::string_view name = Keep(fmt::format("_{}", scope.next_anonymous++));
      PushOperand(NewParameter(scope, std::move(shape), name, shape_range), shape_range, parts);
      return true;
    }
  }
  if (AtUnknownType()) return UnknownType();
  if (!token().IsId()) return Unexpected("an operand");
  const Token word = token();
  Next();
  if (At(Tok::kLParen) && word.Is(Tok::kIdent)) {
    return ParseNestedInstruction(scope, word, std::move(shape), shape_range, parts);
  }
  Instruction* instruction;
  // A shape before `#i` is that of the element.
  const bool is_path = At(Tok::kHash);
  if (!ResolveOperand(scope, word, has_shape && !is_path ? &shape : nullptr, shape_range, &instruction))
    return false;
  if (is_path) {
    if (instruction == &poison_) {
      while (Accept(Tok::kHash)) Next();
    } else {
      std::string name(lex_.Word(word));
      if (!ParseElementPath(scope, &instruction, &name)) return false;
      if (has_shape && !Compatible(shape, instruction->shape())) {
        return Error(shape_range, "the operand is declared as {}, but the element is {}", ToString(shape),
                     ToString(instruction->shape()));
      }
    }
  }
  PushOperand(instruction, From(begin), parts);
  return true;
}

bool Parser::UnknownInstruction(Scope& scope, std::string_view word, SourceRange at) {
  std::vector<std::string_view> known;
  scope.names.ForEach([&](std::string_view name, Instruction*) { known.push_back(name); });
  const std::string_view close = known.size() <= 10000 ? ClosestName(word, known) : std::string_view();
  // Reports an undefined name only at its first use.
  scope.names.Insert(word, &poison_);
  Diagnostic& diagnostic =
      close.empty() ? diagnostics_.Error(at, "no instruction '{}' before this one in this computation", word)
                    : diagnostics_.Error(
                          at, "no instruction '{}' before this one in this computation; did you mean '{}'?",
                          word, close);
  for (size_t i = 0; i + 1 < open_scopes_; ++i) {
    Instruction** const outer = scopes_[i].names.Find(word);
    if (outer == nullptr || *outer == &poison_) continue;
    diagnostic.Note((*outer)->name_range(), "this one belongs to an enclosing computation");
  }
  return false;
}

bool Parser::ResolveOperand(Scope& scope, const Token& word, const Shape* shape, SourceRange shape_range,
                            Instruction** result) {
  const std::string_view name = lex_.Word(word);
  Instruction** const known = scope.names.Find(name);
  if (known == nullptr) {
    if (!scope.creates_parameters || shape == nullptr) return UnknownInstruction(scope, name, word.range());
    *result = NewParameter(scope, *shape, name, word.range());
    return EnterName(scope, *result, word.range());
  }
  *result = *known;
  if (shape == nullptr || *result == &poison_ || Compatible(*shape, (*result)->shape())) return true;
  diagnostics_
      .Error(shape_range, "operand '{}' is declared as {}, but it is {}", name, ToString(*shape),
             ToString((*result)->shape()))
      .Note((*result)->name_range(), "'{}' is defined here", name);
  return false;
}

// element-path: `#1#0` selects element 1 and then its element 0.
bool Parser::ParseElementPath(Scope& scope, Instruction** instruction, std::string* name) {
  while (At(Tok::kHash)) {
    const uint32_t begin = token().begin;
    Next();
    int64_t index;
    if (!At(Tok::kInt)) return Unexpected("the number of a tuple element after '#'");
    if (!IntValue(token(), &index)) return false;
    Next();
    const Shape& tuple = (*instruction)->shape();
    if (!tuple.IsTuple()) return Error(From(begin), "'{}' is {}, not a tuple", *name, ToString(tuple));
    const auto count = static_cast<int64_t>(tuple.elements().size());
    if (index < 0 || index >= count) {
      return Error(From(begin), "element {} of '{}', which has {}", index, *name, Counted(count, "element"));
    }
    *name += fmt::format("_{}", index);
    Instruction*& element = scope.elements[{*instruction, index}];
    if (element == nullptr) {
      const AttrEntry entry{AttrId::index, From(begin), AttrValue::Of<int64_t>(index)};
      element = module_->AddInstruction(scope.computation, Opcode::kGetTupleElement, {}, tuple.element(index),
                                        absl::MakeConstSpan(instruction, 1), absl::MakeConstSpan(&entry, 1));
      InstructionEditor::SetRanges(*element, From(begin), From(begin), From(begin), {});
      scope.unnamed.emplace_back(element, *name);
    }
    *instruction = element;
  }
  return true;
}

Instruction* Parser::NewParameter(Scope& scope, Shape shape, std::string_view name, SourceRange at) {
  const auto number = static_cast<int64_t>(scope.parameters.size());
  const AttrEntry entry{AttrId::number, at, AttrValue::Of<int64_t>(number)};
  Instruction* parameter = module_->AddInstruction(scope.computation, Opcode::kParameter, name,
                                                   std::move(shape), {}, absl::MakeConstSpan(&entry, 1));
  InstructionEditor::SetRanges(*parameter, at, at, at, {});
  scope.parameters.push_back(parameter);
  return parameter;
}

// nested-instruction: `[shape] opcode(operands)` in place of an operand, without attributes.
bool Parser::ParseNestedInstruction(Scope& scope, const Token& word, Shape shape, SourceRange shape_range,
                                    InstructionParts& outer) {
  const Nested nested(*this);
  if (!nested) return false;
  InstructionParts parts;
  parts.name_range = word.range();
  parts.shape = std::move(shape);
  parts.shape_range = shape_range;
  parts.op.range = word.range();
  parts.first_operand = operands_.size();
  parts.first_attribute = attributes_.size();
  const std::string_view text = lex_.Bytes(word);
  if (!OpcodeFromWord(text, &parts.op)) {
    if (scope.names.Contains(text)) {
      return Error(token().range(), "expected ',' or ')' after the operand '{}', found '('", text);
    }
    return UnknownOpcode(text, word.range());
  }
  Instruction* instruction = nullptr;
  if (ParseOperands(scope, parts) && FinishParts(scope, parts)) instruction = Create(scope, parts);
  Drop(parts);
  if (instruction == nullptr) return false;
  const uint32_t begin = shape_range.known() ? shape_range.begin : word.begin;
  if (instruction != &poison_) scope.unnamed.emplace_back(instruction, fmt::format("{}.anon", text));
  PushOperand(instruction, From(begin), outer);
  return true;
}

// parameter-number: the integer after `parameter(`.
bool Parser::ParseParameterNumber() {
  const uint32_t begin = token().begin;
  int64_t number;
  if (!At(Tok::kInt)) return Unexpected("the number of the parameter");
  if (!IntValue(token(), &number)) return false;
  if (number < 0) return Error(token().range(), "a parameter cannot have the number {}", lex_.Bytes(token()));
  Next();
  attributes_.push_back({AttrId::number, From(begin), AttrValue::Of<int64_t>(number)});
  return Expect(Tok::kRParen, "')' after the parameter's number");
}

// constant-value: the literal after `constant(`, of the declared shape.
bool Parser::ParseConstantValue(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return Error(parts.op.range, "a constant needs a shape before its opcode");
  if (!SkipOldShape()) return false;
  const uint32_t begin = token().begin;
  Literal* literal = arena().New<Literal>();
  parts.shape = LiteralShape(parts.shape);
  if (!ParseLiteral(parts.shape, literal, &parts.elided)) return false;
  attributes_.push_back({AttrId::literal, From(begin), AttrValue::Of<const Literal*>(literal)});
  return Expect(Tok::kRParen, "')' after the value of the constant");
}

AttrEntry* Parser::FindEntry(const InstructionParts& parts, AttrId id) {
  for (size_t i = parts.first_attribute; i < attributes_.size(); ++i) {
    if (attributes_[i].id == id) return &attributes_[i];
  }
  return nullptr;
}

void Parser::RemoveEntry(const InstructionParts& parts, AttrId id) {
  if (AttrEntry* entry = FindEntry(parts, id))
    attributes_.erase(attributes_.begin() + (entry - attributes_.data()));
}

void Parser::Drop(const InstructionParts& parts) {
  operands_.resize(parts.first_operand);
  operand_ranges_.resize(parts.first_operand);
  attributes_.resize(parts.first_attribute);
}

// Creates the instruction, or returns the poison value if it uses one that failed to parse.
Instruction* Parser::Create(Scope& scope, InstructionParts& parts) {
  if (parts.poisoned) {
    if (!parts.name.empty()) scope.names.Insert(parts.name, &poison_);
    return &poison_;
  }
  if (++instruction_count_ > options_.max_instructions) {
    Error(parts.name_range, "more than {} instructions", options_.max_instructions);
    return nullptr;
  }
  const bool infer = !parts.shape.IsValid();
  const bool spelled_out = parts.shape_range.known() && !Info(parts.op.opcode).has(kForcedShape);
  Instruction* instruction =
      module_->AddInstruction(scope.computation, parts.op.opcode, parts.name, std::move(parts.shape),
                              Operands(parts), Attributes(parts));
  const auto ranges = absl::MakeConstSpan(operand_ranges_).subspan(parts.first_operand);
  InstructionEditor::SetRanges(*instruction, parts.name_range, parts.shape_range, parts.op.range,
                               arena().Copy(ranges));
  if (parts.elided) InstructionEditor::SetElided(*instruction, true);
  if (instruction->opcode() == Opcode::kParameter) scope.parameters.push_back(instruction);
  if (infer && !options_.infer_shape(*module_, *instruction, diagnostics_)) return nullptr;
  if (!spelled_out && !CheckComputedShape(instruction->shape(), parts.op.range)) return nullptr;
  if (instruction->shape().IsTuple()) SpreadSharding(*instruction);
  return instruction;
}

namespace {

// Returns the number of nodes in a shape; -1 if it is deeper than allowed or has more than `limit` nodes.
int64_t CountNodes(const Shape& shape, int64_t depth, int64_t limit) {
  int64_t count = 1;
  if (depth <= 0) return -1;
  for (const Shape& element : shape.elements()) {
    const int64_t inner = CountNodes(element, depth - 1, limit - count);
    if (inner < 0) return -1;
    count += inner;
    if (count > limit) return -1;
  }
  return count;
}

}  // namespace

// Limits the tuple shapes that are not in the text, whose size can double with each instruction.
bool Parser::CheckComputedShape(const Shape& shape, SourceRange at) {
  if (!shape.IsTuple()) return true;
  constexpr int64_t kMaxNodes = int64_t{1} << 26;
  const int64_t limit = kMaxNodes + 16 * static_cast<int64_t>(lex_.size()) - computed_nodes_;
  const int64_t count = CountNodes(shape, options_.max_nesting, limit);
  if (count < 0) return Error(at, "the result is a tuple too deep or too large to be followed");
  computed_nodes_ += count;
  return true;
}

// A single sharding on a tuple applies to each of its leaves.
void Parser::SpreadSharding(Instruction& instruction) {
  const AttrEntry* entry = instruction.Find(AttrId::sharding);
  if (entry == nullptr) return;
  const auto* single = entry->value.As<const Sharding*>();
  if (single->kind == Sharding::Kind::kTuple) return;
  auto* tuple = arena().New<Sharding>();
  tuple->kind = Sharding::Kind::kTuple;
  const auto leaves = static_cast<size_t>(std::max<int64_t>(instruction.shape().LeafCount(), 1));
  tuple->elements = Keep(std::vector<const Sharding*>(leaves, single));
  InstructionEditor::SetAttribute(*module_, instruction, AttrId::sharding,
                                  AttrValue::Of<const Sharding*>(tuple));
}

}  // namespace hlo::text
