#pragma once
// Numbers the instructions of a module, so that processes that have read the same text name them to each
// other.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo_run/module.h"

namespace hlo::spmd {

class InstructionNumbers {
 public:
  explicit InstructionNumbers(const Module& module);

  int32_t Of(const Instruction& instruction) const { return numbers_.at(&instruction); }
  const Instruction& At(int32_t number) const { return *instructions_[number]; }
  // Returns a hash of the names and opcodes of all instructions.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::vector<const Instruction*> instructions_;
  absl::flat_hash_map<const Instruction*, int32_t> numbers_;
  uint64_t fingerprint_;
};

}  // namespace hlo::spmd
