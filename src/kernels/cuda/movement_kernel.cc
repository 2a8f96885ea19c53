// bitcast, bitcast-convert and shuffle as copies between strides.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/lower_tile.h"
#include "kernels/cuda/registry.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// A place in an array: offset and strides.
struct Strided {
  int64_t offset = 0;
  Index strides;
};

// to[i] = from[i] for i over `dims`. Arguments: from, to.
absl::StatusOr<LoweredProgram> CopyOf(ElementType type, const Index& dims, const Strided& from,
                                      const Strided& to, const DeviceProperties& device) {
  const auto access = [&](int32_t argument, const Strided& place) {
    return cpu::Access{.argument = argument,
                       .type = cpu::BytesOf(type),
                       .offset = place.offset,
                       .inner = {place.strides.begin(), place.strides.end()}};
  };
  cpu::TileProgram program({}, absl::MakeConstSpan(dims.data(), dims.size()));
  program.Store(program.Load(access(0, from)), access(1, to));
  program.Finish();
  return LowerTile(program, device);
}

bool IsUntiled(const Shape& shape) {
  const Layout* layout = shape.layout();
  return layout == nullptr || (layout->tiles.empty() && layout->split_configs.empty() &&
                               layout->tail_padding_alignment_in_elements == 1);
}

bool HasWholeBytes(ElementType type) { return BitWidth(type) % 8 == 0 || IsPred(type); }

// An array in the order of its memory: its dimensions from the most major one, and their strides in an array
// without layout. nullopt: it is that already.
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

// Into the order of the operand's memory, and from there out of that of the result's.
std::optional<CudaKernel> FindBitcastKernel(const Instruction& bitcast, const DeviceProperties& device) {
  const Shape &from = bitcast.operand(0)->shape(), &to = bitcast.shape();
  const bool same = from.type() == to.type();
  if (!same && !(HasWholeBytes(from.type()) && HasWholeBytes(to.type()))) return std::nullopt;
  const bool by_layout = bitcast.opcode() == Opcode::kBitcast;
  if (by_layout && !(IsUntiled(from) && IsUntiled(to))) return std::nullopt;
  const int64_t bytes = *DenseByteCount(to);
  if (bytes != *DenseByteCount(from)) return std::nullopt;
  std::optional<LoweredProgram> into, out_of;
  if (by_layout && bytes > 0) {
    if (const std::optional<InMemory> memory = MemoryOf(from); memory.has_value()) {
      absl::StatusOr<LoweredProgram> copy =
          CopyOf(from.type(), memory->dims, {0, memory->strides}, {0, RowMajorStrides(memory->dims)}, device);
      if (!copy.ok()) return std::nullopt;
      into = *std::move(copy);
    }
    if (const std::optional<InMemory> memory = MemoryOf(to); memory.has_value()) {
      absl::StatusOr<LoweredProgram> copy =
          CopyOf(to.type(), memory->dims, {0, RowMajorStrides(memory->dims)}, {0, memory->strides}, device);
      if (!copy.ok()) return std::nullopt;
      out_of = *std::move(copy);
    }
  }
  const bool by_way = into.has_value() && out_of.has_value();
  return CudaKernel{"bitcast in memory", by_way ? device::Aligned(bytes) : 0,
                    [=](absl::Span<const void* const> operands, absl::Span<void* const> results,
                        void* workspace, Stream stream) -> absl::Status {
                      if (!into.has_value() && !out_of.has_value())
                        return device::CopyOnDevice(results[0], operands[0], bytes, stream);
                      void* from_there = const_cast<void*>(operands[0]);
                      if (into.has_value()) {
                        void* pointers[] = {from_there, by_way ? workspace : results[0]};
                        HLO_RETURN_IF_ERROR(into->run(pointers, nullptr, stream));
                        from_there = pointers[1];
                      }
                      if (!out_of.has_value()) return absl::OkStatus();
                      void* pointers[] = {from_there, results[0]};
                      return out_of->run(pointers, nullptr, stream);
                    }};
}

// result[(i + shift) mod n] = operand[i]: along each dimension what stays before the end, and what wraps.
std::optional<CudaKernel> FindShuffleKernel(const Instruction& shuffle, const DeviceProperties& device) {
  const Shape& shape = shuffle.shape();
  const IntList dimensions = shuffle.Get<attr::dimensions>(), shifts = shuffle.Get<attr::shifts>();
  constexpr size_t kMostDimensions = 4;
  if (dimensions.size() != shifts.size() || dimensions.size() > kMostDimensions || Product(shape.dims()) == 0)
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
      if (block.dims[d] != n) return std::nullopt;  // Twice the same dimension.
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

}  // namespace hlo::cuda
