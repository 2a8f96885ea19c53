#pragma once
// A recursive-descent parser of HLO text with one function per production of grammar/hlo.ebnf; the parse_*.cc
// files define them. A function returns false after it has reported an error. The parser then drops the
// instruction and recovers at the next one.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/arena.h"
#include "base/name_table.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/module.h"
#include "hlo_run/parse.h"
#include "text/lexer.h"

namespace hlo::text {

struct ShardingItems;

// The state of a computation whose body is being parsed.
struct Scope {
  Computation* computation = nullptr;
  NameTable<Instruction*> names;
  // get-tuple-element instructions created for `#i`, at most one per element.
  absl::flat_hash_map<std::pair<Instruction*, int64_t>, Instruction*> elements;
  // Instructions that the parser names once all names in the text are known.
  std::vector<std::pair<Instruction*, std::string>> unnamed;
  std::vector<Instruction*> parameters;
  Instruction* root = nullptr;
  SourceRange root_range;
  bool creates_parameters = false;  // Set for a single instruction: undefined operands become parameters.
  int64_t next_anonymous = 0;

  void Reset(Computation* c);
};

// Returns the shape of a literal from its written shape: buffers become their arrays, dynamic dimensions
// static ones with the bound as size, and element sizes are left out of layouts.
Shape LiteralShape(const Shape& written);

// An opcode, possibly sugar for async-start, -update or -done: X-start, X-update, X-done (text-format 5.4).
struct OpcodeWord {
  Opcode opcode = Opcode::kAbs;  // X, or kAsyncStart, kAsyncUpdate or kAsyncDone for sugar.
  bool is_sugar = false;
  Opcode wrapped = Opcode::kAbs;  // The X of sugar.
  bool is_old = false;            // True for spellings that XLA no longer accepts.
  SourceRange range;
};

// The parsed parts of an instruction before the instruction is created.
struct InstructionParts {
  SourceRange name_range;
  std::string_view name;
  Shape shape;
  SourceRange shape_range;
  OpcodeWord op;
  size_t first_operand = 0;    // Index into operands_ and operand_ranges_.
  size_t first_attribute = 0;  // Index into attributes_.
  bool elided = false;
  bool poisoned = false;  // An operand failed to parse, so errors of this instruction are not reported.
};

class Parser {
 public:
  Parser(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics, const ParseOptions& options);

  std::unique_ptr<Module> Run();
  Shape RunShape();
  absl::StatusOr<Literal> RunLiteral(const Shape& shape);

 private:
  // Defined in parse_module.cc and parse_header.cc.
  bool ParseText();
  bool ParseFullModule();
  bool ParseBareModule();
  bool ParseSingleInstruction();
  bool ParseHeaderAttribute();
  bool ParseEntryLayout();
  bool ParseAliasMap();
  bool ParseAlias();
  bool ParseDonors();
  bool ParseDonor();
  bool ParseShapeIndex(IntList* index);
  bool ParseHeaderBools(std::vector<bool>* values);
  bool ParseRecoveryTable();
  bool ParseRecoveryEntry();
  bool ParseDebugAttributes();
  bool ParseDebugEntry();
  bool ParseDebugSet(std::vector<DebugAttribute>* sets);
  bool ParseTables();
  bool ParseNames(std::vector<std::string_view>* names);
  bool ParseLocations();
  bool ParseFrames();
  bool ReadIntFields(absl::Span<const std::string_view> names, absl::Span<int32_t> values);
  bool ReadComputations();
  bool FinishModule();
  void SetEntryLayout();
  bool CheckAliases();
  void CheckStackFrames();
  bool CheckAsyncCallees();

  // Defined in parse_computation.cc.
  bool ParseComputation();
  bool ParseSignature(Shape* result, SourceRange* range);
  bool ParseBody(Scope& scope, Token brace);
  bool ParseNestedBody(Computation** computation);
  bool AtComputation() const;
  bool SkipComputation(std::string_view name, uint32_t begin);
  bool CloseUnfinishedBody(Scope& scope, Token brace);
  void WarnOfMissingRoot(const Scope& scope);
  bool FinishComputation(Scope& scope, SourceRange brace);
  void NameUnnamed(Scope& scope);
  bool RecoverToInstruction(uint32_t begin);
  bool RecoverToComputation(uint32_t begin);
  bool ParseComputationRef(Computation** computation);

