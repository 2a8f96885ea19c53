// Parses the three kinds of text, and checks the complete module (text-format 2.1, 2.2, 2.4).

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "text/parser.h"
#include "types/shape_leaves.h"

namespace hlo::text {
namespace {

// Returns the leaf with the default order of dimensions. Tiles and memory spaces remain.
Shape InDefaultOrder(const Shape& leaf) {
  if (!leaf.IsArray() || leaf.layout() == nullptr) return leaf;
  Layout layout = *leaf.layout();
  layout.minor_to_major = Layout::Default(leaf.rank()).minor_to_major;
  Shape result = leaf;
  result.set_layout(std::move(layout));
  return result;
}

}  // namespace

// text: a full module, a module without header, or a single instruction.
bool Parser::ParseText() {
  if (At(Tok::kEnd)) return Error({0, 1}, "the text is empty");
  AcceptHashComment();
  if (At(Tok::kHloModule)) return ParseFullModule();
  if (At(Tok::kEntry)) return ParseBareModule();
  // The second token distinguishes a computation from an instruction. So does a signature, which XLA rejects
  // here.
  const Token first = token();
  bool is_computation = false;
  if (first.IsId()) {
    Next();
    is_computation = At(Tok::kLBrace) || At(Tok::kLParen);
    if (At(Tok::kLParen)) {
      OpcodeWord ignored;
      Next();
      // `b(f32[2])` is a shape, but `b (x: f32[2])` is a signature.
      is_computation =
          !At(Tok::kType) && !OpcodeFromWord(lex_.Word(first), &ignored) &&
          Tolerate(first.range(), "XLA reads a computation with a signature only after HloModule or ENTRY");
    }
  } else if (!At(Tok::kError)) {
    Next();
    is_computation = At(Tok::kLBrace) && !first.Is(Tok::kRoot);
  }
  lex_.Restart(first.begin);
  return is_computation ? ParseBareModule() : ParseSingleInstruction();
}

// full-module: `HloModule name, attributes`, source tables, computations.
bool Parser::ParseFullModule() {
  Next();
  if (!token().IsId()) return Unexpected("the name of the module");
  module_->set_name(lex_.Word(token()));
  Next();
  header_seen_.clear();
  while (Accept(Tok::kComma)) {
    if (!ParseHeaderAttribute()) return false;
  }
  if (At(Tok::kFileNames) && !ParseTables()) return false;
  return ReadComputations() && FinishModule();
}

// bare-module: computations without a header.
bool Parser::ParseBareModule() {
  if (!ReadComputations()) return false;
  const Computation* entry = module_->entry() != nullptr ? module_->entry() : last_named_;
  if (entry != nullptr) module_->set_name(Keep(fmt::format("module_{}", entry->name())));
  return FinishModule();
}

bool Parser::ReadComputations() {
  if (At(Tok::kEnd)) return Error(token().range(), "the module has no computations");
  while (!At(Tok::kEnd)) {
    if (AcceptHashComment()) continue;
    if (!ParseComputation()) return false;
    if (diagnostics_.full()) return false;
  }
  return diagnostics_.ok();
}

// single-instruction: an instruction whose undefined operands become parameters.
bool Parser::ParseSingleInstruction() {
  module_->set_name("_");
  Computation* computation = module_->NewComputation("_");
  Scope& scope = PushScope(computation);
  scope.creates_parameters = true;
  bool ok;
  if (AtShape()) {
    InstructionParts parts;
    parts.first_operand = parts.first_attribute = 0;
    ok = ParseRightHandSide(scope, parts);
    parts.name = "_";
    parts.name_range = parts.op.range;
    Instruction* instruction = ok ? Create(scope, parts) : nullptr;
    ok = instruction != nullptr;
    Drop(parts);
    if (ok) ok = EnterName(scope, instruction, parts.name_range);
  } else {
    ok = ParseInstruction(scope);
  }
  if (!ok) return false;
  if (!At(Tok::kEnd)) return Unexpected("the end of the text after a single instruction");
  scope.root = nullptr;  // The root is always the last instruction.
  if (!FinishComputation(scope, {0, 1})) return false;
  PopScope();
  module_->AddComputation(computation);
  module_->set_entry(computation);
  module_->mutable_header().is_scheduled = true;
  return FinishModule();
}

bool Parser::FinishModule() {
  if (module_->entry() == nullptr) module_->set_entry(last_named_);
  if (!diagnostics_.ok() || module_->entry() == nullptr) return false;
  SetEntryLayout();
  CheckStackFrames();
  const bool aliases = CheckAliases();
  return CheckAsyncCallees() && aliases;
}

// Without entry_computation_layout, XLA takes the layouts of the entry computation, but resets the order of
// dimensions if a header attribute gives another part of the module's configuration.
void Parser::SetEntryLayout() {
  ModuleHeader& header = module_->mutable_header();
  if (header.entry_layout != nullptr) return;
  const bool has_configuration = header.alias_passthrough_params || header.replica_count != 1 ||
                                 header.num_partitions != 1 ||
                                 absl::c_any_of(header_seen_, [](const auto& seen) {
                                   return seen.first == "allow_spmd_sharding_propagation_to_parameters" ||
                                          seen.first == "allow_spmd_sharding_propagation_to_output";
                                 });
  if (!has_configuration) return;
  auto layout = std::make_shared<EntryLayout>();
  bool differs = false;
  const auto reset = [&](const Shape& shape) {
    Shape result = MapLeaves(shape, InDefaultOrder);
    differs |= !(result == shape);
    return result;
  };
  const Computation& entry = *module_->entry();
  for (const Instruction* parameter : entry.parameters()) {
    layout->parameters.push_back(reset(parameter->shape()));
  }
  layout->result = reset(entry.root()->shape());
  if (differs) header.entry_layout = std::move(layout);
}

// Checks that computations of asynchronous instructions have no other callers (text-format 5.4).
bool Parser::CheckAsyncCallees() {
  if (!has_async_) return true;
  absl::flat_hash_map<const Computation*, const Instruction*> async;
  auto for_each_call = [&](auto&& f) {
    for (const Computation* c : module_->computations()) {
      for (const Instruction* i : c->instructions()) {
        for (const Computation* callee : i->called_computations()) f(i, callee);
      }
    }
  };
  for_each_call([&](const Instruction* i, const Computation* callee) {
    if (Info(i->opcode()).has(kAsync)) async.emplace(callee, i);
  });
  for_each_call([&](const Instruction* i, const Computation* callee) {
    const auto it = async.find(callee);
    if (Info(i->opcode()).has(kAsync) || it == async.end()) return;
    diagnostics_
        .Error(i->opcode_range(), "'{}' calls '{}', which an asynchronous instruction runs", i->name(),
               callee->name())
        .Note(it->second->opcode_range(), "this one");
  });
  return diagnostics_.ok();
}

}  // namespace hlo::text
