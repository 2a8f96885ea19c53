#include "reference/evaluator.h"

#include <functional>
#include <utility>

#include "base/counted.h"
#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/apply.h"
#include "reference/supported.h"
#include "spmd/collectives.h"

namespace hlo::reference {

class Evaluator::View : public StepView {
 public:
  View(const Frame& frame, const Step& step, int64_t depth, const std::vector<RunningLoop>& loops,
       int64_t device)
      : frame_(frame), step_(step), depth_(depth), loops_(loops), device_(device) {}

  const Instruction& instruction() const override { return *step_.instruction; }
  std::string_view kernel() const override { return "reference"; }
  int64_t device() const override { return device_; }
  int64_t depth() const override { return depth_; }
  std::vector<RunningLoop> loops() const override { return loops_; }
  absl::StatusOr<Literal> Operand(int64_t i) const override {
    const Literal& value = frame_.values[frame_.program.UsesOf(step_)[i].slot];
    if (!value.shape().IsValid())
      return absl::FailedPreconditionError(fmt::format(
          "operand {} of '{}' is gone: its observer does not need operands", i, instruction().name()));
    return value;
  }
  absl::StatusOr<Literal> Result() const override { return frame_.values[step_.slot]; }
  std::vector<StepValue> Reads() const override {
    std::vector<StepValue> reads;
    for (const Use& use : frame_.program.UsesOf(step_))
      AddLeaves(*frame_.program.computation->instructions()[use.slot], frame_.values[use.slot], reads);
    return reads;
  }
  std::vector<StepValue> Writes() const override {
    std::vector<StepValue> writes;
    AddLeaves(instruction(), frame_.values[step_.slot], writes);
    return writes;
  }

 private:
  static void AddLeaves(const Instruction& instruction, const Literal& value,
                        std::vector<StepValue>& leaves) {
    int64_t leaf = 0;
    const std::function<void(const Literal&)> add = [&](const Literal& part) {
      if (part.shape().IsTuple()) {
        for (const Literal& element : part.elements()) add(element);
      } else if (part.shape().IsArray()) {
        leaves.push_back({&instruction, leaf++, part});
      } else {
        ++leaf;
      }
    };
    add(value);
  }

