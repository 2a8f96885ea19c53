// Parses the attributes of a module and its source tables (text-format 2.2, 2.3, 2.5, 2.6).

#include <algorithm>

#include "absl/algorithm/container.h"
#include "text/parser.h"

namespace hlo::text {
namespace {

constexpr std::string_view kHeaderAttributes[] = {"is_scheduled",
                                                  "replica_count",
                                                  "num_partitions",
                                                  "input_output_alias",
                                                  "buffer_donor",
                                                  "alias_passthrough_params",
                                                  "entry_computation_layout",
                                                  "frontend_attributes",
                                                  "allow_spmd_sharding_propagation_to_parameters",
                                                  "allow_spmd_sharding_propagation_to_output",
                                                  "origin_recovery_table",
                                                  "debug_attributes"};

}  // namespace

// header-attribute: an attribute of `HloModule`.
bool Parser::ParseHeaderAttribute() {
  if (!At(Tok::kAttr)) return Unexpected("an attribute of the module such as is_scheduled=");
  const Token word = token();
  const std::string_view name = lex_.Word(word);
  const auto first = absl::c_find_if(header_seen_, [&](const auto& seen) { return seen.first == name; });
  if (first != header_seen_.end()) {
    diagnostics_.Error(word.range(), "'{}' is given twice", name)
        .Note(first->second, "the first one is here");
    return false;
  }
  header_seen_.emplace_back(name, word.range());
  Next();
  ModuleHeader& header = module_->mutable_header();
  if (name == "is_scheduled") return ParseBool(&header.is_scheduled);
  if (name == "replica_count") return ParseInt(&header.replica_count);
  if (name == "num_partitions") return ParseInt(&header.num_partitions);
  if (name == "input_output_alias") return ParseAliasMap();
  if (name == "buffer_donor") return ParseDonors();
  if (name == "alias_passthrough_params") return ParseBool(&header.alias_passthrough_params);
  if (name == "entry_computation_layout") return ParseEntryLayout();
  if (name == "frontend_attributes") return ParseFrontendAttributes(&header.frontend_attributes);
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return ParseHeaderBools(&header.spmd_propagation_to_parameters);
  }
  if (name == "allow_spmd_sharding_propagation_to_output")
    return ParseHeaderBools(&header.spmd_propagation_to_output);
  if (name == "origin_recovery_table") return ParseRecoveryTable();
  if (name == "debug_attributes") return ParseDebugAttributes();
  const std::vector<std::string_view> known(std::begin(kHeaderAttributes), std::end(kHeaderAttributes));
  const std::string_view close = ClosestName(name, known);
  diagnostics_
      .Error(word.range(), "a module has no attribute '{}'{}", name,
             close.empty() ? std::string() : fmt::format("; did you mean '{}'?", close))
      .Note({}, "allowed here: {}", fmt::join(known, ", "));
  return false;
}

// header-bools: `true` or `{true,false}`.
bool Parser::ParseHeaderBools(std::vector<bool>* values) {
  bool single;
  if (!At(Tok::kLBrace)) {
    if (!ParseBool(&single)) return false;
    *values = {single};
    return true;
  }
  BoolList list;
  if (!ParseBools(&list)) return false;
  values->assign(list.begin(), list.end());
  return true;
}

// entry-layout: `{(shape, ...)->shape}`.
bool Parser::ParseEntryLayout() {
  const uint32_t begin = token().begin;
  auto layout = std::make_shared<EntryLayout>();
  if (!Expect(Tok::kLBrace, "'{' and the layout of the entry computation")) return false;
  if (!Expect(Tok::kLParen, "'(' and the shapes of the parameters")) return false;
  while (!At(Tok::kRParen)) {
    if (!ParseShape(&layout->parameters.emplace_back())) return false;
    if (!At(Tok::kRParen) && !Expect(Tok::kComma, "',' or ')' after a parameter's shape")) return false;
  }
  Next();
  if (!Expect(Tok::kArrow, "'->' and the shape of the result") || !ParseShape(&layout->result) ||
      !Expect(Tok::kRBrace, "'}' at the end of the entry layout")) {
    return false;
  }
  layout->range = From(begin);
  module_->mutable_header().entry_layout = std::move(layout);
  return true;
}

