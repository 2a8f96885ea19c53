#pragma once
// Executes the steps of a plan symbolically on its buffers.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/loops/small_program.h"
#include "plan/plan.h"
#include "plan/validate/symbolic_memory.h"

namespace hlo::plan {

// Maps slots to memory: the frame, which is the arena, or objects of their own.
class SlotLayout {
 public:
  static constexpr int32_t kFrame = 0;

  explicit SlotLayout(const Plan& plan);

  struct Storage {
    int32_t object = kFrame;
    int64_t offset = 0, bytes = 0;
  };
  const Storage& of(Slot slot) const { return storages_[slot]; }
  int64_t object_count() const { return static_cast<int64_t>(storages_.size()) + 2; }
  // The object that models the order of effects.
  int32_t effects() const { return static_cast<int32_t>(storages_.size()) + 1; }

  // Swapped arena slots; each may be stored at any of their offsets.
  struct Swapped {
    Slot slot;
    int64_t begin, end;
    int32_t group;
  };
  const std::vector<Swapped>& swapped() const { return swapped_; }

 private:
  std::vector<Storage> storages_;  // Indexed by slot.
  std::vector<Swapped> swapped_;
};

// Numbers the dots of steps and code.
class SmallDots {
 public:
  int64_t NumberOf(const cpu::SmallDot& dot);

 private:
  std::vector<cpu::SmallDot> dots_;
};

// The symbolic memory after some steps or operations.
class SymbolicState {
 public:
  SymbolicState(const Plan& plan, const SlotLayout& layout, Terms& terms, SmallDots& dots);

  // Runs a step that is not a loop or branch.
  void Run(const Step& step);
  void Run(const std::vector<Move>& moves);

  Pieces ReadSlot(Slot slot, int64_t offset, int64_t bytes);
  Pieces ReadSlot(Slot slot) { return ReadSlot(slot, 0, layout_.of(slot).bytes); }
  void WriteSlot(Slot slot, int64_t offset, Pieces pieces);
  void EraseSlot(Slot slot) { WriteSlot(slot, 0, {{kUndefined, 0, layout_.of(slot).bytes}}); }
  Pieces ReadFrame(int64_t begin, int64_t bytes) const {
    return memory_.Read(SlotLayout::kFrame, begin, bytes);
  }
  void WriteFrame(int64_t begin, Pieces pieces);
  // Returns the value at an address, or at the offset if the address is kUndefined.
  Term Load(Slot slot, Term address, int64_t offset, int64_t bytes);
  void Store(Slot slot, Term address, int64_t offset, Pieces pieces);

  Term effects() const { return memory_.Read(layout_.effects(), 0, 1)[0].term; }
  void SetEffects(Term effects);
  Term Snapshot(Slot slot) { return Combine(terms_, ReadSlot(slot)); }

  // Makes the changes since `mark` conditional: a select between the new and the old values.
  void ChooseSince(size_t mark, Term condition);

  SymbolicMemory& memory() { return memory_; }
  // Sets the writer of the stores that follow.
  void SetWriter(int32_t writer) { writer_ = writer; }
  // The first error; empty if there is none.
  const std::string& error() const { return error_; }
  void Fail(std::string error);

 private:
  Pieces One(Term term, int64_t bytes) const { return {{term, 0, bytes, writer_}}; }
  bool IsWithin(Slot slot, Term address, int64_t offset, int64_t bytes);
  void RunSmall(const cpu::SmallProgram& program);
  // An address, kUndefined if there is none, and a constant offset, by the number of the start.
  using Addresses = absl::InlinedVector<std::pair<Term, int64_t>, 4>;
  Addresses AddressesOf(const cpu::SmallProgram& program);
  bool RunScatter(const Step& step, const KernelStep& kernel);
  bool RunWindows(const Step& step, const KernelStep& kernel);
  bool RunGather(const Step& step, const KernelStep& kernel);
  bool RunDot(const Step& step, const KernelStep& kernel);
  void RunOpaque(const Step& step);
  void Touch(const SlotLayout::Storage& storage, int64_t begin, int64_t bytes);

  const Plan& plan_;
  const SlotLayout& layout_;
  Terms& terms_;
  SmallDots& dots_;
  SymbolicMemory memory_;
  int32_t writer_ = -1;
  std::string error_;
};

// Returns the term of an elementwise call; absent operands are left out.
Term ApplyTerm(Terms& terms, const cpu::TileCall& call, int64_t count, absl::Span<const Term> operands,
               int64_t bytes);
// Returns the term of clamp(index, 0, max) * stride, or of the unclamped one, added to `before` unless that
// is kUndefined.
Term AddressTerm(Terms& terms, Term index, ElementType type, int64_t max, int64_t stride, bool is_checked,
                 Term before);
Term InRangeTerm(Terms& terms, Term index, ElementType type, int64_t max);

// True if the stores of the step cover all bytes of the slot.
bool WritesWhole(const Plan& plan, const Step& step, Slot slot);

}  // namespace hlo::plan
