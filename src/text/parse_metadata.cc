// Parses the attributes that annotate instructions: metadata, frontend attributes, statistics and the origin
// of values (text-format 6.1, 6.3 to 6.5).

#include "absl/algorithm/container.h"
#include "text/parser.h"

namespace hlo::text {

// frontend-attributes: `{key="value",other={json}}`; the last of duplicate keys wins.
bool Parser::ParseFrontendAttributes(const FrontendAttributes** attributes) {
  if (!Expect(Tok::kLBrace, "'{' and pairs of key and value")) return false;
  std::vector<KeyValue> entries;
  if (!ReadList(Tok::kRBrace, "',' or '}' after a value", [&] {
        if (!At(Tok::kAttr)) return Unexpected("a key such as name=");
        KeyValue& entry = entries.emplace_back();
        entry.key = lex_.Word(token());
        Next();
        if (At(Tok::kIdent) || At(Tok::kTrue) || At(Tok::kFalse) || At(Tok::kInt)) {
          if (!Tolerate(token().range(), "a value without quotes is spelling of an old dump")) return false;
          entry.value = lex_.Bytes(token());
          Next();
        } else if (!ParseJson(&entry.value)) {
          return false;
        }
        return true;
      }))
    return false;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const KeyValue& a, const KeyValue& b) { return a.key < b.key; });
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && entries[kept - 1].key == entries[i].key) --kept;
    entries[kept++] = entries[i];
  }
  entries.resize(kept);
  *attributes = arena().New<FrontendAttributes>(FrontendAttributes{Keep(entries)});
  return true;
}

// statistics: `{visualizing_index=0,name=1.5}`.
bool Parser::ParseStatistics(const Statistics** statistics) {
  if (!Expect(Tok::kLBrace, "'{' and statistics")) return false;
  auto* result = arena().New<Statistics>();
  std::vector<Statistic> entries;
  if (!At(Tok::kRBrace)) {
    bool first = true;
    do {
      if (!At(Tok::kAttr)) return Unexpected("a name such as visualizing_index=");
      const std::string_view name = lex_.Word(token());
      Next();
      if (first) {
        if (!ParseInt(&result->visualizing_index)) return false;
      } else {
        entries.push_back({name, 0});
        if (!ParseNumber(&entries.back().value, /*infinities=*/false)) return false;
      }
      first = false;
    } while (Accept(Tok::kComma));
  }
  result->entries = Keep(entries);
  *statistics = result;
  return Expect(Tok::kRBrace, "',' or '}' in statistics");
}

// origin: `{tree}`, `{tree,["calls"]}` or `{[synthetic_call]}`.
bool Parser::ParseOrigin(const Origin** origin) {
  if (!Expect(Tok::kLBrace, "'{' and a tree of names")) return false;
  auto* result = arena().New<Origin>();
  *origin = result;
  if (Accept(Tok::kLSquare)) {
    if (!At(Tok::kIdent) || lex_.Bytes(token()) != "synthetic_call") return Unexpected("synthetic_call");
    Next();
    auto* empty = arena().New<OriginNode>();
    empty->is_tuple = true;
    result->tree = empty;
    result->has_call_hierarchy = true;
    return Expect(Tok::kRSquare, "']' after synthetic_call") &&
           Expect(Tok::kRBrace, "'}' at the end of the origin");
  }
  if (!ParseOriginTree(&result->tree)) return false;
  if (Accept(Tok::kComma)) {
    result->has_call_hierarchy = true;
    if (!Expect(Tok::kLSquare, "'[' and the calls in quotes") || !ParseString(&result->call_hierarchy) ||
        !Expect(Tok::kRSquare, "']' after the calls")) {
      return false;
    }
  }
  return Expect(Tok::kRBrace, "'}' at the end of the origin");
}

// origin-tree: an array-ref or `(tree, tree)`.
bool Parser::ParseOriginTree(const OriginNode** node) {
  if (!At(Tok::kLParen)) return ParseArrayRef(node);
  const Nested nested(*this);
  if (!nested) return false;
  Next();
  std::vector<const OriginNode*> elements;
  if (!At(Tok::kRParen)) {
    do {
      if (!ParseOriginTree(&elements.emplace_back())) return false;
    } while (Accept(Tok::kComma));
  }
  auto* result = arena().New<OriginNode>();
  result->is_tuple = true;
  result->elements = Keep(elements);
  *node = result;
  return Expect(Tok::kRParen, "',' or ')' in the tree of an origin");
}

