#include "spmd/rendezvous.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/place.h"
#include "spmd/signature.h"

namespace hlo::spmd {
namespace {

using Clock = std::chrono::steady_clock;

void AddValues(const absl::StatusOr<Values>& values, MessageWriter& message) {
  message.Add(values.status());
  if (values.ok()) message.Add(*values);
}

absl::StatusOr<Values> ReadValues(MessageReader& reader) {
  HLO_RETURN_IF_ERROR(reader.ReadStatus());
  return reader.ReadLiterals();
}

}  // namespace

// The messages between the processes of a run. Those from kArrive on report to process 0 what devices do.
enum class Rendezvous::RunMessage : uint8_t {
  kCombine,     // A device shall combine the values of members; others send theirs.
  kSendPart,    // A member shall send its values to the device that combines.
  kDeliver,     // A device receives the values of a send.
  kFail,        // The call of a device fails.
  kPart,        // The values of a member.
  kResult,      // The result of a member.
  kSentValues,  // Values that were sent to a device.
  kStop,        // A device has waited too long.
  kArrive,
  kPost,
  kExpect,
  kGiveUp,
  kTimeOut,
  kWarn,
  kLeave,
};

// A device and the call that it has made.
struct Rendezvous::Device {
  int64_t id = 0;
  DeviceScheduler::Thread thread;
  std::unique_ptr<DeviceCollectives> collectives;
  int64_t sends = 0;

  Values values;        // Those given, then the results.
  absl::Status status;  // The call's outcome.
  bool is_answered = false;
  Clock::time_point since;
  bool has_given_up = false;
  std::optional<SendId> awaited;
  std::vector<int64_t> members;                    // Not empty: this device combines the values of the group.
  std::map<size_t, absl::StatusOr<Values>> parts;  // The values that have come, by position.

  void StartCall(Values given) {
    values = std::move(given);
    status = absl::OkStatus();
    is_answered = has_given_up = false;
  }
  bool CanCombine() const { return !members.empty() && parts.size() == members.size(); }
};

class Rendezvous::DeviceCollectives : public Collectives {
 public:
  DeviceCollectives(Rendezvous& rendezvous, Device& device) : rendezvous_(rendezvous), device_(device) {}

  int64_t device() const override { return device_.id; }
  const ExchangeTable& table() const override { return rendezvous_.table_; }
  bool emulates_xla_cpu() const override { return rendezvous_.options_.emulate_xla_cpu; }
  absl::StatusOr<Values> Meet(const Instruction& collective, Values values, Combine combine) override {
    return rendezvous_.Meet(device_, collective, std::move(values), combine);
  }
  absl::Status Send(const Route& route, Values values) override {
    return rendezvous_.Send(device_, route, std::move(values));
  }
  absl::StatusOr<Values> Receive(const Route& route) override { return rendezvous_.Receive(device_, route); }
  void Warn(const Instruction& instruction, const std::string& message) override {
    rendezvous_.Warn(fmt::format("{}{}: {}", PlaceOf(instruction), Describe(instruction), message));
  }