  // Defined in parse_instruction.cc.
  bool ParseInstruction(Scope& scope);
  bool ParseRightHandSide(Scope& scope, InstructionParts& parts);
  bool ParseOpcode(OpcodeWord* op);
  bool ParseOperands(Scope& scope, InstructionParts& parts);
  bool ParseOperand(Scope& scope, InstructionParts& parts);
  bool ParseNestedInstruction(Scope& scope, const Token& word, Shape shape, SourceRange shape_range,
                              InstructionParts& outer);
  bool ParseParameterNumber();
  bool ParseConstantValue(InstructionParts& parts);
  bool ParseElementPath(Scope& scope, Instruction** instruction, std::string* name);
  bool ResolveOperand(Scope& scope, const Token& word, const Shape* shape, SourceRange shape_range,
                      Instruction** result);
  Instruction* NewParameter(Scope& scope, Shape shape, std::string_view name, SourceRange at);
  bool OpcodeFromWord(std::string_view word, OpcodeWord* op) const;
  bool UnknownOpcode(std::string_view word, SourceRange at);
  bool AtUnknownType() const;
  bool UnknownType();
  bool UnknownInstruction(Scope& scope, std::string_view word, SourceRange at);
  void PushOperand(Instruction* instruction, SourceRange range, InstructionParts& parts);
  bool EnterName(Scope& scope, Instruction* instruction, SourceRange range);
  Instruction* Create(Scope& scope, InstructionParts& parts);
  void Drop(const InstructionParts& parts);
  absl::Span<Instruction* const> Operands(const InstructionParts& parts) const {
    return absl::MakeConstSpan(operands_).subspan(parts.first_operand);
  }
  absl::Span<AttrEntry> Attributes(const InstructionParts& parts) {
    return absl::MakeSpan(attributes_).subspan(parts.first_attribute);
  }
  AttrEntry* FindEntry(const InstructionParts& parts, AttrId id);
  bool HasEntry(const InstructionParts& parts, AttrId id) { return FindEntry(parts, id) != nullptr; }
  template <class A>
  typename A::Type GetEntry(const InstructionParts& parts) {
    const AttrEntry* entry = FindEntry(parts, A::kId);
    return entry ? entry->value.template As<typename A::Type>() : typename A::Type{};
  }
  void RemoveEntry(const InstructionParts& parts, AttrId id);

  // Defined in finish_instruction.cc: checks and rewrites of the reader (text-format 5, 7).
  bool CheckOperandCount(InstructionParts& parts);
  bool CheckRequiredAttributes(InstructionParts& parts);
  bool FinishParts(Scope& scope, InstructionParts& parts);
  bool FinishShape(InstructionParts& parts);
  using Finisher = bool (Parser::*)(InstructionParts&);
  struct FinisherRow {
    Opcode opcode;
    Finisher finish;
  };
  static absl::Span<const FinisherRow> Finishers();
  static Finisher FinisherOf(Opcode opcode);
  bool FinishOldOpcode(InstructionParts&);
  bool FinishAfterAll(InstructionParts&);
  bool FinishAddDependency(InstructionParts&);
  bool FinishOutfeed(InstructionParts&);
  bool FinishSend(InstructionParts&);
  bool FinishSendDone(InstructionParts&);
  bool FinishRecv(InstructionParts&);
  bool FinishRecvDone(InstructionParts&);
  bool FinishInfeed(InstructionParts&);
  bool FinishTuple(InstructionParts&);
  bool FinishGetTupleElement(InstructionParts&);
  bool FinishReshape(InstructionParts&);
  bool FinishDynamicReshape(InstructionParts&);
  bool FinishDeviceId(InstructionParts&);
  bool FinishConditional(InstructionParts&);
  bool FinishCustomCall(InstructionParts&);
  bool FinishCompare(InstructionParts&);
  bool FinishBroadcast(InstructionParts&);
  bool FinishMap(InstructionParts&);
  bool FinishReducePrecision(InstructionParts&);
  bool FinishAllReduce(InstructionParts&);
  bool FinishCollectivePermute(InstructionParts&);
  bool FinishRaggedAllToAll(InstructionParts&);
  bool FinishScan(InstructionParts&);
  bool FinishSliceIndices(InstructionParts&);
  bool CheckChannel(InstructionParts&);
  bool CheckLayoutConstraints(InstructionParts&);
  bool CheckReplication(InstructionParts&);

