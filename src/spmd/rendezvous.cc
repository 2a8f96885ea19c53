#include "spmd/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"
#include "ir/place.h"
#include "spmd/signature.h"

namespace hlo::spmd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostListed = 20;

std::string_view Times(int64_t count) { return count == 1 ? "time" : "times"; }

// True if values of one instruction obviously have the same signature.
bool HaveSameShapes(const Values& a, const Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Literal& x, const Literal& y) {
    return x.shape().IsArray() && !x.has_dynamic_sizes() && !y.has_dynamic_sizes() && x.shape() == y.shape();
  });
}

// Orders instructions independently of their addresses.
bool IsBefore(const Instruction& a, const Instruction& b) {
  const auto key = [](const Instruction& i) { return std::pair(i.parent()->name(), i.index()); };
  return key(a) < key(b);
}

}  // namespace

// A device that waits: for a group to be complete, or for a message.
struct Rendezvous::Call {
  Device* device = nullptr;
  const Instruction* instruction = nullptr;
  int64_t execution = 0;  // Counts the executions of the instruction on this device from 1.
  const std::vector<int64_t>* group = nullptr;  // Null: it waits for a message.
  EventKey event;
  size_t position = 0;
  Route route;
  Values values;  // Those given, then the results.
  absl::Status status;
  Clock::time_point since;
  bool is_taken = false;      // A member computes the results.
  std::vector<Call*> paired;  // Calls of other instructions that this device shall complete.
};

struct Rendezvous::Device {
  enum class State : uint8_t { kReady, kRunning, kWaiting, kFinished, kFailed };
  int64_t id = 0;
  State state = State::kReady;
  Call* call = nullptr;  // While it waits.
  std::condition_variable wake;
  std::unique_ptr<Link> link;
  absl::flat_hash_map<const Instruction*, int64_t> executions;
  absl::Status outcome;
  bool is_consequence = false;  // It failed because another device did.
};

class Rendezvous::Link : public Collectives {
 public:
  Link(Rendezvous& rendezvous, Device& device) : rendezvous_(rendezvous), device_(device) {}

  int64_t device() const override { return device_.id; }
  const ExchangeTable& table() const override { return rendezvous_.table_; }
  absl::StatusOr<Values> Meet(const Instruction& collective, Values values, Combine combine) override {
    return rendezvous_.Meet(device_, collective, std::move(values), combine);
  }
  absl::Status Send(const Route& route, Values values) override {
    return rendezvous_.Send(route, std::move(values));
  }
  absl::StatusOr<Values> Receive(const Route& route) override { return rendezvous_.Receive(device_, route); }
  void Warn(const Instruction& instruction, const std::string& message) override {
    const std::string text = fmt::format("{}{}: {}", PlaceOf(instruction), Describe(instruction), message);
    const Lock lock(rendezvous_.mutex_);
    std::vector<std::string>& warnings = rendezvous_.warnings_;
    if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
  }

 private:
  Rendezvous& rendezvous_;
  Device& device_;
};

Rendezvous::Rendezvous(const ExchangeTable& table, const RendezvousOptions& options)
    : table_(table), options_(options) {
  for (int64_t id = 0; id < table.grid().count(); ++id) {
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->id = id;
    devices_.back()->link = std::make_unique<Link>(*this, *devices_.back());
    ready_.push_back(devices_.back().get());
  }
  Dispatch();
}

Rendezvous::~Rendezvous() = default;

Collectives& Rendezvous::LinkOf(int64_t device) { return *devices_[device]->link; }

void Rendezvous::Enter(int64_t id) {
  Device& device = *devices_[id];
  Lock lock(mutex_);
  device.wake.wait(lock, [&] { return device.state == Device::State::kRunning; });
}

void Rendezvous::Leave(int64_t id, const absl::Status& outcome) {
  Device& device = *devices_[id];
  const Lock lock(mutex_);
  device.outcome = outcome;
  device.state = outcome.ok() ? Device::State::kFinished : Device::State::kFailed;
  --running_;
  if (!outcome.ok()) FailPeers(device);
  Dispatch();
  if (IsStuck()) Resolve();
}

// --- Scheduling; the lock is held.

void Rendezvous::Dispatch() {
  while (running_ < std::max(options_.most_running, 1) && !ready_.empty()) {
    Device& device = *ready_.front();
    ready_.pop_front();
    device.state = Device::State::kRunning;
    ++running_;
    device.wake.notify_one();
  }
}

void Rendezvous::Release(Device& device) {
  device.state = Device::State::kReady;
  ready_.push_back(&device);
  Dispatch();
}

