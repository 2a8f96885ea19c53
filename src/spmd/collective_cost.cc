#include "spmd/collective_cost.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/place.h"
#include "ir/trip_count.h"
#include "spmd/exchange_groups.h"

namespace hlo::spmd {
namespace {

constexpr size_t kMaxGroups = 4, kMaxMembers = 8;

// The messages and bytes that all members of a group exchange in one execution, and the time it takes.
struct Exchange {
  int64_t messages = 0, bytes = 0;
  double seconds = 0;
};

int64_t BytesOf(const Shape& shape) { return UnpaddedByteCount(shape).value_or(0); }

int64_t OperandBytes(const Instruction& instruction, int64_t count) {
  int64_t bytes = 0;
  for (int64_t k = 0; k < count; ++k) bytes += BytesOf(instruction.operand(k)->shape());
  return bytes;
}

// The values that a permute or a send moves.
int64_t TransferBytes(const Instruction& transfer) {
  if (transfer.opcode() == Opcode::kSend) return OperandBytes(transfer, 1);
  if (!transfer.Has<attr::permute_slice_sizes>()) return OperandBytes(transfer, transfer.operand_count());
  return BytesOf(
      Shape::Array(transfer.operand(0)->shape().type(), transfer.Get<attr::permute_slice_sizes>()[0]));
}

// True if it only slices the value of the device itself.
bool IsLocalConversion(const ExchangeTable& table, const Instruction& instruction) {
  const absl::Span<const ShapeConversion> conversions = table.conversions(instruction);
  return !conversions.empty() && std::all_of(conversions.begin(), conversions.end(),
                                             [](const ShapeConversion& c) { return c.IsLocal(); });
}

// The number of rounds in which a binomial tree reaches n members.
int64_t TreeRounds(int64_t n) { return std::bit_width(static_cast<uint64_t>(n - 1)); }

class CostModel {
 public:
  explicit CostModel(const NetworkModel& network) : network_(network) {}

  double Seconds(double messages, double bytes) const {
    return messages * network_.latency + bytes / network_.bandwidth;
  }

  // The exchange of a group of n. `in` is the size of a member's operands, `out` of its results.
  Exchange Of(const Instruction& collective, int64_t n) const {
    const bool has_root_operand = collective.Get<attr::has_dynamic_root>();
    const int64_t operands = collective.operand_count() - (has_root_operand ? 1 : 0);
    const int64_t in = OperandBytes(collective, operands);
    if (n < 2) return {};
    if (network_.algorithm == CollectiveAlgorithm::kCentral) return Central(collective, n, in);
    switch (collective.opcode()) {
      case Opcode::kAllReduce:
      case Opcode::kAllReduceStart:  // A reduce-scatter and an all-gather.
        return Steps(n, 2 * (n - 1), 2 * in * (n - 1) / n);
      case Opcode::kReduceScatter:
      case Opcode::kAllToAll:
        return Steps(n, n - 1, in * (n - 1) / n);
      case Opcode::kRaggedAllToAll:  // At most the whole input is sent to other members.
        return Steps(n, n - 1, BytesOf(collective.operand(0)->shape()));
      case Opcode::kCollectiveBroadcast:
      case Opcode::kCollectiveReduce: {
        const auto rounds = static_cast<double>(TreeRounds(n));
        return {.messages = n - 1,
                .bytes = (n - 1) * in,
                .seconds = rounds * Seconds(1, static_cast<double>(in))};
      }
      default:  // all-gather, and the end of a manual region, which gathers.
        return Steps(n, n - 1, in * (n - 1));
    }
  }

  Exchange Transfer(int64_t bytes, int64_t pairs) const {
    if (pairs == 0) return {};
    // In hlo-run's algorithm, process 0 also notifies the target.
    const double rounds = network_.algorithm == CollectiveAlgorithm::kCentral ? 2 : 1;
    return {
        .messages = pairs, .bytes = pairs * bytes, .seconds = Seconds(rounds, static_cast<double>(bytes))};
  }

 private:
  // All n members do the same.
  Exchange Steps(int64_t n, int64_t messages, int64_t bytes) const {
    return {.messages = n * messages,
            .bytes = n * bytes,
            .seconds = Seconds(static_cast<double>(messages), static_cast<double>(bytes))};
  }

  // There are four rounds: members report to process 0, get their routes, send their values, and receive
  // their results. One member receives all values and sends all results.
  Exchange Central(const Instruction& collective, int64_t n, int64_t in) const {
    int64_t sent = in;
    if (collective.opcode() == Opcode::kRaggedAllToAll)
      sent = OperandBytes(collective, collective.operand_count());
    const int64_t out = ResultBytes(collective, n, in);
    return {.messages = 2 * (n - 1),
            .bytes = (n - 1) * (sent + out),
            .seconds = Seconds(4, static_cast<double>((n - 1) * (sent + out)))};
  }

  static int64_t ResultBytes(const Instruction& collective, int64_t n, int64_t in) {
    switch (collective.opcode()) {
      case Opcode::kAllGather:
      case Opcode::kAllGatherStart:
        return n * in;
      case Opcode::kReduceScatter:
        return in / n;
      case Opcode::kRaggedAllToAll:
        return BytesOf(collective.operand(1)->shape());
      case Opcode::kCustomCall:
        return BytesOf(collective.shape());
      default:
        return in;
    }
  }

