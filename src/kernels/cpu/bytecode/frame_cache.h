#pragma once
// This file assigns registers to scalars of the frame while machine code is generated. Only code generators
// include it, if HLO_RUN_HAS_NATIVE_CODE is defined.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/bytecode/micro_ops.h"
#include "kernels/cpu/native/assembler.h"

namespace hlo::cpu {

// A general or a vector register.
struct Register {
  Bank bank = Bank::kGeneral;
  int number = 0;
  bool operator==(const Register&) const = default;
};

// A scalar that stays in one register throughout a loop. Its memory is stale if the loop writes it.
struct Pin {
  FrameScalar scalar;
  Register reg;
  bool is_written = false;
};

class FrameCache : public Assembler {
 public:
  // rbx: the frame. r12: the arguments. r13: the context. r15: the iterations until the next poll. rax, xmm14
  // and xmm15 are temporaries of an operation, and xmm12 and xmm13 too: AVX2 has no others. Other registers
  // hold scalars.
  static constexpr std::array kGeneral = {1, 2, 6, 7, 8, 9, 10, 11, 5, 14};
  static constexpr int kVectorCount = 12;

  Xbyak::Reg32 Word(Register reg) const { return Xbyak::Reg32(reg.number); }
  Xbyak::Reg64 Long(Register reg) const { return Xbyak::Reg64(reg.number); }
  Xbyak::Xmm Vector(Register reg) const { return Xbyak::Xmm(reg.number); }
  Xbyak::Address InFrame(FrameOffset at) { return ptr[rbx + at]; }

  // Starts a block in which these scalars have registers; `is_live` returns whether they have values.
  template <class IsLive>
  void StartBlock(const std::vector<Pin>& pins, IsLive&& is_live) {
    entries_.clear();
    vectors_.clear();
    for (const Pin& pin : pins)
      entries_.push_back({pin.scalar, pin.reg, pin.is_written, true, is_live(pin.scalar)});
  }
  // Writes scalars that may be read after the block.
  template <class IsLive>
  void EndBlock(IsLive&& is_live) {
    for (const Entry& entry : entries_) {
      if (!entry.is_pinned && entry.is_dirty && is_live(entry.scalar)) StoreScalar(entry.scalar, entry.reg);
    }
  }

  // --- Operands of the current operation, in this order.
  // Returns a register that holds the scalar, and keeps it until EndOperation.
  Register Use(const FrameScalar& scalar, Bank bank);
  // Returns true if the scalar is in a register.
  bool IsCached(const FrameScalar& scalar) const { return Find(scalar) != nullptr; }
  // Returns the bank of a cached scalar's register.
  Bank BankOfCached(const FrameScalar& scalar) const { return Find(scalar)->reg.bank; }
  // The values of these operands are not used any more after the operation.
  void Release(const FrameScalar& scalar);
  // Returns the register for the result, which may be one of the released operands'.
  Register Define(const FrameScalar& scalar, Bank bank);
  // Makes `to` the same value as `from`, which is in this register.
  void DefineCopy(const FrameScalar& to, Register from);
  void EndOperation();

  // --- Operations in memory.
  // Writes the scalars that overlap the bytes.
  void Flush(const Bytecode::Bytes& bytes);
  // Forgets the scalars that overlap the bytes, before they may be written. Their values are kept in memory.
  // Vectors of them are forgotten too unless the operation does so for each scalar.
  void BeforeWrite(const Bytecode::Bytes& bytes, bool forgets_vectors = true);
  // Reloads registers of scalars that the write may have changed.
  void AfterWrite(const Bytecode::Bytes& bytes);
  // Keep registers that a function may overwrite in memory, and restore them.
  void BeforeCall();
  void AfterCall();
  // The code uses 32-byte vectors, whose upper parts must be zero when a function that may use older
  // instructions runs.
  void UseWideVectors() { has_wide_vectors_ = true; }
  void LeaveWideVectors() {
    if (has_wide_vectors_) vzeroupper();
  }

  // --- Vectors of the frame that are also in registers, which only AVX-512 has. Functions overwrite them.
  // Returns the number of the register, or nullopt.
  std::optional<int> FindVector(FrameOffset at, int32_t bytes) const;
  // Returns the number of a register for the vector, which the code has written.
  std::optional<int> KeepVector(FrameOffset at, int32_t bytes);
  void ForgetVectors(const Bytecode::Bytes& bytes);
  void ForgetVectors() { vectors_.clear(); }

  // True if the registers did not suffice for an operation, so that the code is wrong.
  bool has_failed() const { return has_failed_; }

  // A list of all values in registers, for code out of line.
  struct Entry {
    FrameScalar scalar;
    Register reg;
    bool is_dirty = false, is_pinned = false;
    bool is_valid = true;  // A pinned scalar may have no value yet.
  };
  const std::vector<Entry>& entries() const { return entries_; }
  void StoreScalar(const FrameScalar& scalar, Register reg);
  void LoadScalar(const FrameScalar& scalar, Register reg);
  void MoveRegister(Register to, Register from);

 private:
  const Entry* Find(const FrameScalar& scalar) const;
  Entry* Find(const FrameScalar& scalar) { return const_cast<Entry*>(std::as_const(*this).Find(scalar)); }
  bool IsInUse(Register reg) const;
  bool IsLocked(Register reg) const;
  Register Allocate(Bank bank, bool may_be_locked = false);
  // Forgets scalars of another position or size that overlap this one; writes them if they are not covered.
  void DropOverlaps(const FrameScalar& scalar, bool overwrites);

  struct KeptVector {
    Bytecode::Bytes bytes;
    int number;
  };
  static constexpr int kFirstKept = 26, kLastKept = 31;

  std::vector<KeptVector> vectors_;  // The oldest first.
  std::vector<Entry> entries_;       // The least recently used first, except pinned ones.
  std::vector<Register> locked_;
  bool has_wide_vectors_ = false, has_failed_ = false;
  // A pinned result in the other bank's registers: its destination and source.
  std::optional<std::pair<Register, Register>> move_at_end_;
};

}  // namespace hlo::cpu