// Waits until the call is answered and the device may run again.
void Rendezvous::Wait(Device& device, Call& call, Lock& lock) {
  call.since = Clock::now();
  device.call = &call;
  device.state = Device::State::kWaiting;
  --running_;
  Dispatch();
  if (IsStuck()) Resolve();
  const auto runs = [&] { return device.state == Device::State::kRunning; };
  if (options_.timeout_seconds <= 0 && !Deadline::IsSet()) {
    device.wake.wait(lock, runs);
  } else {
    const auto pause = std::chrono::milliseconds(20 + static_cast<int64_t>(devices_.size()));
    while (!device.wake.wait_for(lock, pause, runs)) {
      if (device.state != Device::State::kWaiting || call.is_taken) continue;
      if (const absl::Status limit = WaitLimit(call); !limit.ok()) Fail(call, limit);
    }
  }
  device.call = nullptr;
}

absl::Status Rendezvous::WaitLimit(const Call& call) const {
  HLO_RETURN_IF_ERROR(Deadline::Check());
  const std::chrono::duration<double> waited = Clock::now() - call.since;
  if (options_.timeout_seconds <= 0 || waited.count() < options_.timeout_seconds) return absl::OkStatus();
  return absl::DeadlineExceededError(
      fmt::format("the limit of {} seconds is reached (see --collective-timeout)\n  {}",
                  options_.timeout_seconds, DescribeWait(call)));
}

// Answers a waiting call with an error.
void Rendezvous::Fail(Call& call, const absl::Status& status) {
  call.status = status;
  if (call.group != nullptr) {
    if (const auto event = events_.find(call.event); event != events_.end())
      event->second[call.position] = nullptr;
  }
  call.device->call = nullptr;
  Release(*call.device);
}

void Rendezvous::FailPeers(const Device& failed) {
  const absl::Status status =
      absl::AbortedError(fmt::format("{} failed: {}", NameOf(failed.id), Message(failed.outcome)));
  for (const auto& device : devices_) {
    Call* call = device->call;
    if (device->state != Device::State::kWaiting || call == nullptr || call->is_taken) continue;
    const bool needs = call->group != nullptr ? std::find(call->group->begin(), call->group->end(),
                                                          failed.id) != call->group->end()
                                              : call->route.source == failed.id;
    if (!needs) continue;
    device->is_consequence = true;
    Fail(*call, status);
  }
}

// --- Exchange

// Computes and distributes the results of all members. The lock is released meanwhile.
void Rendezvous::Complete(const std::vector<Call*>& calls, Collectives::Combine combine, Lock& lock) {
  for (Call* call : calls) call->is_taken = true;
  lock.unlock();
  absl::Status status;
  const Call& one = *calls[0];
  for (const Call* call : calls) {
    if (call->instruction == one.instruction && HaveSameShapes(call->values, one.values)) continue;
    const std::string first = SignatureOf(*one.instruction, one.values);
    const std::string other = SignatureOf(*call->instruction, call->values);
    if (other == first) continue;
    status = absl::FailedPreconditionError(
        fmt::format("the members of the group disagree: {} executes {}, but {} executes {}",
                    NameOf(one.device->id), first, NameOf(call->device->id), other));
    break;
  }
  if (status.ok()) {
    std::vector<Values> inputs;
    for (Call* call : calls) inputs.push_back(std::move(call->values));
    absl::StatusOr<std::vector<Values>> results = combine(inputs);
    inputs.clear();
    status = results.status();
    for (size_t k = 0; status.ok() && k < calls.size(); ++k) calls[k]->values = std::move((*results)[k]);
  }
  lock.lock();
  for (Call* call : calls) {
    call->status = status;
    if (call->device->state == Device::State::kWaiting) Release(*call->device);
  }
}

absl::StatusOr<Values> Rendezvous::Meet(Device& device, const Instruction& collective, Values values,
                                        Collectives::Combine combine) {
  const Groups* groups = table_.groups(collective);
  if (groups == nullptr) return absl::InternalError("its groups are not known");
  const Groups::Place place = groups->places[device.id];
  if (place.group < 0)
    return absl::FailedPreconditionError(fmt::format("{} is in none of its groups", NameOf(device.id)));
  const std::vector<int64_t>& members = groups->members[place.group];
  Lock lock(mutex_);
  Call call{.device = &device, .instruction = &collective, .execution = ++device.executions[&collective]};
  call.group = &members;
  call.position = static_cast<size_t>(place.position);
  call.event = {&collective, call.execution, place.group};
  call.values = std::move(values);
  std::vector<Call*>& event = events_[call.event];
  event.resize(members.size());
  for (size_t k = 0; k < members.size(); ++k) {
    const Device& member = *devices_[members[k]];
    if (event[k] != nullptr || member.state != Device::State::kFailed) continue;
    device.is_consequence = true;
    return absl::AbortedError(fmt::format("{} failed: {}", NameOf(member.id), Message(member.outcome)));
  }
  event[call.position] = &call;
  if (std::find(event.begin(), event.end(), nullptr) == event.end()) {
    const std::vector<Call*> calls = std::move(event);
    events_.erase(call.event);
    Complete(calls, combine, lock);
  } else {
    Wait(device, call, lock);
    if (!call.paired.empty()) Complete(std::move(call.paired), combine, lock);
  }
  if (!call.status.ok()) return call.status;
  return std::move(call.values);
}

