#pragma once
// This file wraps Xbyak's assembler. Only code generators include it, if HLO_RUN_HAS_NATIVE_CODE is defined.

#include <xbyak/xbyak.h>

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "kernels/cpu/native/machine_code.h"

namespace hlo::cpu {

// The buffer grows and moves, so that code must be position-independent: calls of functions and addresses of
// data go through registers (CallFunction; `mov(reg, address)`), addresses of labels are relative to rip.
class Assembler : public Xbyak::CodeGenerator {
 public:
  Assembler() : CodeGenerator(4096, Xbyak::AutoGrow, &Memory()) {}

  // Calls a function through rax.
  template <class Function>
  void CallFunction(Function* function) {
    mov(rax, reinterpret_cast<uint64_t>(function));
    call(rax);
  }

  // Resolves all labels and returns the code; null if there was an error, or if the system refuses the
  // memory.
  std::unique_ptr<const MachineCode> Finish() {
    ready(PROTECT_RW);
    const bool failed = Xbyak::GetError() != Xbyak::ERR_NONE;
    Xbyak::ClearError();
    return failed ? nullptr : MachineCode::Load(absl::Span<const uint8_t>(getCode(), getSize()));
  }

 private:
  // Memory that Xbyak does not make executable.
  struct PlainMemory : Xbyak::Allocator {
    bool useProtect() const override { return false; }
  };
  static PlainMemory& Memory() {
    static PlainMemory memory;
    return memory;
  }
};

}  // namespace hlo::cpu