  // Defined in parse_async.cc.
  bool FinishAsync(Scope& scope, InstructionParts& parts);
  bool FinishAsyncStart(Scope& scope, InstructionParts& parts);
  bool FinishAsyncContinuation(InstructionParts& parts);
  Instruction* FindStart(Instruction* value);
  bool CheckAsyncShape(InstructionParts& parts);
  bool FinishWrapped(InstructionParts& parts);
  Computation* MakeAsyncWrapper(InstructionParts& parts);
  void BindLate(InstructionParts& parts, Instruction* start);
  AttrId FindAttributeOf(const OpcodeWord& op, std::string_view spelling) const;

  // Defined in parse_attribute.cc.
  bool ParseAttributes(Scope& scope, InstructionParts& parts);
  bool NoAttribute(const OpcodeWord& op);
  bool ParseAttribute(Scope& scope, InstructionParts& parts);
  bool ParseAttributeValue(Scope& scope, InstructionParts& parts, AttrId id, AttrValue* value);
  bool SkipValue();
  bool UnknownAttribute(const OpcodeWord& op, std::string_view spelling, SourceRange at);
  bool ParseBool(bool* value);
  bool ParseBools(BoolList* values);
  bool ParseInt(int64_t* value);
  bool ParseInt32(int64_t* value);
  bool ParseNumber(double* value, bool infinities);
  bool ParseFloat(double* value);
  bool ParseString(std::string_view* value);
  bool ParseJson(std::string_view* value);
  bool ParseIntList(IntList* list);
  bool ParseIntLists(IntLists* lists);
  bool ParseComputationList(attr_kind::ComputationList* list);
  bool ParseInstructionList(Scope& scope, attr_kind::InstructionList* list);
  bool ParseShapeList(attr_kind::ShapeList* list);
  template <class E>
  bool ParseWord(E* value);
  template <class E>
  bool ReadWord(AttrValue* value);

  // Defined in parse_structure.cc.
  bool ParseWindow(Window* window);
  bool ParseWindowItem(std::vector<WindowDim>& dims, uint32_t* seen, bool* sized);
  bool ParseDxd(std::vector<int64_t>* values);
  bool ParsePad(std::vector<PaddingDim>* values);
  bool ParseDimLabels(const DimLabels** labels);
  bool ParsePadding(absl::Span<const PaddingDim>* padding);
  bool ParseSlices(absl::Span<const SliceRange>* slices);
  bool ParseSlice(SliceRange* slice);
  bool ParsePrecisions(absl::Span<const Precision>* precisions);
  bool ParseOperandAliases(attr_kind::AliasList* aliases);
  bool ParseOperandAlias(OutputOperandAlias* alias);
  bool ParseResultAccuracy(const ResultAccuracy** accuracy);
  bool ParseTolerance(ResultAccuracy* accuracy);
  template <class Config, class Side>
  bool ReadSides(const Config** config, Side&& read_side);
  bool ParseSparsityConfig(const SparsityConfig** config);
  bool ParseSparsitySide(SparsitySide* side);
  bool ParseBlockScalingConfig(const BlockScalingConfig** config);
  bool ParseBlockScalingSide(BlockScalingSide* side);
  bool ParseDomain(const Domain** domain);

  // Defined in parse_metadata.cc.
  bool ParseFrontendAttributes(const FrontendAttributes** attributes);
  bool ParseStatistics(const Statistics** statistics);
  bool ParseOrigin(const Origin** origin);
  bool ParseOriginTree(const OriginNode** node);
  bool ParseArrayRef(const OriginNode** node);
  bool ParseMetadata(const Metadata** metadata);
  bool ParseMetadataField(Metadata& metadata, uint32_t* seen);

