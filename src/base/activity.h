#pragma once
// Reports the progress of a thread's long operations to a listener.

#include <cstdint>
#include <string_view>

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

}  // namespace hlo