 private:
  Rendezvous& rendezvous_;
  Device& device_;
};

Rendezvous::Rendezvous(const ExchangeTable& table, const RendezvousOptions& options,
                       const DistributedRun& run)
    : table_(table),
      options_(options),
      run_(run),
      range_{0, table.grid().count()},
      scheduler_(options.max_running) {
  const int64_t count = table.grid().count();
  if (run.processes != nullptr) range_ = DevicesOf(run.processes->rank(), run.processes->size(), count);
  if (run.processes == nullptr || run.processes->rank() == 0) {
    matching_ = std::make_unique<Matching>(table, options.strict_match);
    results_.resize(count);
  }
  for (int64_t id = range_.first; id < range_.last; ++id) {
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->id = id;
    devices_.back()->collectives = std::make_unique<DeviceCollectives>(*this, *devices_.back());
    scheduler_.Add(devices_.back()->thread);
  }
  if (run.processes != nullptr)
    run.processes->Attach(run.number, [this](std::string_view message) { Handle(message); });
}

Rendezvous::~Rendezvous() {
  if (run_.processes != nullptr) run_.processes->Detach();
}

Collectives& Rendezvous::CollectivesOf(int64_t device) { return *At(device).collectives; }

void Rendezvous::Enter(int64_t id) {
  Lock lock(mutex_);
  DeviceScheduler::Start(At(id).thread, lock);
}

void Rendezvous::Leave(int64_t id, absl::StatusOr<Literal> result) {
  const Lock lock(mutex_);
  if (matching_ != nullptr) {
    matching_->Leave(id, result.status());
    if (result.ok()) results_[id] = *std::move(result);
    ExecuteDecisions();
  } else {
    MessageWriter message = Start(RunMessage::kLeave);
    message.Add(id).Add(result.status());
    if (result.ok()) message.Add(*result);
    SendTo(0, message);
  }
  scheduler_.End(At(id).thread);
}

void Rendezvous::ReportFailure(ProcessGroup& processes, int64_t run, int64_t device_count,
                               const absl::Status& status) {
  const DeviceRange range = DevicesOf(processes.rank(), processes.size(), device_count);
  for (int64_t id = range.first; id < range.last; ++id)
    processes.SendToRun(
        0, ProcessGroup::StartRunMessage(run).Add(RunMessage::kLeave).Add(id).Add(status).Take());
}

void Rendezvous::WaitForOthers() {
  Lock lock(mutex_);
  all_left_.wait(lock, [&] { return matching_->HaveAllLeft(); });
}

absl::Status Rendezvous::Outcome() const {
  const Lock lock(mutex_);
  return matching_->Outcome();
}

std::vector<std::string> Rendezvous::Warnings() const {
  const Lock lock(mutex_);
  return matching_->Warnings();
}

// --- Calls of devices

absl::StatusOr<Values> Rendezvous::Meet(Device& device, const Instruction& collective, Values values,
                                        Collectives::Combine combine) {
  const Groups* groups = table_.groups(collective);
  if (groups == nullptr) return absl::InternalError("its groups are not known");
  if (groups->places[device.id].group < 0) {
    return absl::FailedPreconditionError(
        fmt::format("{} is in none of its groups", table_.grid().NameOf(device.id)));
  }
  Lock lock(mutex_);
  device.StartCall(std::move(values));
  if (matching_ != nullptr) {
    matching_->Arrive(device.id, collective, {.values = &device.values});
    ExecuteDecisions();
  } else {
    SendTo(0, Start(RunMessage::kArrive)
                  .Add(device.id)
                  .Add(run_.instructions->Of(collective))
                  .Add(SignatureOf(collective, device.values)));
  }
  if (!device.is_answered && !device.CanCombine()) Wait(device, lock);
  if (device.CanCombine()) CombineParts(device, combine, lock);
  if (!device.status.ok()) return device.status;
  return std::move(device.values);
}

absl::Status Rendezvous::Send(Device& device, const Route& route, Values values) {
  const Lock lock(mutex_);
  const int64_t number = device.sends++;
  // The values are sent before process 0 can say which device receives it.
  if (IsLocal(route.target)) {
    sent_values_.emplace(SendId(device.id, number), std::move(values));
  } else {
    SendTo(RankOfDevice(route.target),
           Start(RunMessage::kSentValues).Add(device.id).Add(number).Add(absl::OkStatus()).Add(values));
  }
  if (matching_ != nullptr) {
    matching_->Post(route, number);
    ExecuteDecisions();
  } else {
    MessageWriter message = Start(RunMessage::kPost);
    AddRoute(route, message);
    SendTo(0, message.Add(number));
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> Rendezvous::Receive(Device& device, const Route& route) {
  Lock lock(mutex_);
  device.StartCall({});
  if (matching_ != nullptr) {
    matching_->Expect(device.id, route);
    ExecuteDecisions();
  } else {
    MessageWriter message = Start(RunMessage::kExpect);
    AddRoute(route, message);
    SendTo(0, message.Add(device.id));
  }
  if (!device.is_answered) Wait(device, lock);
  if (!device.status.ok()) return device.status;
  return std::move(device.values);
}

void Rendezvous::Warn(const std::string& warning) {
  const Lock lock(mutex_);
  if (matching_ != nullptr)
    matching_->Warn(warning);
  else
    SendTo(0, Start(RunMessage::kWarn).Add(warning));
}

// --- Waiting calls; the lock is held.

void Rendezvous::Answer(Device& device, absl::StatusOr<Values> values) {
  device.status = values.status();
  if (values.ok()) device.values = *std::move(values);
  device.is_answered = true;
  if (device.thread.IsWaiting()) scheduler_.Wake(device.thread);
}

// Waits until the call is answered, or the device can combine, and may run again.
void Rendezvous::Wait(Device& device, Lock& lock) {
  if (options_.timeout_seconds <= 0 && !Deadline::IsSet()) return scheduler_.Wait(device.thread, lock);
  device.since = Clock::now();
  const auto period = std::chrono::milliseconds(20 + static_cast<int64_t>(devices_.size()));
  scheduler_.Wait(device.thread, lock, period, [&] { GiveUpIfOverdue(device); });
}

// Ends the call of a waiting device if the deadline of the run or the timeout of collectives has passed. The
// call fails unless its answer is on the way.
void Rendezvous::GiveUpIfOverdue(Device& device) {
  if (device.has_given_up) return;
  const absl::Status deadline = Deadline::Check();
  const std::chrono::duration<double> waited = Clock::now() - device.since;
  const bool has_timed_out = options_.timeout_seconds > 0 && waited.count() >= options_.timeout_seconds;
  if (deadline.ok() && !has_timed_out) return;
  device.has_given_up = true;
  if (matching_ == nullptr) {
    SendTo(0, deadline.ok() ? Start(RunMessage::kTimeOut).Add(device.id)
                            : Start(RunMessage::kGiveUp).Add(device.id).Add(deadline));
    return;
  }
  if (deadline.ok()) {
    matching_->GiveUp(device.id, options_.timeout_seconds);
    StopAll();
  } else {
    matching_->GiveUp(device.id, deadline);
  }
  ExecuteDecisions();
}

// In process 0: tells devices that still run that the run is over.
void Rendezvous::StopAll() {
  stopped_ = true;
  for (int rank = 1; run_.processes != nullptr && rank < run_.processes->size(); ++rank)
    SendTo(rank, Start(RunMessage::kStop).Add(int64_t{0}));
}

// Computes and distributes the results of all members. The lock is released meanwhile.
void Rendezvous::CombineParts(Device& leader, Collectives::Combine combine, Lock& lock) {
  const std::vector<int64_t> members = std::exchange(leader.members, {});
  std::map<size_t, absl::StatusOr<Values>> parts = std::exchange(leader.parts, {});
  lock.unlock();
  absl::Status status;
  std::vector<Values> values;
  for (auto& [position, part] : parts) {
    status.Update(part.status());
    if (part.ok()) values.push_back(*std::move(part));
  }
  parts.clear();
  absl::StatusOr<std::vector<Values>> all = status.ok() ? combine(values) : status;
  values.clear();
  std::vector<absl::StatusOr<Values>> results;
  for (size_t k = 0; k < members.size(); ++k) {
    if (all.ok())
      results.emplace_back(std::move((*all)[k]));
    else
      results.emplace_back(all.status());
  }
  for (size_t k = 0; k < members.size(); ++k) {
    if (IsLocal(members[k])) continue;
    MessageWriter message = Start(RunMessage::kResult);
    message.Add(members[k]);
    AddValues(results[k], message);
    results[k] = Values();
    SendTo(RankOfDevice(members[k]), message);
  }
  lock.lock();
  for (size_t k = 0; k < members.size(); ++k) {
    if (IsLocal(members[k])) Answer(At(members[k]), std::move(results[k]));
  }
}

// --- Decisions; the lock is held.

int Rendezvous::RankOfDevice(int64_t device) const {
  return run_.processes == nullptr ? 0 : RankOf(device, run_.processes->size(), table_.grid().count());
}

void Rendezvous::ExecuteDecisions() {
  for (Matching::Decision& decision : matching_->TakeDecisions()) {
    const int64_t device = decision.device;
    const int rank = RankOfDevice(device);
    switch (decision.kind) {
      case Matching::Decision::Kind::kCombine: {
        for (size_t k = 0; k < decision.members.size(); ++k) {
          const int64_t member = decision.members[k];
          if (const int owner = RankOfDevice(member); owner == rank)
            continue;
          else if (owner == 0)
            SendPart(member, device, k);
          else
            SendTo(owner, Start(RunMessage::kSendPart).Add(member).Add(device).Add(k));
        }
        if (rank == 0)
          StartToCombine(device, std::move(decision.members));
        else
          SendTo(rank, Start(RunMessage::kCombine).Add(device).Add(decision.members));
        break;
      }
      case Matching::Decision::Kind::kDeliver:
        if (rank == 0) {
          DeliverSend(device, decision.send);
        } else {
          SendTo(rank,
                 Start(RunMessage::kDeliver).Add(device).Add(decision.send.first).Add(decision.send.second));
        }
        break;
      case Matching::Decision::Kind::kFail:
        if (rank == 0)
          Answer(At(device), decision.status);
        else
          SendTo(rank, Start(RunMessage::kFail).Add(device).Add(decision.status));
        break;
    }
  }
  if (matching_->HaveAllLeft()) all_left_.notify_all();
}

void Rendezvous::StartToCombine(int64_t id, std::vector<int64_t> members) {
  Device& leader = At(id);
  leader.members = std::move(members);
  for (size_t k = 0; k < leader.members.size(); ++k) {
    if (IsLocal(leader.members[k])) leader.parts.emplace(k, std::move(At(leader.members[k]).values));
  }
  if (leader.CanCombine() && leader.thread.IsWaiting()) scheduler_.Wake(leader.thread);
}

void Rendezvous::AddPart(int64_t id, size_t position, absl::StatusOr<Values> part) {
  Device& leader = At(id);
  leader.parts.emplace(position, std::move(part));
  if (leader.CanCombine() && leader.thread.IsWaiting()) scheduler_.Wake(leader.thread);
}

void Rendezvous::SendPart(int64_t member, int64_t leader, size_t position) {
  MessageWriter message = Start(RunMessage::kPart);
  AddValues(std::exchange(At(member).values, {}), message.Add(leader).Add(position));
  SendTo(RankOfDevice(leader), message);
}

void Rendezvous::DeliverSend(int64_t id, SendId send) {
  Device& device = At(id);
  const auto found = sent_values_.find(send);
  if (found == sent_values_.end()) {
    device.awaited = send;  // The values are on the way from its sender.
    return;
  }
  Answer(device, std::move(found->second));
  sent_values_.erase(found);
}

// --- Messages

void Rendezvous::SendTo(int rank, MessageWriter& message) const {
  run_.processes->SendToRun(rank, message.Take());
}

MessageWriter Rendezvous::Start(RunMessage kind) const {
  MessageWriter message = ProcessGroup::StartRunMessage(run_.number);
  message.Add(kind);
  return message;
}

void Rendezvous::AddRoute(const Route& route, MessageWriter& message) const {
  message.Add(run_.instructions->Of(*route.instruction)).Add(route.chain).Add(route.source).Add(route.target);
}

Route Rendezvous::ReadRoute(MessageReader& reader) const {
  Route route;
  route.instruction = &run_.instructions->At(reader.Read<int32_t>());
  route.chain = reader.ReadText();
  route.source = reader.Read<int64_t>();
  route.target = reader.Read<int64_t>();
  return route;
}

void Rendezvous::Handle(std::string_view bytes) {
  MessageReader reader(bytes);
  const auto kind = reader.Read<RunMessage>();
  if (kind >= RunMessage::kArrive) return HandleReport(kind, reader);
  const auto device = reader.Read<int64_t>();
  switch (kind) {
    case RunMessage::kCombine: {
      std::vector<int64_t> members(reader.Read<int64_t>());
      for (int64_t& member : members) member = reader.Read<int64_t>();
      const Lock lock(mutex_);
      return StartToCombine(device, std::move(members));
    }
    case RunMessage::kSendPart: {
      const auto leader = reader.Read<int64_t>();
      const Lock lock(mutex_);
      return SendPart(device, leader, reader.Read<size_t>());
    }
    case RunMessage::kDeliver: {
      const auto source = reader.Read<int64_t>();
      const Lock lock(mutex_);
      return DeliverSend(device, {source, reader.Read<int64_t>()});
    }
    case RunMessage::kFail: {
      const Lock lock(mutex_);
      return Answer(At(device), reader.ReadStatus());
    }
    case RunMessage::kPart: {
      const auto position = reader.Read<size_t>();
      absl::StatusOr<Values> part = ReadValues(reader);
      const Lock lock(mutex_);
      return AddPart(device, position, std::move(part));
    }
    case RunMessage::kResult: {
      absl::StatusOr<Values> values = ReadValues(reader);
      const Lock lock(mutex_);
      return Answer(At(device), std::move(values));
    }
    case RunMessage::kStop:
      stopped_ = true;
      return;
    case RunMessage::kSentValues: {  // `device` is the sender.
      const SendId send(device, reader.Read<int64_t>());
      absl::StatusOr<Values> values = ReadValues(reader);
      const Lock lock(mutex_);
      for (const auto& waiting : devices_) {
        if (waiting->awaited != send) continue;
        waiting->awaited.reset();
        return Answer(*waiting, std::move(values));
      }
      sent_values_.emplace(send, std::move(values));
      return;
    }
    default:
      return;
  }
}

// Takes a report of what a device of another process does.
void Rendezvous::HandleReport(RunMessage kind, MessageReader& reader) {
  const Lock lock(mutex_);
  switch (kind) {
    case RunMessage::kArrive: {
      const auto device = reader.Read<int64_t>();
      const Instruction& collective = run_.instructions->At(reader.Read<int32_t>());
      matching_->Arrive(device, collective, {.signature = std::string(reader.ReadText())});
      break;
    }
    case RunMessage::kPost: {
      const Route route = ReadRoute(reader);
      matching_->Post(route, reader.Read<int64_t>());
      break;
    }
    case RunMessage::kExpect: {
      const Route route = ReadRoute(reader);
      matching_->Expect(reader.Read<int64_t>(), route);
      break;
    }
    case RunMessage::kGiveUp: {
      const auto device = reader.Read<int64_t>();
      matching_->GiveUp(device, reader.ReadStatus());
      break;
    }
    case RunMessage::kTimeOut:
      matching_->GiveUp(reader.Read<int64_t>(), options_.timeout_seconds);
      StopAll();
      break;
    case RunMessage::kWarn:
      matching_->Warn(std::string(reader.ReadText()));
      break;
    case RunMessage::kLeave: {
      const auto device = reader.Read<int64_t>();
      absl::Status status = reader.ReadStatus();
      if (status.ok()) {
        absl::StatusOr<Literal> result = reader.ReadLiteral();
        status = result.status();
        if (result.ok()) results_[device] = *std::move(result);
      }
      matching_->Leave(device, status);
      break;
    }
    default:
      break;
  }
  ExecuteDecisions();
}

}  // namespace hlo::spmd