  // Defined in parse_sharding.cc.
  bool ParseSharding(const Sharding** sharding);
  bool ParseOneSharding(const Sharding** sharding);
  bool ParseDeviceSharding(Sharding& sharding);
  bool ParseShardingItem(Sharding& sharding, ShardingItems& items);
  bool ParseTileAssignment(Sharding& sharding, ShardingItems& items);
  bool ParseSubgroupTypes(absl::Span<const Sharding::SubgroupType>* types);
  bool ParseIota(IntList dims, const IotaTile** tile);
  bool ParseShardingMetadata(Sharding& sharding);
  bool ParseReplicaGroups(const ReplicaGroups** groups);
  bool ReadBracketed(std::vector<int64_t>* values);
  void TransposeTiles(Sharding& sharding, const std::vector<int64_t>& order);
  void SpreadSharding(Instruction& instruction);
  bool CheckComputedShape(const Shape& shape, SourceRange at);
  bool NormalizeTiles(Sharding& sharding, SourceRange range);
  bool FinishDeviceSharding(Sharding& sharding, const ShardingItems& items, SourceRange range);

  // Defined in parse_mesh.cc.
  bool AtMesh() const;
  bool ParseNamedSharding(Sharding& sharding);
  bool ParseNamedTail(Sharding& sharding);
  bool ParseNamedAxes(Sharding& sharding);
  bool ParseMesh(const Mesh** mesh);
  bool ParseMeshDevices(Mesh& mesh, SourceRange mesh_range);
  bool ParseAxes(const Mesh& mesh, absl::Span<const AxisRef>* axes);
  bool ParseAxis(const Mesh& mesh, AxisRef* axis);
  bool ParseDimSharding(const Mesh& mesh, DimSharding* dim);
  bool ParseReduction(Sharding& sharding);
  bool CheckNamedAxes(const Sharding& sharding, SourceRange range);

  // Defined in parse_shape.cc.
  bool AtShape() const;
  bool ParseShape(Shape* shape);
  bool ParseArrayShape(Shape* shape);
  bool ParseTupleShape(Shape* shape);
  bool ParseBufferShape(Shape* shape);
  bool ParseDimension(Shape* shape);
  bool ParseLayout(Shape* shape);
  bool ParseLayoutAnnotations(Layout& layout);
  bool ParseLayoutAnnotation(Layout& layout, int* order);
  bool ParseLevels();
  bool ParseTiles(Layout& layout);
  bool ParseSplits(Layout& layout);
  bool ReadAnnotationInt(int64_t minimum, int64_t maximum, int64_t* value);
  bool ReadAnnotationType(std::optional<ElementType>* type);
  bool ReadShapeUncached(Shape* shape);
  uint32_t CacheableEnd() const;
  bool LayoutFollows();

  // Defined in parse_literal.cc.
  bool ParseLiteral(const Shape& shape, Literal* literal, bool* elided);
  bool ParseTupleLiteral(const Shape& shape, Literal* literal, bool* elided);
  bool ReadSizes(const Shape& shape, std::vector<int64_t>* sizes);
  bool HasSizes(const Literal& literal, const std::vector<int64_t>& sizes, SourceRange at);
  bool Widen(const Shape& bounds, Literal* literal);
  bool NoMemory(const absl::Status& status);
  bool ReadFirstElement(const Shape& shape, Literal* literal);
  bool ParseArrayLiteral(const Shape& shape, Literal* literal, bool* elided);
  bool ParseShapedLiteral(Literal* literal, bool* elided);
  bool LoneBraceFollows() const;
  bool SkipOldShape();