// alias-map: `{ {0}: (1, {}, must-alias), {1}: (2, {}) }`.
bool Parser::ParseAliasMap() {
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLBrace, "'{' and pairs of output and parameter")) return false;
  if (!ReadTerminatedList("',' or '}' in the alias map", [&] { return ParseAlias(); })) return false;
  module_->mutable_header().alias_range = From(begin);
  return true;
}

// alias: `{0}: (1, {}, may-alias)`.
bool Parser::ParseAlias() {
  InputOutputAlias alias;
  if (!ParseShapeIndex(&alias.output_index) || !Expect(Tok::kColon, "':' after the index of the output"))
    return false;
  std::vector<InputOutputAlias>& all = module_->mutable_header().input_output_alias;
  if (At(Tok::kInt)) {
    if (!Tolerate(token().range(), "an alias without parentheses is spelling of an old dump")) return false;
    all.push_back(alias);
    return ParseInt(&all.back().parameter);
  }
  if (!Expect(Tok::kLParen, "'(' and a parameter number")) return false;
  const SourceRange number = token().range();
  if (!ParseInt(&alias.parameter)) return false;
  if (alias.parameter < 0) return Error(number, "a parameter cannot have the number {}", alias.parameter);
  if (!Expect(Tok::kComma, "',' and an index into the parameter") || !ParseShapeIndex(&alias.parameter_index))
    return false;
  if (Accept(Tok::kComma)) {
    const std::string_view kind = lex_.Bytes(token());
    if (!At(Tok::kIdent) || (kind != "may-alias" && kind != "must-alias"))
      return Unexpected("may-alias or must-alias");
    alias.must_alias = kind == "must-alias";
    Next();
  }
  all.push_back(alias);
  return Expect(Tok::kRParen, "',' or ')' in an alias");
}

// donors: `{ (0, {}), (1, {2}) }`.
bool Parser::ParseDonors() {
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLBrace, "'{' and donated buffers")) return false;
  if (!ReadTerminatedList("',' or '}' in the list of donors", [&] { return ParseDonor(); })) return false;
  module_->mutable_header().donor_range = From(begin);
  return true;
}

// donor: `(1, {2})`.
bool Parser::ParseDonor() {
  BufferDonor donor;
  if (!Expect(Tok::kLParen, "'(' and a parameter number")) return false;
  const SourceRange number = token().range();
  if (!ParseInt(&donor.parameter)) return false;
  if (donor.parameter < 0) return Error(number, "a parameter cannot have the number {}", donor.parameter);
  if (!Expect(Tok::kComma, "',' and an index into the parameter") || !ParseShapeIndex(&donor.parameter_index))
    return false;
  module_->mutable_header().buffer_donor.push_back(donor);
  return Expect(Tok::kRParen, "')' after the index");
}

// shape-index: `{0,1}`; a comma may follow the last number.
bool Parser::ParseShapeIndex(IntList* index) {
  if (!At(Tok::kLBrace)) return Unexpected("'{' and an index into a shape");
  std::vector<int64_t> numbers;
  do {
    lex_.NextInteger();
    if (At(Tok::kRBrace)) break;
    if (!ParseInt(&numbers.emplace_back())) return false;
  } while (At(Tok::kComma));
  *index = Keep(numbers);
  return Expect(Tok::kRBrace, "',' or '}' in an index");
}

// recovery-table: entries without separators.
bool Parser::ParseRecoveryTable() {
  if (!Expect(Tok::kLBrace, "'{' and the recovery table")) return false;
  while (!At(Tok::kRBrace)) {
    if (!ParseRecoveryEntry()) return false;
  }
  Next();
  return true;
}

// recovery-entry: `{"a"} : {"b"}`, optionally followed by `, "module text"`.
bool Parser::ParseRecoveryEntry() {
  OriginRecovery entry;
  if (!ParseArrayRef(&entry.from) || !Expect(Tok::kColon, "':' between two arrays") ||
      !ParseArrayRef(&entry.to)) {
    return false;
  }
  if (Accept(Tok::kComma)) {
    const SourceRange range = token().range();
    std::string_view text;
    if (!ParseString(&text)) return false;
    const Nested nested(*this);
    if (!nested) return false;
    auto source = std::make_shared<SourceText>(source_->name() + " (recovery module)", std::string(text));
    Diagnostics inner;
    ParseOptions options = options_;
    options.max_nesting = options_.max_nesting - depth_ - 100;
    entry.recovery = hlo::Parse(source, inner, options);
    if (entry.recovery == nullptr)
      return Error(range, "the module in this string is wrong: {}", inner.all().front().message);
  }
  module_->mutable_header().origin_recovery_table.push_back(std::move(entry));
  return true;
}

