#pragma once
// Reports the progress of a thread's long operations to a listener, and ends them early.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace hlo {

struct Activity {
  // For example "reading x.npy"; empty means that the previous activity continues.
  std::string_view what;
  int64_t done = 0, total = 0;  // A total of 0 means unknown.
  std::string_view unit;        // The unit of `done` and `total`: "bytes", "elements".
};

class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  virtual void OnActivity(const Activity& activity) = 0;
};

// Forwards the reports of this thread to a listener for the lifetime of the scope.
class ActivityScope {
 public:
  explicit ActivityScope(ActivityListener* listener);  // May be null.
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  ActivityListener* outer_;
};

// Returns the listener of this thread, to which other threads may report, too; null if there is none.
ActivityListener* CurrentActivityListener();
// Does nothing without a listener. Loops should report once per some milliseconds of work.
void Report(const Activity& activity);

// Ends the reading and generating of values by this thread once the flag is set, for the lifetime of the
// scope. Runs have a flag of their own (EvaluateOptions::cancel).
class CancelScope {
 public:
  explicit CancelScope(const std::atomic<bool>* flag);  // May be null.
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

// Returns Cancelled if the flag of this thread is set. Loops should check it as often as they report.
absl::Status CheckCancelled();

}  // namespace hlo
