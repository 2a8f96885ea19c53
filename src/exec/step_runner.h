#pragma once
// Runs the steps of a plan in order: control flow, moves between iterations, calls of the reference, limits
// and observers, for every device alike. An engine derives from StepRunner<Engine>, has a device's memory in
// `pointers_`, runs the other steps on the device, and declares (StepRunner is its friend):
//
//   kIsReadable: the host may read slots in place, by ViewOf(slot, shape).
//   kBorrowsOperands: the leaves that OperandLeaf returns share the memory of slots.
//   kStagingAlignment: the alignment of staged values.
//
//   NameOf(step): returns the name of the step's kernel.
//
//   RunKernels(step): runs a step that is not control flow.
//
//   RunFusedSteps(step): runs the launch that computes the step and others; nullopt if the step has its own.
//
//   Wait(): waits until the device has run all steps so far.
//
//   Read(to, slot, bytes): copies the first bytes of a slot to the host.
//
//   PeekTripCount(loop): returns the trip count that observers see, or nullopt if it is unknown.
//
//   FindTripCount(loop): returns the trip count if the host need not read the predicate, otherwise nullopt.
//
//   RepeatOnDevice(step, loop, is_counted): runs all further iterations; nullopt if the host must run them.
//
//   CaptureConditional(branch): captures all branches while steps are captured; nullopt if none are.
//
//   OnBranch(step, number): is called when the host runs a branch.
//
//   SwapsBuffers(move), SwapBuffers(move): whether a move swaps buffers instead of copying; swaps them.
//
//   Copy(to, from, bytes), Staging(bytes): copies in the device's memory; its memory for simultaneous moves.
//
//   RunMoves(moves): runs moves between buffers, as MoveBytes does.
//
//   OperandLeaf(slot, shape), StoreLeaf(value, slot): operands and results of the reference.
//
//   ResultLeaf(leaf): returns a leaf of the run's result.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "base/arithmetic.h"
#include "base/status.h"
#include "exec/plan_run.h"
#include "exec/step_view.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"
#include "plan/plan.h"
#include "plan/validate/evaluate_graph.h"
#include "reference/apply.h"
#include "reference/dynamic_sizes.h"
#include "reference/evaluator.h"
#include "reference/op.h"
#include "reference/program.h"
#include "reference/supported.h"
#include "spmd/collectives.h"

namespace hlo::exec {

template <class Engine>
class StepRunner {
 protected:
  using Slot = plan::Slot;

  // `programs` are those of the module for instructions that the reference runs; null: made on first use.
  StepRunner(const CheckedModule& module, const plan::Plan& plan,
             std::shared_ptr<const reference::Programs> programs)
      : module_(module), plan_(plan), programs_(std::move(programs)) {}

  void Start(const EvaluateOptions& options) {
    options_ = options;
    evaluator_ = nullptr;
    limits_ = StepLimits(options);
    depth_ = 0;
    loops_.clear();
    is_located_ = false;
  }

  // True if an observer must see all steps.
  bool IsObserved() const { return options_->observer != nullptr && options_->observer->needs_all_steps(); }
  // The number of the device in a run on several.
  int64_t DeviceId() const { return options_->collectives == nullptr ? 0 : options_->collectives->device(); }

  absl::Status RunSteps(const std::vector<plan::Step>& steps) {
    Observer* observer = options_->observer;
    const auto loops = [this] { return ShownLoops(loops_); };
    const auto view_of_slot = [&](Slot slot, const Shape& shape) -> Literal {
      if constexpr (Engine::kIsReadable) return engine().ViewOf(slot, shape);
      return {};
    };
    const ReadSlot read(view_of_slot);
    for (const plan::Step& step : steps) {
      if (limits_.has_any()) HLO_RETURN_IF_ERROR(WithoutStep(limits_.CountStep()));
      if (observer == nullptr) {
        if (absl::Status status = RunStep(step); !status.ok()) return WithStep(std::move(status), step);
        continue;
      }
      const PlanStepView view(plan_, step, engine().NameOf(step), depth_, loops,
                              Engine::kIsReadable ? &read : nullptr, DeviceId());
      HLO_RETURN_IF_ERROR(WithoutStep(observer->BeforeStep(view)));
      ++depth_;
      HLO_RETURN_IF_ERROR(WithStep(RunStep(step), step));
      // Time is attributed to the step.
      if (IsObserved()) HLO_RETURN_IF_ERROR(WithStep(engine().Wait(), step));
      --depth_;
      HLO_RETURN_IF_ERROR(WithoutStep(observer->AfterStep(view)));
    }
    return absl::OkStatus();
  }

