#pragma once
// Internals of the printer: styles, orders and the class Printer, whose members are defined in print_*.cc.

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo_run/print.h"
#include "ir/async.h"

namespace hlo {

// The switches of a print form (text-format 9.1).
struct PrintStyle {
  explicit PrintStyle(const PrintOptions& options);

  bool as_xla;
  bool percent;  // Prints `%` before names.
  bool operand_shapes;
  bool index_comments;  // Prints `/*index=5*/` between operands.
  bool signatures;      // Prints signatures of computations.
  bool bodies;          // Prints called computations inline, with names tmp_N.
  bool module_names;    // Prints names of module and computations, and threads.
  bool metadata;
  bool backend_config;
  bool control_predecessors;
  bool feed_configs;   // Prints infeed_config and outfeed_config.
  bool expand_groups;  // Prints replica groups as lists.
  enum class Constants { kAll, kSmall, kFingerprint } constants;
  bool layouts;
};

// The order in which instructions and computations are printed (text-format 9.3, 9.4). Defined in
// print_order.cc.
class PrintOrder {
 public:
  PrintOrder(const Module& module, const PrintOptions& options, bool prints_control)
      : module_(module),
        as_xla_(options.as_xla),
        own_order_(options.own_order),
        prints_control_(prints_control) {}
  // Returns the schedule or a post-order. Nested bodies do not follow the schedule.
  std::vector<Instruction*> Of(const Computation& computation, bool nested);
  // Returns the module's order or a post-order. Ours is a post-order of the printed instructions, so that
  // printed text is a fixed point; XLA's visits the callees of the stored instructions.
  std::vector<const Computation*> Computations();

 private:
  const Module& module_;
  const bool as_xla_;
  const bool own_order_;
  const bool prints_control_;  // True if the text contains control predecessors.
  bool FollowsSchedule(const Computation& computation);