  const NetworkModel network_;
};

std::string GroupsText(const std::vector<std::vector<int64_t>>& groups) {
  const auto is_even = [&](const std::vector<int64_t>& group) { return group.size() == groups[0].size(); };
  std::string text = std::all_of(groups.begin(), groups.end(), is_even)
                         ? fmt::format("{} x {}:", groups.size(), groups.empty() ? 0 : groups[0].size())
                         : fmt::format("{} groups:", groups.size());
  for (size_t g = 0; g < std::min(groups.size(), kMaxGroups); ++g) {
    const std::vector<int64_t>& group = groups[g];
    const auto shown = std::min(group.size(), kMaxMembers);
    text += fmt::format("{}{{{}{}}}", g == 0 ? " " : ",",
                        absl::StrJoin(group.begin(), group.begin() + static_cast<int64_t>(shown), ","),
                        shown < group.size() ? ",..." : "");
  }
  return text + (groups.size() > kMaxGroups ? ",..." : "");
}

// Counts the pairs of different devices.
int64_t CountPairs(const Routes& routes, std::string* text) {
  int64_t count = 0;
  size_t listed = 0;
  for (size_t source = 0; source < routes.targets.size(); ++source) {
    for (const int64_t target : routes.targets[source]) {
      if (target == static_cast<int64_t>(source)) continue;
      ++count;
      if (++listed <= kMaxMembers) *text += fmt::format("{}{}>{}", listed == 1 ? "" : ",", source, target);
    }
  }
  *text = fmt::format("{} pairs: {}{}", count, *text, listed > kMaxMembers ? ",..." : "");
  return count;
}

// Returns 1 if the trip count is not known, or 0.
int64_t TripCount(const Instruction& loop) { return std::max<int64_t>(1, StaticTripCount(loop).value_or(1)); }

// Returns how often a run executes each computation; a branch counts as taken.
absl::flat_hash_map<const Computation*, int64_t> Executions(const Module& module) {
  absl::flat_hash_map<const Computation*, int64_t> executions = {{module.entry(), 1}};
  const auto computations = module.computations();
  // Callers follow what they call.
  for (auto caller = computations.rbegin(); caller != computations.rend(); ++caller) {
    const auto own = executions.find(*caller);
    if (own == executions.end()) continue;
    const int64_t count = own->second;
    for (const Instruction* instruction : (*caller)->instructions()) {
      const int64_t times = instruction->opcode() == Opcode::kWhile ? TripCount(*instruction) : 1;
      for (const Computation* called : instruction->called_computations()) {
        int64_t product = 0;
        if (__builtin_mul_overflow(count, times, &product)) product = INT64_MAX;
        int64_t& sum = executions[called];
        if (__builtin_add_overflow(sum, product, &sum)) sum = INT64_MAX;
      }
    }
  }
  return executions;
}

}  // namespace

absl::StatusOr<std::vector<CollectiveCost>> CollectiveCosts(const Module& module, const DeviceGrid& grid,
                                                            const NetworkModel& network) {
  HLO_RETURN_IF_ERROR(CheckSize(grid));
  const CostModel model(network);
  const absl::flat_hash_map<const Computation*, int64_t> executions = Executions(module);
  ExchangeTable table(grid);
  std::vector<CollectiveCost> costs;
  for (const Computation* computation : module.computations()) {
    const auto found = executions.find(computation);
    if (found == executions.end()) continue;
    for (const Instruction* instruction : computation->instructions()) {
      // A receive has the pairs of its send, which counts.
      const Opcode opcode = instruction->opcode();
      if (!DependsOnDevices(*instruction) || IsDeviceId(opcode) || opcode == Opcode::kRecv ||
          opcode == Opcode::kRecvDone)
        continue;
      if (const absl::Status status = table.Add(*instruction); !status.ok()) {
        return absl::Status(status.code(), fmt::format("{}{}: {}", PlaceOf(*instruction),
                                                       Describe(*instruction), Message(status)));
      }
      CollectiveCost cost{.instruction = instruction, .executions = found->second};
      if (IsLocalConversion(table, *instruction)) continue;
      if (const Routes* routes = table.routes(*instruction)) {
        const int64_t pairs = CountPairs(*routes, &cost.groups);
        const Exchange exchange = model.Transfer(TransferBytes(*instruction), pairs);
        cost.messages = exchange.messages;
        cost.bytes = exchange.bytes;
        cost.seconds = exchange.seconds;
      } else if (const Groups* groups = table.groups(*instruction)) {
        cost.groups = GroupsText(groups->members);
        for (const std::vector<int64_t>& group : groups->members) {
          const Exchange exchange = model.Of(*instruction, static_cast<int64_t>(group.size()));
          cost.messages += exchange.messages;
          cost.bytes += exchange.bytes;
          cost.seconds = std::max(cost.seconds, exchange.seconds);
        }
      } else {
        continue;
      }
      costs.push_back(std::move(cost));
    }
  }
  return costs;
}

}  // namespace hlo::spmd
