#pragma once
// The interpreter, which evaluates a computation instruction by instruction.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"
#include "reference/op.h"
#include "reference/program.h"

namespace hlo::reference {

class Evaluator : public Caller {
 public:
  static constexpr std::array<uint64_t, 2> kFirstCounter = {0x7012395, 0};  // XLA's initial value.

  Evaluator(const std::vector<const Computation*>& callees_first, const EvaluateOptions& options);
  Evaluator(std::shared_ptr<const Programs> programs, const EvaluateOptions& options);

  absl::StatusOr<Literal> Call(const Computation& computation, absl::Span<Literal> arguments) override;
  bool emulates_dot_algorithms() const override { return options_.emulate_dot_algorithms; }
  bool observes_scalars() const override {
    return options_.observer != nullptr && options_.observer->needs_scalar_steps();
  }
  std::array<uint64_t, 2> AdvanceCounter(int64_t delta) override;
  uint64_t seed() const override { return options_.seed; }
  Host* host() const override { return options_.host; }
  const CustomCalls* custom_calls() const override { return options_.custom_calls; }
  spmd::Collectives* collectives() const override { return options_.collectives; }

 private:
  // The values of a running computation, reused across calls to keep its memory. There is no recursion, so
  // one frame per computation suffices.
  struct Frame {
    const Program& program;
    std::vector<Literal> values;    // Indexed by slot.
    std::vector<Literal> operands;  // The operands of the current step.
  };
  class View;

  Frame& FrameOf(const Computation& computation);
  absl::Status RunStep(Frame& frame, const Step& step, absl::Span<Literal> arguments);
  absl::Status ObserveStep(Frame& frame, const Step& step, absl::Span<Literal> arguments);
  absl::StatusOr<Literal> Compute(Frame& frame, const Step& step);
  Literal TakeElement(Frame& frame, const Step& step) const;
  absl::Status CountStep();
  absl::Status Locate(const absl::Status& status, const Instruction& instruction);

  const EvaluateOptions& options_;
  std::shared_ptr<const Programs> programs_;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Frame>> frames_;
  const bool keeps_operands_;
  bool located_ = false;  // True if the error being returned contains its location.
  int64_t depth_ = -1;
  int64_t step_count_ = 0;
  std::vector<RunningLoop> loops_;  // Outermost first.
  std::array<uint64_t, 2> counter_ = kFirstCounter;
};

}  // namespace hlo::reference
