#pragma once
// Assembles VM programs (vm.h): instructions over virtual values, to which it allocates slots.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/vm/vm.h"
#include "loops/loop_program.h"

namespace hlo::cuda {

// A VmProgram without pointers, and the arguments that provide them.
struct VmTemplate {
  VmProgram program = {};
  std::vector<int32_t> access_arguments, start_arguments;
  std::vector<int32_t> outside_arguments;  // Indexed by access; -1: zeros.
  int words = 1;                           // 32-bit words per value: 1, 2 or 4.
};

class VmBuilder {
 public:
  using Value = int32_t;

  // Pinned values have fixed slots that all sections share.
  explicit VmBuilder(int pinned_count = 0) : pinned_count_(pinned_count) {}
  Value Pinned(int slot) const { return slot; }

  // Returns Unimplemented if there is no instruction for it or the program is full.
  absl::StatusOr<Value> Load(const loops::Access& access);
  // Loads access `number` of the program, with the accesses that provide its values out of bounds.
  absl::StatusOr<Value> Load(const loops::LoopProgram& program, int32_t number);
  absl::StatusOr<Value> Constant(loops::ComputeType compute_type, const void* element);
  absl::StatusOr<Value> Apply(const loops::Operation& operation, loops::ComputeType result,
                              absl::Span<const Value> operands);
  absl::Status Store(Value value, const loops::Access& access);
  void CopyTo(Value pinned_or_variable, Value value);
  Value Copy(Value value);
  // A mutable value within the section, assigned by CopyTo.
  Value Variable(Value initial);
  // Jumps within a section. The target of a backward jump may use earlier values only if they are pinned or
  // variables.
  using Label = int32_t;
  Label NewLabel();
  void Bind(Label label);
  void Jump(Label label);
  void JumpUnless(Value predicate, Label label);
  Value Convert(Value value, VmType from, VmType to);
  // Ends a section: later instructions cannot use earlier values, except pinned ones.
  void EndSection();
  // Number of instructions in the completed sections.
  int32_t code_count() const { return static_cast<int32_t>(result_.program.code_count); }

  // Completes the program for an iteration space of `dims`, outermost first. Collapses dimensions that are
  // contiguous in all accesses.
  absl::StatusOr<VmTemplate> Finish(absl::Span<const int64_t> dims);

 private:
  struct Node {
    VmInstruction instruction;
    Value out;  // -1: none.
    Value in[3] = {-1, -1, -1};
    Label label = -1;  // Jump target, or the label bound here.
    bool is_label = false;
  };
  Value Emit(VmOp op, VmType type, absl::Span<const Value> operands, int64_t parameter = 0);
  absl::StatusOr<int32_t> AddAccess(const loops::Access& access);
  Value CutToComputeType(Value value, loops::ComputeType compute_type);
  void Widen(int64_t bytes);
  absl::StatusOr<Value> ScalarOperation(const loops::Operation& operation, absl::Span<const Value> operands);
  Value Comparison(const loops::Operation& operation, absl::Span<const Value> operands);
  absl::StatusOr<Value> Conversion(const loops::Operation& operation, Value value);
  Value Bits(const loops::Operation& operation, Value value);
  Value Zero();
  static Value Index(Value value) { return value - VmInstruction::kMaxSlots; }
  // Indexed by value.
  struct Lifetimes {
    std::vector<size_t> last_use;
    std::vector<bool> needs_slot;
  };
  Lifetimes FindLifetimes() const;

  int pinned_count_;
  Value next_ = VmInstruction::kMaxSlots;
  std::vector<Node> nodes_;  // Nodes of the current section.
  std::vector<Value> variables_;
  std::vector<int32_t> targets_;  // Instruction indices, by label.
  // Strides by loop dimension, of each access, dynamic start and edge.
  struct Walk {
    enum class Kind : uint8_t { kAccess, kStart, kEdge } kind;
    int32_t number;
    std::vector<int64_t> strides;
  };
  void AddWalk(Walk::Kind kind, int32_t number, const loops::Strides& outer, const loops::Strides& inner);
  std::vector<Walk> walks_;
  int32_t constant_count_ = 0;
  absl::Status failure_;
  VmTemplate result_;
};

VmType VmTypeOf(loops::ComputeType compute_type);

}  // namespace hlo::cuda
