#pragma once
// Exchanges values between devices that are threads of this process (spmd 4). It also schedules the threads:
// only some of them run at a time, and if none can run, that is a deadlock, which is found without a clock.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "spmd/collectives.h"

namespace hlo::spmd {

struct RendezvousOptions {
  // If false, collectives of different instructions are paired in the order of arrival before a deadlock is
  // reported.
  bool strict_match = false;
  double timeout_seconds = 0;  // The longest time that a device waits for others; 0 means no limit.
  int most_running = 1;        // The number of devices that run at a time.
};

class Rendezvous {
 public:
  Rendezvous(const ExchangeTable& table, const RendezvousOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // The device's thread calls Enter first, which waits for its turn, then uses its link, and calls Leave with
  // the outcome of its run.
  void Enter(int64_t device);
  Collectives& LinkOf(int64_t device);
  void Leave(int64_t device, const absl::Status& outcome);

  // Return the outcome of the run after all devices have left: that of the first device whose failure is not
  // the consequence of another's, with its name; and what does not stop a run.
  absl::Status Outcome() const;
  std::vector<std::string> Warnings() const;

 private:
  struct Device;
  struct Call;
  class Link;
  // Instruction, execution, and number of the group.
  using EventKey = std::tuple<const Instruction*, int64_t, int32_t>;
  using RouteKey = std::tuple<const Instruction*, std::string_view, int64_t, int64_t>;
  struct Parcel {
    const Instruction* sender;
    Values values;
  };
  using Lock = std::unique_lock<std::mutex>;

  absl::StatusOr<Values> Meet(Device& device, const Instruction& collective, Values values,
                              Collectives::Combine combine);
  absl::Status Send(const Route& route, Values values);
  absl::StatusOr<Values> Receive(Device& device, const Route& route);

  void Dispatch();
  void Release(Device& device);
  void Wait(Device& device, Call& call, Lock& lock);
  absl::Status WaitLimit(const Call& call) const;
  void Complete(const std::vector<Call*>& calls, Collectives::Combine combine, Lock& lock);
  void Fail(Call& call, const absl::Status& status);
  void FailPeers(const Device& failed);
  bool IsStuck() const;
  void Resolve();
  bool PairByArrival();
  std::string Report(const std::vector<const Call*>& waiting) const;
  std::string DescribeWait(const Call& call) const;
  std::string DescribeAbsent(int64_t device, const Call& call) const;
  std::string NameOf(int64_t device) const { return table_.grid().NameOf(device); }
  static RouteKey KeyOf(const Route& route);

  const ExchangeTable& table_;
  const RendezvousOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::deque<Device*> ready_;
  int running_ = 0;
  std::map<EventKey, std::vector<Call*>> events_;  // The arrived calls by position; null for the others.
  std::map<RouteKey, std::deque<Parcel>> messages_;
  std::vector<std::string> warnings_;
};

}  // namespace hlo::spmd
