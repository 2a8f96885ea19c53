#include "spmd/instruction_numbers.h"

#include <string_view>

namespace hlo::spmd {
namespace {

// FNV-1a. Unlike absl::Hash, it gives the same value in every process.
void AddToHash(std::string_view text, uint64_t* hash) {
  for (const char byte : text) *hash = (*hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  *hash = (*hash ^ 0xff) * 0x100000001b3;
}

}  // namespace

InstructionNumbers::InstructionNumbers(const Module& module) : fingerprint_(0xcbf29ce484222325) {
  for (const Computation* computation : module.computations()) {
    AddToHash(computation->name(), &fingerprint_);
    for (const Instruction* instruction : computation->instructions()) {
      AddToHash(Name(instruction->opcode()), &fingerprint_);
      AddToHash(instruction->name(), &fingerprint_);
      numbers_[instruction] = static_cast<int32_t>(instructions_.size());
      instructions_.push_back(instruction);
    }
  }
}

}  // namespace hlo::spmd
