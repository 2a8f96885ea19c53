#include "exec/compiled_steps.h"

#include <variant>
#include <vector>

#include "plan/cpu/plan_bytecode.h"
#include "plan/visit.h"

namespace hlo::exec {

const CompiledSteps::ByStep& CompiledSteps::Escapes() {
  std::call_once(escapes_once_, [&] {
    for (const auto& escape : plan_.bytecode->escapes) {
      if (const auto* step = std::get_if<const plan::Step*>(&escape);
          step != nullptr && !escapes_.contains(*step))
        escapes_.emplace(*step, CompileStep(plan_, **step));
    }
    for (const auto& escape : plan_.bytecode->escapes) {
      const auto* step = std::get_if<const plan::Step*>(&escape);
      by_number_.push_back(step != nullptr ? &escapes_.at(*step) : nullptr);
    }
  });
  return escapes_;
}

const cpu::NativeCode* CompiledSteps::Native(bool counts) {
  MachineCode& native = counts ? counting_ : native_;
  std::call_once(native.once, [&] {
    if (plan_.native_code)
      native.code = cpu::NativeCode::Make(plan_.bytecode->code, plan_.bytecode->frame_use, counts);
  });
  return native.code.get();
}

const CompiledSteps::ByStep& CompiledSteps::All() {
  std::call_once(all_once_, [&] {
    VisitStepLists(plan_.steps, [&](const std::vector<plan::Step>& steps) {
      for (const plan::Step& step : steps) all_.emplace(&step, CompileStep(plan_, step));
    });
  });
  return all_;
}

}  // namespace hlo::exec