// array-ref: `{"name" {0,1}}`, `{"name"}` or `{}`.
bool Parser::ParseArrayRef(const OriginNode** node) {
  if (!Expect(Tok::kLBrace, "'{' and a name in quotes")) return false;
  auto* result = arena().New<OriginNode>();
  *node = result;
  if (Accept(Tok::kRBrace)) return true;
  result->has_value = true;
  if (!ParseString(&result->name)) return false;
  if (At(Tok::kLBrace) && !ParseShapeIndex(&result->index)) return false;
  return Expect(Tok::kRBrace, "'}' after the name");
}

namespace {

struct MetadataFieldRow {
  std::string_view name;
  std::string_view Metadata::*text = nullptr;
  int32_t Metadata::*number = nullptr;
};
constexpr MetadataFieldRow kMetadataFields[] = {
    {"op_name", &Metadata::op_name},
    {"source_file", &Metadata::source_file},
    {"source_line", nullptr, &Metadata::source_line},
    {"op_type", &Metadata::op_type},
    {"stack_frame_id", nullptr, &Metadata::stack_frame_id},
    {"source_end_line", nullptr, &Metadata::source_end_line},
    {"source_column", nullptr, &Metadata::source_column},
    {"source_end_column", nullptr, &Metadata::source_end_column},
    {"deduplicated_name", &Metadata::deduplicated_name},
    {"scheduling_name", &Metadata::scheduling_name},
    {"metadata_payload", &Metadata::metadata_payload},
    {"profile_type"},
    {"preserve_layout"},
};

}  // namespace

// metadata: `{op_name="f" source_line=3}`; commas between fields are optional.
bool Parser::ParseMetadata(const Metadata** metadata) {
  if (!Expect(Tok::kLBrace, "'{' and fields of metadata")) return false;
  auto* result = arena().New<Metadata>();
  uint32_t seen = 0;
  while (!At(Tok::kRBrace)) {
    Accept(Tok::kComma);
    if (!ParseMetadataField(*result, &seen)) return false;
  }
  Next();
  *metadata = result;
  return true;
}

// metadata-field: for example `op_name="f"`.
bool Parser::ParseMetadataField(Metadata& metadata, uint32_t* seen) {
  const Token word = token();
  if (!At(Tok::kAttr)) return Unexpected("a field of metadata such as op_name=");
  const std::string_view name = lex_.Word(word);
  const auto row =
      absl::c_find_if(kMetadataFields, [&](const MetadataFieldRow& r) { return r.name == name; });
  if (row == std::end(kMetadataFields)) {
    std::vector<std::string_view> known;
    for (const MetadataFieldRow& r : kMetadataFields) known.push_back(r.name);
    const std::string_view close = ClosestName(name, known);
    if (close.empty()) return Error(word.range(), "metadata has no field '{}'", name);
    return Error(word.range(), "metadata has no field '{}'; did you mean '{}'?", name, close);
  }
  const auto bit = 1u << (row - std::begin(kMetadataFields));
  if ((*seen & bit) != 0) return Error(word.range(), "'{}' is given twice", name);
  *seen |= bit;
  Next();
  if (row->text != nullptr) return ParseString(&(metadata.*row->text));
  if (row->number != nullptr) {
    int64_t value;
    const SourceRange range = token().range();
    if (!ParseInt32(&value)) return false;
    metadata.*row->number = static_cast<int32_t>(value);
    if (name == "stack_frame_id" && value != 0) frame_uses_.emplace_back(&metadata.stack_frame_id, range);
    return true;
  }
  if (name == "preserve_layout") {
    return Tolerate(word.range(), "'preserve_layout' is no longer a field of metadata; ignored") &&
           SkipValue();
  }
  const SourceRange range = token().range();
  if (!ParseIntList(&metadata.profile_type)) return false;
  if (absl::c_any_of(metadata.profile_type, [](int64_t type) { return type < 0 || type > 3; })) {
    return Error(range, "a profile type must be between 0 and 3");
  }
  return true;
}

}  // namespace hlo::text
