#pragma once
// Access of bytecode to the slots of a plan: stable slots of the arena are read and written at their place in
// the frame, inputs are imported into the frame before the code runs, and all other slots are loaded and
// stored.

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "plan/bytecode/frame_allocator.h"
#include "plan/bytecode/stable_slots.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/plan.h"

namespace hlo::plan {

class FrameAccess {
 public:
  // Emits to `result`.
  FrameAccess(const Plan& plan, const StableSlots& stable, PlanBytecode& result)
      : plan_(plan), stable_(stable), result_(result), allocator_(plan.arena_bytes) {}

  FrameAllocator& allocator() { return allocator_; }
  int64_t Bytes(Slot slot) const { return plan_.buffers[slot].byte_count; }
  // Returns the place of a stable slot.
  cpu::FrameOffset OffsetOf(Slot slot) const {
    return static_cast<cpu::FrameOffset>(plan_.buffers[slot].offset);
  }
  // True if the bytes of the slot are in the frame and need not be loaded.
  bool IsInFrame(Slot slot) const { return stable_.Contains(slot) || stable_.IsInput(slot); }
  // Returns the offset in the frame at which the bytes of the slot can be read; emits a load if necessary.
  cpu::FrameOffset Read(Slot slot, int64_t offset, int64_t byte_count);
  // Emits a copy or a store of all bytes of the slot.
  void CopyTo(Slot slot, cpu::FrameOffset from);
  // Returns the bytes of the frame that the slot may occupy; swapped slots may occupy any of them.
  cpu::Bytecode::Bytes ExtentOf(Slot slot) const;
  // Returns the use of the frame by the finished code.
  cpu::FrameUse Use() const;

 private:
  cpu::FrameOffset Import(Slot slot, int64_t offset, int64_t byte_count);

  const Plan& plan_;
  const StableSlots& stable_;
  PlanBytecode& result_;
  FrameAllocator allocator_;
  absl::flat_hash_map<std::string, cpu::FrameOffset> constants_;  // Keyed by their bytes.
};

}  // namespace hlo::plan