// debug-attributes: `{ {"a"}:({log_mode=default},{op_id=3}), {"b"}:{callback_id=1} }`.
bool Parser::ParseDebugAttributes() {
  if (!Expect(Tok::kLBrace, "'{' and debug attributes")) return false;
  return ReadList(Tok::kRBrace, "',' or '}' in debug attributes", [&] { return ParseDebugEntry(); });
}

// debug-entry: an array-ref, `:` and one debug-set or several in parentheses.
bool Parser::ParseDebugEntry() {
  DebugAttributes entry;
  if (!ParseArrayRef(&entry.array) || !Expect(Tok::kColon, "':' after an array")) return false;
  if (!Accept(Tok::kLParen)) {
    if (!ParseDebugSet(&entry.sets)) return false;
  } else if (!Accept(Tok::kRParen)) {
    do {
      if (!ParseDebugSet(&entry.sets)) return false;
    } while (Accept(Tok::kComma));
    if (!Expect(Tok::kRParen, "',' or ')' in debug attributes")) return false;
  }
  if (!entry.sets.empty()) module_->mutable_header().debug_attributes.push_back(std::move(entry));
  return true;
}

// debug-set: `{log_mode=default,callback_id=1,partitioned=true,op_id=2}`; the last of duplicate keys wins.
bool Parser::ParseDebugSet(std::vector<DebugAttribute>* sets) {
  if (!Expect(Tok::kLBrace, "'{' and debug attributes")) return false;
  DebugAttribute& set = sets->emplace_back();
  do {
    const std::string_view name = At(Tok::kAttr) ? lex_.Word(token()) : std::string_view();
    if (name != "log_mode" && name != "callback_id" && name != "partitioned" && name != "op_id") {
      return Unexpected("log_mode=, callback_id=, partitioned= or op_id=");
    }
    Next();
    if (name == "log_mode") {
      const std::string_view mode = token().IsId() ? lex_.Word(token()) : std::string_view();
      if (mode != "default" && mode != "fusion_debugger") return Unexpected("default or fusion_debugger");
      set.has_log_mode = true;
      set.fusion_debugger = mode == "fusion_debugger";
      Next();
    } else if (name == "partitioned") {
      set.has_partitioned = true;
      if (!ParseBool(&set.partitioned)) return false;
    } else {
      (name == "op_id" ? set.has_op_id : set.has_callback_id) = true;
      if (!ParseInt(name == "op_id" ? &set.op_id : &set.callback_id)) return false;
    }
  } while (Accept(Tok::kComma));
  return Expect(Tok::kRBrace, "',' or '}' in debug attributes");
}

// tables: FileNames, FunctionNames, FileLocations, StackFrames, in this order.
bool Parser::ParseTables() {
  SourceTables& tables = module_->mutable_header().tables;
  Next();
  if (!ParseNames(&tables.file_names)) return false;
  if (!Expect(Tok::kFunctionNames, "a file name or the table FunctionNames")) return false;
  if (!ParseNames(&tables.function_names)) return false;
  if (!Expect(Tok::kFileLocations, "a function name or the table FileLocations")) return false;
  if (!ParseLocations()) return false;
  if (!Expect(Tok::kStackFrames, "a location or the table StackFrames")) return false;
  return ParseFrames();
}

// names: `1 "a.py" 2 "b.py"`; the numbers are not used.
bool Parser::ParseNames(std::vector<std::string_view>* names) {
  while (Accept(Tok::kInt)) {
    if (!ParseString(&names->emplace_back())) return false;
  }
  return true;
}

// locations: `1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=9}`.
bool Parser::ParseLocations() {
  constexpr std::string_view kFields[] = {"file_name_id", "function_name_id", "line",
                                          "end_line",     "column",           "end_column"};
  while (Accept(Tok::kInt)) {
    int32_t v[6];
    if (!ReadIntFields(kFields, absl::MakeSpan(v))) return false;
    module_->mutable_header().tables.file_locations.push_back({v[0], v[1], v[2], v[3], v[4], v[5]});
  }
  return true;
}

