#pragma once
/// \file
/// Defines the IR of an HLO module: computations, instructions, operands and attributes. The module's arena
/// owns all of it. The module also holds the source text, so views into it stay valid.

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "hlo_run/opcode.h"
#include "hlo_run/shape.h"
#include "hlo_run/source_text.h"

namespace hlo {
class Arena;  // Private to the library.
}

#pragma GCC visibility push(default)
namespace hlo {

class Module;

/// An instruction. Its module owns it; pointers to it stay valid as long as the module.
class Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  std::string_view name() const { return name_; }
  const Shape& shape() const { return shape_; }
  Computation* parent() const { return parent_; }
  /// Returns the position in parent()->instructions().
  int64_t index() const { return index_; }

  absl::Span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int64_t i) const { return operands_[i]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }

  absl::Span<const AttrEntry> attributes() const { return attributes_; }
  const AttrEntry* Find(AttrId id) const {
    for (const AttrEntry& entry : attributes_) {
      if (entry.id == id) return &entry;
    }
    return nullptr;
  }
  template <class A>
  bool Has() const {
    return Find(A::kId) != nullptr;
  }
  /// Returns the value of an attribute, as in instr.Get<attr::dimensions>(). If it is absent, returns
  /// `otherwise`, by default a value-initialised one (0, false, empty, nullptr).
  template <class A>
  typename A::Type Get(typename A::Type otherwise = {}) const {
    const AttrEntry* entry = Find(A::kId);
    return entry ? entry->value.template As<typename A::Type>() : otherwise;
  }

  /// Return the source ranges of the name, the result shape, the opcode, operand i and an attribute. They are
  /// unknown if the module was not parsed or the part is missing from the text.
  SourceRange name_range() const { return name_range_; }
  SourceRange shape_range() const { return shape_range_; }
  SourceRange opcode_range() const { return opcode_range_; }
  SourceRange operand_range(int64_t i) const {
    return i < static_cast<int64_t>(operand_ranges_.size()) ? operand_ranges_[i] : opcode_range_;
  }
  template <class A>
  SourceRange range_of() const {
    const AttrEntry* entry = Find(A::kId);
    return entry ? entry->range : opcode_range_;
  }

  /// True for a constant or custom call whose literal was printed as `{...}`; its elements are unknown.
  bool is_elided() const { return is_elided_; }

  /// Returns the called computations in the order of text-format 9.3.
  absl::Span<Computation* const> called_computations() const { return called_; }

 private:
  friend class Module;
  friend class InstructionEditor;

  Opcode opcode_ = Opcode::kAbs;
  bool is_elided_ = false;
  int32_t index_ = -1;
  std::string_view name_;
  Shape shape_;
  Computation* parent_ = nullptr;
  absl::Span<Instruction* const> operands_;
  absl::Span<const AttrEntry> attributes_;
  absl::Span<Computation* const> called_;
  absl::Span<const SourceRange> operand_ranges_;
  SourceRange name_range_, shape_range_, opcode_range_;
};

/// A computation: its instructions, parameters and root.
class Computation {
 public:
  std::string_view name() const { return name_; }
  Module* module() const { return module_; }
  /// Returns the instructions in text order, in which operands precede their users.
  absl::Span<Instruction* const> instructions() const { return instructions_; }
  Instruction* root() const { return root_; }
  /// Returns the parameters by number. A missing number, which makes the module invalid, gives nullptr.
  absl::Span<Instruction* const> parameters() const { return parameters_; }
  Instruction* parameter(int64_t i) const { return parameters_[i]; }
  std::string_view execution_thread() const { return execution_thread_; }  ///< "main" by default.
  SourceRange name_range() const { return name_range_; }
  bool IsEntry() const;
  /// True for a computation that is written inside its caller (`{ ... }` instead of a name); is_async_wrapper
  /// is true for the one that async syntax sugar implies.
  bool is_nested() const { return is_nested_; }
  bool is_async_wrapper() const { return is_async_wrapper_; }

 private:
  friend class Module;
  friend class InstructionEditor;

  std::string_view name_;
  Module* module_ = nullptr;
  std::vector<Instruction*> instructions_;
  std::vector<Instruction*> parameters_;
  Instruction* root_ = nullptr;
  std::string_view execution_thread_ = "main";
  SourceRange name_range_;
  bool is_nested_ = false;
  bool is_async_wrapper_ = false;
};

// Parts of the module header (text-format 2.2 to 2.6).
struct InputOutputAlias {
  IntList output_index;
  int64_t parameter = 0;
  IntList parameter_index;
  bool must_alias = false;
};
/// A leaf of a parameter whose memory the results may reuse.
struct BufferDonor {
  int64_t parameter = 0;
  IntList parameter_index;
};
struct FileLocation {
  int32_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0, end_column = 0;
};
struct StackFrame {
  int32_t file_location_id = 0;
  int32_t parent_frame_id = 0;  ///< 0 means none; the text has this number plus one.
};
/// The tables of source locations, to which stack_frame_id of metadata refers.
struct SourceTables {
  std::vector<std::string_view> file_names, function_names;
  std::vector<FileLocation> file_locations;
  std::vector<StackFrame> stack_frames;
};
/// An entry of the recovery table: the module that computes arrays of the original program from others.
struct OriginRecovery {
  const OriginNode* from = nullptr;
  const OriginNode* to = nullptr;
  std::shared_ptr<Module> recovery;  ///< May be null.
};
/// A set of debug options of an array.
struct DebugAttribute {
  bool has_log_mode = false, fusion_debugger = false;
  bool has_callback_id = false, has_partitioned = false, partitioned = false, has_op_id = false;
  int64_t callback_id = 0, op_id = 0;
};
/// An array of the original program with its debug options.
struct DebugAttributes {
  const OriginNode* array = nullptr;
  std::vector<DebugAttribute> sets;
};
/// The attribute `entry_computation_layout`, with its location.
struct EntryLayout {
  std::vector<Shape> parameters;
  Shape result;
  SourceRange range;
};

