#pragma once
// The steps of a plan, compiled for the CPU. The executors of all devices of a run share them.

#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/bytecode/native_code.h"
#include "plan/cpu/compile_step.h"
#include "plan/plan.h"

namespace hlo::exec {

class CompiledSteps {
 public:
  using ByStep = absl::flat_hash_map<const plan::Step*, plan::CpuStep>;

  explicit CompiledSteps(const plan::Plan& plan) : plan_(plan) {}

  // Return the steps that the plan's bytecode, which must exist, escapes to, or all steps. They are compiled
  // on the first call, from any thread.
  const ByStep& Escapes();
  const ByStep& All();
  // Returns the step of an escape of the bytecode, without a search, after a call of Escapes.
  const plan::CpuStep* Escape(int32_t number) const { return by_number_[number]; }
  // Returns the plan's bytecode, which must exist, as machine code that may count iterations; null if there
  // is none.
  const cpu::NativeCode* Native(bool counts);

 private:
  const plan::Plan& plan_;
  struct MachineCode {
    std::once_flag once;
    std::unique_ptr<const cpu::NativeCode> code;
  };
  std::once_flag escapes_once_, all_once_;
  ByStep escapes_, all_;
  std::vector<const plan::CpuStep*> by_number_;  // Null for moves.
  MachineCode native_, counting_;
};

}  // namespace hlo::exec
