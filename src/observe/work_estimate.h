#pragma once
// Estimates how much of a run is done, from the cost of its instructions and the trip counts of its loops.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "hlo_run/cost.h"
#include "hlo_run/observer.h"

namespace hlo {

// Receives the steps outside of loops, and from time to time the iterations of the running loops.
class WorkEstimate {
 public:
  // `depth` is that of the call stack. A step may begin several times, or not end.
  void Begin(const Instruction& step, int64_t depth);
  // `cost` returns that of all instructions of the step.
  void End(const Instruction& step, int64_t depth, absl::FunctionRef<Cost()> cost);
  // Sets the running loops, outermost first.
  void SetLoops(absl::Span<const RunningLoop> loops);

  // Returns the part of the work that is done, from 0 to 1. It is unknown until all loops of unknown trip
  // count have ended, except those within loops.
  std::optional<double> DonePart();

 private:
  struct Open {
    const Instruction* step;
    int64_t depth;
    double done;  // The work before the step.
  };
  double WorkOf(const Instruction& instruction);
  double WorkOf(const Computation& computation);
  // Returns the part of the first loop that is done.
  double PartOf(absl::Span<const RunningLoop> loops);
  std::optional<int64_t> TripCountOf(const Instruction& loop);
  bool HasUnknownLoop();
  // A loop whose trip count is unknown counts as one iteration once it has ended.
  void NoteEnd(const Instruction& loop);

  std::vector<Open> open_;
  double done_ = 0;
  std::vector<RunningLoop> loops_;
  const Computation* entry_ = nullptr;
  absl::flat_hash_map<const Computation*, double> work_of_;
  absl::flat_hash_map<const Instruction*, std::optional<int64_t>> trip_count_of_;
};

}  // namespace hlo
