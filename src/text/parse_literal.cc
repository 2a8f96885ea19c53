// Parses literals (text-format 5.5) of a known shape directly into their storage.

#include "absl/strings/str_join.h"
#include "base/limit_rule.h"
#include "base/status.h"
#include "text/literal_reader.h"
#include "text/parser.h"
#include "types/bounds.h"

namespace hlo::text {

// literal: of a known shape, an array or a tuple.
bool Parser::ParseLiteral(const Shape& shape, Literal* literal, bool* elided) {
  if (shape.IsTuple()) return ParseTupleLiteral(shape, literal, elided);
  if (shape.IsBuffer()) return ParseArrayLiteral(shape.element(0), literal, elided);
  if (shape.IsArray()) return ParseArrayLiteral(shape, literal, elided);
  return Error(token().range(), "a value of type {} cannot be written", ToString(shape));
}

// Skips the shape that dumps until 2018 repeat before the parts of a literal.
bool Parser::SkipOldShape() {
  if (At(Tok::kLParen)) {
    // The shape of a tuple is followed by the `(` of its literal.
    const uint32_t end = CacheableEnd();
    if (end == 0 || lex_.base()[lex_.SkipBlanks(end)] != '(') return true;
  } else if (!At(Tok::kType)) {
    return true;
  }
  if (!Tolerate(token().range(), "a shape inside a constant is spelling of an old dump; ignored"))
    return false;
  Shape ignored;
  return ParseShape(&ignored);
}

// tuple-literal: `( literal, literal )`; `{...}` if its elements are elided.
bool Parser::ParseTupleLiteral(const Shape& shape, Literal* literal, bool* elided) {
  const Nested nested(*this);
  if (!nested) return false;
  if (At(Tok::kLBrace)) {
    const Token brace = token();
    const uint32_t last_end = lex_.last_end();
    Next();
    if (At(Tok::kDots)) {
      if (!Tolerate(token().range(), "XLA cannot read a tuple constant that is left out")) return false;
      Next();
      *elided = true;
      *literal = Literal::Elided(shape);
      return Expect(Tok::kRBrace, "'}' after '...'");
    }
    lex_.Rewind(brace, last_end);
  }
  if (!Expect(Tok::kLParen, fmt::format("'(' and the elements of {}", ToString(shape)))) return false;
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    if (!elements.empty() && !Expect(Tok::kComma, "',' between the elements of a tuple")) return false;
    if (!SkipOldShape() || !ParseLiteral(element, &elements.emplace_back(), elided)) return false;
  }
  if (At(Tok::kComma)) return Error(token().range(), "more elements than {} has", ToString(shape));
  *literal = Literal::Tuple(std::move(elements));
  return Expect(Tok::kRParen, "')' after the elements of a tuple");
}

bool Parser::NoMemory(const absl::Status& status) {
  Diagnostic& diagnostic = diagnostics_.Error(token().range(), "{}", Message(status));
  if (absl::IsResourceExhausted(status)) diagnostic.Rule(kMemoryLimitRule);
  return false;
}

// Copies the literal into an array of the bounds.
bool Parser::Widen(const Shape& bounds, Literal* literal) {
  // Elided elements.
  if (literal->shape().dims() != bounds.dims() && literal->data() == nullptr) return true;
  absl::StatusOr<Literal> widened = PaddedToBounds(*literal, bounds);
  if (!widened.ok()) return NoMemory(widened.status());
  *literal = *std::move(widened);
  return true;
}

// Reads a constant array of real elements from a single value without braces. As in XLA, it becomes element
// 0.
bool Parser::ReadFirstElement(const Shape& shape, Literal* literal) {
  const uint32_t begin = token().begin;
  if (DenseByteCount(shape).value_or(options_.max_literal_bytes + 1) > options_.max_literal_bytes)
    return Error(token().range(), "{} is too large to be held", ToString(shape));
  absl::StatusOr<Literal> zeros = Literal::CreateZeros(shape);
  if (!zeros.ok()) return NoMemory(zeros.status());
  *literal = *std::move(zeros);
  const Shape element = Shape::Array(shape.type(), {});
  LiteralReader reader(lex_, element, literal->mutable_data());
  if (!reader.Read(begin)) {
    lex_.Restart(reader.error_range().begin);
    return Error(reader.error_range(), "{}", reader.error());
  }
  lex_.Restart(reader.end());
  Warn({begin, reader.end()},
       "XLA sets element 0 of {} only, and the others to zero; write broadcast(constant) for a splat",
       ToString(shape));
  return true;
}

