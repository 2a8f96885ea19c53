// Implements bitcast, bitcast-convert, shuffle and the numbers of devices as copies.

#include "kernels/cuda/movement/movement_kernels.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/copy/copy_body.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/run_state.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "types/index.h"
#include "types/packing.h"
#include "types/physical_layout.h"

namespace hlo::cuda {
namespace {

// A view of an array: offset and strides.
struct Strided {
  int64_t offset = 0;
  Index strides;
};

// Returns a copy to[i] = from[i] for i over `dims`. Arguments: from, to.
absl::StatusOr<LoweredProgram> CopyOf(ElementType type, const Index& dims, const Strided& from,
                                      const Strided& to, const DeviceProperties& device) {
  const auto access = [&](int32_t argument, const Strided& array) {
    return loops::Access{.argument = argument,
                         .type = loops::BytesOf(type),
                         .offset = array.offset,
                         .inner = {array.strides.begin(), array.strides.end()}};
  };
  loops::LoopProgram program({}, absl::MakeConstSpan(dims.data(), dims.size()));
  program.Store(program.Load(access(0, from)), access(1, to));
  program.Finish();
  return LowerLoop(program, device);
}

// Returns nullopt if the bytes do not change.
std::optional<RepackArgs> RepackOf(const Shape& from, const Shape& to) {
  const int64_t from_bits = PackedBits(from.type()), to_bits = PackedBits(to.type());
  if (from.type() == to.type() || (from_bits >= 8 && to_bits >= 8)) return std::nullopt;
  RepackArgs args;
  args.from_count = static_cast<uint64_t>(*DenseByteCount(from));
  args.to_count = static_cast<uint64_t>(*DenseByteCount(to));
  args.from_bits = static_cast<uint32_t>(std::min<int64_t>(from_bits, 8));
  args.to_bits = static_cast<uint32_t>(std::min<int64_t>(to_bits, 8));
  args.is_signed = IsSigned(to.type()) && IsIntegral(to.type()) && to_bits < 8;
  return args;
}

// An array in memory order: its dimensions from most major to most minor, and their strides in the row-major
// array. MemoryOf returns nullopt if the array is row-major.
struct InMemory {
  Index dims, strides;
};
std::optional<InMemory> MemoryOf(const Shape& shape) {
  if (shape.layout() == nullptr || shape.layout()->minor_to_major.size() != static_cast<size_t>(shape.rank()))
    return std::nullopt;
  const Index strides = RowMajorStrides(shape.dims());
  InMemory memory;
  for (int64_t d = shape.rank(); d-- > 0;) {
    const int64_t at = shape.layout()->minor_to_major[static_cast<size_t>(d)];
    memory.dims.push_back(shape.dim(at));
    memory.strides.push_back(strides[at]);
  }
  return memory;
}

}  // namespace

// Copies into the memory order of the operand, repacks to the result type, and copies out of the memory order
// of the result. Omits steps that change nothing; intermediate results alternate between two buffers.
std::optional<CudaKernel> FindBitcastKernel(const Instruction& bitcast, const DeviceProperties& device) {
  const Shape &from = bitcast.operand(0)->shape(), &to = bitcast.shape();
  const bool by_layout = bitcast.opcode() == Opcode::kBitcast;
  if (by_layout && !(IsUntiled(from) && IsUntiled(to))) return std::nullopt;
  // A pred must be 0 or 1, so arbitrary bytes cannot be reinterpreted.
  if (IsPred(to.type()) && !IsPred(from.type())) return std::nullopt;
  // The reference rejects results with more bits than the operand.
  if (PackedByteCount(to.type(), *to.ElementCount()) > PackedByteCount(from.type(), *from.ElementCount()))
    return std::nullopt;
  const int64_t from_bytes = *DenseByteCount(from), bytes = *DenseByteCount(to);
  const std::optional<RepackArgs> repack = RepackOf(from, to);
  if (!repack.has_value() && from_bytes != bytes) return std::nullopt;
  using Step = std::function<absl::Status(void* source, void* target, Stream stream)>;
  std::vector<Step> steps;
  const auto add_copy = [&](ElementType type, const InMemory& memory, bool into_memory) {
    const Strided dense{0, RowMajorStrides(memory.dims)}, logical{0, memory.strides};
    absl::StatusOr<LoweredProgram> copy =
        CopyOf(type, memory.dims, into_memory ? logical : dense, into_memory ? dense : logical, device);
    if (!copy.ok()) return false;
    steps.push_back([copy = *std::move(copy)](void* source, void* target, Stream stream) {
      void* pointers[] = {source, target};
      return copy.run(pointers, nullptr, stream);
    });
    return true;
  };
  const std::optional<InMemory> before = by_layout && bytes > 0 ? MemoryOf(from) : std::nullopt,
                                after = by_layout && bytes > 0 ? MemoryOf(to) : std::nullopt;
  if (before.has_value() && !add_copy(from.type(), *before, true)) return std::nullopt;
  if (repack.has_value() && bytes > 0) {
    const int64_t blocks = CeilDiv(bytes, RepackKernel::kThreads);
    if (blocks > INT32_MAX) return std::nullopt;
    steps.push_back([=, args = *repack](void* source, void* target, Stream stream) mutable {
      args.from = static_cast<const uint8_t*>(source);
      args.to = static_cast<uint8_t*>(target);
      return Launch<RepackKernel>({{static_cast<uint32_t>(blocks)}, RepackKernel::kThreads}, args, stream);
    });
  }
  if (after.has_value() && !add_copy(to.type(), *after, false)) return std::nullopt;
  const int64_t pitch = device::Aligned(std::max(from_bytes, bytes));
  return CudaKernel{
      "bitcast in memory", pitch * std::clamp<int64_t>(static_cast<int64_t>(steps.size()) - 1, 0, 2),
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
          Stream stream) -> absl::Status {
        if (steps.empty()) return device::CopyOnDevice(results[0], operands[0], bytes, stream);
        void* source = const_cast<void*>(operands[0]);
        for (size_t k = 0; k < steps.size(); ++k) {
          void* target = k + 1 == steps.size()
                             ? results[0]
                             : static_cast<std::byte*>(workspace) + pitch * static_cast<int64_t>(k);
          HLO_RETURN_IF_ERROR(steps[k](source, target, stream));
          source = target;
        }
        return absl::OkStatus();
      }};
}