/// The attributes of a module.
struct ModuleHeader {
  bool is_scheduled = false;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donor;
  bool alias_passthrough_params = false;
  std::shared_ptr<const EntryLayout> entry_layout;  ///< Null if it is not written.
  const FrontendAttributes* frontend_attributes = nullptr;
  std::vector<bool> spmd_propagation_to_parameters = {false};
  std::vector<bool> spmd_propagation_to_output = {false};
  std::vector<OriginRecovery> origin_recovery_table;
  std::vector<DebugAttributes> debug_attributes;
  SourceTables tables;
  SourceRange alias_range, donor_range;
};

/// A module: its header, its computations and the arena that owns them.
class Module {
 public:
  explicit Module(std::shared_ptr<const SourceText> source);  ///< A built module has no source: null.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::string_view name() const { return name_; }
  /// Returns the computations in the order in which their text ends: callees before callers.
  absl::Span<Computation* const> computations() const { return computations_; }
  Computation* entry() const { return entry_; }
  Computation* FindComputation(std::string_view name) const;
  const ModuleHeader& header() const { return header_; }
  ModuleHeader& mutable_header() { return header_; }
  const std::shared_ptr<const SourceText>& source() const { return source_; }
  Arena& arena() { return *arena_; }
  int64_t instruction_count() const;

  // Construction. Names and attribute values must be stored in the arena or the source text.
  void set_name(std::string_view name) { name_ = name; }
  void set_entry(Computation* entry) { entry_ = entry; }
  Computation* NewComputation(std::string_view name);  ///< The computation is not yet in computations().
  void AddComputation(Computation* computation);       ///< Appends a computation once its body is complete.
  /// Appends an instruction. An invalid shape means that the shape is not known yet.
  Instruction* AddInstruction(Computation* computation, Opcode opcode, std::string_view name, Shape shape,
                              absl::Span<Instruction* const> operands,
                              absl::Span<const AttrEntry> attributes);

 private:
  std::shared_ptr<const SourceText> source_;
  std::unique_ptr<Arena> arena_;
  std::string_view name_;
  std::vector<Computation*> computations_;
  Computation* entry_ = nullptr;
  ModuleHeader header_;
};

/// Modifies instructions and computations, for readers, builders and rewrites.
class InstructionEditor {
 public:
  static void SetShape(Instruction& i, Shape shape) { i.shape_ = std::move(shape); }
  static void SetName(Instruction& i, std::string_view name) { i.name_ = name; }
  static void SetElided(Instruction& i, bool elided) { i.is_elided_ = elided; }
  static void SetRanges(Instruction& i, SourceRange name, SourceRange shape, SourceRange opcode,
                        absl::Span<const SourceRange> operands) {
    i.name_range_ = name;
    i.shape_range_ = shape;
    i.opcode_range_ = opcode;
    i.operand_ranges_ = operands;  // Must be stored in the arena.
  }
  static void SetOperands(Module& m, Instruction& i, absl::Span<Instruction* const> operands);
  /// Replaces all attributes and recomputes the called computations.
  static void SetAttributes(Module& m, Instruction& i, absl::Span<const AttrEntry> attributes);
  static void SetAttribute(Module& m, Instruction& i, AttrId id, AttrValue value);
  static void SetRoot(Computation& c, Instruction* root) { c.root_ = root; }
  static void SetName(Computation& c, std::string_view name) { c.name_ = name; }
  static void SetNameRange(Computation& c, SourceRange range) { c.name_range_ = range; }
  static void SetExecutionThread(Computation& c, std::string_view thread) { c.execution_thread_ = thread; }
  static void SetNested(Computation& c, bool nested) { c.is_nested_ = nested; }
  static void SetAsyncWrapper(Computation& c, bool wrapper) { c.is_async_wrapper_ = wrapper; }
  /// Registers a parameter instruction under its number.
  static void SetParameter(Computation& c, int64_t number, Instruction* parameter);
  /// Replaces the instruction list by a permutation or a subset of it, and renumbers.
  static void SetInstructions(Computation& c, std::vector<Instruction*> instructions);
};

/// Returns the instructions in post-order: each after its operands and control predecessors (text-format
/// 9.4).
std::vector<Instruction*> PostOrder(const Computation& computation);
/// Returns the post-order for another stored order, `stored`, which is a permutation of a computation's
/// instructions. Ignores control predecessors if `follow_control` is false.
std::vector<Instruction*> PostOrder(absl::Span<Instruction* const> stored, bool follow_control = true);

}  // namespace hlo
#pragma GCC visibility pop
