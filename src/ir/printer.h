#pragma once
// The printer's inside: switches, orders, and the class whose functions the print_*.cc files share out.

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo_run/print.h"
#include "ir/async.h"

namespace hlo {

// The switches of a form (text-format 9.1).
struct PrintStyle {
  explicit PrintStyle(const PrintOptions& options);

  bool as_xla;
  bool percent;  // `%` before names.
  bool operand_shapes;
  bool index_comments;  // `/*index=5*/` between operands.
  bool signatures;      // Of computations.
  bool bodies;          // Called computations are written out, names are tmp_N.
  bool module_names;    // Names of module and computations, threads.
  bool metadata;
  bool backend_config;
  bool control_predecessors;
  bool feed_configs;   // infeed_config, outfeed_config.
  bool expand_groups;  // Replica groups as lists.
  enum class Constants { kAll, kSmall, kFingerprint } constants;
  bool layouts;
};

// print_order.cc: in which order do instructions and computations print? (text-format 9.3, 9.4)
class PrintOrder {
 public:
  PrintOrder(const Module& module, const PrintOptions& options, bool prints_control)
      : module_(module),
        as_xla_(options.as_xla),
        own_order_(options.own_order),
        prints_control_(prints_control) {}
  // The schedule, or a post-order; nested bodies never follow the schedule.
  std::vector<Instruction*> Of(const Computation& computation, bool nested);
  // The module's own; or a post-order: ours is a true one over the printed instructions, so that it reads
  // back and comes out the same again; XLA's queues the callees of stored instructions.
  std::vector<const Computation*> Computations();

 private:
  const Module& module_;
  const bool as_xla_;
  const bool own_order_;
  const bool prints_control_;  // Whether the text has control predecessors.
  bool FollowsSchedule(const Computation& computation);

  bool has_fusion_bodies_ = false;  // Whether they have been looked for.
  absl::flat_hash_set<const Computation*> fusion_bodies_;
};

// print_text.cc: whether the text would be read as one JSON value (text-format 1.8). XLA also allows blanks
// and comments around it, which are lost in reading.
bool ReadsAsJson(std::string_view text, bool as_xla);
void AppendEscaped(std::string_view text, std::string* out);
// A word that is no name where it stands without `%` (text-format 1.5).
bool IsReserved(std::string_view name);
// 6 digits in XLA's text; else as few as give the value back.
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
  // Without indentation, ROOT and newline.
  void PrintInstruction(const Instruction& instruction);

 private:
  // Text.
  void Put(std::string_view text) { out_.append(text); }
  void Put(char c) { out_.push_back(c); }
  void PutInt(int64_t value);
  void PutReal(double value);
  void PutQuoted(std::string_view text, char quote = '"');
  // Quoted, or escaped only where XLA escapes.
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

  // print_module.cc
  void PutHeader();
  void PutAliases();
  void PutEntryLayout();
  void PutRecoveryTable();
  void PutDebugAttributes();
  void PutSourceTables();

  // print_computation.cc
  void PutBody(const Computation& computation, absl::Span<Instruction* const> order);
  void PutSignature(const Computation& computation);
  // `{ ... }` on lines of its own, level with the instruction that calls it.
  void PutNested(const Computation& computation);
  // A computation that async-starts alone call and say with their sugar.
  bool IsLeftOut(const Computation& computation);
  void FindAsyncCallers();
  void NameBodies();
  std::string_view NameOf(const Computation& computation);

  // print_instruction.cc
  void PutStatement(const Instruction& instruction);
  void PutOperands(const Instruction& instruction);
  void PutConstant(const Instruction& instruction);
  void PutFingerprint(const Literal& literal);
  void PutName(const Instruction& instruction);
  void PutName(std::string_view name);  // With `%` where the form or the reader wants it.
  void PutAsyncStart(const Instruction& start, const Instruction* wrapped);
  void PutCommonAttributes(const Instruction& instruction);  // From sharding to result_accuracy.
  void PutTrailingAttributes(const Instruction& instruction);
  void PutControlPredecessors(const Instruction& instruction);
  void PutAttribute(AttrId id, AttrValue value);
  void PutStored(const Instruction& instruction, AttrId id);  // Where it is given and not empty.
  // The wrapped instruction where an async instruction prints as X-start and so on (text-format 5.4), else
  // nullptr.
  const Instruction* SugarOf(const Instruction& async);
  bool CanBeSugar(const Instruction& start, const Instruction& wrapped);

  // print_attributes.cc
  void PutOwnAttributes(const Instruction& instruction);
  void PutDerived(const Instruction& instruction, AttrId id);
  static AttrValue DefaultValue(AttrId id, int64_t number);

  // print_value.cc
  bool IsEmpty(AttrId id, AttrValue value) const;  // Or says nothing but the default.
  void PutValue(AttrId id, AttrValue value);
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

  // print_sharding.cc
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
  int64_t depth_ = 0;             // Of bodies within bodies.
  bool nameless_ = false;         // A single canonical instruction.
  std::vector<int32_t> numbers_;  // tmp_N by instruction index, of the computation that is being printed.
  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> async_callers_;
  // Nested bodies whose name is taken; all of them are called `_`.
  absl::flat_hash_map<const Computation*, std::string> body_names_;
  bool has_body_names_ = false;
};

}  // namespace hlo