// Computes result[(i + shift) mod n] = operand[i]: along each dimension, one part stays before the end and
// one part wraps around.
std::optional<CudaKernel> FindShuffleKernel(const Instruction& shuffle, const DeviceProperties& device) {
  const Shape& shape = shuffle.shape();
  const IntList dimensions = shuffle.Get<attr::dimensions>(), shifts = shuffle.Get<attr::shifts>();
  constexpr size_t kMaxDimensions = 4;
  if (dimensions.size() != shifts.size() || dimensions.size() > kMaxDimensions ||
      hlo::Product(shape.dims()) == 0)
    return std::nullopt;
  const Index strides = RowMajorStrides(shape.dims());
  struct Block {
    Index dims;
    int64_t from = 0, to = 0;
  };
  std::vector<Block> blocks = {{Index(shape.dims())}};
  for (size_t k = 0; k < dimensions.size(); ++k) {
    const int64_t d = dimensions[k], n = shape.dim(d), shift = ((shifts[k] % n) + n) % n;
    std::vector<Block> next;
    for (const Block& block : blocks) {
      if (block.dims[d] != n) return std::nullopt;  // The same dimension occurs twice.
      for (const bool wraps : {false, true}) {
        Block part = block;
        part.dims[d] = wraps ? shift : n - shift;
        part.from += (wraps ? n - shift : 0) * strides[d];
        part.to += (wraps ? 0 : shift) * strides[d];
        if (part.dims[d] > 0) next.push_back(std::move(part));
      }
    }
    blocks = std::move(next);
  }
  std::vector<LoweredProgram> copies;
  for (const Block& block : blocks) {
    absl::StatusOr<LoweredProgram> copy =
        CopyOf(shape.type(), block.dims, {block.from, strides}, {block.to, strides}, device);
    if (!copy.ok()) return std::nullopt;
    copies.push_back(*std::move(copy));
  }
  return CudaKernel{
      "shuffle by blocks", 0,
      [copies = std::move(copies)](absl::Span<const void* const> operands, absl::Span<void* const> results,
                                   void*, Stream stream) -> absl::Status {
        void* pointers[] = {const_cast<void*>(operands[0]), results[0]};
        for (const LoweredProgram& copy : copies) HLO_RETURN_IF_ERROR(copy.run(pointers, nullptr, stream));
        return absl::OkStatus();
      }};
}

std::optional<CudaKernel> FindDeviceIdKernel(const Instruction& id, const DeviceProperties& /*device*/) {
  if (!id.shape().IsScalar(ElementType::kU32)) return std::nullopt;
  const bool is_replica = id.opcode() == Opcode::kReplicaId;
  CudaKernel kernel{.name = is_replica ? "number of the replica" : "number of the partition",
                    .needs_run_state = true};
  kernel.run = [is_replica](absl::Span<const void* const> operands, absl::Span<void* const> results, void*,
                            Stream stream) {
    const auto* state = static_cast<const RunState*>(operands.back());
    return device::CopyOnDevice(results[0], is_replica ? &state->replica : &state->partition,
                                sizeof(uint32_t), stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
