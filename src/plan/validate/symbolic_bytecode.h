#pragma once
// Executes the bytecode of a plan symbolically. It checks that bytes of the frame are written before they are
// read, that accesses are in bounds, that operands do not overlap results, and that addresses are valid.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/bytecode/decode.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/plan.h"
#include "plan/validate/symbolic_memory.h"
#include "plan/validate/symbolic_steps.h"

namespace hlo::plan {

class SymbolicCode {
 public:
  using DecodedOp = cpu::DecodedOp;
  using Kind = DecodedOp::Kind;

  SymbolicCode(const Plan& plan, const SlotLayout& layout, Terms& terms, SmallDots& dots);

  // Copies the imported constants and arguments into the frame.
  void Import();
  // Makes all bytes undefined that operations [first, last] may write.
  void EraseWrites(int64_t first, int64_t last);
  // Visits the slots that operations [first, last] may write, except those in the frame.
  void VisitWrittenSlots(int64_t first, int64_t last, absl::FunctionRef<void(Slot)> visit) const;
  bool Check(const DecodedOp::FrameRange& range);
  // Runs up to the next operation of control flow; returns nullptr if that has another kind.
  const DecodedOp* RunTo(Kind kind, int64_t stop);
  // Runs up to `stop` or an operation of control flow.
  bool RunStraight(int64_t stop);
  int64_t pc() const { return pc_; }
  void JumpTo(int64_t op) { pc_ = op; }
  int64_t op_count() const { return static_cast<int64_t>(ops_.size()); }
  const DecodedOp& op(int64_t number) const { return ops_[number]; }
  SymbolicState& state() { return state_; }
  const std::string& error() const { return error_; }
  void FailAt(int64_t op, const std::string& what);

 private:
  bool ok() const { return error_.empty(); }
  bool IsSlot(int32_t argument) const;
  bool IsEscape(int64_t number) const;
  bool IsInFrame(const DecodedOp::FrameRange& range) const;
  // Returns the value in a range of the frame; all of its bytes must be defined.
  Term Value(const DecodedOp::FrameRange& range);
  void RunOp(const DecodedOp& op);
  void Put(const DecodedOp& op, Term term);
  // Operations write while they read: an operand may be the result or disjoint from it.
  void CheckOverlap(const DecodedOp& op, const DecodedOp::FrameRange& in, bool may_be_same);
  void Apply(const DecodedOp& op);
  void Dot(const DecodedOp& op);
  Term AddressBefore(const DecodedOp& op);
  void Address(const DecodedOp& op);
  // The operations up to the target run only if the index is in range.
  void CheckedAddress(const DecodedOp& op);
  Term AddressAt(const DecodedOp::FrameRange& range);
  void Transfer(const DecodedOp& op);
  void MemoryCall(const DecodedOp& op);
  void Escape(const DecodedOp& op);

  const Plan& plan_;
  const PlanBytecode& code_;
  const SlotLayout& layout_;
  Terms& terms_;
  SmallDots& dots_;
  SymbolicState state_;
  std::vector<DecodedOp> ops_;
  int64_t pc_ = 0;
  std::string error_;
};

}  // namespace hlo::plan
