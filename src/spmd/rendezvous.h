#pragma once
// Exchanges values between devices that are threads of this process, or of several processes (spmd 4). If no
// device of the run can run, that is a deadlock, which is detected without a time limit.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "spmd/collectives.h"
#include "spmd/device_scheduler.h"
#include "spmd/instruction_numbers.h"
#include "spmd/matching.h"
#include "spmd/process_group.h"
#include "spmd/wire.h"

namespace hlo::spmd {

struct RendezvousOptions {
  // If false, collectives of different instructions are paired in the order of arrival before a deadlock is
  // reported.
  bool strict_match = false;
  double timeout_seconds = 0;    // The longest time that a device waits for others; 0 means no limit.
  bool emulate_xla_cpu = false;  // See Collectives.
  int max_running = 1;           // The number of devices of a process that run at a time.
};

// A run whose devices are in several processes. All of them give the same numbers to instructions.
struct DistributedRun {
  ProcessGroup* processes = nullptr;  // Null: all devices are in this process.
  int64_t number = 0;
  const InstructionNumbers* instructions = nullptr;
};

// Every process has one for a run. That of process 0 matches the calls of all devices (matching.h) and sends
// its decisions to the others. Values are sent directly between the processes that have and need them.
class Rendezvous {
 public:
  Rendezvous(const ExchangeTable& table, const RendezvousOptions& options, const DistributedRun& run = {});
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // The devices of this process.
  const DeviceRange& devices() const { return range_; }

  // The device's thread calls Enter first, which waits for its turn (device_scheduler.h), then uses its
  // collectives, and calls Leave with the result of its run.
  void Enter(int64_t device);
  Collectives& CollectivesOf(int64_t device);
  void Leave(int64_t device, absl::StatusOr<Literal> result);

  // A flag that is set when a device of the run has waited too long. Devices that still run should then end
  // with Cancelled.
  const std::atomic<bool>* stopped() const { return &stopped_; }
  bool has_time_limit() const { return options_.timeout_seconds > 0; }

  // Lets all devices of this process fail.
  static void ReportFailure(ProcessGroup& processes, int64_t run, int64_t device_count,
                            const absl::Status& status);

  // In process 0, after the threads have ended: waits for the devices of other processes.
  void WaitForOthers();
  // Return the outcome of the run (see Matching), then, and the results of all devices.
  absl::Status Outcome() const;
  std::vector<std::string> Warnings() const;
  std::vector<Literal> TakeResults() { return std::move(results_); }

 private:
  struct Device;
  class DeviceCollectives;
  enum class RunMessage : uint8_t;
  using Lock = DeviceScheduler::Lock;

  absl::StatusOr<Values> Meet(Device& device, const Instruction& collective, Values values,
                              Collectives::Combine combine);
  absl::Status Send(Device& device, const Route& route, Values values);
  absl::StatusOr<Values> Receive(Device& device, const Route& route);
  void Warn(const std::string& warning);

  // Waiting calls.
  void Answer(Device& device, absl::StatusOr<Values> values);
  void Wait(Device& device, Lock& lock);
  void GiveUpIfOverdue(Device& device);
  void StopAll();
  void CombineParts(Device& leader, Collectives::Combine combine, Lock& lock);

  // Decisions, of which each process executes those about its devices.
  void ExecuteDecisions();
  void StartToCombine(int64_t leader, std::vector<int64_t> members);
  void AddPart(int64_t leader, size_t position, absl::StatusOr<Values> part);
  void SendPart(int64_t member, int64_t leader, size_t position);
  void DeliverSend(int64_t device, SendId send);

  // Messages between processes.
  bool IsLocal(int64_t device) const { return device >= range_.first && device < range_.last; }
  int RankOfDevice(int64_t device) const;
  Device& At(int64_t device) { return *devices_[device - range_.first]; }
  MessageWriter Start(RunMessage kind) const;
  void SendTo(int rank, MessageWriter& message) const;
  void Handle(std::string_view message);
  void HandleReport(RunMessage kind, MessageReader& reader);
  void AddRoute(const Route& route, MessageWriter& message) const;
  Route ReadRoute(MessageReader& reader) const;

  const ExchangeTable& table_;
  const RendezvousOptions options_;
  const DistributedRun run_;
  DeviceRange range_;
  mutable std::mutex mutex_;
  DeviceScheduler scheduler_;
  std::vector<std::unique_ptr<Device>> devices_;  // Those of this process.
  std::atomic<bool> stopped_ = false;
  std::map<SendId, absl::StatusOr<Values>> sent_values_;  // Values for devices of this process.
  // In process 0.
  std::unique_ptr<Matching> matching_;
  std::vector<Literal> results_;
  std::condition_variable all_left_;
};

}  // namespace hlo::spmd
