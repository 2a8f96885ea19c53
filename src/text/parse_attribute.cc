// Parses the attribute list of an instruction and values of simple kinds (text-format 6, 8.1 to 8.3).

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/charconv.h"
#include "ir/word_kinds.h"
#include "text/parser.h"

namespace hlo::text {
namespace {

// Attributes of older dumps (text-format, Appendix A) and their current names; kNone means that the attribute
// is dropped.
struct OldAttribute {
  Opcode opcode;
  std::string_view spelling;
  AttrId id;
};
constexpr OldAttribute kOldAttributes[] = {
    {Opcode::kAllReduce, "all_reduce_id", AttrId::channel_id},
    {Opcode::kAllReduce, "barrier", AttrId::kNone},
    {Opcode::kAllReduce, "replica_group_ids", AttrId::kNone},
    {Opcode::kGather, "output_window_dims", AttrId::offset_dims},
    {Opcode::kGather, "elided_window_dims", AttrId::collapsed_slice_dims},
    {Opcode::kGather, "gather_dims_to_operand_dims", AttrId::start_index_map},
    {Opcode::kGather, "window_bounds", AttrId::slice_sizes},
    {Opcode::kCustomCall, "opaque", AttrId::backend_config},
    {Opcode::kCustomCall, "has_side_effect", AttrId::custom_call_has_side_effect},
    {Opcode::kScatter, "use_atomic", AttrId::kNone},
    {Opcode::kTopk, "to_apply", AttrId::kNone},
    {Opcode::kCopyStart, "is_cross_program_prefetch", AttrId::cross_program_prefetch_index},
    {Opcode::kAsyncStart, "async_group_id", AttrId::kNone},
    {Opcode::kAsyncUpdate, "async_group_id", AttrId::kNone},
    {Opcode::kAsyncDone, "async_group_id", AttrId::kNone},
    {Opcode::kAsyncStart, "async_thread_name", AttrId::async_execution_thread},
    {Opcode::kAsyncUpdate, "async_thread_name", AttrId::async_execution_thread},
    {Opcode::kAsyncDone, "async_thread_name", AttrId::async_execution_thread},
};
// Older attributes of all opcodes.
struct OldCommonAttribute {
  std::string_view spelling;
  AttrId id;
};
constexpr OldCommonAttribute kOldCommonAttributes[] = {{"outer_dimension_partitions", AttrId::kNone},
                                                       {"operation_queue_id", AttrId::kNone},
                                                       {"wait_on_operation_queues", AttrId::kNone},
                                                       {"original_value", AttrId::origin}};

// Returns the current name of an old attribute; nullopt if no older dump has it.
std::optional<AttrId> FindOldAttribute(const OpcodeWord& op, std::string_view spelling) {
  for (const OldAttribute& row : kOldAttributes) {
    if (row.spelling == spelling && (row.opcode == op.opcode || (op.is_sugar && row.opcode == op.wrapped)))
      return row.id;
  }
  for (const OldCommonAttribute& row : kOldCommonAttributes) {
    if (row.spelling == spelling) return row.id;
  }
  // Sugar of 2022 to 2024 repeats the attributes of the start on update and done.
  if (op.is_sugar && op.opcode != Opcode::kAsyncStart &&
      FindAttribute(op.wrapped, spelling) != AttrId::kNone) {
    return AttrId::kNone;
  }
  return std::nullopt;
}

}  // namespace

// attributes: `, name=value` repeated.
bool Parser::ParseAttributes(Scope& scope, InstructionParts& parts) {
  while (Accept(Tok::kComma)) {
    if (!At(Tok::kAttr)) return NoAttribute(parts.op);
    if (!ParseAttribute(scope, parts)) return false;
  }
  return true;
}

// Reports that no attribute follows a comma. Skips the value of one whose name and `=` are apart.
bool Parser::NoAttribute(const OpcodeWord& op) {
  constexpr std::string_view kExpected = "an attribute such as dimensions={0} after ','";
  const Token word = token();
  const std::string_view name = lex_.Bytes(word);
  if (!At(Tok::kIdent) || FindAttributeOf(op, name) == AttrId::kNone) return Unexpected(kExpected);
  Next();
  if (!Accept(Tok::kEqual)) return Error(word.range(), "expected {}, found '{}'", kExpected, name);
  Error(word.range(), "no blank may follow the name of an attribute: write {}=", name);
  SkipValue();
  return false;
}

// attribute: `name=value`. Opcode and name determine the kind of the value.
bool Parser::ParseAttribute(Scope& scope, InstructionParts& parts) {
  const Token word = token();
  const std::string_view spelling = lex_.Word(word);
  AttrId id = FindAttributeOf(parts.op, spelling);
  if (id == AttrId::kNone) {
    const std::optional<AttrId> old = FindOldAttribute(parts.op, spelling);
    if (!old) return UnknownAttribute(parts.op, spelling, word.range());
    const SourceRange at = word.range();
    if (*old == AttrId::kNone) {
      if (!Tolerate(at, "'{}' is no longer an attribute of '{}'; ignored", spelling,
                    lex_.Bytes({Tok::kIdent, 0, parts.op.range.begin, parts.op.range.end})))
        return false;
      Next();
      return SkipValue();
    }
    if (!Tolerate(at, "'{}' is the old spelling of '{}'", spelling, Info(*old).spelling)) return false;
    id = *old;
  }
  if (const AttrEntry* first = FindEntry(parts, id)) {
    diagnostics_.Error(word.range(), "attribute '{}' is given twice", spelling)
        .Note(first->range, "the first one is here");
    return false;
  }
  Next();
  if (spelling == "is_cross_program_prefetch") {
    bool prefetch = false;
    if (!ParseBool(&prefetch)) return false;
    if (prefetch) attributes_.push_back({id, From(word.begin), AttrValue::Of<int64_t>(0)});
    return true;
  }
  AttrValue value;
  if (!ParseAttributeValue(scope, parts, id, &value)) return false;
  attributes_.push_back({id, From(word.begin), value});
  return true;
}

bool Parser::UnknownAttribute(const OpcodeWord& op, std::string_view spelling, SourceRange at) {
  std::vector<std::string_view> allowed;
  if (op.is_sugar && op.opcode == Opcode::kAsyncStart) {
    for (const AttrUse& use : Info(op.wrapped).attributes) allowed.push_back(Info(use.id).spelling);
  }
  for (const AttrUse& use : Info(op.opcode).attributes) {
    if (!op.is_sugar || use.id != AttrId::calls) allowed.push_back(Info(use.id).spelling);
  }
  for (AttrId id : CommonAttributes()) allowed.push_back(Info(id).spelling);
  const std::string_view opcode =
      std::string_view(lex_.base() + op.range.begin, op.range.end - op.range.begin);
  const std::string_view close = ClosestName(spelling, allowed);
  Diagnostic& diagnostic =
      close.empty()
          ? diagnostics_.Error(at, "'{}' has no attribute '{}'", opcode, spelling)
          : diagnostics_.Error(at, "'{}' has no attribute '{}'; did you mean '{}'?", opcode, spelling, close);
  diagnostic.Note({}, "allowed here: {}", fmt::join(allowed, ", "));
  return false;
}

// Skips any value: a bracketed list, or a token with adjacent brackets.
bool Parser::SkipValue() {
  int64_t open = 0;
  do {
    if (At(Tok::kEnd) || At(Tok::kError)) return Unexpected("a value");
    if (At(Tok::kLBrace) || At(Tok::kLParen) || At(Tok::kLSquare)) ++open;
    if (At(Tok::kRBrace) || At(Tok::kRParen) || At(Tok::kRSquare)) --open;
    if (open < 0) return Unexpected("a value");
    Next();
  } while (open > 0);
  return true;
}

template <class E>
bool Parser::ParseWord(E* value) {
  const bool is_word = At(Tok::kIdent);
  const std::string_view word = lex_.Bytes(token());
  if (is_word) {
    if (const auto parsed = hlo::ParseWord<E>(word)) {
      *value = *parsed;
      Next();
      return true;
    }
  }
  const auto& known = Words<E>().words;
  const std::string_view close = ClosestName(word, {known.begin(), known.end()});
  if (!is_word || close.empty()) return Unexpected(fmt::format("one of: {}", fmt::join(known, ", ")));
  return Error(token().range(), "'{}' is not one of: {}; did you mean '{}'?", word, fmt::join(known, ", "),
               close);
}
template bool Parser::ParseWord<Precision>(Precision*);
template bool Parser::ParseWord<AccuracyMode>(AccuracyMode*);

template <class E>
bool Parser::ReadWord(AttrValue* value) {
  E word;
  if (!ParseWord(&word)) return false;
  *value = AttrValue::Of(word);
  return true;
}

namespace {

// Parses a value of the type that kParse returns, and wraps it.
template <class T>
T ParsedType(bool (Parser::*)(T*));
template <auto kParse>
bool Read(Parser& parser, AttrValue* value) {
  decltype(ParsedType(kParse)) result{};
  if (!(parser.*kParse)(&result)) return false;
  *value = AttrValue::Of(result);
  return true;
}

struct KindParser {
  AttrKind kind;
  bool (*parse)(Parser& parser, AttrValue* value);
};

}  // namespace

// attribute-value: its form depends on the kind of the attribute.
bool Parser::ParseAttributeValue(Scope& scope, InstructionParts& parts, AttrId id, AttrValue* value) {
  static constexpr KindParser kParsers[] = {
      {AttrKind::kBool, Read<&Parser::ParseBool>},
      {AttrKind::kInt, Read<&Parser::ParseInt>},
      {AttrKind::kInt32, Read<&Parser::ParseInt32>},
      {AttrKind::kFloat, Read<&Parser::ParseFloat>},
      {AttrKind::kString, Read<&Parser::ParseString>},
      {AttrKind::kJson, Read<&Parser::ParseJson>},
      {AttrKind::kIntList, Read<&Parser::ParseIntList>},
      {AttrKind::kIntLists, Read<&Parser::ParseIntLists>},
      {AttrKind::kBoolList, Read<&Parser::ParseBools>},
      {AttrKind::kComputation, Read<&Parser::ParseComputationRef>},
      {AttrKind::kComputationList, Read<&Parser::ParseComputationList>},
      {AttrKind::kShapeList, Read<&Parser::ParseShapeList>},
      {AttrKind::kWindow, Read<&Parser::ParseWindow>},
      {AttrKind::kDimLabels, Read<&Parser::ParseDimLabels>},
      {AttrKind::kPaddingList, Read<&Parser::ParsePadding>},
      {AttrKind::kSliceList, Read<&Parser::ParseSlices>},
      {AttrKind::kPrecisionList, Read<&Parser::ParsePrecisions>},
      {AttrKind::kAliasList, Read<&Parser::ParseOperandAliases>},
      {AttrKind::kSharding, Read<&Parser::ParseSharding>},
      {AttrKind::kFrontendAttributes, Read<&Parser::ParseFrontendAttributes>},
      {AttrKind::kStatistics, Read<&Parser::ParseStatistics>},
      {AttrKind::kOrigin, Read<&Parser::ParseOrigin>},
      {AttrKind::kMetadata, Read<&Parser::ParseMetadata>},
      {AttrKind::kReplicaGroups, Read<&Parser::ParseReplicaGroups>},
      {AttrKind::kResultAccuracy, Read<&Parser::ParseResultAccuracy>},
      {AttrKind::kSparsityConfig, Read<&Parser::ParseSparsityConfig>},
      {AttrKind::kBlockScalingConfig, Read<&Parser::ParseBlockScalingConfig>},
      {AttrKind::kDomain, Read<&Parser::ParseDomain>},
  };
  const AttrKind kind = Info(id).kind;
  for (const KindParser& row : kParsers) {
    if (row.kind == kind) return row.parse(*this, value);
  }
  switch (kind) {
    case AttrKind::kInstructionList: {
      attr_kind::InstructionList list;
      if (!ParseInstructionList(scope, &list)) return false;
      *value = AttrValue::Of(list);
      return true;
    }
    case AttrKind::kShape: {
      Shape* shape = arena().New<Shape>();
      *value = AttrValue::Of<const Shape*>(shape);
      return ParseShape(shape);
    }
    case AttrKind::kLiteral: {
      Literal* literal = arena().New<Literal>();
      *value = AttrValue::Of<const Literal*>(literal);
      return ParseShapedLiteral(literal, &parts.elided);
    }
    default:
      return VisitWordKind(kind, [&]<class E>() { return ReadWord<E>(value); });
  }
}

// bool: `true` or `false`.
bool Parser::ParseBool(bool* value) {
  if (!At(Tok::kTrue) && !At(Tok::kFalse)) return Unexpected("true or false");
  *value = At(Tok::kTrue);
  Next();
  return true;
}

// bools: `{true,false}`.
bool Parser::ParseBools(BoolList* values) {
  if (!Expect(Tok::kLBrace, "'{' and a list of true and false")) return false;
  std::vector<char> list;
  if (!ReadList(Tok::kRBrace, "',' or '}' in a list of true and false", [&] {
        bool value = false;
        if (!ParseBool(&value)) return false;
        list.push_back(value);
        return true;
      }))
    return false;
  bool* kept = static_cast<bool*>(arena().Allocate(list.size(), 1));
  std::copy(list.begin(), list.end(), kept);
  *values = BoolList(kept, list.size());
  return true;
}

// int: a 64-bit integer.
bool Parser::ParseInt(int64_t* value) {
  if (!At(Tok::kInt)) return Unexpected("an integer");
  if (!IntValue(token(), value)) return false;
  Next();
  return true;
}

// int32: a 32-bit integer.
bool Parser::ParseInt32(int64_t* value) {
  if (!At(Tok::kInt)) return Unexpected("an integer");
  if (!IntValue(token(), value)) return false;
  if (*value < std::numeric_limits<int32_t>::min() || *value > std::numeric_limits<int32_t>::max()) {
    return Error(token().range(), "{} does not fit 32 bits", lex_.Bytes(token()));
  }
  Next();
  return true;
}

// number: an integer or a decimal or, if allowed, an infinity.
bool Parser::ParseNumber(double* value, bool infinities) {
  if (infinities && (At(Tok::kInf) || At(Tok::kNegInf))) {
    *value =
        At(Tok::kInf) ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    Next();
    return true;
  }
  if (!At(Tok::kInt) && !At(Tok::kDecimal)) return Unexpected("a number");
  const std::string_view bytes = lex_.Bytes(token());
  if (bytes[0] == 'n' || bytes.substr(0, 2) == "-n") {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, error] = absl::from_chars(bytes.data(), bytes.data() + bytes.size(), *value);
    if (error == std::errc::result_out_of_range && std::abs(*value) > 1) {
      return Error(token().range(), "this number is too large for a double");
    }
  }
  Next();
  return true;
}

