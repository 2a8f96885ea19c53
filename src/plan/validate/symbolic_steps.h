#pragma once
// The steps of a plan, executed symbolically on the plan's buffers.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/loops/small_program.h"
#include "plan/plan.h"
#include "plan/validate/symbolic_memory.h"

namespace hlo::plan {

// The places of slots: the frame, which is the arena, or objects of their own.
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
  // The object of the order of effects.
  int32_t effects() const { return static_cast<int32_t>(storages_.size()) + 1; }

  // Arena slots whose memory is exchanged with that of others; each may be stored at any of their places.
  struct Exchanged {
    Slot slot;
    int64_t begin, end;
    int32_t group;
  };
  const std::vector<Exchanged>& exchanged() const { return exchanged_; }

 private:
  std::vector<Storage> storages_;  // By slot.
  std::vector<Exchanged> exchanged_;
};

// Dots that steps or code compute, by number.
class SmallDots {
 public:
  int64_t NumberOf(const cpu::SmallDot& dot);

 private:
  std::vector<cpu::SmallDot> dots_;
};

// The symbolic memory that the steps, or the code, have left.
class SymbolicState {
 public:
  SymbolicState(const Plan& plan, const SlotLayout& layout, Terms& terms, SmallDots& dots);

  // Steps but loops and branches.
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
  // Returns the value at an address, or at the offset where the address is kUndefined.
  Term Load(Slot slot, Term address, int64_t offset, int64_t bytes);
  void Store(Slot slot, Term address, int64_t offset, Pieces pieces);

  Term effects() const { return memory_.Read(layout_.effects(), 0, 1)[0].term; }
  void SetEffects(Term effects);
  Term Snapshot(Slot slot) { return Joined(terms_, ReadSlot(slot)); }

  // Makes what changed since `mark` a choice: as it is where the condition is true, as it was otherwise.
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
  // By the number of a start: an address, kUndefined where there is none, and an offset besides.
  using Addresses = absl::InlinedVector<std::pair<Term, int64_t>, 4>;
  Addresses AddressesOf(const cpu::SmallProgram& program);
  bool RunScatter(const Step& step, const KernelStep& kernel);
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

// The term of an elementwise call; operands that it does not have are left out.
Term ApplyTerm(Terms& terms, const cpu::TileCall& call, int64_t count, absl::Span<const Term> operands,
               int64_t bytes);
// The term of clamp(index, 0, max) * stride, or unclamped, added to `before` unless that is kUndefined.
Term AddressTerm(Terms& terms, Term index, ElementType type, int64_t max, int64_t stride, bool is_checked,
                 Term before);
Term InRangeTerm(Terms& terms, Term index, ElementType type, int64_t max);

// Whether the stores of the step cover all bytes of the slot.
bool WritesWhole(const Plan& plan, const Step& step, Slot slot);

}  // namespace hlo::plan
