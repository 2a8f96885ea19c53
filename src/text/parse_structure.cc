// Parses structured attribute values (text-format 8.4 to 8.20).

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "base/counted.h"
#include "text/parser.h"

namespace hlo::text {
namespace {

// Removes the next integer from `text` and returns it. The lexer has checked the form.
std::optional<int64_t> CutInteger(std::string_view& text) {
  size_t n = !text.empty() && text[0] == '-' ? 1 : 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  int64_t value;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), n), &value)) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

bool Cut(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

// dxd: `3`, `3x4x5`.
bool Parser::ParseDxd(std::vector<int64_t>* values) {
  if (!At(Tok::kInt) && !At(Tok::kDxd)) return Unexpected("sizes such as 3x3");
  std::string_view text = lex_.Bytes(token());
  do {
    const auto value = CutInteger(text);
    if (!value) return Error(token().range(), "a size here does not fit 64 bits");
    values->push_back(*value);
  } while (Cut(text, 'x'));
  Next();
  return true;
}

// pad: `0_0x1_-1`, with interior padding `0_0_1` for pads.
bool Parser::ParsePad(std::vector<PaddingDim>* values) {
  if (!At(Tok::kPad)) return Unexpected("padding such as 0_0x1_1");
  std::string_view text = lex_.Bytes(token());
  do {
    const auto low = CutInteger(text);
    Cut(text, '_');
    const auto high = CutInteger(text);
    const auto interior = Cut(text, '_') ? CutInteger(text) : std::optional<int64_t>(0);
    if (!low || !high || !interior) return Error(token().range(), "a size here does not fit 64 bits");
    values->push_back({*low, *high, *interior});
  } while (Cut(text, 'x'));
  Next();
  return true;
}

// window: `{size=3x3 stride=2x2 pad=1_1x1_1}`.
bool Parser::ParseWindow(Window* window) {
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLBrace, "'{' and the parts of a window")) return false;
  std::vector<WindowDim> dims;
  uint32_t seen = 0;
  bool sized = false;
  while (!At(Tok::kRBrace)) {
    if (!ParseWindowItem(dims, &seen, &sized)) return false;
  }
  Next();
  if (seen != 0 && !sized) return Error(From(begin), "the window has no size=");
  *window = Keep(dims);
  return true;
}

// window-item: one of six items. Items before size= set the rank provisionally.
bool Parser::ParseWindowItem(std::vector<WindowDim>& dims, uint32_t* seen, bool* sized) {
  constexpr std::string_view kItems[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  const Token word = token();
  const auto item = At(Tok::kAttr) ? absl::c_find(kItems, lex_.Word(word)) : std::end(kItems);
  if (item == std::end(kItems)) {
    return Unexpected("'}' or size=, stride=, pad=, lhs_dilate=, rhs_dilate= or rhs_reversal=");
  }
  const auto index = item - std::begin(kItems);
  if ((*seen >> index & 1) != 0) return Error(word.range(), "'{}' is given twice", *item);
  Next();
  std::vector<int64_t> values;
  std::vector<PaddingDim> pads;
  const SourceRange range = token().range();
  const bool has_interior =
      At(Tok::kPad) && absl::c_count(lex_.Bytes(token()), '_') != absl::c_count(lex_.Bytes(token()), 'x') + 1;
  if (*item == "pad" ? !ParsePad(&pads) : !ParseDxd(&values)) return false;
  if (has_interior) return Error(range, "a window has no interior padding");
  const size_t count = std::max(values.size(), pads.size());
  if (*seen != 0 && dims.size() != count) {
    return Error(range, "{}, but other parts of the window have {}", Counted(count, "dimension"),
                 dims.size());
  }
  dims.resize(count);
  *seen |= 1u << index;
  *sized = *sized || *item == "size";
  for (size_t i = 0; i < count; ++i) {
    switch (index) {
      case 0:
        dims[i].size = values[i];
        break;
      case 1:
        dims[i].stride = values[i];
        break;
      case 2:
        dims[i].padding_low = pads[i].low, dims[i].padding_high = pads[i].high;
        break;
      case 3:
        dims[i].base_dilation = values[i];
        break;
      case 4:
        dims[i].window_dilation = values[i];
        break;
      default:
        dims[i].reversed = values[i] == 1;
        break;
    }
  }
  return true;
}

namespace {

// A part of dim_labels: the positions of its two letters and of the spatial numbers.
struct LabelPart {
  int64_t first = -1, second = -1;
  std::vector<int64_t> spatial;
};

// Returns an error message or nullptr.
const char* ReadLabels(std::string_view text, char first, char second, LabelPart* part) {
  std::array<int64_t, 10> at;
  at.fill(-1);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '?') continue;
    int64_t& slot = c == first ? part->first : c == second ? part->second : at[static_cast<size_t>(c - '0')];
    if (slot != -1) return "a label stands twice in one part of dim_labels";
    slot = static_cast<int64_t>(i);
  }
  size_t count = 0;
  for (int64_t position : at) count += position != -1;
  for (size_t i = 0; i < count; ++i) {
    if (at[i] == -1) return "the spatial labels must be 0, 1, ... without a gap";
    part->spatial.push_back(at[i]);
  }
  return nullptr;
}

}  // namespace