  [[gnu::always_inline]] absl::Status RunStep(const plan::Step& step) {
    if (std::optional<absl::Status> done = engine().RunFusedSteps(step); done.has_value())
      return *std::move(done);
    if (const auto* loop = std::get_if<plan::LoopStep>(&step.what)) return RunLoop(step, *loop);
    if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) return RunBranch(step, *branch);
    return engine().RunKernels(step);
  }

  [[gnu::always_inline]] absl::Status RunIteration(const plan::LoopStep& loop) {
    HLO_RETURN_IF_ERROR(RunSteps(loop.body));
    return RunAllMoves(loop.next);
  }

  absl::Status RunBranchSteps(const plan::BranchStep::Branch& taken) {
    HLO_RETURN_IF_ERROR(RunSteps(taken.steps));
    return RunAllMoves(taken.results);
  }

  // Sets the slots of literals at the start of a run.
  void BindLiterals(absl::Span<const Literal* const> leaves) {
    for (size_t slot = 0; slot < plan_.buffers.size(); ++slot) {
      if (!plan_.IsLiteral(static_cast<Slot>(slot))) continue;
      const plan::Buffer& buffer = plan_.buffers[slot];
      literals_.resize(plan_.buffers.size());
      if (buffer.constant != nullptr) literals_[slot] = *buffer.constant;
      if (buffer.parameter >= 0) literals_[slot] = *leaves[buffer.parameter];
    }
  }

  // Stores a literal. The buffer of an operand, which may be written again, is copied.
  absl::Status StoreLiteral(const Literal& value, Slot slot) {
    const bool shared = value.buffer().use_count() > 1;
    literals_[slot] = value;
    return shared ? literals_[slot].MakeUnique() : absl::OkStatus();
  }

  absl::Status RunAllMoves(const std::vector<plan::Move>& moves) {
    if (literals_.empty()) return engine().RunMoves(moves);
    std::vector<plan::Move> of_bytes;
    std::vector<std::pair<Slot, Literal>> of_literals;
    for (const plan::Move& move : moves) {
      if (!plan_.IsLiteral(move.to)) {
        of_bytes.push_back(move);
        continue;
      }
      // The elements of an array may be those of its reshape.
      const Shape& reshaped = plan_.buffers[move.to].shape;
      const Shape& shape = reshaped.HasDynamicDim() ? plan_.buffers[move.from].shape : reshaped;
      HLO_ASSIGN_OR_RETURN(Literal value, engine().OperandLeaf(move.from, shape));
      // A literal must not alias a buffer that changes.
      if (!plan_.IsLiteral(move.from)) HLO_RETURN_IF_ERROR(value.MakeUnique());
      of_literals.emplace_back(move.to, std::move(value));
    }
    HLO_RETURN_IF_ERROR(engine().RunMoves(of_bytes));
    for (auto& [to, value] : of_literals) literals_[to] = std::move(value);
    return absl::OkStatus();
  }

  // True if the move is from an argument to the result that aliases it.
  bool IsInPlace(const plan::Move& move) const {
    return plan_.buffers[move.to].donor == move.from && pointers_[move.to] == pointers_[move.from];
  }

  // The moves are simultaneous, so sources are staged before any target is written.
  absl::Status MoveBytes(const std::vector<plan::Move>& moves) {
    if (moves.size() == 1) {
      if (engine().SwapsBuffers(moves[0])) {
        engine().SwapBuffers(moves[0]);
        return absl::OkStatus();
      }
      return IsInPlace(moves[0]) ? absl::OkStatus()
                                 : CopyBytes(pointers_[moves[0].to], pointers_[moves[0].from], moves[0]);
    }
    const auto copies = [&](const plan::Move& move) {
      return !engine().SwapsBuffers(move) && !IsInPlace(move);
    };
    const auto staged_bytes = [&](const plan::Move& move) {
      return RoundUp(plan_.buffers[move.to].byte_count, Engine::kStagingAlignment);
    };
    int64_t bytes = 0;
    for (const plan::Move& move : moves) bytes += copies(move) ? staged_bytes(move) : 0;
    std::byte* const staging = engine().Staging(bytes);
    std::byte* at = staging;
    for (const plan::Move& move : moves) {
      if (!copies(move)) continue;
      HLO_RETURN_IF_ERROR(CopyBytes(at, pointers_[move.from], move));
      at += staged_bytes(move);
    }
    // Swaps come between, because they change the pointers of targets.
    for (const plan::Move& move : moves) {
      if (engine().SwapsBuffers(move)) engine().SwapBuffers(move);
    }
    at = staging;
    for (const plan::Move& move : moves) {
      if (!copies(move)) continue;
      HLO_RETURN_IF_ERROR(CopyBytes(pointers_[move.to], at, move));
      at += staged_bytes(move);
    }
    return absl::OkStatus();
  }

