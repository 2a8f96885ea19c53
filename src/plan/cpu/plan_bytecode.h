#pragma once
// The bytecode of a plan: control flow, operations on few elements, and escapes to the executor for all other
// steps. A scalar operation in bytecode takes a few nanoseconds.

#include <variant>
#include <vector>

#include "kernels/cpu/bytecode/bytecode.h"
#include "kernels/cpu/bytecode/native_code.h"
#include "plan/plan.h"

namespace hlo::plan {

struct PlanBytecode {
  cpu::Bytecode code;
  // Constants and arguments that are copied into the frame before the code runs. The frame is the arena.
  struct Import {
    Slot slot;
    int64_t offset, byte_count;
    cpu::FrameOffset to;
  };
  std::vector<Import> imports;
  // Indexed by escape: a step to run, or moves.
  std::vector<std::variant<const Step*, std::vector<Move>>> escapes;
  // Indexed by repeat operation; inner loops come before outer ones.
  std::vector<const Step*> loops;
  // For machine code.
  cpu::FrameUse frame_use;
};

}  // namespace hlo::plan