// dim-labels: `b01f_01io->b01f`.
bool Parser::ParseDimLabels(const DimLabels** labels) {
  if (!At(Tok::kDimLabels)) return Unexpected("dimension labels such as b01f_01io->b01f");
  const std::string_view text = lex_.Bytes(token());
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  LabelPart lhs, rhs, out;
  const char* error = ReadLabels(text.substr(0, underscore), 'b', 'f', &lhs);
  if (!error) error = ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', &rhs);
  if (!error) error = ReadLabels(text.substr(arrow + 2), 'b', 'f', &out);
  if (!error && (lhs.spatial.size() != rhs.spatial.size() || lhs.spatial.size() != out.spatial.size())) {
    error = "the three parts of dim_labels have different numbers of spatial dimensions";
  }
  if (error) return Error(token().range(), "{}", error);
  Next();
  *labels =
      arena().New<DimLabels>(DimLabels{lhs.first, lhs.second, Keep(lhs.spatial), rhs.first, rhs.second,
                                       Keep(rhs.spatial), out.first, out.second, Keep(out.spatial), text});
  return true;
}

// padding: a pad with interior padding.
bool Parser::ParsePadding(absl::Span<const PaddingDim>* padding) {
  std::vector<PaddingDim> dims;
  if (!ParsePad(&dims)) return false;
  *padding = Keep(dims);
  return true;
}

// slices: `{[0:4], [1:9:2]}`.
bool Parser::ParseSlices(absl::Span<const SliceRange>* slices) {
  return ReadBracedList(slices, "'{' and the ranges of a slice", "',' or '}' in a list of ranges",
                        [&](SliceRange* slice) { return ParseSlice(slice); });
}

// slice: `[start:limit:stride]`.
bool Parser::ParseSlice(SliceRange* slice) {
  if (!At(Tok::kLSquare)) return Unexpected("a range such as [0:4]");
  int64_t* const parts[] = {&slice->start, &slice->limit, &slice->stride};
  size_t count = 0;
  do {
    if (count == 3) return Error(token().range(), "a range has a start, a limit and a stride, nothing more");
    lex_.NextInteger();
    if (!ParseInt(parts[count++])) return false;
  } while (At(Tok::kColon));
  if (count < 2) return Unexpected("':' and the limit of the range");
  return Expect(Tok::kRSquare, "':' or ']' in a range");
}

// precisions: `{default, highest}`.
bool Parser::ParsePrecisions(absl::Span<const Precision>* precisions) {
  return ReadBracedList(precisions, "'{' and a list of precisions", "',' or '}' in a list of precisions",
                        [&](Precision* precision) { return ParseWord(precision); });
}

// operand-aliases: `{{0}: (1, {})}`; a trailing comma is allowed.
bool Parser::ParseOperandAliases(attr_kind::AliasList* aliases) {
  if (!Expect(Tok::kLBrace, "'{' and pairs of output and operand")) return false;
  std::vector<OutputOperandAlias> all;
  if (!ReadTerminatedList("',' or '}' in a list of aliases",
                          [&] { return ParseOperandAlias(&all.emplace_back()); }))
    return false;
  *aliases = Keep(all);
  return true;
}

// operand-alias: `{0}: (1, {})`.
bool Parser::ParseOperandAlias(OutputOperandAlias* alias) {
  return ParseShapeIndex(&alias->output_index) && Expect(Tok::kColon, "':' after the index of the output") &&
         Expect(Tok::kLParen, "'(' and an operand number") && ParseInt(&alias->operand) &&
         Expect(Tok::kComma, "',' and an index into the operand") && ParseShapeIndex(&alias->operand_index) &&
         Expect(Tok::kRParen, "')' after the index into the operand");
}

// result-accuracy: `{mode=highest}` or `{tolerance={atol=1e-6,ulps=2}}`.
bool Parser::ParseResultAccuracy(const ResultAccuracy** accuracy) {
  if (!Expect(Tok::kLBrace, "'{' and mode= or tolerance=")) return false;
  auto* result = arena().New<ResultAccuracy>();
  *accuracy = result;
  const std::string_view form = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
  if (form == "mode") {
    Next();
    if (!ParseWord(&result->mode)) return false;
  } else if (form == "tolerance") {
    Next();
    result->has_tolerance = true;
    if (!ParseTolerance(result)) return false;
  } else {
    return Unexpected("mode= or tolerance=");
  }
  return Expect(Tok::kRBrace, "'}' after the accuracy");
}

