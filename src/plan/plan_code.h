#pragma once
// The steps of a plan as code for a small machine: control flow, what steps do to a few elements, and an
// escape to the executor for every other step. Scalar operations then take some nanoseconds each.

#include <variant>
#include <vector>

#include "kernels/cpu/bytecode/bytecode.h"
#include "plan/plan.h"

namespace hlo::plan {

struct PlanCode {
  cpu::StepCode code;
  // Constants and arguments that are copied into the frame before the code runs. The frame is the arena.
  struct Import {
    Slot slot;
    int64_t offset, byte_count;
    cpu::FramePlace to;
  };
  std::vector<Import> imports;
  // By the number of an escape: a step to run, or moves.
  std::vector<std::variant<const Step*, std::vector<Move>>> escapes;
  // By the number of an operation that repeats a loop; inner loops come before outer ones.
  std::vector<const Step*> loops;
};

}  // namespace hlo::plan
