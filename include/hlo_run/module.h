#pragma once
// An HLO module as data: computations, instructions, their operands and attributes. Everything lies in the
// module's arena and lives as long as the module; views into the source text stay valid because the module
// holds it.

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
class Arena;  // Not public.
}

#pragma GCC visibility push(default)
namespace hlo {

class Module;

class Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  std::string_view name() const { return name_; }
  const Shape& shape() const { return shape_; }
  Computation* parent() const { return parent_; }
  // Position in parent()->instructions().
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
  // The attribute's value: instr.Get<attr::dimensions>(). A value-initialised one (0, false, empty, nullptr)
  // or the given default where it is absent.
  template <class A>
  typename A::Type Get(typename A::Type otherwise = {}) const {
    const AttrEntry* entry = Find(A::kId);
    return entry ? entry->value.template As<typename A::Type>() : otherwise;
  }

  // Where the text has: the name, the result shape, the opcode, operand i, an attribute. Unknown for built
  // modules and for what was not written.
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

  // A constant or custom-call literal whose text was `{...}`: its elements are unknown.
  bool is_elided() const { return is_elided_; }

  // The computations that the instruction calls, in the order of text-format 9.3.
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

class Computation {
 public:
  std::string_view name() const { return name_; }
  Module* module() const { return module_; }
  // Text order, which is an order of definition before use.
  absl::Span<Instruction* const> instructions() const { return instructions_; }
  Instruction* root() const { return root_; }
  // By number; a gap (an invalid module) is nullptr.
  absl::Span<Instruction* const> parameters() const { return parameters_; }
  Instruction* parameter(int64_t i) const { return parameters_[i]; }
  std::string_view execution_thread() const { return execution_thread_; }  // "main" by default.
  SourceRange name_range() const { return name_range_; }
  bool IsEntry() const;
  // A body written inside an instruction ({ ... } instead of a name), or the wrapper of a sugared async
  // start.
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

// Module header (text-format 2.2 to 2.6).
struct InputOutputAlias {
  IntList output_index;
  int64_t parameter = 0;
  IntList parameter_index;
  bool must_alias = false;
};
struct BufferDonor {
  int64_t parameter = 0;
  IntList parameter_index;
};
struct FileLocation {
  int32_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0, end_column = 0;
};
struct StackFrame {
  int32_t file_location_id = 0;
  int32_t parent_frame_id = 0;  // 0: none. The text writes one more.
};
struct SourceTables {
  std::vector<std::string_view> file_names, function_names;
  std::vector<FileLocation> file_locations;
  std::vector<StackFrame> stack_frames;
};
struct OriginRecovery {
  const OriginNode* from = nullptr;
  const OriginNode* to = nullptr;
  std::shared_ptr<Module> recovery;  // May be null.
};
struct DebugAttribute {
  bool has_log_mode = false, fusion_debugger = false;
  bool has_callback_id = false, has_partitioned = false, partitioned = false, has_op_id = false;
  int64_t callback_id = 0, op_id = 0;
};
struct DebugAttributes {
  const OriginNode* array = nullptr;
  std::vector<DebugAttribute> sets;
};
struct EntryLayout {
  std::vector<Shape> parameters;
  Shape result;
  SourceRange range;
};

struct ModuleHeader {
  bool is_scheduled = false;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donor;
  bool alias_passthrough_params = false;
  std::shared_ptr<const EntryLayout> entry_layout;  // Null where not written.
  const FrontendAttributes* frontend_attributes = nullptr;
  std::vector<bool> spmd_propagation_to_parameters = {false};
  std::vector<bool> spmd_propagation_to_output = {false};
  std::vector<OriginRecovery> origin_recovery_table;
  std::vector<DebugAttributes> debug_attributes;
  SourceTables tables;
  SourceRange alias_range, donor_range;
};

class Module {
 public:
  explicit Module(std::shared_ptr<const SourceText> source);  // Null source: built, not read.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::string_view name() const { return name_; }
  // In the order in which their text ended: callees before callers.
  absl::Span<Computation* const> computations() const { return computations_; }
  Computation* entry() const { return entry_; }
  Computation* FindComputation(std::string_view name) const;
  const ModuleHeader& header() const { return header_; }
  ModuleHeader& mutable_header() { return header_; }
  const std::shared_ptr<const SourceText>& source() const { return source_; }
  Arena& arena() { return *arena_; }
  int64_t instruction_count() const;

  // Construction. Names and values must lie in the arena or the source.
  void set_name(std::string_view name) { name_ = name; }
  void set_entry(Computation* entry) { entry_ = entry; }
  Computation* NewComputation(std::string_view name);  // Not yet in computations().
  void AddComputation(Computation* computation);       // Appends; done when its body is complete.
  // Appends to the computation's instructions. The shape may be invalid ("not known yet").
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

// Changes to what exists: for readers, builders and tools that rewrite modules.
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
    i.operand_ranges_ = operands;  // In the arena.
  }
  static void SetOperands(Module& m, Instruction& i, absl::Span<Instruction* const> operands);
  // Replaces all attributes and finds the called computations anew.
  static void SetAttributes(Module& m, Instruction& i, absl::Span<const AttrEntry> attributes);
  static void SetAttribute(Module& m, Instruction& i, AttrId id, AttrValue value);
  static void SetRoot(Computation& c, Instruction* root) { c.root_ = root; }
  static void SetName(Computation& c, std::string_view name) { c.name_ = name; }
  static void SetNameRange(Computation& c, SourceRange range) { c.name_range_ = range; }
  static void SetExecutionThread(Computation& c, std::string_view thread) { c.execution_thread_ = thread; }
  static void SetNested(Computation& c, bool nested) { c.is_nested_ = nested; }
  static void SetAsyncWrapper(Computation& c, bool wrapper) { c.is_async_wrapper_ = wrapper; }
  // Enters a parameter instruction under its number.
  static void SetParameter(Computation& c, int64_t number, Instruction* parameter);
  // Replaces the instruction list (a permutation or a subset) and renumbers.
  static void SetInstructions(Computation& c, std::vector<Instruction*> instructions);
};

// Order for evaluation and print: every instruction after its operands and control predecessors
// (text-format 9.4).
std::vector<Instruction*> PostOrder(const Computation& computation);
// The same where `stored`, a permutation of a computation's instructions, takes the place of their text order, perhaps
// without regard to control predecessors.
std::vector<Instruction*> PostOrder(absl::Span<Instruction* const> stored, bool follow_control = true);

}  // namespace hlo
#pragma GCC visibility pop