  bool has_fusion_bodies_ = false;  // True once fusion_bodies_ is filled.
  absl::flat_hash_set<const Computation*> fusion_bodies_;
};

// True if the text would be parsed as one JSON value (text-format 1.8). XLA also accepts white space and
// comments around it, which its reader drops. Defined in print_text.cc.
bool ReadsAsJson(std::string_view text, bool as_xla);
void AppendEscaped(std::string_view text, std::string* out);
// True for words that are not names without `%` (text-format 1.5).
bool IsReserved(std::string_view name);
// Prints 6 digits in XLA's text, otherwise the fewest digits that parse to the same value.
std::string RealText(double value, bool as_xla);

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options, std::string* out)
      : module_(module),
        style_(options),
        order_(module, options, style_.control_predecessors),
        chains_(module),
        out_(*out),
        indent_(options.indent) {}

  void PrintModule();
  void PrintComputation(const Computation& computation);
  // Prints the instruction without indentation, ROOT and newline.
  void PrintInstruction(const Instruction& instruction);

 private:
  // Text output.
  void Put(std::string_view text) { out_.append(text); }
  void Put(char c) { out_.push_back(c); }
  void PutInt(int64_t value);
  void PutReal(double value);
  void PutQuoted(std::string_view text, char quote = '"');
  // Quotes the text; as_xla only escapes it.
  void PutQuotedUnlessXla(std::string_view text, char quote = '"');
  void PutJsonOrQuoted(std::string_view text);
  void PutShape(const Shape& shape);
  template <class T, class F>
  void PutList(const T& list, std::string_view separator, F&& put) {
    bool first = true;
    for (const auto& item : list) {
      if (!first) Put(separator);
      first = false;
      put(item);
    }
  }
  void PutInts(IntList values, char open = '{', char close = '}');
  void PutIntLists(IntLists lists);
  void PutIndent() { out_.append(2 * indent_, ' '); }

  // Defined in print_module.cc.
  void PutHeader();
  void PutAliases();
  void PutEntryLayout();
  void PutRecoveryTable();
  void PutDebugAttributes();
  void PutSourceTables();

  // Defined in print_computation.cc.
  void PutBody(const Computation& computation, absl::Span<Instruction* const> order);
  void PutSignature(const Computation& computation);
  // Prints `{ ... }` on separate lines at the indentation of the caller.
  void PutNested(const Computation& computation);
  // True if only sugared async instructions call the computation.
  bool IsLeftOut(const Computation& computation);
  void FindAsyncCallers();
  void NameBodies();
  std::string_view NameOf(const Computation& computation);

  // Defined in print_instruction.cc.
  void PutStatement(const Instruction& instruction);
  void PutOperands(const Instruction& instruction);
  void PutConstant(const Instruction& instruction);
  void PutFingerprint(const Literal& literal);
  void PutName(const Instruction& instruction);
  void PutName(std::string_view name);  // Adds `%` if the form or the reader requires it.
  void PutAsyncStart(const Instruction& start, const Instruction* wrapped);
  void PutCommonAttributes(const Instruction& instruction);  // Prints sharding to result_accuracy.
  void PutTrailingAttributes(const Instruction& instruction);
  void PutControlPredecessors(const Instruction& instruction);
  void PutAttribute(AttrId id, AttrValue value);
  void PutStored(const Instruction& instruction, AttrId id);  // Prints it if present and not empty.
  // Returns the wrapped instruction if an async instruction prints as X-start, X-update or X-done
  // (text-format 5.4), otherwise nullptr.
  const Instruction* SugarOf(const Instruction& async);
  bool CanBeSugar(const Instruction& start, const Instruction& wrapped);

  // Defined in print_attributes.cc.
  void PutOwnAttributes(const Instruction& instruction);
  void PutDerived(const Instruction& instruction, AttrId id);
  static AttrValue DefaultValue(AttrId id, int64_t number);

  // Defined in print_value.cc.
  bool IsEmpty(AttrId id, AttrValue value) const;  // True for defaults too.
  void PutValue(AttrId id, AttrValue value);
  void PutStructure(AttrKind kind, AttrValue value);
  void PutCalled(const Computation* computation);
  void PutCalled(attr_kind::ComputationList computations);
  void PutWindow(Window window);
  void PutDimLabels(const DimLabels& labels);
  void PutPadding(attr_kind::PaddingList padding);
  void PutSlices(attr_kind::SliceList slices);
  void PutAliasList(attr_kind::AliasList aliases);
  void PutFrontendAttributes(const FrontendAttributes& attributes);
  void PutStatistics(const Statistics& statistics);
  void PutMetadata(const Metadata& metadata);
  void PutOrigin(const Origin& origin);
  void PutOriginNode(const OriginNode& node);
  void PutOriginArray(const OriginNode& node);
  void PutAccuracy(const ResultAccuracy& accuracy);
  void PutSparsity(const SparsityConfig& config);
  void PutBlockScaling(const BlockScalingConfig& config);

  // Defined in print_sharding.cc.
  void PutSharding(const Sharding& sharding, bool metadata);
  void PutSharding(const Sharding& sharding) { PutSharding(sharding, style_.metadata); }
  void PutShardingMetadata(const Sharding& sharding, bool braces);
  void PutDeviceSharding(const Sharding& sharding);
  void PutNamedSharding(const Sharding& sharding);
  void PutNamedDims(const Sharding& sharding);
  void PutUnreduced(const Sharding& sharding);
  void PutIota(const IotaTile& iota);
  void PutMesh(const Mesh& mesh);
  void PutAxes(const Mesh& mesh, absl::Span<const AxisRef> axes, std::string_view separator);
  void PutReplicaGroups(const ReplicaGroups& groups);

  const Module& module_;
  const PrintStyle style_;
  PrintOrder order_;
  AsyncChains chains_;
  std::string& out_;
  int64_t indent_ = 0;
  int64_t depth_ = 0;             // The nesting depth of bodies.
  bool nameless_ = false;         // Set for a single canonical instruction.
  std::vector<int32_t> numbers_;  // tmp_N by instruction index in the current computation.
  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> async_callers_;
  // Names of nested bodies whose name is taken; all of them are `_`.
  absl::flat_hash_map<const Computation*, std::string> body_names_;
  bool has_body_names_ = false;
};

}  // namespace hlo