Rendezvous::RouteKey Rendezvous::KeyOf(const Route& route) {
  return {route.chain.empty() ? route.instruction : nullptr, route.chain, route.source, route.target};
}

absl::Status Rendezvous::Send(const Route& route, Values values) {
  const Lock lock(mutex_);
  Device& target = *devices_[route.target];
  const bool waits = target.state == Device::State::kWaiting && target.call != nullptr &&
                     target.call->group == nullptr && KeyOf(target.call->route) == KeyOf(route);
  if (waits) {
    target.call->values = std::move(values);
    target.call = nullptr;
    Release(target);
  } else {
    messages_[KeyOf(route)].push_back({route.instruction, std::move(values)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> Rendezvous::Receive(Device& device, const Route& route) {
  Lock lock(mutex_);
  Call call{.device = &device,
            .instruction = route.instruction,
            .execution = ++device.executions[route.instruction]};
  call.route = route;
  std::deque<Parcel>& queue = messages_[KeyOf(route)];
  if (!queue.empty()) {
    Values values = std::move(queue.front().values);
    queue.pop_front();
    return values;
  }
  const Device& source = *devices_[route.source];
  if (source.state == Device::State::kFailed) {
    device.is_consequence = true;
    return absl::AbortedError(fmt::format("{} failed: {}", NameOf(source.id), Message(source.outcome)));
  }
  Wait(device, call, lock);
  if (!call.status.ok()) return call.status;
  return std::move(call.values);
}

// --- Devices that wait for each other

bool Rendezvous::IsStuck() const {
  if (running_ > 0 || !ready_.empty()) return false;
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const auto& device) { return device->state == Device::State::kWaiting; });
}

// No device can run: some wait for others that will not come.
void Rendezvous::Resolve() {
  if (!options_.strict_match && PairByArrival()) return;
  std::vector<const Call*> waiting;
  for (const auto& device : devices_) {
    if (device->state == Device::State::kWaiting) waiting.push_back(device->call);
  }
  const absl::Status status = absl::FailedPreconditionError(Report(waiting));
  // Failing a call may start devices, which then wait for this lock.
  for (const auto& device : devices_) {
    if (device->state == Device::State::kWaiting) Fail(*device->call, status);
  }
}

// Completes groups all of whose members wait at collectives of one kind, though not at the same instruction
// or execution, and gives permutes the messages of others of their kind.
bool Rendezvous::PairByArrival() {
  std::map<std::string, std::vector<Call*>> alike;
  std::vector<std::pair<Call*, RouteKey>> receipts;
  for (const auto& device : devices_) {
    Call* call = device->call;
    if (device->state != Device::State::kWaiting || call == nullptr) continue;
    if (call->group != nullptr) {
      alike[fmt::format("{} {} {}", HasChannel(*call->instruction), absl::StrJoin(*call->group, ","),
                        SignatureOf(*call->instruction, call->values))]
          .push_back(call);
      continue;
    }
    if (!call->route.chain.empty()) continue;
    const RouteKey* best = nullptr;
    for (const auto& [key, queue] : messages_) {
      const bool fits = std::get<1>(key).empty() && std::get<2>(key) == call->route.source &&
                        std::get<3>(key) == call->route.target && !queue.empty() &&
                        ArePairable(*queue.front().sender, *call->instruction);
      if (fits && (best == nullptr || IsBefore(*std::get<0>(key), *std::get<0>(*best)))) best = &key;
    }
    if (best != nullptr) receipts.emplace_back(call, *best);
  }
  bool found = false;
  for (auto& [kind, calls] : alike) {
    if (calls.size() != calls[0]->group->size()) continue;
    found = true;
    std::sort(calls.begin(), calls.end(),
              [](const Call* a, const Call* b) { return a->position < b->position; });
    for (Call* call : calls) {
      call->is_taken = true;
      if (const auto event = events_.find(call->event); event != events_.end())
        event->second[call->position] = nullptr;
    }
    const auto other = std::find_if(calls.begin(), calls.end(), [&](const Call* call) {
      return call->instruction != calls[0]->instruction;
    });
    const Call& second = other == calls.end() ? *calls.back() : **other;
    warnings_.push_back(
        fmt::format("{}{}: paired by order of arrival: execution {} on {} with {}{}, execution {} on {}",
                    PlaceOf(*calls[0]->instruction), Describe(*calls[0]->instruction), calls[0]->execution,
                    NameOf(calls[0]->device->id), PlaceOf(*second.instruction), Describe(*second.instruction),
                    second.execution, NameOf(second.device->id)));
    calls[0]->paired = calls;
    Release(*calls[0]->device);
  }
  for (auto& [call, key] : receipts) {
    found = true;
    std::deque<Parcel>& queue = messages_[key];
    warnings_.push_back(fmt::format("{}{}: paired by order of arrival with {}{}", PlaceOf(*call->instruction),
                                    Describe(*call->instruction), PlaceOf(*queue.front().sender),
                                    Describe(*queue.front().sender)));
    call->values = std::move(queue.front().values);
    queue.pop_front();
    Device& device = *call->device;
    device.call = nullptr;
    Release(device);
  }
  return found;
}

std::string Rendezvous::DescribeWait(const Call& call) const {
  std::string text = fmt::format("{} waits at {}{}, execution {}", NameOf(call.device->id),
                                 PlaceOf(*call.instruction), Describe(*call.instruction), call.execution);
  if (call.group == nullptr)
    return text + fmt::format(", for a value from {}", DescribeAbsent(call.route.source, call));
  const auto event = events_.find(call.event);
  std::vector<std::string> missing;
  size_t missing_count = 0;
  for (size_t k = 0; k < call.group->size(); ++k) {
    if (k == call.position || (event != events_.end() && event->second[k] != nullptr)) continue;
    if (++missing_count <= 3) missing.push_back(DescribeAbsent((*call.group)[k], call));
  }
  text += fmt::format(", for {}", absl::StrJoin(missing, "; for "));
  if (missing_count > missing.size())
    text += fmt::format("; and for {} more", missing_count - missing.size());
  return text;
}

// Says where a device is for which a call waits.
std::string Rendezvous::DescribeAbsent(int64_t id, const Call& call) const {
  const Device& device = *devices_[id];
  std::string text = NameOf(id);
  const auto executions = device.executions.find(call.instruction);
  const int64_t count = executions == device.executions.end() ? 0 : executions->second;
  if (device.state == Device::State::kFinished) {
    return text + (call.group != nullptr
                       ? fmt::format(", which has ended after executing it {} {}", count, Times(count))
                       : ", which has ended");
  }
  if (device.state == Device::State::kFailed) return text + ", which has failed";
  if (device.state == Device::State::kWaiting && device.call != nullptr) {
    if (device.call->instruction == call.instruction)
      return text + fmt::format(", which waits at execution {}", count);
    return text + fmt::format(", which waits at {}{}", PlaceOf(*device.call->instruction),
                              Describe(*device.call->instruction));
  }
  return text + ", which is still running";
}

std::string Rendezvous::Report(const std::vector<const Call*>& waiting) const {
  std::string text = "deadlock: the devices wait for each other, or for devices that have ended";
  for (size_t i = 0; i < std::min(waiting.size(), kMostListed); ++i)
    text += "\n  " + DescribeWait(*waiting[i]);
  if (waiting.size() > kMostListed)
    text += fmt::format("\n  and {} more devices wait", waiting.size() - kMostListed);
  // A group whose members all wait, but at different collectives.
  for (const Call* call : waiting) {
    if (call->group == nullptr) continue;
    for (const Call* other : waiting) {
      if (other->device->id <= call->device->id || other->group == nullptr || *other->group != *call->group)
        continue;
      const std::string a = SignatureOf(*call->instruction, call->values),
                        b = SignatureOf(*other->instruction, other->values);
      if (a == b) continue;
      return text + fmt::format("\n  the collectives do not match: {} executes {}, but {} executes {}",
                                NameOf(call->device->id), a, NameOf(other->device->id), b);
    }
  }
  return text;
}

// --- After the run

absl::Status Rendezvous::Outcome() const {
  const Lock lock(mutex_);
  for (const bool consequences : {false, true}) {
    for (const auto& device : devices_) {
      if (device->outcome.ok() || device->is_consequence != consequences) continue;
      const std::string_view message = Message(device->outcome);
      const size_t line_end = std::min(message.find('\n'), message.size());
      return absl::Status(device->outcome.code(), fmt::format("{} (on {}){}", message.substr(0, line_end),
                                                              NameOf(device->id), message.substr(line_end)));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> Rendezvous::Warnings() const {
  const Lock lock(mutex_);
  std::vector<std::string> warnings = warnings_;
  for (const auto& [key, queue] : messages_) {
    if (queue.empty()) continue;
    const Instruction& sender = *queue.front().sender;
    warnings.push_back(fmt::format("{}{}: {} of its values from {} to {} {} never received", PlaceOf(sender),
                                   Describe(sender), queue.size(), NameOf(std::get<2>(key)),
                                   NameOf(std::get<3>(key)), queue.size() == 1 ? "was" : "were"));
  }
  return warnings;
}

}  // namespace hlo::spmd
