// The boundaries of manual regions between devices on GPUs: a device keeps its tile of an operand, and a
// result consists of the tiles of some devices (spmd 5.5).

#include <utility>
#include <vector>

#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "exec/gpu_exchange.h"
#include "fmt/format.h"
#include "spmd/conversions.h"
#include "spmd/shards.h"
#include "types/index.h"

namespace hlo::exec {
namespace {

using spmd::ShapeConversion;
using spmd::TileExtent;

// A dense array in device memory, and where a box in it begins.
struct Box {
  const device::Gpu& gpu;
  const void* data;
  Index dims, offset;
};

int64_t OffsetOf(const Box& box, const Index& index) {
  int64_t offset = 0;
  for (int64_t d = 0; d < box.dims.rank(); ++d)
    offset = offset * box.dims[d] + box.offset[d] + (d < index.rank() ? index[d] : 0);
  return offset;
}

// Joins the last two dimensions as long as the box has all of the last one.
void JoinDimensions(Box& from, Box& to, Index& size) {
  while (size.rank() > 1 && size.back() == from.dims.back() && size.back() == to.dims.back()) {
    const int64_t last = size.back();
    for (Index* index : {&from.dims, &from.offset, &to.dims, &to.offset, &size}) {
      index->pop_back();
      index->back() *= last;
    }
  }
}

// Copies a box in rows of its last dimension.
absl::Status CopyBox(device::Gpu& gpu, int64_t element_bytes, Box from, Box to, Index size) {
  if (Product(size) == 0) return absl::OkStatus();
  if (size.empty()) size = from.dims = to.dims = {1}, from.offset = to.offset = {0};
  JoinDimensions(from, to, size);
  const int64_t rank = size.rank(), rows = rank > 1 ? size[rank - 2] : 1;
  Index outer;
  for (int64_t d = 0; d + 2 < rank; ++d) outer.push_back(size[d]);
  for (const Index& index : EachIndex(outer)) {
    const auto* source = static_cast<const std::byte*>(from.data) + OffsetOf(from, index) * element_bytes;
    auto* target = static_cast<std::byte*>(const_cast<void*>(to.data)) + OffsetOf(to, index) * element_bytes;
    HLO_RETURN_IF_ERROR(gpu.CopyRowsFrom(from.gpu, target, to.dims.back() * element_bytes, source,
                                         from.dims.back() * element_bytes, size.back() * element_bytes,
                                         rows));
  }
  return absl::OkStatus();
}

// Returns the part of an array of sizes `dims` that the partition's tile holds.
TileExtent ExtentIn(const spmd::TileMap& map, int64_t partition, absl::Span<const int64_t> dims,
                    const Index& tile_dims) {
  return map.IsWhole() ? TileExtent{Zeros(tile_dims.rank()), tile_dims}
                       : spmd::ExtentOf(map.at(partition).tile, dims, tile_dims);
}

absl::Status CheckTiles(const ShapeConversion& conversion, const Shape& operand) {
  if (operand.rank() == conversion.from.tile_counts().rank() &&
      conversion.result.rank() == conversion.to.tile_counts().rank() &&
      conversion.from.TileDims(operand.dims()) == conversion.to.TileDims(conversion.result.dims()))
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the tiles of {} are not those of {}", ToString(operand), ToString(conversion.result)));
}

}  // namespace

absl::Status GpuExchange::ConvertShapes(Call& call) {
  const absl::Span<const ShapeConversion> conversions = call.link.table().conversions(call.instruction);
  const int64_t partition = call.link.grid().partition(call.link.device());
  bool is_local = true;
  int64_t tile_bytes = 0;
  for (size_t k = 0; k < conversions.size(); ++k) {
    const Shape& operand = call.instruction.operand(static_cast<int64_t>(k))->shape();
    HLO_RETURN_IF_ERROR(CheckTiles(conversions[k], operand));
    is_local &= conversions[k].IsLocal();
    tile_bytes +=
        device::Aligned(Product(conversions[k].from.TileDims(operand.dims())) * ByteCount(operand.type()));
  }
  std::byte* tile = nullptr;
  if (!is_local) {
    HLO_ASSIGN_OR_RETURN(tile, Scratch(tiles_, tiles_bytes_, tile_bytes));
  }
  for (size_t k = 0; k < conversions.size(); ++k) {
    const Shape& operand = call.instruction.operand(static_cast<int64_t>(k))->shape();
    const Index dims = conversions[k].from.TileDims(operand.dims());
    const int64_t bytes = Product(dims) * ByteCount(operand.type());
    void* const to = is_local ? call.results[k] : tile;
    if (to != nullptr) {
      const TileExtent extent = ExtentIn(conversions[k].from, partition, operand.dims(), dims);
      if (extent.size != dims) HLO_RETURN_IF_ERROR(device::FillOnDevice(to, 0, bytes, gpu_->stream()));
      HLO_RETURN_IF_ERROR(CopyBox(*gpu_, ByteCount(operand.type()),
                                  {*gpu_, call.operands[k], Index(operand.dims()), extent.offset},
                                  {*gpu_, to, dims, Zeros(dims.rank())}, extent.size));
    }
    if (!is_local) call.operands[k] = std::exchange(tile, tile + device::Aligned(bytes));
  }
  return is_local ? absl::OkStatus() : Meet(call);
}

// Enqueues the copies for result k of the partition at this position.
absl::Status GpuExchange::ReceiveTiles(const Call& call, const Members& members, size_t position, size_t k) {
  const ShapeConversion& conversion = call.link.table().conversions(call.instruction)[k];
  const spmd::TileMap& map = conversion.to;
  const Index dims = map.TileDims(conversion.result.dims());
  for (int64_t p = 0; p < map.partitions(); ++p) {
    if (!spmd::HaveEqualSubgroups(map.at(p), map.at(static_cast<int64_t>(position)))) continue;
    const GpuExchange& member = *members[static_cast<size_t>(p)];
    const TileExtent extent = ExtentIn(map, p, conversion.result.dims(), dims);
    HLO_RETURN_IF_ERROR(CopyBox(*gpu_, ByteCount(conversion.result.type()),
                                {*member.gpu_, member.operands_[k], dims, Zeros(dims.rank())},
                                {*gpu_, results_[k], Index(conversion.result.dims()), extent.offset},
                                extent.size));
    if (map.IsWhole()) break;
  }
  return absl::OkStatus();
}

}  // namespace hlo::exec