  // Evaluates an instruction with the reference's function. Slots below 0 are tokens or unused.
  absl::Status CallReference(const Instruction& instruction, absl::Span<const Slot> operand_slots,
                             absl::Span<const Slot> result_slots) {
    if (evaluator_ == nullptr) {
      if (programs_ == nullptr) programs_ = plan::MakePrograms(module_, plan_.graph, options_->custom_calls);
      evaluator_ = std::make_unique<reference::Evaluator>(programs_, *options_);
    }
    std::vector<Literal> operands;
    for (const Instruction* operand : instruction.operands()) {
      HLO_ASSIGN_OR_RETURN(Literal value, OperandLiteral(operand->shape(), operand_slots));
      operands.push_back(std::move(value));
    }
    // Second references prevent in-place updates of borrowed operands.
    const std::vector<Literal> held = Engine::kBorrowsOperands ? operands : std::vector<Literal>();
    reference::OpContext context{instruction, absl::MakeSpan(operands), *evaluator_};
    HLO_ASSIGN_OR_RETURN(const Literal value,
                         reference::Apply(context, reference::Reference(instruction.opcode())));
    return StoreResult(value, result_slots);
  }

  // Returns the result of the run, from its leaves.
  absl::StatusOr<Literal> AssembleResult() {
    HLO_RETURN_IF_ERROR(ReadSizes());
    size_t leaf = 0;
    return AssembleResult(module_.module().entry()->root()->shape(), &leaf);
  }

  // Adds the location of the innermost step. Unimplemented during capture is not an error.
  absl::Status WithStep(absl::Status status, const plan::Step& step) {
    if (status.ok() || (is_capturing_ && absl::IsUnimplemented(status))) return status;
    return std::exchange(is_located_, true) ? status : reference::Located(status, step.shown());
  }
  // Returns an error that belongs to no step.
  absl::Status WithoutStep(absl::Status status) {
    is_located_ |= !status.ok();
    return status;
  }

  const CheckedModule& module_;
  const plan::Plan& plan_;
  std::vector<void*> pointers_;    // Indexed by slot.
  std::vector<Literal> literals_;  // Indexed by slot; empty if no buffer is a literal.
  std::optional<EvaluateOptions> options_;
  StepLimits limits_;
  bool is_capturing_ = false;  // The device captures steps as a graph: pointers must not change.

 private:
  Engine& engine() { return static_cast<Engine&>(*this); }
  const Engine& engine() const { return static_cast<const Engine&>(*this); }

  absl::Status RunLoop(const plan::Step& step, const plan::LoopStep& loop) {
    HLO_RETURN_IF_ERROR(RunAllMoves(loop.initial));
    loops_.push_back(
        {.instruction = &step.shown(),
         .trip_count = options_->observer == nullptr ? std::nullopt : engine().PeekTripCount(loop)});
    const absl::Cleanup leave = [this] { loops_.pop_back(); };
    // Observers and step limits see the condition of every iteration.
    std::optional<int64_t> trip_count;
    if (options_->max_steps == 0 && !IsObserved()) {
      HLO_ASSIGN_OR_RETURN(trip_count, engine().FindTripCount(loop));
    }
    for (int64_t iteration = 0;; ++iteration) {
      // An iteration counts as a step, because the body and the condition may have none.
      if (limits_.has_any()) HLO_RETURN_IF_ERROR(WithoutStep(limits_.CountStep()));
      bool predicate = iteration < trip_count.value_or(0);
      if (!trip_count.has_value()) {
        HLO_RETURN_IF_ERROR(RunSteps(loop.condition));
        HLO_RETURN_IF_ERROR(engine().Read(&predicate, loop.predicate, sizeof predicate));
      }
      if (!predicate) return absl::OkStatus();
      if (iteration > 0) {
        if (std::optional<absl::Status> done = engine().RepeatOnDevice(step, loop, trip_count.has_value());
            done.has_value())
          return *std::move(done);
      }
      loops_.back().iteration = iteration + 1;
      HLO_RETURN_IF_ERROR(RunIteration(loop));
    }
  }

