// Loops and conditionals on the GPU. Host synchronisation is avoided if possible: loops with a known trip
// count are enqueued iteration by iteration, others are captured as a graph that the GPU repeats. Only if
// neither is possible, the host reads the predicate in every iteration.

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "exec/gpu_executor.h"
#include "kernels/cuda/copy/moves.h"
#include "loops/compute_type.h"
#include "plan/analysis/counted_loops.h"

namespace hlo::exec {

absl::Status GpuExecutor::Read(void* to, Slot slot, size_t byte_count) {
  return gpu_->ToHost(to, pointers_[slot], static_cast<int64_t>(byte_count));
}

// Small moves take one launch, instead of two copies each.
absl::Status GpuExecutor::RunMoves(const std::vector<plan::Move>& moves) {
  absl::InlinedVector<cuda::BufferMove, 16> small;
  int64_t padded_bytes = 0;
  for (const plan::Move& move : moves) {
    if (SwapsBuffers(move)) return MoveBytes(moves);
    if (IsInPlace(move)) continue;
    const int64_t byte_count = plan_.buffers[move.to].byte_count;
    small.push_back({pointers_[move.to], pointers_[move.from], byte_count});
    padded_bytes += byte_count + 15;
  }
  if (small.size() < 2 || !cuda::FitsOneLaunch(static_cast<int64_t>(small.size()), padded_bytes))
    return MoveBytes(moves);
  return cuda::MoveInOneLaunch(small, gpu_->stream());
}

std::optional<int64_t> GpuExecutor::PeekTripCount(const plan::LoopStep& loop) {
  return TripCount(loop, [](Slot, ElementType) -> std::optional<int64_t> { return std::nullopt; });
}

// Returns the trip count, if the loop is counted, after the initial moves. Reads non-constant bounds from the
// device once.
absl::StatusOr<std::optional<int64_t>> GpuExecutor::FindTripCount(const plan::LoopStep& loop) {
  if (!loop.counted.has_value()) return std::nullopt;
  const plan::CountedLoop& counted = *loop.counted;
  if (is_capturing_ && !(counted.first_value.has_value() && counted.limit_value.has_value()))
    return absl::InternalError("the trip count of a captured loop is not known");
  const auto value = [&](const std::optional<int64_t>& constant, Slot slot) -> absl::StatusOr<int64_t> {
    if (constant.has_value()) return *constant;
    alignas(8) std::byte element[8] = {};
    HLO_RETURN_IF_ERROR(gpu_->ToHost(element, pointers_[slot], ByteCount(counted.type)));
    return loops::ReadInteger(counted.type, element);
  };
  HLO_ASSIGN_OR_RETURN(const int64_t first, value(counted.first_value, counted.counter));
  HLO_ASSIGN_OR_RETURN(const int64_t limit, value(counted.limit_value, counted.limit));
  return plan::TripCount(counted, first, limit);
}

// Kernels are loaded on first use, which is not possible during capture; all branches must have run before.
bool GpuExecutor::IsReady(const StepState& loop) const {
  return loop.gpu->is_capturable && !loop.cannot_capture && !is_capturing_ && !IsWatched() &&
         std::all_of(loop.gpu->conditionals.begin(), loop.gpu->conditionals.end(),
                     [&](const plan::Step* branch) {
                       const std::vector<bool>& taken = states_.at(branch).taken;
                       return !taken.empty() && std::find(taken.begin(), taken.end(), false) == taken.end();
                     });
}

std::optional<absl::Status> GpuExecutor::RepeatOnDevice(const plan::Step& step, const plan::LoopStep& loop,
                                                        bool is_counted) {
  StepState& state = states_.at(&step);
  // Loops with a known trip count are captured only if their branches would need host synchronisation.
  if ((is_counted && state.gpu->conditionals.empty()) || !IsReady(state)) return std::nullopt;
  absl::Status status = RunCaptured(loop, state);
  if (!absl::IsUnimplemented(status)) return status;
  state.cannot_capture = true;
  return std::nullopt;
}

// The first predicate must be true.
absl::Status GpuExecutor::RunCaptured(const plan::LoopStep& loop, StepState& state) {
  if (state.graph == nullptr || state.captured_pointers != pointers_) {
    state.graph = nullptr;
    state.captured_pointers = pointers_;
    HLO_ASSIGN_OR_RETURN(state.graph, gpu_->CaptureLoop(static_cast<const bool*>(pointers_[loop.predicate]),
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
    return absl::InternalError("buffers were swapped in a captured loop");
  return absl::OkStatus();
}

std::optional<absl::Status> GpuExecutor::CaptureConditional(const plan::BranchStep& branch) {
  if (!is_capturing_) return std::nullopt;
  std::vector<std::function<absl::Status()>> branches;
  for (const plan::BranchStep::Branch& each : branch.branches)
    branches.push_back([this, &each] { return RunBranchSteps(each); });
  return gpu_->CaptureBranch(pointers_[branch.choice], branch.choice_type == ElementType::kPred, branches);
}

void GpuExecutor::OnBranch(const plan::Step& step, size_t number) {
  std::vector<bool>& taken = states_.at(&step).taken;
  taken.resize(std::get<plan::BranchStep>(step.what).branches.size());
  taken[number] = true;
}

}  // namespace hlo::exec