// float: a number in the range of float.
bool Parser::ParseFloat(double* value) {
  const SourceRange range = token().range();
  if (!ParseNumber(value, /*infinities=*/false)) return false;
  if (std::abs(*value) > std::numeric_limits<float>::max())
    return Error(range, "this number is too large for a float");
  return true;
}

// string: a quoted string.
bool Parser::ParseString(std::string_view* value) {
  if (!At(Tok::kString)) return Unexpected("a string in quotes");
  StringValue(token(), value);
  Next();
  return true;
}

// json: a string, or raw bytes in balanced braces, which are part of the value.
bool Parser::ParseJson(std::string_view* value) {
  if (!At(Tok::kLBrace)) return ParseString(value);
  const SourceRange brace = token().range();
  const auto json = lex_.TakeJson();
  if (!json) return Error(brace, "this '{{' has no matching '}}'");
  *value = *json;
  return true;
}

// int-list: `{0,1,2}`.
bool Parser::ParseIntList(IntList* list) {
  if (!At(Tok::kLBrace)) return Unexpected("'{' and a list of integers");
  std::vector<int64_t>& ints = ints_;
  ints.clear();
  // Fast path: nearly all lists consist of short numbers and commas.
  constexpr int kSafeDigits = 18;
  const char* const base = lex_.base();
  for (uint32_t p = token().end;;) {
    const uint32_t first = p;
    int64_t number = 0;
    while (base[p] >= '0' && base[p] <= '9' && p - first < kSafeDigits)
      number = number * 10 + (base[p++] - '0');
    if (p == first && !(base[p] == '}' && ints.empty())) break;
    if (p > first) ints.push_back(number);
    if (base[p] == '}') {
      lex_.Restart(p + 1);
      *list = Keep(ints);
      return true;
    }
    if (base[p++] != ',') break;
  }
  ints.clear();
  do {
    lex_.NextInteger();
    if (ints.empty() && At(Tok::kRBrace)) break;
    if (!ParseInt(&ints.emplace_back())) return false;
  } while (At(Tok::kComma));
  *list = Keep(ints);
  return Expect(Tok::kRBrace, "',' or '}' in a list of integers");
}

