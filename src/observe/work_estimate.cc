#include "observe/work_estimate.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

// Returns a time in about nanoseconds; only ratios matter.
double TimeOf(const Cost& cost) {
  constexpr double kStep = 100, kFlop = 0.2, kTranscendental = 5, kByte = 0.5;
  return kStep + kFlop * static_cast<double>(cost.flops) +
         kTranscendental * static_cast<double>(cost.transcendentals) +
         kByte * (static_cast<double>(cost.bytes_read) + static_cast<double>(cost.bytes_written));
}

// True if the steps of called computations are those of a run, instead of parts of the instruction's step.
bool CallsSteps(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kConditional || opcode == Opcode::kWhile ||
         opcode == Opcode::kAsyncStart;
}

}  // namespace

void WorkEstimate::Begin(const Instruction& step, int64_t depth) {
  if (entry_ == nullptr) entry_ = step.parent()->module()->entry();
  while (!open_.empty() && open_.back().depth >= depth) open_.pop_back();
  open_.push_back({&step, depth, done_});
}

void WorkEstimate::End(const Instruction& step, int64_t depth, absl::FunctionRef<Cost()> cost) {
  while (!open_.empty() && open_.back().depth > depth) open_.pop_back();
  const bool has_begun = !open_.empty() && open_.back().step == &step && open_.back().depth == depth;
  if (has_begun) done_ = open_.back().done;
  done_ += CallsSteps(step.opcode()) ? WorkOf(step) : TimeOf(cost());
  if (step.opcode() != Opcode::kWhile) return;
  loops_.clear();
  NoteEnd(step);
}

void WorkEstimate::SetLoops(absl::Span<const RunningLoop> loops) {
  // Bytecode does not report the end of loops.
  if (!loops_.empty() && (loops.empty() || loops[0].instruction != loops_[0].instruction)) {
    const Instruction& ended = *loops_[0].instruction;
    loops_.clear();
    done_ += WorkOf(ended);
    NoteEnd(ended);
  }
  loops_.assign(loops.begin(), loops.end());
  // Bytecode may report nothing before its loops.
  if (entry_ == nullptr && !loops.empty()) entry_ = loops[0].instruction->parent()->module()->entry();
  for (const RunningLoop& loop : loops) {
    if (!loop.trip_count.has_value() || TripCountOf(*loop.instruction) == loop.trip_count) continue;
    trip_count_of_[loop.instruction] = loop.trip_count;
    work_of_.clear();
  }
}

void WorkEstimate::NoteEnd(const Instruction& loop) {
  if (!TripCountOf(loop).has_value()) trip_count_of_[&loop] = 1;
}

std::optional<int64_t> WorkEstimate::TripCountOf(const Instruction& loop) {
  const auto [found, is_new] = trip_count_of_.try_emplace(&loop);
  if (is_new) found->second = StaticTripCount(loop);
  return found->second;
}

double WorkEstimate::WorkOf(const Instruction& instruction) {
  if (!CallsSteps(instruction.opcode())) return TimeOf(InstructionCost(instruction));
  if (instruction.opcode() == Opcode::kWhile) {
    const auto count = static_cast<double>(TripCountOf(instruction).value_or(1));
    return count * (WorkOf(*instruction.Get<attr::body>()) + WorkOf(*instruction.Get<attr::condition>()));
  }
  double most = 0;  // One branch of a conditional is taken.
  for (const Computation* called : instruction.called_computations()) most = std::max(most, WorkOf(*called));
  return most;
}

double WorkEstimate::WorkOf(const Computation& computation) {
  if (const auto found = work_of_.find(&computation); found != work_of_.end()) return found->second;
  double work = 0;
  for (const Instruction* instruction : computation.instructions()) work += WorkOf(*instruction);
  work_of_[&computation] = work;
  return work;
}

double WorkEstimate::PartOf(absl::Span<const RunningLoop> loops) {
  const Instruction& loop = *loops[0].instruction;
  const std::optional<int64_t> count = TripCountOf(loop);
  if (loops[0].iteration == 0 || !count.has_value() || *count <= 0) return 0;
  double iteration = 0;  // The part of the current iteration.
  if (loops.size() > 1 && loop.opcode() == Opcode::kWhile) {
    const Computation& body = *loop.Get<attr::body>();
    const Instruction& inner = *loops[1].instruction;
    double done = PartOf(loops.subspan(1)) * WorkOf(inner);
    for (const Instruction* before : body.instructions()) {
      if (inner.parent() != &body || before == &inner) break;
      done += WorkOf(*before);
    }
    const double all = WorkOf(body);
    iteration = all > 0 ? std::min(done / all, 1.0) : 0;
  }
  return std::min((static_cast<double>(loops[0].iteration - 1) + iteration) / static_cast<double>(*count),
                  1.0);
}

bool WorkEstimate::HasUnknownLoop() {
  absl::flat_hash_set<const Computation*> seen = {entry_};
  std::vector<const Computation*> work = {entry_};
  while (!work.empty()) {
    const Computation& computation = *work.back();
    work.pop_back();
    for (const Instruction* instruction : computation.instructions()) {
      if (!CallsSteps(instruction->opcode())) continue;
      if (instruction->opcode() == Opcode::kWhile) {
        if (!TripCountOf(*instruction).has_value()) return true;
        continue;
      }
      for (const Computation* called : instruction->called_computations()) {
        if (seen.insert(called).second) work.push_back(called);
      }
    }
  }
  return false;
}

std::optional<double> WorkEstimate::DonePart() {
  if (entry_ == nullptr || HasUnknownLoop()) return std::nullopt;
  const double all = WorkOf(*entry_);
  const double in_loop = loops_.empty() ? 0 : PartOf(loops_) * WorkOf(*loops_[0].instruction);
  return all > 0 ? std::min((done_ + in_loop) / all, 1.0) : 0;
}

}  // namespace hlo
