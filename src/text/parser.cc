#include "text/parser.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "base/status.h"

namespace hlo {
namespace text {

void Scope::Reset(Computation* c) {
  computation = c;
  names.Clear();
  if (!elements.empty()) elements.clear();
  unnamed.clear();
  parameters.clear();
  root = nullptr;
  root_range = {};
  creates_parameters = false;
  next_anonymous = 0;
}

Parser::Parser(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics,
               const ParseOptions& options)
    : source_(std::move(source)),
      diagnostics_(diagnostics),
      options_(options),
      lex_(source_->content()),
      module_(std::make_unique<Module>(source_)) {}

std::unique_ptr<Module> Parser::Run() {
  if (source_->content().size() >= std::numeric_limits<uint32_t>::max()) {
    diagnostics_.Error({}, "the text has 4 GiB or more");
    return nullptr;
  }
  const int64_t errors_before = diagnostics_.error_count();
  if (!ParseText() || diagnostics_.error_count() > errors_before) return nullptr;
  return std::move(module_);
}

Shape Parser::RunShape() {
  Shape shape;
  if (!ParseShape(&shape)) return Shape();
  if (!At(Tok::kEnd)) {
    Unexpected("the end of the text after the shape");
    return Shape();
  }
  return shape;
}

absl::StatusOr<Literal> Parser::RunLiteral(const Shape& shape) {
  Literal literal;
  bool elided = false;
  is_standalone_ = true;
  const bool read =
      shape.IsValid() ? ParseLiteral(shape, &literal, &elided) : ParseShapedLiteral(&literal, &elided);
  if (read && !At(Tok::kEnd)) Unexpected("the end of the text after the literal");
  if (read && elided) Error({0, 1}, "`...` leaves elements out, so there is no value");
  HLO_RETURN_IF_ERROR(diagnostics_.ToStatus(*source_));
  return literal;
}

std::string Parser::Describe(const Token& t) const {
  constexpr size_t kShown = 40;
  std::string bytes(lex_.Bytes(t).substr(0, kShown));
  if (t.end - t.begin > kShown) bytes += "...";
  switch (t.kind) {
    case Tok::kEnd:
      return "the end of the text";
    case Tok::kString:
      return fmt::format("the string {}", bytes);
    case Tok::kInt:
    case Tok::kDecimal:
    case Tok::kNegInf:
      return fmt::format("the number {}", bytes);
    case Tok::kType:
      return fmt::format("the type '{}'", bytes);
    case Tok::kAttr:
      return fmt::format("'{}', which is written as an attribute", bytes);
    default:
      return fmt::format("'{}'", bytes);
  }
}

bool Parser::Unexpected(std::string_view what) {
  if (At(Tok::kError)) return Error(token().range(), "{}", lex_.error());
  if (AtHashComment()) return !AcceptHashComment();
  Diagnostic& diagnostic =
      diagnostics_.Error(token().range(), "expected {}, found {}", what, Describe(token()));
  if (At(Tok::kEnd)) NoteUnclosed(diagnostic);
  return false;
}

// True at a `#` after white space or at the start of a line. Element paths and layouts contain `#` within
// words.
bool Parser::AtHashComment() const {
  if (!At(Tok::kHash)) return false;
  const uint32_t begin = token().begin;
  return begin == 0 || IsBlank(lex_.base()[begin - 1]);
}

// Reports the first `#` comment and accepts all later ones silently.
bool Parser::AcceptHashComment() {
  if (!AtHashComment()) return false;
  Error(token().range(), "'#' begins no comment in HLO: comments are // or /* */");
  lex_.TakeHashComments();
  return true;
}

// Adds a note about the last unclosed bracket to an error at the end of the text.
void Parser::NoteUnclosed(Diagnostic& diagnostic) {
  Lexer lexer(source_->content());
  std::vector<Token> open;
  for (; !lexer.At(Tok::kEnd); lexer.Next()) {
    switch (lexer.token().kind) {
      case Tok::kLBrace:
      case Tok::kLParen:
      case Tok::kLSquare:
        open.push_back(lexer.token());
        break;
      case Tok::kRBrace:
      case Tok::kRParen:
      case Tok::kRSquare:
        if (!open.empty()) open.pop_back();
        break;
      case Tok::kError:
        return;
      default:
        break;
    }
  }
  if (open.empty()) return;
  diagnostic.Note(open.back().range(), "this '{}' is never closed", lexer.Bytes(open.back()));
}

bool Parser::StringValue(const Token& t, std::string_view* value) {
  *value = lex_.StringBody(t);
  if (t.detail == 0) return true;
  std::string unescaped;
  // The lexer has rejected invalid escapes.
  absl::CUnescape({value->data(), value->size()}, &unescaped);
  *value = Keep(unescaped);
  return true;
}

bool Parser::IntValue(const Token& t, int64_t* value) {
  constexpr size_t kSafeDigits = 18;
  const std::string_view bytes = lex_.Bytes(t);
  if (bytes.size() <= kSafeDigits && bytes[0] != '-') {
    int64_t number = 0;
    for (char c : bytes) number = number * 10 + (c - '0');
    *value = number;
    return true;
  }
  if (absl::SimpleAtoi(absl::string_view(bytes.data(), bytes.size()), value)) return true;
  uint64_t wide;
  if (bytes[0] != '-' && absl::SimpleAtoi(absl::string_view(bytes.data(), bytes.size()), &wide)) {
    *value = static_cast<int64_t>(wide);
    return true;
  }
  return Error(t.range(), "this integer does not fit 64 bits");
}

Parser::Nested::operator bool() const {
  if (parser_.depth_ <= parser_.options_.max_nesting) return true;
  return parser_.Error(parser_.token().range(), "more than {} levels of nesting",
                       parser_.options_.max_nesting);
}

Scope& Parser::PushScope(Computation* computation) {
  if (open_scopes_ == scopes_.size()) scopes_.emplace_back();
  Scope& scope = scopes_[open_scopes_++];
  scope.Reset(computation);
  return scope;
}

}  // namespace text

std::unique_ptr<Module> Parse(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics,
                              const ParseOptions& options) {
  return text::Parser(std::move(source), diagnostics, options).Run();
}

namespace {

// A non-owning pointer suffices, because the source outlives the call.
std::shared_ptr<const SourceText> Borrow(const SourceText& source) {
  return std::shared_ptr<const SourceText>(std::shared_ptr<const SourceText>(), &source);
}

}  // namespace

Shape ParseShape(const SourceText& source, Diagnostics& diagnostics, const ParseOptions& options) {
  return text::Parser(Borrow(source), diagnostics, options).RunShape();
}

absl::StatusOr<Literal> ParseLiteral(const SourceText& source, const Shape& shape,
                                     const ParseOptions& options) {
  Diagnostics diagnostics;
  return text::Parser(Borrow(source), diagnostics, options).RunLiteral(shape);
}

}  // namespace hlo
