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

// Larger buffers are exchanged between iterations instead of copied, which a captured iteration cannot do.
constexpr int64_t kMostExchangedBytes = 1 << 20;
// Per captured iteration.
constexpr int64_t kMostLaunches = 4096;

}  // namespace

absl::Status GpuExecutor::RunLoop(const Instruction& instruction, const plan::LoopStep& loop,
                                  Prepared& prepared) {
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
  const bool is_worth_recording = !trip_count.has_value() || !prepared.branches.empty();
  for (int64_t iteration = 0;; ++iteration) {
    // An iteration counts as a step, because the body and the condition may have none.
    HLO_RETURN_IF_ERROR(OfNoStep(limits_.Take()));
    bool goes_on = iteration < trip_count.value_or(0);
    if (!trip_count.has_value()) {
      HLO_RETURN_IF_ERROR(RunSteps(loop.condition));
      HLO_RETURN_IF_ERROR(gpu_->ToHost(&goes_on, pointers_[loop.predicate], sizeof goes_on));
    }
    if (!goes_on) return absl::OkStatus();
    if (iteration > 0 && is_worth_recording && IsReady(prepared)) {
      const absl::Status status = RunRecorded(loop, prepared);
      if (!absl::IsUnimplemented(status)) return status;
      prepared.repeats_itself = false;
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
  if (is_recording_ && !(counted.first_value.has_value() && counted.limit_value.has_value()))
    return absl::InternalError("the trip count of a recorded loop is not known");
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

bool GpuExecutor::MovesAreRecordable(const std::vector<Move>& moves, Recordable* body) const {
  body->launches += 2 * static_cast<int64_t>(moves.size());
  return std::none_of(moves.begin(), moves.end(), [&](const Move& move) { return ChangesPlaces(move); });
}

bool GpuExecutor::StepsAreRecordable(const std::vector<plan::Step>& steps, Recordable* body) const {
  return std::all_of(steps.begin(), steps.end(),
                     [&](const plan::Step& step) { return IsRecordable(step, body); });
}

// A step can be captured if it only launches kernels, or is a branch of such steps, or a loop whose trip
// count is constant.
bool GpuExecutor::IsRecordable(const plan::Step& step, Recordable* body) const {
  const Prepared& prepared = prepared_.at(&step);
  if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
    body->branches.push_back(&step);
    body->launches += 2;
    return std::all_of(branch->branches.begin(), branch->branches.end(), [&](const auto& each) {
      return StepsAreRecordable(each.steps, body) && MovesAreRecordable(each.results, body);
    });
  }
  const auto* inner = std::get_if<plan::LoopStep>(&step.what);
  if (inner == nullptr) {
    body->launches += std::max<int64_t>(1, static_cast<int64_t>(prepared.programs.size()));
    return prepared.reason.empty();
  }
  if (!inner->counted.has_value() || !inner->counted->first_value.has_value() ||
      !inner->counted->limit_value.has_value() || !MovesAreRecordable(inner->initial, body))
    return false;
  const std::optional<int64_t> trip_count =
      plan::TripCount(*inner->counted, *inner->counted->first_value, *inner->counted->limit_value);
  Recordable inner_body;
  if (!trip_count.has_value() || !IsRecordable(*inner, &inner_body) ||
      *trip_count > kMostLaunches / std::max<int64_t>(1, inner_body.launches))
    return false;
  body->launches += *trip_count * inner_body.launches;
  body->branches.insert(body->branches.end(), inner_body.branches.begin(), inner_body.branches.end());
  return true;
}

bool GpuExecutor::IsRecordable(const plan::LoopStep& loop, Recordable* body) const {
  return MovesAreRecordable(loop.next, body) && StepsAreRecordable(loop.condition, body) &&
         StepsAreRecordable(loop.body, body) && body->launches <= kMostLaunches;
}

// Kernels are loaded on first use, which is not possible during capture; all branches must have run before.
bool GpuExecutor::IsReady(const Prepared& loop) const {
  return loop.repeats_itself && !is_recording_ && options_->max_seconds <= 0 && options_->max_steps <= 0 &&
         options_->observer == nullptr &&
         std::all_of(loop.branches.begin(), loop.branches.end(), [&](const plan::Step* branch) {
           const std::vector<bool>& taken = prepared_.at(branch).taken;
           return !taken.empty() && std::find(taken.begin(), taken.end(), false) == taken.end();
         });
}

// The first predicate must be true.
absl::Status GpuExecutor::RunRecorded(const plan::LoopStep& loop, Prepared& prepared) {
  if (prepared.recording == nullptr || prepared.recorded_pointers != pointers_) {
    prepared.recording = nullptr;
    prepared.recorded_pointers = pointers_;
    HLO_ASSIGN_OR_RETURN(prepared.recording,
                         gpu_->RecordLoop(static_cast<const bool*>(pointers_[loop.predicate]),
                                          [this, &loop]() -> absl::Status {
                                            is_recording_ = true;
                                            absl::Status status = RunIteration(loop);
                                            if (status.ok()) status = RunSteps(loop.condition);
                                            is_recording_ = false;
                                            return status;
                                          }));
  }
  HLO_RETURN_IF_ERROR(prepared.recording->Run());
  if (prepared.recorded_pointers != pointers_)
    return absl::InternalError("buffers have changed places in a recorded loop");
  return absl::OkStatus();
}

absl::Status GpuExecutor::RunBranchSteps(const plan::BranchStep::Branch& taken) {
  HLO_RETURN_IF_ERROR(RunSteps(taken.steps));
  return RunMoves(taken.results);
}

absl::Status GpuExecutor::RunBranch(const plan::BranchStep& branch, Prepared& prepared) {
  const bool is_pred = branch.choice_type == ElementType::kPred;
  if (is_recording_) {
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
  prepared.taken.resize(branch.branches.size());
  prepared.taken[&taken - branch.branches.data()] = true;
  return RunBranchSteps(taken);
}

int64_t GpuExecutor::StagedBytes(const std::vector<Move>& moves) const {
  int64_t bytes = 0;
  for (const Move& move : moves)
    bytes += ChangesPlaces(move) ? 0 : device::Aligned(plan_.buffers[move.to].byte_count);
  return bytes;
}

// True if the move exchanges its buffers instead of copying.
bool GpuExecutor::ChangesPlaces(const Move& move) const {
  return move.exchange && plan_.buffers[move.to].byte_count > kMostExchangedBytes;
}

// True if the move is from an argument to the result that aliases it.
bool GpuExecutor::IsInPlace(const Move& move) const {
  return plan_.buffers[move.to].donor == move.from && pointers_[move.to] == pointers_[move.from];
}

absl::Status GpuExecutor::RunMoves(const std::vector<Move>& moves) {
  const auto copies = [&](const Move& move) { return !ChangesPlaces(move) && !IsInPlace(move); };
  const auto copy = [&](void* to, const void* from, const Move& move) {
    return to == from ? absl::OkStatus() : gpu_->Copy(to, from, plan_.buffers[move.to].byte_count);
  };
  if (moves.size() == 1 && !ChangesPlaces(moves[0]))
    return copy(pointers_[moves[0].to], pointers_[moves[0].from], moves[0]);
  // The moves are simultaneous, so sources are staged before any target is written.
  std::byte* at = memory_.data() + staging_;
  for (const Move& move : moves) {
    if (!copies(move)) continue;
    HLO_RETURN_IF_ERROR(copy(at, pointers_[move.from], move));
    at += device::Aligned(plan_.buffers[move.to].byte_count);
  }
  for (const Move& move : moves) {
    if (ChangesPlaces(move)) std::swap(pointers_[move.to], pointers_[move.from]);
  }
  at = memory_.data() + staging_;
  for (const Move& move : moves) {
    if (!copies(move)) continue;
    HLO_RETURN_IF_ERROR(copy(pointers_[move.to], at, move));
    at += device::Aligned(plan_.buffers[move.to].byte_count);
  }
  return absl::OkStatus();
}

}  // namespace hlo::exec
