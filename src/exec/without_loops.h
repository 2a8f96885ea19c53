#pragma once
// Observers that do not read the loops around a step.

namespace hlo::exec {

// An observer that also derives from this class does not call StepView::loops() or depth() while bytecode
// runs. Then the engine need not count iterations, and runs machine code if there is some.
class WithoutLoops {
 public:
  virtual ~WithoutLoops() = default;
};

}  // namespace hlo::exec
