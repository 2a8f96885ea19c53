#pragma once
// Shows the progress of long operations in a terminal line that is rewritten several times a second, starting
// after one second. A separate thread writes it, so that it stays current during a long step.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "base/activity.h"
#include "hlo_run/observer.h"
#include "observe/remaining_time.h"
#include "observe/work_estimate.h"

namespace hlo {

// Shows the steps of a run and, outside of runs, the activities that the creating thread reports.
class Progress : public Observer, public ActivityListener {
 public:
  // `terminal` must be a terminal.
  explicit Progress(std::FILE* terminal, std::chrono::milliseconds delay = std::chrono::milliseconds(1000),
                    std::chrono::milliseconds interval = std::chrono::milliseconds(200));
  // Erases the line.
  ~Progress() override;

  bool needs_inner_steps() const override { return false; }
  bool needs_all_steps() const override { return false; }
  absl::Status BeforeStep(const StepView& step) override;
  absl::Status AfterStep(const StepView& step) override;
  void Finish(const absl::Status& outcome) override;
  void OnActivity(const Activity& activity) override;

  // Erases the line, so that other text can be written to the terminal.
  void Erase();

  // Returns how far the work is, or was when a run was cancelled.
  std::string Text() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kNoLoop = INT64_MAX;
  bool IsOutsideOfLoops(const StepView& step);
  void ShowUntilTheEnd(std::chrono::milliseconds delay, std::chrono::milliseconds interval);
  std::string Line() const;
  void Print(const std::string& line);

  std::FILE* terminal_;
  const Clock::time_point start_ = Clock::now();
  bool shown_ = false;
  // The state of the run; the instruction is null while no module runs.
  std::atomic<const Instruction*> instruction_ = nullptr;
  std::atomic<int64_t> steps_ = 0;
  std::atomic<bool> wants_loops_ = false;  // If true, the next step reports its loops.
  bool was_in_loops_ = false;              // True if the last report contained loops.
  int64_t loop_depth_ = kNoLoop;           // The depth of the loop that runs; kNoLoop if none is known.
  WorkEstimate work_;

  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::string loops_, activity_, cancelled_at_;
  std::string counted_of_;        // The total of the activity, such as " of 7 files".
  int64_t counted_ = 0;           // The part of it that is done.
  RemainingTime run_, counting_;  // Those of the run and of the activity.
  ActivityScope scope_;
  std::thread thread_;
};

}  // namespace hlo
