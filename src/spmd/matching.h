#pragma once
// Decides which calls of devices belong together: the members of a group that meet at a collective, and the
// sends and receives of a chain. It also finds devices that wait for each other. It neither holds values nor
// knows threads or processes: callers report the calls of devices, in any order between devices, and execute
// the decisions.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "spmd/collectives.h"

namespace hlo::spmd {

// Values in transit, named by the device that sent them and the number of the send on this device.
using SendId = std::pair<int64_t, int64_t>;

// The values with which a device meets its group, if they are in this process; otherwise their signature.
struct Operands {
  const Values* values = nullptr;
  std::string signature;
};

class Matching {
 public:
  // Without `strict_match`, collectives of different instructions are paired in the order of arrival before a
  // deadlock is reported.
  Matching(const ExchangeTable& table, bool strict_match);
  ~Matching();

  struct Decision {
    enum class Kind : uint8_t {
      kCombine,  // `device` shall combine the values of `members`, which are in the order of the group.
      kDeliver,  // `device` receives the values of `send`.
      kFail,     // The call of `device` fails with `status`.
    };
    Kind kind;
    int64_t device;
    std::vector<int64_t> members;
    SendId send;
    absl::Status status;
  };

  // A device waits for its group, sends, or waits for a value. It makes no other call before a decision about
  // this one. It must be a member of a group; `operands` must be valid until the decision.
  void Arrive(int64_t device, const Instruction& collective, Operands operands);
  void Post(const Route& route, int64_t number);
  void Expect(int64_t device, const Route& route);
  // Ends the wait of a device with an error, if it still waits. If `seconds` is given, the error is that of a
  // device that has waited for so long; other devices are then cancelled as a consequence.
  void GiveUp(int64_t device, const absl::Status& status);
  void GiveUp(int64_t device, double seconds);
  // A device has ended.
  void Leave(int64_t device, const absl::Status& outcome);
  // Notes a warning, once.
  void Warn(const std::string& warning);

  // Returns the decisions since the last call, in order.
  std::vector<Decision> TakeDecisions() { return std::exchange(decisions_, {}); }
  bool HaveAllLeft() const { return left_ == devices_.size(); }

  // Return the outcome of the run after all devices have left, and its warnings. The outcome is that of the
  // first device whose failure is not the consequence of another's, with its name.
  absl::Status Outcome() const;
  std::vector<std::string> Warnings() const;

 private:
  struct Device;
  struct Call;
  // Instruction, execution, and number of the group.
  using EventKey = std::tuple<const Instruction*, int64_t, int32_t>;
  using RouteKey = std::tuple<const Instruction*, std::string, int64_t, int64_t>;
  struct PendingSend {
    const Instruction* sender;
    int64_t number;
  };

  void Combine(Device& leader, const std::vector<Call*>& calls);
  void Deliver(Device& target, int64_t source, int64_t number);
  void Fail(Device& device, const absl::Status& status);
  void FailPeers(const Device& failed);
  void Resolve();
  bool PairByArrival();
  std::string Report() const;
  std::string DescribeWait(const Call& call) const;
  std::string DescribeAbsent(int64_t device, const Call& call) const;
  std::string NameOf(int64_t device) const { return table_.grid().NameOf(device); }
  static RouteKey KeyOf(const Route& route);

  const ExchangeTable& table_;
  const bool strict_match_;
  std::vector<std::unique_ptr<Device>> devices_;
  size_t running_ = 0, left_ = 0;  // All others wait.
  bool has_timed_out_ = false;
  std::map<EventKey, std::vector<Call*>> events_;  // The arrived calls by position; null for the others.
  std::map<RouteKey, std::deque<PendingSend>> messages_;
  std::vector<std::string> warnings_;
  std::vector<Decision> decisions_;
};

}  // namespace hlo::spmd