// int-lists: `{{0,1},{2,3}}`.
bool Parser::ParseIntLists(IntLists* lists) {
  return ReadBracedList(lists, "'{' and lists of integers", "',' or '}' in a list of lists",
                        [&](IntList* list) { return ParseIntList(list); });
}

// computation-list: `{f, %g, { body }}`.
bool Parser::ParseComputationList(attr_kind::ComputationList* list) {
  return ReadBracedList(list, "'{' and a list of computations", "',' or '}' in a list of computations",
                        [&](Computation** computation) { return ParseComputationRef(computation); });
}

// instruction-list: `{%a, b}`, at least one.
bool Parser::ParseInstructionList(Scope& scope, attr_kind::InstructionList* list) {
  if (!Expect(Tok::kLBrace, "'{' and names of instructions")) return false;
  std::vector<Instruction*> all;
  do {
    if (!token().IsId()) return Unexpected("the name of an instruction");
    const std::string_view word = lex_.Word(token());
    Instruction** const known = scope.names.Find(word);
    if (known == nullptr) return UnknownInstruction(scope, word, token().range());
    if (*known != &poison_) all.push_back(*known);
    Next();
  } while (Accept(Tok::kComma));
  *list = Keep(all);
  return Expect(Tok::kRBrace, "',' or '}' in a list of instructions");
}

// shape-list: `{f32[2]{0}, s32[]}`.
bool Parser::ParseShapeList(attr_kind::ShapeList* list) {
  return ReadBracedList(list, "'{' and a list of shapes", "',' or '}' in a list of shapes",
                        [&](const Shape** element) {
                          Shape* shape = arena().New<Shape>();
                          *element = shape;
                          return ParseShape(shape);
                        });
}

}  // namespace hlo::text
