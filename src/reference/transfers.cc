// Transfers: infeed and outfeed, send and recv (semantics 8.5, 8.6).

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/run.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "spmd/collectives.h"

namespace hlo::reference {
namespace {

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
bool Participates(const Instruction& transfer) {
  const std::string_view pairs = spmd::TransferPairsText(transfer);
  return pairs.empty() || !DevicesOf(pairs).empty();
}

// Takes a value of this shape from the host.
absl::StatusOr<Literal> Taken(OpContext& context, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal value, context.caller.host()->Read(context.instruction, shape));
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
absl::StatusOr<Literal> TransferResult(Literal data, const Shape& shape, uint32_t context = 0) {
  HLO_ASSIGN_OR_RETURN(Literal number, Literal::CreateZeros(shape.element(1)));
  if (context != 0) number.mutable_span<uint32_t>()[0] = context;
  return Literal::Tuple({std::move(data), std::move(number), Literal::Token()});
}

// Queues the operand for the target, if this device is a source.
absl::Status SendToPeer(OpContext& context) {
  spmd::Collectives& collectives = *context.caller.collectives();
  const spmd::Routes* routes = collectives.table().routes(context.instruction);
  if (routes == nullptr) return absl::InternalError("its pairs are not known");
  for (const int64_t target : routes->targets[collectives.device()]) {
    Literal copy = context.operands[0];
    HLO_RETURN_IF_ERROR(copy.MakeUnique());
    const spmd::Route route{&context.instruction, spmd::TransferPairsText(context.instruction),
                            collectives.device(), target};
    HLO_RETURN_IF_ERROR(collectives.Send(route, {std::move(copy)}));
  }
  return absl::OkStatus();
}

// Waits for the value of the source; zeros if this device is not a target. The context of a recv is its
// number, so that the recv-done finds it through loops and tuples.
absl::StatusOr<Literal> ReceiveFromPeer(OpContext& context, const Shape& shape) {
  spmd::Collectives& collectives = *context.caller.collectives();
  const Instruction* start = collectives.table().Receive(context.operands[0].element(1).span<uint32_t>()[0]);
  if (start == nullptr) return absl::FailedPreconditionError("it is not known which recv this completes");
  const int64_t source = collectives.table().routes(*start)->sources[collectives.device()];
  if (source < 0) return Literal::CreateZeros(shape);
  const spmd::Route route{&context.instruction, spmd::TransferPairsText(*start), source,
                          collectives.device()};
  HLO_ASSIGN_OR_RETURN(spmd::Values values, collectives.Receive(route));
  if (Compatible(values[0].shape(), shape)) return std::move(values[0]);
  return absl::FailedPreconditionError(fmt::format("{} sends {}, expected {}",
                                                   collectives.grid().NameOf(source),
                                                   ToString(values[0].shape()), ToString(shape)));
}

bool IsBetweenDevices(const OpContext& context) {
  return context.caller.collectives() != nullptr && !context.instruction.Get<attr::is_host_transfer>();
}

}  // namespace

std::string TransferUnsupportedReason(const Instruction& transfer) {
  if (transfer.Get<attr::is_host_transfer>()) return "";
  if (spmd::HasSeveralDevices(*transfer.parent()->module())) return "";
  for (const int64_t device : DevicesOf(spmd::TransferPairsText(transfer))) {
    if (device != 0) return "its pairs name several devices; the run has one";
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
  HLO_RETURN_IF_ERROR(context.caller.host()->Write(context.instruction, std::move(context.operands[0])));
  return Literal::Token();
}

// Appends the operand to its channel's queue, from which recv-done takes it.
absl::StatusOr<Literal> Send(OpContext& context) {
  if (IsBetweenDevices(context)) {
    HLO_RETURN_IF_ERROR(SendToPeer(context));
  } else if (context.instruction.Get<attr::is_host_transfer>()) {
    HLO_RETURN_IF_ERROR(context.caller.host()->Write(context.instruction, context.operands[0]));
  } else if (Participates(context.instruction)) {
    context.caller.Channel(context.instruction.Get<attr::channel_id>()).push_back(context.operands[0]);
  }
  return TransferResult(std::move(context.operands[0]), context.shape());
}
absl::StatusOr<Literal> SendDone(OpContext&) { return Literal::Token(); }

// Takes nothing, because the send may run later; the data are zeros.
absl::StatusOr<Literal> Recv(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal data, Literal::CreateZeros(context.shape().element(0)));
  const uint32_t number =
      IsBetweenDevices(context) ? context.caller.collectives()->table().NumberOf(context.instruction) : 0;
  return TransferResult(std::move(data), context.shape(), number);
}

// Returns (data, token); zeros if the pairs contain no device.
absl::StatusOr<Literal> RecvDone(OpContext& context) {
  const Shape& shape = context.shape().element(0);
  const Instruction& start = *context.instruction.operand(0);
  HLO_ASSIGN_OR_RETURN(Literal data, Literal::CreateZeros(shape));
  if (IsBetweenDevices(context)) {
    HLO_ASSIGN_OR_RETURN(data, ReceiveFromPeer(context, shape));
  } else if (context.instruction.Get<attr::is_host_transfer>()) {
    HLO_ASSIGN_OR_RETURN(data, Taken(context, shape));
  } else if (Participates(context.instruction) && Participates(start)) {
    HLO_ASSIGN_OR_RETURN(data, Received(context, shape));
  }
  return Literal::Tuple({std::move(data), Literal::Token()});
}

}  // namespace hlo::reference