  const Frame& frame_;
  const Step& step_;
  int64_t depth_;
  const std::vector<RunningLoop>& loops_;
  int64_t device_;
};

Evaluator::Evaluator(const std::vector<const Computation*>& callees_first, const EvaluateOptions& options)
    : Evaluator(std::make_shared<const Programs>(callees_first, options.custom_calls), options) {}

Evaluator::Evaluator(std::shared_ptr<const Programs> programs, const EvaluateOptions& options)
    : options_(options),
      programs_(std::move(programs)),
      keeps_operands_(options.observer != nullptr && options.observer->needs_operands()) {}

Evaluator::Frame& Evaluator::FrameOf(const Computation& computation) {
  std::unique_ptr<Frame>& frame = frames_[&computation];
  if (frame == nullptr) {
    frame = std::make_unique<Frame>(Frame{programs_->of(computation), {}, {}});
    frame->values.resize(computation.instructions().size());
    frame->operands.resize(frame->program.max_operands);
  }
  return *frame;
}

absl::StatusOr<Literal> Evaluator::Call(const Computation& computation, absl::Span<Literal> arguments) {
  Frame& frame = FrameOf(computation);
  ++depth_;
  if (!loops_.empty() && loops_.back().instruction->Get<attr::body>() == &computation)
    ++loops_.back().iteration;
  for (const Step& step : frame.program.steps) {
    absl::Status status = CountStep();
    if (status.ok()) {
      status = options_.observer == nullptr ? RunStep(frame, step, arguments)
                                            : ObserveStep(frame, step, arguments);
    }
    if (!status.ok()) return Locate(status, *step.instruction);
  }
  --depth_;
  return std::exchange(frame.values[computation.root()->index()], Literal());
}

std::array<uint64_t, 2> Evaluator::AdvanceCounter(int64_t delta) {
  const std::array<uint64_t, 2> before = counter_;
  counter_[0] += static_cast<uint64_t>(delta);
  counter_[1] += (delta < 0 ? ~uint64_t{0} : 0) + (counter_[0] < before[0] ? 1 : 0);
  return before;
}

absl::Status Evaluator::RunStep(Frame& frame, const Step& step, absl::Span<Literal> arguments) {
  Literal& result = frame.values[step.slot];
  switch (step.instruction->opcode()) {
    case Opcode::kParameter:
      result = std::move(arguments[step.instruction->Get<attr::number>()]);
      return absl::OkStatus();
    case Opcode::kGetTupleElement:
      result = TakeElement(frame, step);
      return absl::OkStatus();
    default:
      HLO_ASSIGN_OR_RETURN(result, Compute(frame, step));
      return absl::OkStatus();
  }
}

// Operands are moved at their last use, so that unshared ones can be updated in place.
absl::StatusOr<Literal> Evaluator::Compute(Frame& frame, const Step& step) {
  const absl::Span<Literal> operands = absl::MakeSpan(frame.operands).first(step.use_count);
  for (int32_t i = 0; i < step.use_count; ++i) {
    const Use& use = frame.program.UsesOf(step)[i];
    if (use.last && !keeps_operands_)
      operands[i] = std::exchange(frame.values[use.slot], Literal());
    else
      operands[i] = frame.values[use.slot];
  }
  OpContext context{*step.instruction, operands, *this};
  const bool is_loop = step.instruction->opcode() == Opcode::kWhile;
  if (is_loop) loops_.push_back({.instruction = step.instruction});
  absl::StatusOr<Literal> result = Apply(context, step.op);
  if (is_loop) loops_.pop_back();
  for (Literal& operand : operands) operand = Literal();
  return result;
}

// Executes a get-tuple-element, which reads only one element of its operand.
Literal Evaluator::TakeElement(Frame& frame, const Step& step) const {
  const Use& use = frame.program.UsesOf(step).front();
  Literal& tuple = frame.values[use.slot];
  Literal& element = tuple.mutable_elements()[step.instruction->Get<attr::index>()];
  Literal result = step.takes_element && !keeps_operands_ ? std::exchange(element, Literal()) : element;
  if (use.last && !keeps_operands_) tuple = Literal();
  return result;
}

absl::Status Evaluator::ObserveStep(Frame& frame, const Step& step, absl::Span<Literal> arguments) {
  const View view(frame, step, depth_, loops_,
                  options_.collectives == nullptr ? 0 : options_.collectives->device());
  HLO_RETURN_IF_ERROR(options_.observer->BeforeStep(view));
  HLO_RETURN_IF_ERROR(RunStep(frame, step, arguments));
  HLO_RETURN_IF_ERROR(options_.observer->AfterStep(view));
  if (!keeps_operands_) return absl::OkStatus();
  for (const Use& use : frame.program.UsesOf(step)) {
    if (use.last) frame.values[use.slot] = Literal();
  }
  return absl::OkStatus();
}

absl::Status Evaluator::CountStep() {
  ++step_count_;
  if (options_.max_steps > 0 && step_count_ > options_.max_steps) {
    return absl::ResourceExhaustedError(
        fmt::format("the limit of {} is reached (see --max-steps)", Counted(options_.max_steps, "step")));
  }
  constexpr int64_t kStepsBetweenLooksAtTheClock = 64;
  return step_count_ % kStepsBetweenLooksAtTheClock == 1 ? Deadline::Check() : absl::OkStatus();
}

absl::Status Evaluator::Locate(const absl::Status& status, const Instruction& instruction) {
  return std::exchange(located_, true) ? status : Located(status, instruction);
}

}  // namespace hlo::reference
