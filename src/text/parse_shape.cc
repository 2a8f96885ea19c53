// Parses shapes and layouts (text-format 4).

#include <algorithm>

#include "base/counted.h"
#include "text/parser.h"
#include "text/type_names.h"
#include "types/shape_leaves.h"

namespace hlo::text {

Shape LiteralShape(const Shape& written) {
  return MapLeaves(written, [](const Shape& leaf) {
    Shape shape = leaf.IsBuffer() ? leaf.element(0) : leaf;
    if (!shape.IsArray() || shape.HasUnboundedDim()) return shape;
    for (int64_t i = 0; shape.HasDynamicDim() && i < shape.rank(); ++i) shape.set_dim(i, shape.dim(i));
    if (shape.layout() == nullptr || shape.layout()->element_size_in_bits == 0) return shape;
    Layout layout = *shape.layout();
    layout.element_size_in_bits = 0;
    shape.set_layout(std::move(layout));
    return shape;
  });
}

bool Parser::AtShape() const {
  if (At(Tok::kType) || At(Tok::kLParen)) return true;
  if (!At(Tok::kIdent) || lex_.Bytes(token()) != "b") return false;
  return lex_.base()[lex_.SkipBlanks(token().end)] == '(';
}

// True at a word immediately before `[`, such as `float32[2]`.
bool Parser::AtUnknownType() const { return At(Tok::kIdent) && lex_.next_byte() == '['; }

bool Parser::UnknownType() {
  const std::string_view word = lex_.Bytes(token());
  const std::string_view meant = ClosestElementType(word);
  if (meant.empty()) return Error(token().range(), "unknown element type '{}'", word);
  return Error(token().range(), "unknown element type '{}'; did you mean {}?", word, meant);
}

// Returns the end of the shape at the current token if equal bytes imply an equal shape: an array with an
// adjacent layout or none, or a tuple up to its `)`. Otherwise returns 0.
uint32_t Parser::CacheableEnd() const {
  const char* const base = lex_.base();
  const uint32_t size = lex_.size();
  uint32_t p = token().begin;
  if (At(Tok::kLParen)) {
    int64_t open = 0;
    for (; p < size; ++p) {
      if (base[p] == '(') ++open;
      if (base[p] == ')' && --open == 0) return p + 1;
      if (base[p] == '"' || base[p] == '\'' || base[p] == '%') return 0;
    }
    return 0;
  }
  if (!At(Tok::kType)) return 0;
  for (p = token().end; p < size && base[p] != ']'; ++p) {
    if (base[p] == '{' || base[p] == '\n') return 0;
  }
  if (p >= size) return 0;
  ++p;
  if (base[p] == '{') {
    uint32_t q = p + 1;
    while (base[q] >= '0' && base[q] <= '9') ++q;
    if (base[q] != ':' && (q == p + 1 || (base[q] != ',' && base[q] != '}'))) return 0;
    while (p < size && base[p] != '}') ++p;
    return p < size ? p + 1 : 0;
  }
  const uint32_t end = p;
  while (IsBlank(base[p])) ++p;
  return base[p] == '{' || base[p] == '/' ? 0 : end;
}

// shape: an array, a tuple or a buffer.
bool Parser::ParseShape(Shape* shape) {
  // The cache holds whole tuples.
  const uint32_t begin = token().begin;
  const uint32_t end = CacheableEnd();
  const std::string_view text(lex_.base() + begin, end > begin ? end - begin : 0);
  if (end != 0) {
    if (const Shape* known = shapes_.Find(text)) {
      *shape = *known;
      lex_.Restart(end);
      return true;
    }
  }
  const int64_t warnings_before = diagnostics_.warning_count();
  if (!ReadShapeUncached(shape)) return false;
  if (end != 0 && lex_.last_end() == end && diagnostics_.warning_count() == warnings_before) {
    shapes_.Insert(text, *shape);
  }
  return true;
}

bool Parser::ReadShapeUncached(Shape* shape) {
  const Nested nested(*this);
  if (!nested) return false;
  if (At(Tok::kLParen)) return ParseTupleShape(shape);
  if (At(Tok::kType)) return ParseArrayShape(shape);
  if (AtShape()) return ParseBufferShape(shape);
  if (AtUnknownType()) return UnknownType();
  return Unexpected("a shape such as f32[2,3]");
}

// tuple-shape: `( shape, shape )`, `()`.
bool Parser::ParseTupleShape(Shape* shape) {
  Next();
  std::vector<Shape> elements;
  if (!ReadList(Tok::kRParen, "',' or ')' in a tuple shape", [&] {
        // Arrays come from the cache. Nested tuples do not, since each level would scan their text.
        Shape* element = &elements.emplace_back();
        return At(Tok::kType) ? ParseShape(element) : ReadShapeUncached(element);
      }))
    return false;
  *shape = Shape::Tuple(std::move(elements));
  return true;
}

// buffer-shape: `b(f32[2])`.
bool Parser::ParseBufferShape(Shape* shape) {
  Next();
  Next();
  if (!At(Tok::kType)) return Unexpected("an array shape, which is all that b(...) can hold");
  const Token type = token();
  Shape array;
  if (!ParseShape(&array)) return false;
  if (!array.IsArray()) return Error(type.range(), "b(...) holds an array, not a {}", lex_.Bytes(type));
  if (!Expect(Tok::kRParen, "')' after the array of b(...)")) return false;
  *shape = Shape::Buffer(std::move(array));
  return true;
}

// array-shape: `f32[2,<=3,?]{2,1,0}`; also `token[]` and `opaque[]`.
bool Parser::ParseArrayShape(Shape* shape) {
  const Token type = token();
  const bool is_array = type.detail < kTokenType;
  Next();
  if (!Expect(Tok::kLSquare, "'[' after the element type (a scalar is written f32[])")) return false;
  *shape = is_array                    ? Shape::Array(static_cast<ElementType>(type.detail), {})
           : type.detail == kTokenType ? Shape::Token()
                                       : Shape::Opaque();
  if (!At(Tok::kRSquare)) {
    if (!is_array) return Error(token().range(), "{} has no dimensions", lex_.Bytes(type));
    do {
      if (!ParseDimension(shape)) return false;
    } while (Accept(Tok::kComma));
  }
  if (!Expect(Tok::kRSquare, "',' or ']' after a dimension")) return false;
  // Dumps of 2018 to 2021 mark kinds of arrays that no longer exist.
  if (At(Tok::kIdent) && token().begin == lex_.last_end()) {
    const std::string_view word = lex_.Bytes(token());
    if (word == "sparse") return Error(token().range(), "sparse layouts are not supported");
    if (word == "dense" || word == "invalid") {
      if (!Tolerate(token().range(), "'{}' after a shape is spelling of an old dump; ignored", word))
        return false;
      Next();
      if (word == "invalid" && At(Tok::kLBrace) && lex_.next_byte() == '}') {
        Next();
        Next();
      }
    }
  }
  if (!At(Tok::kLBrace) || !LayoutFollows()) return true;
  if (!is_array) return Error(token().range(), "{} has no layout", lex_.Bytes(type));
  return ParseLayout(shape);
}

// dimension: `3`, `<=3` or `?`.
bool Parser::ParseDimension(Shape* shape) {
  if (shape->rank() == Shape::kMaxRank) {
    return Error(token().range(), "more than {} dimensions", Shape::kMaxRank);
  }
  if (Accept(Tok::kQuestion)) {
    shape->AppendDim(Shape::kUnbounded, true);
    return true;
  }
  const bool bounded = Accept(Tok::kLessEqual);
  if (!At(Tok::kInt)) return Unexpected("a dimension size: an integer, `<=` and an integer, or `?`");
  int64_t size;
  if (!IntValue(token(), &size)) return false;
  if (size < 0) return Error(token().range(), "a dimension cannot have size {}", lex_.Bytes(token()));
  Next();
  shape->AppendDim(size, bounded);
  return true;
}

// True if the `{` opens a layout, which is the case only before an integer or a colon.
bool Parser::LayoutFollows() {
  if (lone_brace_is_literal_) return false;
  const Token brace = token();
  const uint32_t last_end = lex_.last_end();
  Next();
  const bool follows = At(Tok::kInt) || At(Tok::kColon);
  lex_.Rewind(brace, last_end);
  return follows;
}

// layout: `{1,0:T(8,128)S(1)}`.
bool Parser::ParseLayout(Shape* shape) {
  const uint32_t begin = token().begin;
  Layout layout;
  do {
    lex_.NextInteger();
    if (At(Tok::kColon) && layout.minor_to_major.empty()) break;
    if (!At(Tok::kInt)) return Unexpected("a dimension number of the layout");
    int64_t dim;
    if (!IntValue(token(), &dim)) return false;
    layout.minor_to_major.push_back(dim);
    Next();
  } while (At(Tok::kComma));
  const SourceRange order{begin, lex_.last_end()};
  const bool has_order = !layout.minor_to_major.empty();
  if (!has_order) layout = Layout::Default(shape->rank());
  const auto rank = static_cast<int64_t>(layout.minor_to_major.size());
  const auto wrong_rank = [&](int64_t ordered) {
    return Error(order, "the layout orders {}, but the shape has {}", Counted(ordered, "dimension"),
                 shape->rank());
  };
  if (rank != shape->rank()) return wrong_rank(rank);
  uint64_t seen = 0;
  for (int64_t dim : layout.minor_to_major) {
    if (dim < 0 || dim >= rank || (seen >> dim & 1) != 0) {
      return Error(order, "the layout {{{}}} is not a permutation of the dimensions 0 to {}",
                   fmt::join(layout.minor_to_major, ","), rank - 1);
    }
    seen |= uint64_t{1} << dim;
  }
  if (Accept(Tok::kColon) && !ParseLayoutAnnotations(layout)) return false;
  // Only a layout in another memory space may leave the order open.
  if (!has_order && rank > 0 && layout.memory_space == 0) return wrong_rank(0);
  if (!Expect(Tok::kRBrace, "'}' at the end of the layout")) return false;
  shape->set_layout(std::move(layout));
  return true;
}

namespace {

struct Annotation {
  std::string_view word;
  int order;
};
// The annotations in their required order.
constexpr Annotation kAnnotations[] = {{"D", 1}, {"T", 2}, {"L", 3},  {"#", 4}, {"*", 5},
                                       {"E", 6}, {"S", 7}, {"SC", 8}, {"P", 9}, {"M", 10}};

}  // namespace

// layout-annotations: each at most once.
bool Parser::ParseLayoutAnnotations(Layout& layout) {
  uint32_t seen = 0;
  int last = 0;
  while (!At(Tok::kRBrace)) {
    const Token word = token();
    int order = last;
    if (!ParseLayoutAnnotation(layout, &order)) return false;
    if ((seen >> order & 1) != 0)
      return Error(word.range(), "'{}' stands twice in the layout", lex_.Bytes(word));
    seen |= 1u << order;
    if (order < last &&
        !Tolerate(word.range(), "'{}' belongs before the annotation in front of it", lex_.Bytes(word))) {
      return false;
    }
    last = order;
  }
  return true;
}

// layout-annotation: a letter and its values in parentheses. Sets *order to the position in kAnnotations.
bool Parser::ParseLayoutAnnotation(Layout& layout, int* order) {
  const Token word = token();
  const auto row = std::find_if(std::begin(kAnnotations), std::end(kAnnotations),
                                [&](const Annotation& a) { return a.word == lex_.Bytes(word); });
  if (row == std::end(kAnnotations)) {
    return Unexpected("a layout annotation (D, T, L, #, *, E, S, SC, P or M) or '}'");
  }
  *order = row->order;
  Next();
  if (!At(Tok::kLParen)) return Unexpected(fmt::format("'(' after '{}' in the layout", row->word));
  int64_t value = 0;
  switch (row->order) {
    case 1:
      return ParseLevels();
    case 2:
      return ParseTiles(layout);
    case 3:
      return ReadAnnotationInt(1, std::numeric_limits<int64_t>::max(),
                               &layout.tail_padding_alignment_in_elements);
    case 4:
      return ReadAnnotationType(&layout.index_type);
    case 5:
      return ReadAnnotationType(&layout.pointer_type);
    case 6:
      return ReadAnnotationInt(0, 1 << 20, &layout.element_size_in_bits);
    case 7:
      return ReadAnnotationInt(-128, 127, &layout.memory_space);
    case 8:
      return ParseSplits(layout);
    case 10:
      if (!ReadAnnotationInt(0, std::numeric_limits<int64_t>::max(), &value)) return false;
      layout.dynamic_shape_metadata_prefix_bytes = value;
      return true;
    default:
      break;
  }
  if (!Tolerate(word.range(), "'P' describes sparse arrays, which no longer exist; ignored")) return false;
  Next();
  Shape ignored;
  return ReadShapeUncached(&ignored) && Expect(Tok::kRParen, "')' after the physical shape");
}

bool Parser::ReadAnnotationInt(int64_t minimum, int64_t maximum, int64_t* value) {
  Next();
  if (!At(Tok::kInt)) return Unexpected("an integer");
  if (!IntValue(token(), value)) return false;
  if (*value < minimum || *value > maximum) {
    return Error(token().range(), "{} is out of range here ({} to {})", lex_.Bytes(token()), minimum,
                 maximum);
  }
  Next();
  return Expect(Tok::kRParen, "')' after the value of a layout annotation");
}

bool Parser::ReadAnnotationType(std::optional<ElementType>* type) {
  Next();
  if (!At(Tok::kType) || token().detail >= kTokenType) return Unexpected("an element type");
  *type = static_cast<ElementType>(token().detail);
  Next();
  return Expect(Tok::kRParen, "')' after the type of a layout annotation");
}

// levels: `D(D,C+~)`, one per dimension. They are ignored, because arrays are dense.
bool Parser::ParseLevels() {
  bool first = true;
  do {
    Next();
    if (first && At(Tok::kRParen)) break;
    first = false;
    const std::string_view word = lex_.Bytes(token());
    if (!At(Tok::kIdent) || word.size() != 1 ||
        std::string_view("DCSH").find(word) == std::string_view::npos) {
      return Unexpected("a level type (D, C, S or H)");
    }
    Next();
    Accept(Tok::kPlus);
    Accept(Tok::kTilde);
  } while (At(Tok::kComma));
  return Expect(Tok::kRParen, "',' or ')' after a level type");
}

// tiles: `T(8,128)(2,1)`.
bool Parser::ParseTiles(Layout& layout) {
  while (At(Tok::kLParen)) {
    Tile& tile = layout.tiles.emplace_back();
    do {
      Next();
      if (tile.dimensions.empty() && At(Tok::kRParen)) break;
      if (Accept(Tok::kStar)) {
        tile.dimensions.push_back(Tile::kCombine);
        continue;
      }
      if (!At(Tok::kInt)) return Unexpected("a tile size or '*'");
      int64_t size;
      if (!IntValue(token(), &size)) return false;
      if (size < 0) return Error(token().range(), "a tile cannot have size {}", lex_.Bytes(token()));
      tile.dimensions.push_back(size);
      Next();
    } while (At(Tok::kComma));
    if (!Expect(Tok::kRParen, "',' or ')' in a tile")) return false;
  }
  return true;
}

// splits: `SC(1:200)(0:4,8)`.
bool Parser::ParseSplits(Layout& layout) {
  while (At(Tok::kLParen)) {
    SplitConfig& split = layout.split_configs.emplace_back();
    Next();
    if (!ParseInt(&split.dimension)) return false;
    if (!Expect(Tok::kColon, "':' after the dimension of a split")) return false;
    while (!At(Tok::kRParen)) {
      int64_t index;
      if (!ParseInt(&index)) return false;
      split.split_indices.push_back(index);
      if (!At(Tok::kRParen) && !Expect(Tok::kComma, "',' or ')' in a split")) return false;
    }
    Next();
  }
  return true;
}

}  // namespace hlo::text
