// Transfers: infeed and outfeed, send and recv (semantics 8.5, 8.6).

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/run.h"
#include "reference/obstacles.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

constexpr std::string_view kPairsKey = "_xla_send_recv_source_target_pairs";

std::string_view Pairs(const Instruction& transfer) {
  const FrontendAttributes* attributes = transfer.Get<attr::frontend_attributes>();
  if (attributes == nullptr) return "";
  for (const KeyValue& entry : attributes->entries) {
    if (entry.key == kPairsKey) return entry.value;
  }
  return "";
}

// Returns the numbers in `{{0,1},{1,2}}`; none for other text.
std::vector<int64_t> DevicesOf(std::string_view pairs) {
  std::vector<int64_t> devices;
  for (const absl::string_view word : absl::StrSplit(absl::string_view(pairs.data(), pairs.size()),
                                                     absl::ByAnyChar("{}, "), absl::SkipEmpty())) {
    int64_t device = 0;
    if (!absl::SimpleAtoi(word, &device)) return {};
    devices.push_back(device);
  }
  return devices;
}

// The start has the pairs. Without pairs a transfer concerns device 0, with an empty list no device.
bool TakesPart(const Instruction& transfer) {
  const std::string_view pairs = Pairs(transfer);
  return pairs.empty() || !DevicesOf(pairs).empty();
}

// Takes a value of this shape from the host.
absl::StatusOr<Literal> Taken(OpContext& context, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal value, context.caller.host()->Take(context.instruction, shape));
  if (Compatible(value.shape(), shape)) return value;
  return absl::FailedPreconditionError(
      fmt::format("the host gives {}, expected {}", ToString(value.shape()), ToString(shape)));
}

absl::StatusOr<Literal> Received(OpContext& context, const Shape& shape) {
  const int64_t channel = context.instruction.Get<attr::channel_id>();
  std::deque<Literal>& sent = context.caller.Channel(channel);
  if (sent.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("nothing has been sent over channel {}: no send of it can run before this", channel));
  }
  Literal value = std::move(sent.front());
  sent.pop_front();
  if (Compatible(value.shape(), shape)) return value;
  return absl::FailedPreconditionError(
      fmt::format("channel {} brings {}, expected {}", channel, ToString(value.shape()), ToString(shape)));
}

// Returns (data, u32[] context, token).
absl::StatusOr<Literal> Begun(Literal data, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal number, Literal::CreateZeros(shape.element(1)));
  return Literal::Tuple({std::move(data), std::move(number), Literal::Token()});
}

}  // namespace

std::string TransferObstacle(const Instruction& transfer) {
  if (transfer.Get<attr::is_host_transfer>()) return "";
  for (const int64_t device : DevicesOf(Pairs(transfer))) {
    if (device != 0) return "its pairs name several devices; this build evaluates one";
  }
  return "";
}

bool NeedsHost(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kInfeed:
      return !instruction.shape().element(0).IsTuple() || !instruction.shape().element(0).elements().empty();
    case Opcode::kOutfeed:
      return true;
    default:
      return instruction.Get<attr::is_host_transfer>();
  }
}

// Returns (value, token) with the next value from the host. An empty tuple takes none.
absl::StatusOr<Literal> Infeed(OpContext& context) {
  const Shape& shape = context.shape().element(0);
  if (!NeedsHost(context.instruction)) return Literal::CreateZeros(context.shape());
  HLO_ASSIGN_OR_RETURN(Literal value, Taken(context, shape));
  return Literal::Tuple({std::move(value), Literal::Token()});
}

absl::StatusOr<Literal> Outfeed(OpContext& context) {
  HLO_RETURN_IF_ERROR(context.caller.host()->Give(context.instruction, std::move(context.operands[0])));
  return Literal::Token();
}

// Appends the operand to its channel's queue, from which recv-done takes it.
absl::StatusOr<Literal> Send(OpContext& context) {
  if (context.instruction.Get<attr::is_host_transfer>()) {
    HLO_RETURN_IF_ERROR(context.caller.host()->Give(context.instruction, context.operands[0]));
  } else if (TakesPart(context.instruction)) {
    context.caller.Channel(context.instruction.Get<attr::channel_id>()).push_back(context.operands[0]);
  }
  return Begun(std::move(context.operands[0]), context.shape());
}
absl::StatusOr<Literal> SendDone(OpContext&) { return Literal::Token(); }

// Takes nothing, because the send may run later; the data are zeros.
absl::StatusOr<Literal> Recv(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal data, Literal::CreateZeros(context.shape().element(0)));
  return Begun(std::move(data), context.shape());
}

// Returns (data, token); zeros if the pairs contain no device.
absl::StatusOr<Literal> RecvDone(OpContext& context) {
  const Shape& shape = context.shape().element(0);
  const Instruction& start = *context.instruction.operand(0);
  HLO_ASSIGN_OR_RETURN(Literal data, Literal::CreateZeros(shape));
  if (context.instruction.Get<attr::is_host_transfer>()) {
    HLO_ASSIGN_OR_RETURN(data, Taken(context, shape));
  } else if (TakesPart(context.instruction) && TakesPart(start)) {
    HLO_ASSIGN_OR_RETURN(data, Received(context, shape));
  }
  return Literal::Tuple({std::move(data), Literal::Token()});
}

}  // namespace hlo::reference
