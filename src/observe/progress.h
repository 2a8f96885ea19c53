#pragma once
// Shows on a terminal how far long work is: a line that is rewritten a few times a second, once the work has
// lasted for a second. A thread of its own writes it, so that a single long step is no silence.

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

namespace hlo {

// The steps of a run, and before and after it what the thread that has made the object reports.
class Progress : public Observer, public ActivityListener {
 public:
  // `terminal` must be one; the caller has looked.
  explicit Progress(std::FILE* terminal, std::chrono::milliseconds delay = std::chrono::milliseconds(1000),
                    std::chrono::milliseconds interval = std::chrono::milliseconds(200));
  // Erases the line.
  ~Progress() override;

  bool needs_inner_steps() const override { return false; }
  absl::Status BeforeStep(const StepView& step) override;
  void Finish(const absl::Status& outcome) override;
  void OnActivity(const Activity& activity) override;

 private:
  using Clock = std::chrono::steady_clock;
  void ShowUntilTheEnd(std::chrono::milliseconds delay, std::chrono::milliseconds interval);
  std::string Line() const;
  void Print(const std::string& line);

  std::FILE* terminal_;
  const Clock::time_point start_ = Clock::now();
  bool shown_ = false;
  // Of the run; the instruction is null outside of it.
  std::atomic<const Instruction*> instruction_ = nullptr;
  std::atomic<int64_t> steps_ = 0;
  std::atomic<bool> wants_loops_ = false;  // The next step is to say where the loops are.
  bool was_in_loops_ = false;              // When it last did.

  mutable std::mutex mutex_;  // Of what follows.
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::string loops_, activity_, amount_;
  ActivityScope scope_;
  std::thread thread_;
};

}  // namespace hlo
