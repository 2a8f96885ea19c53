#pragma once
// The processes that share the devices of runs. Process 0 runs the program and sends the others jobs: to load
// a module, or to run their part of the devices.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "spmd/transport.h"
#include "spmd/wire.h"

namespace hlo::spmd {

// The view of one process. Process numbers are ranks in [0, size()), as in MPI. Functions may be called from
// several threads.
class ProcessGroup {
 public:
  explicit ProcessGroup(std::unique_ptr<Transport> transport);
  ~ProcessGroup();  // In process 0, it ends the others.
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }

  // See Transport.
  void LimitSilence() { transport_->LimitSilence(); }

  // All processes call it first, with the version and the arguments of the program. In process 0 it returns
  // FailedPrecondition if those of another process differ.
  absl::Status CheckSameProgram(const std::string& version, const std::vector<std::string>& arguments);

  // Returns a message to which the caller adds a job.
  static MessageWriter StartJob();
  // In process 0: sends a job to another process.
  void SendJob(int rank, std::string job);
  // In other processes: waits for the next job. Returns nullopt when there are no more.
  std::optional<std::string> NextJob();

  // Messages of a run go to `receive` between Attach and Detach, one at a time, also those that came earlier.
  // Later ones are dropped. Runs have increasing numbers.
  using Receive = std::function<void(std::string_view message)>;
  void Attach(int64_t run, Receive receive);
  void Detach();
  // Returns a message of a run, to which the caller adds its contents; SendToRun sends it to a process.
  static MessageWriter StartRunMessage(int64_t run);
  void SendToRun(int rank, std::string message);

  // State of process 0: the number of the last run, and of the module that the others have.
  int64_t last_run = 0, last_module = 0, sent_module = 0;

 private:
  void Deliver(int rank, std::string message);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> jobs_;
  std::vector<std::optional<std::string>> programs_;
  int64_t run_ = 0;
  Receive receive_;  // Empty between runs.
  std::deque<std::pair<int64_t, std::string>> early_;
  std::unique_ptr<Transport> transport_;  // It is closed first: its thread uses the other members.
};

// The devices [first, last) of a process: as many in each as possible, those of lower numbers in lower
// processes.
struct DeviceRange {
  int64_t first = 0, last = 0;
};
// Return the devices of a process, and the process of a device, for `count` devices in `size` processes.
DeviceRange DevicesOf(int rank, int size, int64_t count);
int RankOf(int64_t device, int size, int64_t count);

}  // namespace hlo::spmd
