// Parses computations and recovers from errors in them (text-format 3).

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "base/counted.h"
#include "text/parser.h"

namespace hlo::text {

// computation: `[ENTRY] name [signature] { instructions } [, execution_thread="t"]`.
bool Parser::ParseComputation() {
  const uint32_t begin = token().begin;
  const Token start = token();
  const bool is_entry = Accept(Tok::kEntry);
  if (At(Tok::kHloModule))
    return Error(token().range(), "a second module begins here; a line '// -----' separates modules");
  if (!token().IsId()) return Unexpected("the name of a computation");
  const Token name = token();
  const std::string_view word = lex_.Word(name);
  Next();
  Shape result;
  SourceRange result_range;
  const bool has_signature = At(Tok::kLParen);
  if (has_signature && !ParseSignature(&result, &result_range)) return SkipComputation(word, begin);
  const Token brace = token();
  if (!Expect(Tok::kLBrace, "'{' before the body of the computation")) return SkipComputation(word, begin);

  Computation* computation = module_->NewComputation(word);
  InstructionEditor::SetNameRange(*computation, name.range());
  Scope& scope = PushScope(computation);
  const bool complete = ParseBody(scope, brace);
  PopScope();
  if (!complete) return false;
  const Instruction* root = computation->root();
  if (root != nullptr && result.IsValid() && root->shape().IsValid() && !Compatible(result, root->shape())) {
    diagnostics_
        .Error(result_range, "the signature promises {}, but the root is {}", ToString(result),
               ToString(root->shape()))
        .Note(root->name_range(), "the root is here");
  }
  for (bool first = true; Accept(Tok::kComma); first = false) {
    const std::string_view attribute = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
    const bool is_old = attribute == "thread_name";
    if (!first || (attribute != "execution_thread" && !is_old)) {
      Unexpected("execution_thread=, the only attribute that a computation has, once");
      return RecoverToComputation(begin);
    }
    if (is_old && !Tolerate(token().range(), "'thread_name' is the old spelling of 'execution_thread'")) {
      return RecoverToComputation(begin);
    }
    Next();
    std::string_view thread;
    if (!ParseString(&thread)) return RecoverToComputation(begin);
    InstructionEditor::SetExecutionThread(*computation, thread);
  }
  module_->AddComputation(computation);
  last_named_ = computation;
  const auto [first, is_new] = computations_.Insert(word, computation);
  if (!is_new) {
    diagnostics_.Error(name.range(), "a second computation with the name '{}'", word)
        .Note((*first)->name_range(), "the first one is here");
  }
  if (!is_entry) return true;
  if (module_->entry() != nullptr) {
    diagnostics_.Error(start.range(), "a second ENTRY").Note(entry_range_, "the first one is here");
  }
  module_->set_entry(computation);
  entry_range_ = start.range();
  return true;
}

// Skips a computation that could not be parsed.
bool Parser::SkipComputation(std::string_view name, uint32_t begin) {
  failed_computations_.push_back(name);
  return RecoverToComputation(begin);
}

// signature: `(name: shape, ...) -> shape`. Only the result is used; XLA parses and drops the parameters.
bool Parser::ParseSignature(Shape* result, SourceRange* range) {
  Next();
  if (!ReadList(Tok::kRParen, "',' or ')' in the signature", [&] {
        if (!token().IsId()) return Unexpected("the name of a parameter");
        Next();
        Shape ignored;
        return ParseShape(&ignored);
      }))
    return false;
  if (!Expect(Tok::kArrow, "'->' and the shape of the result")) return false;
  const uint32_t begin = token().begin;
  if (!ParseShape(result)) return false;
  *range = From(begin);
  return true;
}

// body: the instructions after `{`. Returns false only if parsing cannot continue.
bool Parser::ParseBody(Scope& scope, Token brace) {
  const Nested nested(*this);
  if (!nested) return false;
  while (!At(Tok::kRBrace)) {
    const uint32_t begin = token().begin;
    if (At(Tok::kEnd)) {
      diagnostics_.Error(token().range(), "the text ends inside a computation")
          .Note(brace.range(), "this '{{' is never closed");
      return false;
    }
    if (AcceptHashComment()) continue;
    if (AtComputation()) return CloseUnfinishedBody(scope, brace);
    // Nested bodies do not recover: every level would read the rest of the text again.
    if (!ParseInstruction(scope) && (open_scopes_ > 1 || !RecoverToInstruction(begin))) return false;
    if (At(Tok::kEnd) && !diagnostics_.ok()) return false;
  }
  const SourceRange close = token().range();
  Next();
  return FinishComputation(scope, {brace.begin, close.end});
}

// True if the line starts a computation, which cannot occur in a body.
bool Parser::AtComputation() const {
  if (At(Tok::kEntry)) return true;
  if (!token().IsId()) return false;
  const char next = lex_.base()[lex_.SkipBlanks(token().end)];
  if (next != '{' && next != '(') return false;
  std::string_view line = source_->LineAt(token().begin);
  while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
  return line.ends_with('{');
}

// Reports a missing `}` once and continues with the next computation.
bool Parser::CloseUnfinishedBody(Scope& scope, Token brace) {
  const auto& all = diagnostics_.all();
  if (all.empty() || all.back().range.begin != token().begin) {
    diagnostics_.Error(token().range(), "expected '}}' before the next computation")
        .Note(brace.range(), "this '{{' is never closed");
  }
  return open_scopes_ == 1 && FinishComputation(scope, {brace.begin, lex_.last_end()});
}

// nested-body: `{ instructions }` in place of a computation's name.
bool Parser::ParseNestedBody(Computation** computation) {
  // Each nested body takes about a dozen stack frames.
  const Nested nested(*this, 3);
  if (!nested) return false;
  const Token brace = token();
  Next();
  *computation = module_->NewComputation("_");
  InstructionEditor::SetNested(**computation, true);
  InstructionEditor::SetNameRange(**computation, brace.range());
  const int64_t errors_before = diagnostics_.error_count();
  const bool complete = ParseBody(PushScope(*computation), brace);
  PopScope();
  if (!complete || diagnostics_.error_count() > errors_before) return false;
  module_->AddComputation(*computation);
  return true;
}

// computation-ref: the name of a preceding computation, or a nested body.
bool Parser::ParseComputationRef(Computation** computation) {
  if (At(Tok::kLBrace)) return ParseNestedBody(computation);
  if (!token().IsId()) return Unexpected("the name of a computation or '{' and its body");
  const std::string_view word = lex_.Word(token());
  Computation** const found = computations_.Find(word);
  if (found == nullptr) {
    if (absl::c_linear_search(failed_computations_, word)) return false;
    std::vector<std::string_view> known;
    computations_.ForEach([&](std::string_view name, Computation*) { known.push_back(name); });
    const std::string_view close = known.size() <= 10000 ? ClosestName(word, known) : std::string_view();
    if (close.empty()) return Error(token().range(), "no computation '{}' above this one", word);
    return Error(token().range(), "no computation '{}' above this one; did you mean '{}'?", word, close);
  }
  *computation = *found;
  Next();
  return true;
}

bool Parser::FinishComputation(Scope& scope, SourceRange body) {
  Computation& computation = *scope.computation;
  if (computation.instructions().empty()) {
    if (diagnostics_.ok()) Error(body, "a computation needs at least one instruction");
    return true;
  }
  Instruction* root = scope.root != nullptr ? scope.root : computation.instructions().back();
  if (root != &poison_) InstructionEditor::SetRoot(computation, root);
  NameUnnamed(scope);
  WarnOfMissingRoot(scope);

  const auto count = static_cast<int64_t>(scope.parameters.size());
  for (Instruction* parameter : scope.parameters) {
    const auto number = parameter->Get<attr::number>();
    if (number >= count) {
      if (diagnostics_.ok()) {
        Error(parameter->range_of<attr::number>(),
              "parameter number {}, but the computation has {}: numbers must be 0, 1, ... without a gap",
              number, Counted(count, "parameter"));
      }
      continue;
    }
    const auto known = computation.parameters();
    if (number < static_cast<int64_t>(known.size()) && known[number] != nullptr) {
      diagnostics_.Error(parameter->range_of<attr::number>(), "a second parameter with the number {}", number)
          .Note(known[number]->name_range(), "the first one is here");
      continue;
    }
    InstructionEditor::SetParameter(computation, number, parameter);
  }
  return true;
}

// Warns that XLA then uses the last instruction, which may be unintended.
void Parser::WarnOfMissingRoot(const Scope& scope) {
  const auto instructions = scope.computation->instructions();
  if (scope.root != nullptr || scope.creates_parameters || instructions.size() < 2 || !diagnostics_.ok())
    return;
  Warn(instructions.back()->name_range(), "no instruction of '{}' is marked ROOT: the last one is taken",
       scope.computation->name());
}

// Names unnamed instructions once all names in the text are known.
void Parser::NameUnnamed(Scope& scope) {
  absl::flat_hash_map<std::string, int64_t> next;
  for (auto& [instruction, wish] : scope.unnamed) {
    std::string name = wish;
    while (scope.names.Contains(name)) name = fmt::format("{}.{}", wish, ++next[wish]);
    const std::string_view kept = Keep(name);
    InstructionEditor::SetName(*instruction, kept);
    scope.names.Insert(kept, instruction);
  }
}

// Recovers from an error in the instruction that starts at `begin`: continues at the next instruction or at
// the `}` of the computation. Brackets are counted from `begin`; a line that looks like an instruction ends
// it even inside brackets.
bool Parser::RecoverToInstruction(uint32_t begin) {
  if (diagnostics_.full()) return false;
  const uint32_t failed_at = token().begin;
  lex_.Restart(begin);
  int64_t open = 0;
  for (bool first = true; !At(Tok::kEnd); first = false) {
    if (At(Tok::kError)) {
      if (token().detail != 0) return false;
      const size_t line = source_->content().find('\n', token().end);
      if (line == std::string::npos) return false;
      lex_.Restart(static_cast<uint32_t>(line));
      continue;
    }
    const Token here = token();
    const uint32_t last_end = lex_.last_end();
    const bool at_line_start = std::count(lex_.base() + last_end, lex_.base() + here.begin, '\n') > 0;
    if (!first && at_line_start && here.begin >= failed_at && AtComputation()) return true;
    if (!first && here.begin >= failed_at && (open <= 0 || at_line_start)) {
      if (here.Is(Tok::kRoot)) return true;
      if (here.IsId()) {
        Next();
        const bool is_start = At(Tok::kEqual);
        lex_.Rewind(here, last_end);
        if (is_start) return true;
      }
      const bool at_column_1 = here.begin == 0 || source_->content()[here.begin - 1] == '\n';
      if (here.Is(Tok::kRBrace) && (open <= 0 || at_column_1)) return true;
    }
    if (here.Is(Tok::kLBrace) || here.Is(Tok::kLParen) || here.Is(Tok::kLSquare)) ++open;
    if (here.Is(Tok::kRBrace) || here.Is(Tok::kRParen) || here.Is(Tok::kRSquare)) --open;
    Next();
  }
  return true;
}

// Recovers from an error outside of bodies: continues at the next computation that starts in column 1.
bool Parser::RecoverToComputation(uint32_t begin) {
  if (diagnostics_.full() || (At(Tok::kError) && token().detail != 0)) return false;
  const std::string_view content = source_->content();
  for (size_t at = content.find('\n', std::max(begin, token().begin)); at != std::string::npos;
       at = content.find('\n', at + 1)) {
    const char c = content[at + 1];
    if (c != '%' && c != '_' && !absl::ascii_isalpha(static_cast<unsigned char>(c))) continue;
    const size_t line_end = std::min(content.find('\n', at + 1), content.size());
    if (content.find_last_not_of(" \r", line_end - 1) >= at &&
        content[content.find_last_not_of(" \r", line_end - 1)] == '{') {
      lex_.Restart(static_cast<uint32_t>(at + 1));
      return true;
    }
  }
  return false;
}

}  // namespace hlo::text
