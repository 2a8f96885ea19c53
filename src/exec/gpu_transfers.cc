// send and recv between devices on GPUs: values go from GPU to GPU.

#include "base/status.h"
#include "device/copy.h"
#include "exec/gpu_exchange.h"
#include "fmt/format.h"

namespace hlo::exec {
namespace {

using Kind = plan::PeerCollective::Kind;

// The leaves of a send or recv and of the operand of its done.
constexpr size_t kData = 0, kContext = 1;

}  // namespace

absl::Status GpuExchange::Transfer(const Call& call) {
  switch (call.kind) {
    case Kind::kSend:
      return Send(call);
    case Kind::kRecv:
      return StartReceive(call);
    case Kind::kRecvDone:
      return CompleteReceive(call);
    default:
      return absl::OkStatus();  // A send-done has no value.
  }
}

absl::Status GpuExchange::FillResult(const Call& call, size_t leaf, int64_t byte_count) {
  if (call.results[leaf] == nullptr) return absl::OkStatus();
  return device::FillOnDevice(call.results[leaf], 0, byte_count, gpu_->stream());
}

// The result begins with the operand and a context, which is zero.
absl::Status GpuExchange::Send(const Call& call) {
  const spmd::Routes* routes = call.link.table().routes(call.instruction);
  if (routes == nullptr) return absl::InternalError("its pairs are not known");
  const int64_t bytes = *DenseByteCount(call.instruction.operand(0)->shape());
  if (void* const result = call.results[kData]; result != nullptr && result != call.operands[kData])
    HLO_RETURN_IF_ERROR(gpu_->Copy(result, call.operands[kData], bytes));
  HLO_RETURN_IF_ERROR(FillResult(call, kContext, sizeof(uint32_t)));
  return SendCopies(call, 1, spmd::TransferPairsText(call.instruction), routes->targets[call.link.device()]);
}

// The data are zeros. The context is the number of the recv, so that the recv-done finds it through loops and
// tuples.
absl::Status GpuExchange::StartReceive(const Call& call) {
  HLO_RETURN_IF_ERROR(FillResult(call, kData, *DenseByteCount(call.instruction.shape().element(0))));
  if (call.results[kContext] == nullptr) return absl::OkStatus();
  const uint32_t number = call.link.table().NumberOf(call.instruction);
  return gpu_->ToDevice(call.results[kContext], &number, sizeof number);
}

// Waits for the value of the source; zeros if this device is not a target.
absl::Status GpuExchange::CompleteReceive(const Call& call) {
  uint32_t number = 0;
  HLO_RETURN_IF_ERROR(gpu_->ToHost(&number, call.operands[kContext], sizeof number));
  const spmd::ExchangeTable& table = call.link.table();
  const Instruction* start = table.Receive(number);
  if (start == nullptr) return absl::FailedPreconditionError("it is not known which recv this completes");
  const int64_t device = call.link.device(), source = table.routes(*start)->sources[device];
  const Shape& shape = call.instruction.shape().element(0);
  if (source < 0) return FillResult(call, kData, *DenseByteCount(shape));
  HLO_ASSIGN_OR_RETURN(
      const spmd::Values values,
      call.link.Receive({&call.instruction, spmd::TransferPairsText(*start), source, device}));
  if (!Compatible(values[0].shape(), shape)) {
    return absl::FailedPreconditionError(fmt::format("{} sends {}, expected {}",
                                                     call.link.grid().NameOf(source),
                                                     ToString(values[0].shape()), ToString(shape)));
  }
  return CopyReceived(call, values, source);
}

}  // namespace hlo::exec