// array-literal: one value, or nested braces.
bool Parser::ParseArrayLiteral(const Shape& shape, Literal* literal, bool* elided) {
  const uint32_t begin = token().begin;
  if (shape.HasUnboundedDim())
    return Error(token().range(), "{} has no fixed size, so it cannot be written", ToString(shape));
  const bool is_value = At(Tok::kInt) || At(Tok::kDecimal) || At(Tok::kInf) || At(Tok::kNegInf) ||
                        At(Tok::kTrue) || At(Tok::kFalse);
  if (is_value && !is_standalone_ && shape.rank() > 0 && shape.ElementCount() != 0 &&
      !IsComplex(shape.type()))
    return ReadFirstElement(shape, literal);
  // The braces imply the run-time sizes.
  if (is_standalone_ && shape.HasDynamicDim()) {
    const std::string_view rest(lex_.base() + begin, lex_.size() - begin);
    const std::vector<int64_t> sizes = SizesOfBraces(rest, shape.rank());
    Shape dense = Shape::Array(shape.type(), shape.dims());
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (shape.IsDynamic(d)) dense.set_dim(d, std::min(sizes[d], shape.dim(d)));
    }
    if (dense.dims() != shape.dims())
      return ParseArrayLiteral(dense, literal, elided) && Widen(shape, literal);
  }
  const auto bytes = DenseByteCount(shape);
  // An element takes at least one byte of text. An array with more elements is elided or invalid.
  const bool store =
      bytes && *bytes <= options_.max_literal_bytes && *shape.ElementCount() <= lex_.size() - begin;
  if (store) {
    absl::StatusOr<Literal> created = Literal::Create(shape);
    if (!created.ok()) return NoMemory(created.status());
    *literal = *std::move(created);
  }
  LiteralReader reader(lex_, shape, store ? literal->mutable_data() : nullptr);
  if (!reader.Read(begin)) {
    lex_.Restart(reader.error_range().begin);
    return At(Tok::kEnd) ? Unexpected("the rest of a literal")
                         : Error(reader.error_range(), "{}", reader.error());
  }
  if (reader.old_row().known() &&
      !Tolerate(reader.old_row(), "a row of pred without commas is spelling of an old dump")) {
    return false;
  }
  lex_.Restart(reader.end());
  if (reader.lost_sign().known() && !is_standalone_ && !warned_of_lost_sign_) {
    warned_of_lost_sign_ = true;
    Warn(reader.lost_sign(), "-0 is an integer and is read as 0, as XLA does; write -0.0 for minus zero");
  }
  if (reader.elided()) {
    *elided = true;
    *literal = Literal::Elided(shape);
    return true;
  }
  if (!store) return Error({begin, reader.end()}, "{} is too large to be held", ToString(shape));
  return true;
}

// True if the `]` of the current type is followed by one pair of braces and no literal.
bool Parser::LoneBraceFollows() const {
  const char* const base = lex_.base();
  uint32_t p = token().end;
  while (p < lex_.size() && base[p] != ']') ++p;
  if (p >= lex_.size()) return false;
  p = lex_.SkipBlanks(p + 1);
  if (base[p] != '{') return false;
  while (p < lex_.size() && base[p] != '}') ++p;
  if (p >= lex_.size()) return false;
  p = lex_.SkipBlanks(p + 1);
  return p >= lex_.size() || base[p] == ',' || base[p] == ')';
}

// Reads the run-time sizes in `f32[<=5](3)`; the braces of the literal must agree.
bool Parser::ReadSizes(const Shape& shape, std::vector<int64_t>* sizes) {
  if (!is_standalone_ || !shape.HasDynamicDim() || !Accept(Tok::kLParen)) return true;
  do {
    if (!At(Tok::kInt)) return Unexpected("a size");
    if (!IntValue(token(), &sizes->emplace_back())) return false;
    Next();
  } while (Accept(Tok::kComma));
  return Expect(Tok::kRParen, "')' after the sizes");
}

bool Parser::HasSizes(const Literal& literal, const std::vector<int64_t>& sizes, SourceRange at) {
  if (sizes.empty()) return true;
  bool fits = static_cast<int64_t>(sizes.size()) == literal.rank();
  for (int64_t d = 0; fits && d < literal.rank(); ++d) fits = literal.dynamic_size(d) == sizes[d];
  return fits || Error(at, "the elements do not have the sizes ({})", absl::StrJoin(sizes, ","));
}

// shaped-literal: `s32[2]{0} {1, 2}`, `(f32[] 1, pred[] true)`.
bool Parser::ParseShapedLiteral(Literal* literal, bool* elided) {
  if (!At(Tok::kLParen)) {
    Shape shape;
    // Outside a module, elements need no layout before them: `f32[2]{1,2}`.
    lone_brace_is_literal_ = is_standalone_ && LoneBraceFollows();
    const bool read = lone_brace_is_literal_ ? ReadShapeUncached(&shape) : ParseShape(&shape);
    lone_brace_is_literal_ = false;
    if (!is_standalone_) shape = LiteralShape(shape);
    const uint32_t begin = token().begin;
    std::vector<int64_t> sizes;
    return read && ReadSizes(shape, &sizes) &&
           ParseLiteral(shape.IsBuffer() ? shape.element(0) : shape, literal, elided) &&
           HasSizes(*literal, sizes, From(begin));
  }
  const Nested nested(*this);
  if (!nested) return false;
  Next();
  std::vector<Literal> elements;
  if (!ReadList(Tok::kRParen, "',' or ')' in a tuple of literals",
                [&] { return ParseShapedLiteral(&elements.emplace_back(), elided); }))
    return false;
  *literal = Literal::Tuple(std::move(elements));
  return true;
}

}  // namespace hlo::text