// frames: `2 {file_location_id=1 parent_frame_id=2}`; the text has the parent's number plus one.
bool Parser::ParseFrames() {
  constexpr std::string_view kFields[] = {"file_location_id", "parent_frame_id"};
  while (Accept(Tok::kInt)) {
    int32_t v[2];
    if (!ReadIntFields(kFields, absl::MakeSpan(v))) return false;
    const int32_t parent = v[1] == std::numeric_limits<int32_t>::min() ? v[1] : v[1] - 1;
    module_->mutable_header().tables.stack_frames.push_back({v[0], parent});
  }
  return true;
}

// Reads a block of required 32-bit fields.
bool Parser::ReadIntFields(absl::Span<const std::string_view> names, absl::Span<int32_t> values) {
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLBrace, "'{' and fields")) return false;
  uint32_t seen = 0;
  while (!At(Tok::kRBrace)) {
    Accept(Tok::kComma);
    const Token word = token();
    const auto name = At(Tok::kAttr) ? absl::c_find(names, lex_.Word(word)) : names.end();
    if (name == names.end()) return Unexpected(fmt::format("'}}' or one of: {}", fmt::join(names, ", ")));
    const auto i = static_cast<size_t>(name - names.begin());
    if ((seen >> i & 1) != 0) return Error(word.range(), "'{}' is given twice", *name);
    seen |= 1u << i;
    Next();
    int64_t value;
    if (!ParseInt32(&value)) return false;
    values[i] = static_cast<int32_t>(value);
  }
  Next();
  for (size_t i = 0; i < names.size(); ++i) {
    if ((seen >> i & 1) == 0) return Error(From(begin), "the field '{}' is missing", names[i]);
  }
  return true;
}

// Invalidates frames whose chain of callers does not end.
void Parser::CheckStackFrames() {
  const SourceTables& tables = module_->header().tables;
  const auto frame_count = static_cast<int64_t>(tables.stack_frames.size());
  auto in = [](int64_t id, size_t size) { return id >= 1 && id <= static_cast<int64_t>(size); };
  // 0 unknown, 1 being visited, 2 valid, 3 invalid.
  std::vector<uint8_t> state(frame_count + 1, 0);
  std::vector<int64_t> path;
  int64_t bad = 0;
  std::pair<int32_t, SourceRange> first_bad;
  for (auto& [id, range] : frame_uses_) {
    bool good = true;
    path.clear();
    for (int64_t frame = *id; frame != 0;) {
      if (!in(frame, tables.stack_frames.size()) || state[frame] == 1 || state[frame] == 3) {
        good = false;
        break;
      }
      if (state[frame] == 2) break;
      const StackFrame& f = tables.stack_frames[frame - 1];
      if (!in(f.file_location_id, tables.file_locations.size())) {
        good = false;
        break;
      }
      const FileLocation& location = tables.file_locations[f.file_location_id - 1];
      if (!in(location.file_name_id, tables.file_names.size()) ||
          !in(location.function_name_id, tables.function_names.size())) {
        good = false;
        break;
      }
      state[frame] = 1;
      path.push_back(frame);
      frame = f.parent_frame_id;
    }
    for (int64_t frame : path) state[frame] = good ? 2 : 3;
    if (good) continue;
    if (bad++ == 0) first_bad = {*id, range};
    *id = 0;
  }
  if (bad == 0) return;
  Warn(first_bad.second,
       "stack frame {} is in none of the tables or leads nowhere; it is left out, like {} other{}",
       first_bad.first, bad - 1, bad == 2 ? "" : "s");
}

namespace {

// True if the shape has an element at this index.
bool IndexExists(const Shape& shape, IntList index) {
  const Shape* at = &shape;
  for (int64_t i : index) {
    if (!at->IsTuple() || i < 0 || i >= static_cast<int64_t>(at->elements().size())) return false;
    at = &at->element(i);
  }
  return true;
}

}  // namespace

bool Parser::CheckAliases() {
  const ModuleHeader& header = module_->header();
  const Instruction* root = module_->entry()->root();
  const Shape& result = header.entry_layout != nullptr ? header.entry_layout->result : root->shape();
  std::vector<IntList> seen;
  for (const InputOutputAlias& alias : header.input_output_alias) {
    if (!IndexExists(result, alias.output_index)) {
      Error(header.alias_range, "the result {} has no element {{{}}}", ToString(result),
            fmt::join(alias.output_index, ","));
      return false;
    }
    seen.push_back(alias.output_index);
  }
  absl::c_sort(seen, [](IntList a, IntList b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return true;
  return Error(header.alias_range, "output {{{}}} is aliased twice", fmt::join(*twice, ","));
}

}  // namespace hlo::text
