// Loops on the GPU, and the moves between their turns. The host takes part as little as it can: it counts the
// turns where the plan knows how many there are, else lets the GPU repeat a recorded turn, and asks for the
// predicate where neither is possible.

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "device/align.h"
#include "exec/gpu_executor.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::exec {
namespace {

using plan::Move;

// Larger buffers change places between turns rather than be copied: what a recorded turn cannot do.
constexpr int64_t kMostExchangedBytes = 1 << 20;
// Of a recorded turn.
constexpr int64_t kMostLaunches = 4096;

}  // namespace

absl::Status GpuExecutor::RunLoop(const plan::LoopStep& loop, Prepared& prepared) {
  HLO_RETURN_IF_ERROR(RunMoves(loop.initial));
  // Whoever counts steps or looks at them sees each turn's condition.
  const bool watched = options_->max_steps > 0 || options_->observer != nullptr;
  if (!watched) {
    HLO_ASSIGN_OR_RETURN(const std::optional<int64_t> turns, TurnsOf(loop));
    if (turns.has_value()) {
      for (int64_t turn = 0; turn < *turns; ++turn) HLO_RETURN_IF_ERROR(RunTurn(loop));
      return absl::OkStatus();
    }
  }
  for (bool is_first = true;; is_first = false) {
    HLO_RETURN_IF_ERROR(RunSteps(loop.condition));
    bool goes_on = false;
    HLO_RETURN_IF_ERROR(gpu_->ToHost(&goes_on, pointers_[loop.predicate], sizeof goes_on));
    if (!goes_on) return absl::OkStatus();
    // The first turn has loaded what kernels need.
    if (!is_first && prepared.repeats_itself && !watched && options_->max_seconds <= 0) {
      const absl::Status status = RunRecorded(loop, prepared);
      if (!absl::IsUnimplemented(status)) return status;
      prepared.repeats_itself = false;
    }
    HLO_RETURN_IF_ERROR(RunTurn(loop));
  }
}

absl::Status GpuExecutor::RunTurn(const plan::LoopStep& loop) {
  HLO_RETURN_IF_ERROR(RunSteps(loop.body));
  return RunMoves(loop.next);
}

// After the initial moves. What is no constant is read once.
absl::StatusOr<std::optional<int64_t>> GpuExecutor::TurnsOf(const plan::LoopStep& loop) {
  if (!loop.counted.has_value()) return std::nullopt;
  const plan::CountedLoop& counted = *loop.counted;
  if (is_recording_ && !(counted.first_value.has_value() && counted.limit_value.has_value()))
    return absl::InternalError("a recorded loop's number of turns is not known");
  const auto value = [&](const std::optional<int64_t>& constant, Slot slot) -> absl::StatusOr<int64_t> {
    if (constant.has_value()) return *constant;
    alignas(8) std::byte element[8] = {};
    HLO_RETURN_IF_ERROR(gpu_->ToHost(element, pointers_[slot], ByteCount(counted.type)));
    return cpu::ReadInteger(counted.type, element);
  };
  HLO_ASSIGN_OR_RETURN(const int64_t first, value(counted.first_value, counted.counter));
  HLO_ASSIGN_OR_RETURN(const int64_t limit, value(counted.limit_value, counted.limit));
  return plan::TurnsOf(counted, first, limit);
}

// Kernels alone, and loops that are counted without looking at values.
bool GpuExecutor::RepeatsItself(const plan::LoopStep& loop, int64_t* launches) const {
  const auto moves_fit = [&](const std::vector<Move>& moves) {
    *launches += 2 * static_cast<int64_t>(moves.size());
    return std::all_of(moves.begin(), moves.end(), [&](const Move& move) {
      return !move.exchange || plan_.buffers[move.to].byte_count <= kMostExchangedBytes;
    });
  };
  if (!moves_fit(loop.next)) return false;
  for (const std::vector<plan::Step>* steps : {&loop.condition, &loop.body}) {
    for (const plan::Step& step : *steps) {
      const Prepared& prepared = prepared_.at(&step);
      if (const auto* inner = std::get_if<plan::LoopStep>(&step.what)) {
        if (!inner->counted.has_value() || !inner->counted->first_value.has_value() ||
            !inner->counted->limit_value.has_value() || !moves_fit(inner->initial))
          return false;
        const std::optional<int64_t> turns =
            plan::TurnsOf(*inner->counted, *inner->counted->first_value, *inner->counted->limit_value);
        int64_t of_a_turn = 0;
        if (!turns.has_value() || !RepeatsItself(*inner, &of_a_turn) ||
            *turns > kMostLaunches / std::max<int64_t>(1, of_a_turn))
          return false;
        *launches += *turns * of_a_turn;
      } else if (std::holds_alternative<plan::BranchStep>(step.what) || !prepared.reason.empty()) {
        return false;
      } else {
        *launches += std::max<int64_t>(1, static_cast<int64_t>(prepared.programs.size()));
      }
    }
  }
  return *launches <= kMostLaunches;
}

// The predicate is true.
absl::Status GpuExecutor::RunRecorded(const plan::LoopStep& loop, Prepared& prepared) {
  if (prepared.recording == nullptr || prepared.recorded_pointers != pointers_) {
    prepared.recording = nullptr;
    prepared.recorded_pointers = pointers_;
    HLO_ASSIGN_OR_RETURN(prepared.recording,
                         gpu_->RecordLoop(static_cast<const bool*>(pointers_[loop.predicate]),
                                          [this, &loop]() -> absl::Status {
                                            is_recording_ = true;
                                            absl::Status status = RunTurn(loop);
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

int64_t GpuExecutor::StagedBytes(const std::vector<Move>& moves) const {
  int64_t bytes = 0;
  for (const Move& move : moves) {
    const int64_t size = plan_.buffers[move.to].byte_count;
    bytes += !move.exchange || size <= kMostExchangedBytes ? device::Aligned(size) : 0;
  }
  return bytes;
}

// Whether the move is from an argument to the result that took its memory.
bool GpuExecutor::IsInPlace(const Move& move) const {
  return plan_.buffers[move.to].takes == move.from && pointers_[move.to] == pointers_[move.from];
}

absl::Status GpuExecutor::RunMoves(const std::vector<Move>& moves) {
  const auto exchanges = [&](const Move& move) { return move.exchange && !is_recording_; };
  const auto copies = [&](const Move& move) { return !exchanges(move) && !IsInPlace(move); };
  const auto copy = [&](void* to, const void* from, const Move& move) {
    return to == from ? absl::OkStatus() : gpu_->Copy(to, from, plan_.buffers[move.to].byte_count);
  };
  if (moves.size() == 1 && !exchanges(moves[0]))
    return copy(pointers_[moves[0].to], pointers_[moves[0].from], moves[0]);
  // Copies read before anything changes.
  std::byte* at = memory_.data() + staging_;
  for (const Move& move : moves) {
    if (!copies(move)) continue;
    HLO_RETURN_IF_ERROR(copy(at, pointers_[move.from], move));
    at += device::Aligned(plan_.buffers[move.to].byte_count);
  }
  for (const Move& move : moves) {
    if (exchanges(move)) std::swap(pointers_[move.to], pointers_[move.from]);
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
