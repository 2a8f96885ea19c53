#pragma once
// Says what a thread is doing where that may take long, for whoever shows progress.

#include <cstdint>
#include <string_view>

namespace hlo {

struct Activity {
  std::string_view what;        // Such as "reading x.npy"; empty: the thread is still at the last one.
  int64_t done = 0, total = 0;  // A total of 0 is not known.
  std::string_view unit = "";   // Of these: "bytes", "elements".
};

class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  virtual void OnActivity(const Activity& activity) = 0;
};

// Sends what this thread reports to a listener, from construction to destruction.
class ActivityScope {
 public:
  explicit ActivityScope(ActivityListener* listener);  // Null: nobody listens.
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  ActivityListener* outer_;
};

// Does nothing where nobody listens. Loops report once in some milliseconds of work.
void Report(const Activity& activity);

}  // namespace hlo