// tolerance: `{atol=x,rtol=y,ulps=n}`, each optional.
bool Parser::ParseTolerance(ResultAccuracy* accuracy) {
  if (!Expect(Tok::kLBrace, "'{' and tolerances")) return false;
  if (Accept(Tok::kRBrace)) return true;
  do {
    const std::string_view name = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
    if (name != "atol" && name != "rtol" && name != "ulps") return Unexpected("atol=, rtol= or ulps=");
    Next();
    const SourceRange range = token().range();
    double value;
    if (!ParseNumber(&value, /*infinities=*/true)) return false;
    if (!(value >= 0)) return Error(range, "a tolerance cannot be negative or NaN");
    if (name == "atol")
      accuracy->atol = value;
    else if (name == "rtol")
      accuracy->rtol = value;
    else
      accuracy->ulps = value < 9e18 ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::max();
  } while (Accept(Tok::kComma));
  return Expect(Tok::kRBrace, "',' or '}' after a tolerance");
}

// Reads `{lhs=SIDE rhs=SIDE}`.
template <class Config, class Side>
bool Parser::ReadSides(const Config** config, Side&& read_side) {
  if (!Expect(Tok::kLBrace, "'{' and lhs= or rhs=")) return false;
  auto* result = arena().New<Config>();
  *config = result;
  while (!At(Tok::kRBrace)) {
    const std::string_view side = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
    if (side != "lhs" && side != "rhs") return Unexpected("lhs=, rhs= or '}'");
    Next();
    if (!read_side(side == "lhs" ? &result->lhs : &result->rhs)) return false;
  }
  Next();
  return true;
}

// sparsity-config: `{lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}`.
bool Parser::ParseSparsityConfig(const SparsityConfig** config) {
  return ReadSides(config, [&](SparsitySide* side) { return ParseSparsitySide(side); });
}

// sparsity-side: `{sparsity=2x4 dimension=1 stride=1 idx=2}`.
bool Parser::ParseSparsitySide(SparsitySide* side) {
  *side = {.present = true};
  if (!Expect(Tok::kLBrace, "'{' and the sparsity of this side")) return false;
  while (!At(Tok::kRBrace)) {
    const std::string_view name = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
    if (name == "sparsity") {
      Next();
      std::vector<int64_t> values;
      const SourceRange range = token().range();
      if (!At(Tok::kDxd)) return Unexpected("a sparsity such as 2x4");
      if (!ParseDxd(&values)) return false;
      if (values.size() != 2) return Error(range, "a sparsity has the form 2x4");
      side->nonzeros = values[0];
      side->block = values[1];
      continue;
    }
    int64_t* const target = name == "dimension" ? &side->dimension
                            : name == "stride"  ? &side->stride
                            : name == "idx"     ? &side->operand
                                                : nullptr;
    if (target == nullptr) return Unexpected("sparsity=, dimension=, stride=, idx= or '}'");
    Next();
    if (!ParseInt(target)) return false;
  }
  Next();
  return true;
}

// block-scaling-config: `{lhs={scale_idx=2} rhs={scale_idx=3}}`.
bool Parser::ParseBlockScalingConfig(const BlockScalingConfig** config) {
  return ReadSides(config, [&](BlockScalingSide* side) { return ParseBlockScalingSide(side); });
}

// block-scaling-side: `{scale_idx=2}`.
bool Parser::ParseBlockScalingSide(BlockScalingSide* side) {
  *side = {.present = true};
  if (!Expect(Tok::kLBrace, "'{' and scale_idx=")) return false;
  while (!At(Tok::kRBrace)) {
    if (!At(Tok::kAttr) || lex_.Word(token()) != "scale_idx") return Unexpected("scale_idx= or '}'");
    Next();
    if (!ParseInt(&side->scale_operand)) return false;
  }
  Next();
  return true;
}

// domain: `{kind="sharding", entry={replicated}, exit={maximal device=0}}`.
bool Parser::ParseDomain(const Domain** domain) {
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLBrace, "'{' and kind=, entry= and exit=")) return false;
  auto* result = arena().New<Domain>();
  *domain = result;
  bool has_kind = false;
  while (!At(Tok::kRBrace)) {
    Accept(Tok::kComma);
    const Token word = token();
    const std::string_view name = At(Tok::kAttr) ? lex_.Word(word) : std::string_view();
    if (name == "kind"    ? has_kind
        : name == "entry" ? result->entry != nullptr
                          : name == "exit" && result->exit != nullptr) {
      return Error(word.range(), "'{}' is given twice", name);
    }
    if (name == "kind") {
      Next();
      std::string_view kind;
      const SourceRange range = token().range();
      if (!ParseString(&kind)) return false;
      if (kind != "sharding") return Error(range, "the only kind of domain is \"sharding\"");
      has_kind = true;
    } else if (name == "entry" || name == "exit") {
      Next();
      if (!ParseSharding(name == "entry" ? &result->entry : &result->exit)) return false;
    } else {
      return Unexpected("kind=, entry=, exit= or '}'");
    }
  }
  Next();
  if (has_kind && result->entry != nullptr && result->exit != nullptr) return true;
  return Error(From(begin), "a domain needs kind=, entry= and exit=");
}

}  // namespace hlo::text
