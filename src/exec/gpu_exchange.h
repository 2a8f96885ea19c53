#pragma once
// Collectives of devices that are on GPUs of one process. Values go from GPU to GPU: the devices meet
// (spmd/collectives.h), and the last to arrive enqueues the copies and folds of all.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "device/gpu.h"
#include "plan/gpu/peer_collectives.h"
#include "spmd/collectives.h"
#include "spmd/ragged_exchange.h"

namespace hlo::exec {

// The part of one device.
class GpuExchange {
 public:
  explicit GpuExchange(std::shared_ptr<device::Gpu> gpu) : gpu_(std::move(gpu)) {}

  struct Call {
    const Instruction& instruction;
    plan::PeerCollective::Kind kind;
    spmd::Collectives& link;
    // Device memory, one array per operand of the instruction, or per leaf for a send or recv; a result is
    // nullptr if nobody reads it.
    std::vector<const void*> operands;
    std::vector<void*> results;
    std::vector<int64_t> result_bytes;  // Empty for a send or recv.
    absl::FunctionRef<GpuExchange&(int64_t device)> peer;
  };

  // Runs a collective for this device, with those of its group. Errors are those of Collectives.
  absl::Status Run(Call call);

 private:
  using Members = std::vector<GpuExchange*>;
  // Memory for values that other devices read after this device has continued.
  struct SendBuffer {
    std::shared_ptr<device::Gpu> gpu;
    device::GpuMemory memory;
    int64_t byte_count = 0;
    std::atomic<bool> is_free = false;
  };

  absl::Status FillWithZeros(const Call& call);
  // Sends copies of the leading operands, because the receivers may continue later than this device.
  absl::Status SendCopies(const Call& call, size_t count, std::string_view chain,
                          absl::Span<const int64_t> targets);
  absl::Status CopyReceived(const Call& call, const spmd::Values& values, int64_t source);
  absl::Status Permute(const Call& call);
  absl::Status Transfer(const Call& call);
  absl::Status FillResult(const Call& call, size_t leaf, int64_t byte_count);
  absl::Status Send(const Call& call);
  absl::Status StartReceive(const Call& call);
  absl::Status CompleteReceive(const Call& call);
  absl::Status ConvertShapes(Call& call);
  absl::Status ReceiveTiles(const Call& call, const Members& members, size_t position, size_t k);
  absl::StatusOr<spmd::RaggedMember> ReadRaggedLists(const Call& call);
  absl::Status ExchangeRows(const Call& call, const Members& members);
  absl::Status Meet(const Call& call);
  absl::Status CopyOverwrittenOperands(Call& call);
  absl::Status RunForAll(const Call& call, const Members& members);
  absl::Status AllReduce(const Call& call, const Members& members, size_t k);
  absl::Status Receive(const Call& call, const Members& members, size_t position, size_t k);
  absl::Status ReceiveParts(const Call& call, const Members& members, int64_t own, size_t k);
  absl::Status CheckSizes(const Call& call, int64_t members, size_t k) const;
  // A part of an operand, in elements: `count` rows of `length` each, whose first elements are `pitch` apart.
  struct RowBlock {
    int64_t begin, pitch, length, count;
  };
  // Folds a part of the members' operand k into `to`, which has its rows without gaps.
  absl::Status Fold(const Call& call, const Members& members, size_t k, const RowBlock& rows, void* to);
  absl::StatusOr<cuda::LoweredProgram*> FoldProgram(const Instruction& instruction, ElementType type,
                                                    int64_t array_count, int64_t element_count);
  absl::StatusOr<std::byte*> Scratch(device::GpuMemory& memory, int64_t& allocated, int64_t byte_count);
  absl::StatusOr<std::shared_ptr<SendBuffer>> TakeSendBuffer(int64_t byte_count);

  std::shared_ptr<device::Gpu> gpu_;
  // The arrays of the call that this device waits in.
  bool is_waiting_ = false;
  std::vector<const void*> operands_;
  std::vector<void*> results_;
  std::vector<int64_t> result_bytes_;
  // Operands that results overwrite; operands of other GPUs; tiles of operands.
  device::GpuMemory held_, gathered_, tiles_;
  int64_t held_bytes_ = 0, gathered_bytes_ = 0, tiles_bytes_ = 0;
  std::vector<std::shared_ptr<SendBuffer>> send_buffers_;
  absl::flat_hash_map<std::tuple<const Instruction*, int64_t, int64_t>, cuda::LoweredProgram> folds_;
};

}  // namespace hlo::exec
