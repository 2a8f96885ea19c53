#include "spmd/matching.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"
#include "ir/place.h"
#include "spmd/signature.h"

namespace hlo::spmd {
namespace {

constexpr size_t kMaxListed = 20;

std::string_view Times(int64_t count) { return count == 1 ? "time" : "times"; }

// True if all values are arrays of equal, static shapes; then their signatures are equal.
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

// The call of a device that waits: for a group to be complete, or for a message.
struct Matching::Call {
  int64_t device = 0;
  const Instruction* instruction = nullptr;
  int64_t execution = 0;  // Counts the executions of the instruction on this device from 1.
  const std::vector<int64_t>* group = nullptr;  // Null if it waits for a message.
  EventKey event;
  size_t position = 0;
  RouteKey route;
  Operands operands;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();

  std::string Signature() const {
    return operands.values != nullptr ? SignatureOf(*instruction, *operands.values) : operands.signature;
  }
};

struct Matching::Device {
  enum class State : uint8_t { kRunning, kWaiting, kFinished, kFailed };
  int64_t id = 0;
  State state = State::kRunning;
  Call call;  // While it waits.
  absl::flat_hash_map<const Instruction*, int64_t> executions;
  absl::Status outcome;
  bool is_consequence = false;  // It failed because another device did.

  bool IsWaiting() const { return state == State::kWaiting; }
};

Matching::Matching(const ExchangeTable& table, bool strict_match)
    : table_(table), strict_match_(strict_match) {
  for (int64_t id = 0; id < table.grid().count(); ++id) {
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->id = id;
  }
  running_ = devices_.size();
}

Matching::~Matching() = default;

// --- Calls of devices

void Matching::Arrive(int64_t id, const Instruction& collective, Operands operands) {
  Device& device = *devices_[id];
  const Groups& groups = *table_.groups(collective);
  const Groups::Place place = groups.places[id];
  const std::vector<int64_t>& members = groups.members[place.group];
  device.call = {.device = id, .instruction = &collective, .execution = ++device.executions[&collective]};
  Call& call = device.call;
  call.group = &members;
  call.position = static_cast<size_t>(place.position);
  call.event = {&collective, call.execution, place.group};
  call.operands = std::move(operands);
  device.state = Device::State::kWaiting;
  --running_;
  std::vector<Call*>& event = events_[call.event];
  event.resize(members.size());
  for (size_t k = 0; k < members.size(); ++k) {
    const Device& member = *devices_[members[k]];
    if (event[k] != nullptr || member.state != Device::State::kFailed) continue;
    device.is_consequence = true;
    return Fail(device,
                absl::AbortedError(fmt::format("{} failed: {}", NameOf(member.id), Message(member.outcome))));
  }
  event[call.position] = &call;
  if (std::find(event.begin(), event.end(), nullptr) == event.end()) {
    const std::vector<Call*> calls = std::move(event);
    events_.erase(call.event);
    return Combine(device, calls);
  }
  if (running_ == 0) Resolve();
}

Matching::RouteKey Matching::KeyOf(const Route& route) {
  return {route.chain.empty() ? route.instruction : nullptr, std::string(route.chain), route.source,
          route.target};
}

void Matching::Post(const Route& route, int64_t number) {
  Device& target = *devices_[route.target];
  RouteKey key = KeyOf(route);
  if (target.IsWaiting() && target.call.group == nullptr && target.call.route == key)
    Deliver(target, route.source, number);
  else
    messages_[std::move(key)].push_back({route.instruction, number});
}

void Matching::Expect(int64_t id, const Route& route) {
  Device& device = *devices_[id];
  device.call = {
      .device = id, .instruction = route.instruction, .execution = ++device.executions[route.instruction]};
  device.call.route = KeyOf(route);
  device.state = Device::State::kWaiting;
  --running_;
  std::deque<PendingSend>& queue = messages_[device.call.route];
  if (!queue.empty()) {
    const int64_t number = queue.front().number;
    queue.pop_front();
    return Deliver(device, route.source, number);
  }
  const Device& source = *devices_[route.source];
  if (source.state == Device::State::kFailed) {
    device.is_consequence = true;
    return Fail(device,
                absl::AbortedError(fmt::format("{} failed: {}", NameOf(source.id), Message(source.outcome))));
  }
  if (running_ == 0) Resolve();
}

void Matching::GiveUp(int64_t id, const absl::Status& status) {
  Device& device = *devices_[id];
  if (device.IsWaiting()) Fail(device, status);
}

void Matching::GiveUp(int64_t id, double seconds) {
  Device& device = *devices_[id];
  if (!device.IsWaiting()) return;
  has_timed_out_ = true;
  Fail(device, absl::DeadlineExceededError(
                   fmt::format("the limit of {} {} is reached (see --collective-timeout)\n  {}", seconds,
                               seconds == 1 ? "second" : "seconds", DescribeWait(device.call))));
}

void Matching::Leave(int64_t id, const absl::Status& outcome) {
  Device& device = *devices_[id];
  device.outcome = outcome;
  if (has_timed_out_ && absl::IsCancelled(outcome)) device.is_consequence = true;
  device.state = outcome.ok() ? Device::State::kFinished : Device::State::kFailed;
  --running_;
  ++left_;
  if (!outcome.ok()) FailPeers(device);
  if (running_ == 0 && !HaveAllLeft()) Resolve();
}

void Matching::Warn(const std::string& warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) warnings_.push_back(warning);
}

// --- Decisions, which end waits

// Decides that one member computes the results of all members, or fails all if their signatures differ.
void Matching::Combine(Device& leader, const std::vector<Call*>& calls) {
  absl::Status status;
  const Call& one = *calls[0];
  for (const Call* call : calls) {
    const Values *first_values = one.operands.values, *values = call->operands.values;
    if (call->instruction == one.instruction && first_values != nullptr && values != nullptr &&
        HaveSameShapes(*values, *first_values))
      continue;
    const std::string first = one.Signature(), other = call->Signature();
    if (other == first) continue;
    status = absl::FailedPreconditionError(
        fmt::format("the members of the group disagree: {} executes {}, but {} executes {}",
                    NameOf(one.device), first, NameOf(call->device), other));
    break;
  }
  Decision decision{.kind = Decision::Kind::kCombine, .device = leader.id};
  for (const Call* call : calls) {
    Device& member = *devices_[call->device];
    decision.members.push_back(member.id);
    if (!status.ok()) {
      Fail(member, status);
    } else {
      member.state = Device::State::kRunning;
      ++running_;
    }
  }
  if (status.ok()) decisions_.push_back(std::move(decision));
}

void Matching::Deliver(Device& target, int64_t source, int64_t number) {
  target.state = Device::State::kRunning;
  ++running_;
  decisions_.push_back(
      {.kind = Decision::Kind::kDeliver, .device = target.id, .members = {}, .send = {source, number}});
}

void Matching::Fail(Device& device, const absl::Status& status) {
  const Call& call = device.call;
  if (call.group != nullptr) {
    if (const auto event = events_.find(call.event); event != events_.end())
      event->second[call.position] = nullptr;
  }
  device.state = Device::State::kRunning;
  ++running_;
  decisions_.push_back(
      {.kind = Decision::Kind::kFail, .device = device.id, .members = {}, .send = {}, .status = status});
}

void Matching::FailPeers(const Device& failed) {
  const absl::Status status =
      absl::AbortedError(fmt::format("{} failed: {}", NameOf(failed.id), Message(failed.outcome)));
  for (const auto& device : devices_) {
    if (!device->IsWaiting()) continue;
    const Call& call = device->call;
    const bool needs = call.group != nullptr
                           ? std::find(call.group->begin(), call.group->end(), failed.id) != call.group->end()
                           : std::get<2>(call.route) == failed.id;
    if (!needs) continue;
    device->is_consequence = true;
    Fail(*device, status);
  }
}

// --- Devices that wait for each other

// No device can run: each waits for another one or has ended.
void Matching::Resolve() {
  if (!strict_match_ && PairByArrival()) return;
  const absl::Status status = absl::FailedPreconditionError(Report());
  for (const auto& device : devices_) {
    if (device->IsWaiting()) Fail(*device, status);
  }
}

// Completes a group if all its members wait at collectives with equal signatures, though at different
// instructions or executions. A receiver takes the message of another instruction of its kind.
bool Matching::PairByArrival() {
  std::map<std::string, std::vector<Call*>> alike;
  std::vector<std::pair<Call*, RouteKey>> receipts;
  for (const auto& device : devices_) {
    if (!device->IsWaiting()) continue;
    Call& call = device->call;
    if (call.group != nullptr) {
      alike[fmt::format("{} {} {}", HasChannel(*call.instruction), absl::StrJoin(*call.group, ","),
                        call.Signature())]
          .push_back(&call);
      continue;
    }
    if (!std::get<1>(call.route).empty()) continue;
    const RouteKey* best = nullptr;
    for (const auto& [key, queue] : messages_) {
      const bool fits = std::get<1>(key).empty() && std::get<2>(key) == std::get<2>(call.route) &&
                        std::get<3>(key) == std::get<3>(call.route) && !queue.empty() &&
                        ArePairable(*queue.front().sender, *call.instruction);
      if (fits && (best == nullptr || IsBefore(*std::get<0>(key), *std::get<0>(*best)))) best = &key;
    }
    if (best != nullptr) receipts.emplace_back(&call, *best);
  }
  bool found = false;
  for (auto& [kind, calls] : alike) {
    if (calls.size() != calls[0]->group->size()) continue;
    found = true;
    std::sort(calls.begin(), calls.end(),
              [](const Call* a, const Call* b) { return a->position < b->position; });
    for (const Call* call : calls) {
      if (const auto event = events_.find(call->event); event != events_.end())
        event->second[call->position] = nullptr;
    }
    const auto other = std::find_if(
        calls.begin(), calls.end(),
        [first = calls[0]->instruction](const Call* call) { return call->instruction != first; });
    const Call& second = other == calls.end() ? *calls.back() : **other;
    warnings_.push_back(
        fmt::format("{}{}: paired by order of arrival: execution {} on {} with {}{}, execution {} on {}",
                    PlaceOf(*calls[0]->instruction), Describe(*calls[0]->instruction), calls[0]->execution,
                    NameOf(calls[0]->device), PlaceOf(*second.instruction), Describe(*second.instruction),
                    second.execution, NameOf(second.device)));
    Combine(*devices_[calls[0]->device], calls);
  }
  for (const auto& [call, key] : receipts) {
    found = true;
    std::deque<PendingSend>& queue = messages_[key];
    warnings_.push_back(fmt::format("{}{}: paired by order of arrival with {}{}", PlaceOf(*call->instruction),
                                    Describe(*call->instruction), PlaceOf(*queue.front().sender),
                                    Describe(*queue.front().sender)));
    const int64_t number = queue.front().number;
    queue.pop_front();
    Deliver(*devices_[call->device], std::get<2>(key), number);
  }
  return found;
}

std::string Matching::DescribeWait(const Call& call) const {
  std::string text = fmt::format("{} waits at {}{}, execution {}", NameOf(call.device),
                                 PlaceOf(*call.instruction), Describe(*call.instruction), call.execution);
  constexpr double kWorthMentioning = 0.1;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - call.since;
  if (waited.count() >= kWorthMentioning) text += fmt::format(", for {:.1f} s", waited.count());
  if (call.group == nullptr)
    return text + fmt::format(", for a value from {}", DescribeAbsent(std::get<2>(call.route), call));
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

// Describes the state of a device that a call waits for.
std::string Matching::DescribeAbsent(int64_t id, const Call& call) const {
  const Device& device = *devices_[id];
  std::string text = NameOf(id);
  const auto executions = device.executions.find(call.instruction);
  const int64_t count = executions == device.executions.end() ? 0 : executions->second;
  switch (device.state) {
    case Device::State::kFinished:
      return text + (call.group != nullptr
                         ? fmt::format(", which has ended after executing it {} {}", count, Times(count))
                         : ", which has ended");
    case Device::State::kFailed:
      return text + ", which has failed";
    case Device::State::kWaiting:
      if (device.call.instruction == call.instruction)
        return text + fmt::format(", which waits at execution {}", count);
      return text + fmt::format(", which waits at {}{}", PlaceOf(*device.call.instruction),
                                Describe(*device.call.instruction));
    case Device::State::kRunning:
      break;
  }
  return text + ", which is still running";
}

std::string Matching::Report() const {
  std::vector<const Call*> waiting;
  for (const auto& device : devices_) {
    if (device->IsWaiting()) waiting.push_back(&device->call);
  }
  std::string text = "deadlock: the devices wait for each other, or for devices that have ended";
  for (size_t i = 0; i < std::min(waiting.size(), kMaxListed); ++i)
    text += "\n  " + DescribeWait(*waiting[i]);
  if (waiting.size() > kMaxListed)
    text += fmt::format("\n  and {} more devices wait", waiting.size() - kMaxListed);
  // Two members of one group may wait at collectives that do not match.
  for (const Call* call : waiting) {
    if (call->group == nullptr) continue;
    for (const Call* other : waiting) {
      if (other->device <= call->device || other->group == nullptr || *other->group != *call->group) continue;
      const std::string a = call->Signature(), b = other->Signature();
      if (a == b) continue;
      return text + fmt::format("\n  the collectives do not match: {} executes {}, but {} executes {}",
                                NameOf(call->device), a, NameOf(other->device), b);
    }
  }
  return text;
}

// --- After the run

absl::Status Matching::Outcome() const {
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

std::vector<std::string> Matching::Warnings() const {
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