  absl::Status RunBranch(const plan::Step& step, const plan::BranchStep& branch) {
    if (std::optional<absl::Status> done = engine().CaptureConditional(branch); done.has_value())
      return *std::move(done);
    bool is_true = false;
    int32_t number = 0;
    const bool is_pred = branch.choice_type == ElementType::kPred;
    HLO_RETURN_IF_ERROR(is_pred ? engine().Read(&is_true, branch.choice, sizeof is_true)
                                : engine().Read(&number, branch.choice, sizeof number));
    const plan::BranchStep::Branch& taken = TakenBranch(branch, is_pred ? is_true : number);
    engine().OnBranch(step, static_cast<size_t>(&taken - branch.branches.data()));
    return RunBranchSteps(taken);
  }

  absl::Status CopyBytes(void* to, const void* from, const plan::Move& move) {
    const int64_t byte_count = plan_.buffers[move.to].byte_count;
    return to == from || byte_count == 0 ? absl::OkStatus() : engine().Copy(to, from, byte_count);
  }

  // Takes the slots of the leaves from the front of the list.
  absl::StatusOr<Literal> OperandLiteral(const Shape& shape, absl::Span<const Slot>& slots) {
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (const Shape& element : shape.elements()) {
        HLO_ASSIGN_OR_RETURN(Literal value, OperandLiteral(element, slots));
        elements.push_back(std::move(value));
      }
      return Literal::Tuple(std::move(elements));
    }
    const Slot slot = slots.front();
    slots.remove_prefix(1);
    if (slot < 0) return Literal::Token();
    if (!shape.IsBuffer()) return engine().OperandLeaf(slot, shape);
    HLO_ASSIGN_OR_RETURN(const Literal array, engine().OperandLeaf(slot, shape.element(0)));
    return array.WithShape(shape);
  }

  absl::Status StoreResult(const Literal& value, absl::Span<const Slot>& slots) {
    if (value.shape().IsTuple()) {
      for (const Literal& element : value.elements()) HLO_RETURN_IF_ERROR(StoreResult(element, slots));
      return absl::OkStatus();
    }
    const Slot slot = slots.front();
    slots.remove_prefix(1);
    return slot < 0 ? absl::OkStatus() : engine().StoreLeaf(value, slot);
  }

  // Reads the run-time sizes, which are the last results, and checks those that instructions state.
  absl::Status ReadSizes() {
    const std::vector<plan::RunTimeSize>& all = plan_.graph.sizes;
    sizes_.clear();
    for (size_t k = 0; k < all.size(); ++k) {
      HLO_ASSIGN_OR_RETURN(const Literal size, engine().ResultLeaf(plan_.results.size() - all.size() + k));
      sizes_.push_back(size.span<int32_t>()[0]);
      if (all[k].instruction == nullptr) continue;
      const absl::Status status =
          reference::CheckRunTimeSize(*all[k].instruction, all[k].dimension, sizes_[k]);
      if (!status.ok()) return reference::Located(status, *all[k].instruction);
    }
    return absl::OkStatus();
  }
  // Gives an array of the bounds its declared shape and run-time sizes.
  Literal WithSizes(Literal value, const Shape& declared, size_t leaf) const {
    if (value.shape().HasDynamicDim() || !declared.HasDynamicDim()) return value;
    value = value.WithShape(declared);
    for (size_t k = 0; k < sizes_.size(); ++k) {
      const plan::RunTimeSize& size = plan_.graph.sizes[k];
      if (size.leaf == static_cast<int32_t>(leaf)) value.set_dynamic_size(size.dimension, sizes_[k]);
    }
    return value;
  }

  absl::StatusOr<Literal> AssembleResult(const Shape& shape, size_t* leaf) {
    if (!shape.IsTuple()) {
      HLO_ASSIGN_OR_RETURN(Literal value, engine().ResultLeaf(*leaf));
      const size_t number = (*leaf)++;
      return shape.IsBuffer() ? value.WithShape(shape) : WithSizes(std::move(value), shape, number);
    }
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) {
      HLO_ASSIGN_OR_RETURN(Literal value, AssembleResult(element, leaf));
      elements.push_back(std::move(value));
    }
    return Literal::Tuple(std::move(elements));
  }

  std::shared_ptr<const reference::Programs> programs_;
  std::unique_ptr<reference::Evaluator> evaluator_;  // Created on first use.
  int64_t depth_ = 0;                                // Number of enclosing loops and conditionals.
  std::vector<RunningLoop> loops_;                   // Outermost first.
  std::vector<int64_t> sizes_;                       // The run-time sizes, indexed as in the graph.
  bool is_located_ = false;                          // The error that ends the run has a location.
};

}  // namespace hlo::exec
