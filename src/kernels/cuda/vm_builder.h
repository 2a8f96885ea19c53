#pragma once
// Writes programs for the machine of vm.h: instructions over values, to which it gives slots.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cpu/tile_program.h"
#include "kernels/cuda/vm.h"

namespace hlo::cuda {

// A VmProgram whose pointers are yet to come, and where they come from.
struct VmTemplate {
  VmProgram program = {};
  std::vector<int32_t> access_arguments, start_arguments;
  std::vector<int32_t> outside_arguments;  // Of accesses; -1: zeros.
  int words = 1;                           // Of a value: 1, 2 or 4.
};

class VmBuilder {
 public:
  using Value = int32_t;

  // Values in slots of their own, for all pieces.
  explicit VmBuilder(int pinned_count = 0) : pinned_count_(pinned_count) {}
  Value Pinned(int slot) const { return slot; }

  // Unimplemented: there is no instruction for it, or no room.
  absl::StatusOr<Value> Load(const cpu::Access& access);
  // Of the program's accesses, from `number` on those that stand behind each other's edges.
  absl::StatusOr<Value> Load(const cpu::TileProgram& program, int32_t number);
  absl::StatusOr<Value> Constant(cpu::Lane lane, const void* element);
  absl::StatusOr<Value> Apply(const cpu::TileCall& call, cpu::Lane result, absl::Span<const Value> operands);
  absl::Status Store(Value value, const cpu::Access& access);
  void CopyTo(Value pinned_or_variable, Value value);
  Value Copy(Value value);
  // A value of its own in the piece, which CopyTo changes.
  Value Variable(Value initial);
  // Jumps within a piece. Backwards, to code that takes no values from before but pinned ones and variables.
  using Label = int32_t;
  Label NewLabel();
  void Bind(Label label);
  void Jump(Label label);
  void JumpUnless(Value predicate, Label label);
  Value Convert(Value value, VmType from, VmType to);
  // Later instructions do not see the values of earlier ones, but for the pinned.
  void EndPiece();
  // Code of the pieces so far.
  int32_t code_count() const { return static_cast<int32_t>(result_.program.code_count); }

  // The loop, from its outermost dimension; dimensions that all accesses walk through as one become one.
  absl::StatusOr<VmTemplate> Finish(absl::Span<const int64_t> dims);

 private:
  struct Node {
    VmInstruction instruction;
    Value out;  // -1: none.
    Value in[3] = {-1, -1, -1};
    Label label = -1;  // Where it jumps to, or what it is.
    bool is_label = false;
  };
  Value Emit(VmOp op, VmType type, absl::Span<const Value> operands, int64_t parameter = 0);
  absl::StatusOr<int32_t> AddAccess(const cpu::Access& access);
  Value CutToLane(Value value, cpu::Lane lane);
  void Widen(int64_t bytes);
  absl::StatusOr<Value> Operation(const cpu::TileSymbol& symbol, absl::Span<const Value> operands);
  Value Comparison(const cpu::TileSymbol& symbol, absl::Span<const Value> operands);
  absl::StatusOr<Value> Conversion(const cpu::TileSymbol& symbol, Value value);
  Value Bits(const cpu::TileSymbol& symbol, Value value);
  Value Zero();
  static Value Index(Value value) { return value - VmInstruction::kMostSlots; }
  // By the index of a value of the piece.
  struct Lifetimes {
    std::vector<size_t> last_use;
    std::vector<bool> needs_slot;
  };
  Lifetimes FindLifetimes() const;

  int pinned_count_;
  Value next_ = VmInstruction::kMostSlots;
  std::vector<Node> nodes_;  // Of the piece.
  std::vector<Value> variables_;
  std::vector<int32_t> targets_;  // By label.
  // By dimension of the loop: of each access, start that moves, and edge.
  struct Walk {
    enum class Kind : uint8_t { kAccess, kStart, kEdge } kind;
    int32_t number;
    std::vector<int64_t> strides;
  };
  void AddWalk(Walk::Kind kind, int32_t number, const cpu::Strides& outer, const cpu::Strides& inner);
  std::vector<Walk> walks_;
  int32_t constant_count_ = 0;
  absl::Status failure_;
  VmTemplate result_;
};

VmType VmTypeOf(cpu::Lane lane);

}  // namespace hlo::cuda