  // Defined in parser.cc: tokens and diagnostics.
  const Token& token() const { return lex_.token(); }
  bool At(Tok kind) const { return lex_.At(kind); }
  void Next() { lex_.Next(); }
  bool Accept(Tok kind) {
    if (!lex_.At(kind)) return false;
    lex_.Next();
    return true;
  }
  bool Expect(Tok kind, std::string_view what) {
    if (lex_.At(kind)) [[likely]] {
      lex_.Next();
      return true;
    }
    return Unexpected(what);
  }
  // Parses elements that commas separate, and the token that ends the list. `element` returns false on
  // failure.
  template <class Element>
  bool ReadList(Tok end, std::string_view expected, Element&& element) {
    if (Accept(end)) return true;
    do {
      if (!element()) return false;
    } while (Accept(Tok::kComma));
    return Expect(end, expected);
  }
  // The same up to '}', where a comma may also follow the last element.
  template <class Element>
  bool ReadTerminatedList(std::string_view expected, Element&& element) {
    while (!Accept(Tok::kRBrace)) {
      if (!element()) return false;
      if (!At(Tok::kRBrace) && !Expect(Tok::kComma, expected)) return false;
    }
    return true;
  }
  // Parses a list in braces into the arena.
  template <class T, class Element>
  bool ReadBracedList(absl::Span<const T>* list, std::string_view opening, std::string_view expected,
                      Element&& element) {
    if (!Expect(Tok::kLBrace, opening)) return false;
    std::vector<T> all;
    if (!ReadList(Tok::kRBrace, expected, [&] { return element(&all.emplace_back()); })) return false;
    *list = Keep(all);
    return true;
  }
  // Returns the range from `begin` to the end of the last token.
  SourceRange From(uint32_t begin) const { return {begin, lex_.last_end()}; }
  // Reports "expected {what}, found ..." at the current token, or the lexer's error.
  bool Unexpected(std::string_view what);
  bool AtHashComment() const;
  bool AcceptHashComment();
  template <class... Args>
  bool Error(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.Error(at, format, std::forward<Args>(args)...);
    return false;
  }
  // Reports text of older versions of XLA, or that XLA accepts by accident: an error if strict, otherwise a
  // warning.
  template <class... Args>
  bool Tolerate(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    if (options_.strict) return Error(at, format, std::forward<Args>(args)...);
    Warn(at, format, std::forward<Args>(args)...);
    return true;
  }
  template <class... Args>
  void Warn(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    if (diagnostics_.warning_count() >= kMaxWarnings) return;
    diagnostics_.Warning(at, format, std::forward<Args>(args)...);
  }
  void NoteUnclosed(Diagnostic& diagnostic);
  std::string Describe(const Token& token) const;
  bool StringValue(const Token& token, std::string_view* value);
  bool IntValue(const Token& token, int64_t* value);

  // Counts a nesting level for the lifetime of the object. It converts to false if the limit is exceeded.
  class Nested {
   public:
    explicit Nested(Parser& parser, int64_t levels = 1) : parser_(parser), levels_(levels) {
      parser_.depth_ += levels_;
    }
    ~Nested() { parser_.depth_ -= levels_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    explicit operator bool() const;

   private:
    Parser& parser_;
    int64_t levels_;
  };

  Scope& PushScope(Computation* computation);
  void PopScope() { --open_scopes_; }
  std::string_view Keep(std::string_view text) { return module_->arena().Copy(text); }
  template <class T>
  absl::Span<const T> Keep(const std::vector<T>& values) {
    return module_->arena().Copy(absl::Span<const T>(values));
  }
  Arena& arena() { return module_->arena(); }

  static constexpr int64_t kMaxWarnings = 100;

  std::shared_ptr<const SourceText> source_;
  Diagnostics& diagnostics_;
  const ParseOptions& options_;
  Lexer lex_;
  std::unique_ptr<Module> module_;
  int64_t depth_ = 0;
  int64_t instruction_count_ = 0;
  int64_t computed_nodes_ = 0;  // Nodes of all tuple shapes that are not in the text.

  std::deque<Scope> scopes_;
  size_t open_scopes_ = 0;
  // The poison value: replaces instructions that failed to parse, so that their users report no errors.
  Instruction poison_;
  NameTable<Computation*> computations_;
  std::vector<std::string_view> failed_computations_;  // Names of computations that failed to parse.
  SourceRange entry_range_;
  Computation* last_named_ = nullptr;
  bool has_async_ = false;
  absl::flat_hash_map<const Instruction*, Instruction*> async_starts_;
  // Total step limit of FindStart, which keeps parsing of nested tuples linear.
  int64_t async_steps_left_ = int64_t{1} << 22;
  std::vector<std::pair<std::string_view, SourceRange>> header_seen_;
  std::vector<std::pair<int32_t*, SourceRange>> frame_uses_;

  NameTable<Shape> shapes_;
  bool is_standalone_ = false;  // True for a literal outside a module.
  bool lone_brace_is_literal_ = false;
  bool warned_of_lost_sign_ = false;  // One warning per text is enough.
  // Scratch stacks of nested calls.
  std::vector<Instruction*> operands_;
  std::vector<SourceRange> operand_ranges_;
  std::vector<AttrEntry> attributes_;
  std::vector<int64_t> ints_;
};

}  // namespace hlo::text
