#pragma once
// This file holds machine code that is made at run time. Memory is never writable and executable at once.
//
// Code generators use assembler.h, and only if HLO_RUN_HAS_NATIVE_CODE is defined. They must accept that
// there is no machine code: the program may be built without Xbyak, the processor may be too old, and the
// system may refuse executable memory.

#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace hlo::cpu {

// The instructions that machine code may use. Each set contains the ones before it.
enum class NativeIsa : uint8_t {
  kNone,    // No machine code can be made.
  kAvx2,    // x86-64-v3: AVX2, FMA, BMI1 and BMI2.
  kAvx512,  // x86-64-v4: AVX-512 F, BW, CD, DQ and VL.
};
// Returns the best set that the processor and the system support. It does not exceed that of the kernels: the
// selected level, or the processor that the program was compiled for. So machine code and kernels round
// alike.
NativeIsa FindNativeIsa();
// Sets the largest set that FindNativeIsa returns, for tests. Returns the one before.
NativeIsa SetLargestNativeIsa(NativeIsa isa);

class MachineCode {
 public:
  // Copies the code, which must be position-independent. Returns null if the system refuses the memory.
  static std::unique_ptr<const MachineCode> Load(absl::Span<const uint8_t> code);

  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;
  ~MachineCode();

  // Returns the function at byte `offset` of the code.
  template <class Function>
  Function* At(int64_t offset = 0) const {
    return reinterpret_cast<Function*>(const_cast<uint8_t*>(begin_) + offset);
  }
  int64_t byte_count() const { return byte_count_; }

 private:
  MachineCode(const uint8_t* begin, int64_t byte_count) : begin_(begin), byte_count_(byte_count) {}

  const uint8_t* begin_;
  int64_t byte_count_;
};

}  // namespace hlo::cpu
