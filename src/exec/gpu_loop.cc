// Loops on the GPU and the moves between their iterations. Host synchronisation is avoided if possible: loops
// with a known trip count are enqueued iteration by iteration, others are captured as a graph that the GPU
// repeats. Only if neither is possible, the host reads the predicate in every iteration.

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/status.h"
#include "device/align.h"
#include "exec/gpu_executor.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/analysis/counted_loops.h"

namespace hlo::exec {
namespace {

using plan::Move;

}  // namespace

absl::Status GpuExecutor::RunLoop(const Instruction& instruction, const plan::LoopStep& loop,
                                  StepState& state) {
  HLO_RETURN_IF_ERROR(RunMoves(loop.initial));
  const auto unknown = [](Slot, ElementType) -> std::optional<int64_t> { return std::nullopt; };
  loops_.push_back({.instruction = &instruction, .trip_count = TripCount(loop, unknown)});
  const absl::Cleanup leave = [this] { loops_.pop_back(); };
  // Observers and step limits see the condition of every iteration.
  const bool watched = options_->max_steps > 0 || options_->observer != nullptr;
  std::optional<int64_t> trip_count;
  if (!watched) {
    HLO_ASSIGN_OR_RETURN(trip_count, LoopTripCount(loop));
  }
  // Loops with a known trip count are captured only if their branches would need host synchronisation.
  const bool is_worth_capturing = !trip_count.has_value() || !state.gpu->conditionals.empty();
  for (int64_t iteration = 0;; ++iteration) {
    // An iteration counts as a step, because the body and the condition may have none.
    HLO_RETURN_IF_ERROR(OfNoStep(limits_.Take()));
    bool goes_on = iteration < trip_count.value_or(0);
    if (!trip_count.has_value()) {
      HLO_RETURN_IF_ERROR(RunSteps(loop.condition));
      HLO_RETURN_IF_ERROR(gpu_->ToHost(&goes_on, pointers_[loop.predicate], sizeof goes_on));
    }
    if (!goes_on) return absl::OkStatus();
    if (iteration > 0 && is_worth_capturing && IsReady(state)) {
      const absl::Status status = RunCaptured(loop, state);
      if (!absl::IsUnimplemented(status)) return status;
      state.cannot_capture = true;
    }
    loops_.back().iteration = iteration + 1;
    HLO_RETURN_IF_ERROR(RunIteration(loop));
  }
}

absl::Status GpuExecutor::RunIteration(const plan::LoopStep& loop) {
  HLO_RETURN_IF_ERROR(RunSteps(loop.body));
  return RunMoves(loop.next);
}

// Returns the trip count, if the loop is counted, after the initial moves. Reads non-constant bounds from the
// device once.
absl::StatusOr<std::optional<int64_t>> GpuExecutor::LoopTripCount(const plan::LoopStep& loop) {
  if (!loop.counted.has_value()) return std::nullopt;
  const plan::CountedLoop& counted = *loop.counted;
  if (is_capturing_ && !(counted.first_value.has_value() && counted.limit_value.has_value()))
    return absl::InternalError("the trip count of a captured loop is not known");
  const auto value = [&](const std::optional<int64_t>& constant, Slot slot) -> absl::StatusOr<int64_t> {
    if (constant.has_value()) return *constant;
    alignas(8) std::byte element[8] = {};
    HLO_RETURN_IF_ERROR(gpu_->ToHost(element, pointers_[slot], ByteCount(counted.type)));
    return cpu::ReadInteger(counted.type, element);
  };
  HLO_ASSIGN_OR_RETURN(const int64_t first, value(counted.first_value, counted.counter));
  HLO_ASSIGN_OR_RETURN(const int64_t limit, value(counted.limit_value, counted.limit));
  return plan::TripCount(counted, first, limit);
}

// Kernels are loaded on first use, which is not possible during capture; all branches must have run before.
bool GpuExecutor::IsReady(const StepState& loop) const {
  return loop.gpu->is_capturable && !loop.cannot_capture && !is_capturing_ && options_->max_seconds <= 0 &&
         options_->max_steps <= 0 && options_->observer == nullptr &&
         std::all_of(loop.gpu->conditionals.begin(), loop.gpu->conditionals.end(),
                     [&](const plan::Step* branch) {
                       const std::vector<bool>& taken = states_.at(branch).taken;
                       return !taken.empty() && std::find(taken.begin(), taken.end(), false) == taken.end();
                     });
}

// The first predicate must be true.
absl::Status GpuExecutor::RunCaptured(const plan::LoopStep& loop, StepState& state) {
  if (state.graph == nullptr || state.captured_pointers != pointers_) {
    state.graph = nullptr;
    state.captured_pointers = pointers_;
    HLO_ASSIGN_OR_RETURN(state.graph, gpu_->RecordLoop(static_cast<const bool*>(pointers_[loop.predicate]),
                                                       [this, &loop]() -> absl::Status {
                                                         is_capturing_ = true;
                                                         absl::Status status = RunIteration(loop);
                                                         if (status.ok()) status = RunSteps(loop.condition);
                                                         is_capturing_ = false;
                                                         return status;
                                                       }));
  }
  HLO_RETURN_IF_ERROR(state.graph->Run());
  if (state.captured_pointers != pointers_)
    return absl::InternalError("buffers have changed places in a captured loop");
  return absl::OkStatus();
}

absl::Status GpuExecutor::RunBranchSteps(const plan::BranchStep::Branch& taken) {
  HLO_RETURN_IF_ERROR(RunSteps(taken.steps));
  return RunMoves(taken.results);
}

absl::Status GpuExecutor::RunBranch(const plan::BranchStep& branch, StepState& state) {
  const bool is_pred = branch.choice_type == ElementType::kPred;
  if (is_capturing_) {
    std::vector<std::function<absl::Status()>> branches;
    for (const plan::BranchStep::Branch& each : branch.branches)
      branches.push_back([this, &each] { return RunBranchSteps(each); });
    return gpu_->RecordBranch(pointers_[branch.choice], is_pred, branches);
  }
  bool is_true = false;
  int32_t number = 0;
  HLO_RETURN_IF_ERROR(is_pred ? gpu_->ToHost(&is_true, pointers_[branch.choice], sizeof is_true)
                              : gpu_->ToHost(&number, pointers_[branch.choice], sizeof number));
  const plan::BranchStep::Branch& taken = TakenBranch(branch, is_pred ? is_true : number);
  state.taken.resize(branch.branches.size());
  state.taken[&taken - branch.branches.data()] = true;
  return RunBranchSteps(taken);
}

// True if the move is from an argument to the result that aliases it.
bool GpuExecutor::IsInPlace(const Move& move) const {
  return plan_.buffers[move.to].donor == move.from && pointers_[move.to] == pointers_[move.from];
}

absl::Status GpuExecutor::RunMoves(const std::vector<Move>& moves) {
  const auto copies = [&](const Move& move) { return !ExchangesBuffers(plan_, move) && !IsInPlace(move); };
  const auto copy = [&](void* to, const void* from, const Move& move) {
    return to == from ? absl::OkStatus() : gpu_->Copy(to, from, plan_.buffers[move.to].byte_count);
  };
  if (moves.size() == 1 && !ExchangesBuffers(plan_, moves[0]))
    return copy(pointers_[moves[0].to], pointers_[moves[0].from], moves[0]);
  // The moves are simultaneous, so sources are staged before any target is written.
  std::byte* at = memory_.data() + gpu_plan_.staging;
  for (const Move& move : moves) {
    if (!copies(move)) continue;
    HLO_RETURN_IF_ERROR(copy(at, pointers_[move.from], move));
    at += device::Aligned(plan_.buffers[move.to].byte_count);
  }
  for (const Move& move : moves) {
    if (ExchangesBuffers(plan_, move)) std::swap(pointers_[move.to], pointers_[move.from]);
  }
  at = memory_.data() + gpu_plan_.staging;
  for (const Move& move : moves) {
    if (!copies(move)) continue;
    HLO_RETURN_IF_ERROR(copy(pointers_[move.to], at, move));
    at += device::Aligned(plan_.buffers[move.to].byte_count);
  }
  return absl::OkStatus();
}

}  // namespace hlo::exec
