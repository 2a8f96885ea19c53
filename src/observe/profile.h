#pragma once
// Measures the run time by instruction, opcode and kernel together with the cost, and writes traces for
// Chrome's viewer.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo_run/cost.h"
#include "hlo_run/observer.h"

namespace hlo {

class Profile : public Observer {
 public:
  // Keeps at most `max_events` events for the trace.
  explicit Profile(int64_t max_events = 0) : max_events_(max_events), start_(Clock::now()) {}
  absl::Status BeforeStep(const StepView& step) override;
  absl::Status AfterStep(const StepView& step) override;
  // Counts the time of steps that a run has begun and not ended.
  void Finish(const absl::Status& outcome) override;

  struct Row {
    const Instruction* instruction;
    std::string_view kernel;
    int64_t runs = 0;    // The number of complete executions.
    double seconds = 0;  // Excludes nested steps.
    Cost cost;           // The cost of one execution.
  };
  // Returns the rows in order of decreasing time.
  std::vector<Row> ByInstruction() const;

  struct Group {
    std::string_view opcode, kernel;
    int64_t runs = 0;
    double seconds = 0;
    double flops = 0, bytes = 0;  // Sums over all executions.
  };
  std::vector<Group> ByOpcode() const;

  // Returns Chrome's JSON trace format with times in microseconds, and a row for each profile: that of a
  // device.
  friend std::string ChromeTrace(absl::Span<const Profile> profiles);
  // Returns the number of events beyond `max_events`.
  int64_t dropped_events() const { return dropped_events_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    int32_t row;
    Clock::time_point begin;
    Clock::duration inner{};
    bool has_inner = false;
  };
  struct Event {
    int32_t row;
    Clock::time_point begin, end;
  };
  int32_t RowOf(const StepView& step);
  // Ends the innermost step.
  Open Close(Clock::time_point end);

  int64_t max_events_;
  Clock::time_point start_;
  std::vector<Open> open_;
  std::vector<Row> rows_;
  absl::flat_hash_map<std::pair<const Instruction*, const char*>, int32_t> row_of_;
  std::vector<Event> events_;
  int64_t dropped_events_ = 0;
};

std::string ChromeTrace(absl::Span<const Profile> profiles);

}  // namespace hlo
