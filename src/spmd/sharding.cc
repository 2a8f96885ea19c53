#include "spmd/sharding.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/algorithm/container.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"

namespace hlo::spmd {
namespace {

using Kind = Sharding::Kind;
using Subgroup = Sharding::SubgroupType;

absl::Status Mismatch(int64_t devices, int64_t partitions) {
  return absl::FailedPreconditionError(fmt::format("the sharding covers {}, but a replica has {}",
                                                   Counted(devices, "device"),
                                                   Counted(partitions, "partition")));
}

// Requires a permutation of 0 to partitions - 1.
absl::Status CheckDevices(absl::Span<const int64_t> devices, int64_t partitions) {
  if (static_cast<int64_t>(devices.size()) != partitions)
    return Mismatch(static_cast<int64_t>(devices.size()), partitions);
  std::vector<bool> seen(devices.size());
  for (int64_t device : devices) {
    if (device < 0 || device >= partitions) {
      return absl::FailedPreconditionError(
          fmt::format("the sharding names device {}, but a replica has {} partitions", device, partitions));
    }
    if (seen[device])
      return absl::FailedPreconditionError(fmt::format("the sharding names device {} twice", device));
    seen[device] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckRank(int64_t sharding_rank, int64_t rank) {
  if (sharding_rank == rank) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the sharding has {} dimensions, but the array has {}", sharding_rank, rank));
}

// A digit of a device's position in a mesh.
struct MeshCoordinate {
  const Mesh& mesh;
  Index position;  // By axis.

  int64_t SizeOf(const AxisRef& ref) const { return ref.size != 0 ? ref.size : mesh.axes[ref.axis].size; }
  int64_t Of(const AxisRef& ref) const {
    if (ref.size == 0) return position[ref.axis];
    return position[ref.axis] / (mesh.axes[ref.axis].size / (ref.pre_size * ref.size)) % ref.size;
  }
  // Returns the mixed-radix number of several axes, of which the first is the most significant.
  int64_t Of(absl::Span<const AxisRef> refs) const {
    int64_t number = 0;
    for (const AxisRef& ref : refs) number = number * SizeOf(ref) + Of(ref);
    return number;
  }
};

std::vector<int64_t> DevicesOf(const Mesh& mesh, int64_t count) {
  if (!mesh.device_ids.empty()) return {mesh.device_ids.begin(), mesh.device_ids.end()};
  if (mesh.iota != nullptr) return ExpandIota(mesh.iota->reshape_dims, mesh.iota->transpose_perm);
  return ExpandIota({count}, {});
}

}  // namespace

absl::StatusOr<TileMap> TileMap::Make(const Sharding* sharding, int64_t rank, int64_t partitions) {
  TileMap map;
  map.tile_counts_ = Index(static_cast<size_t>(rank), 1);
  map.places_.assign(static_cast<size_t>(partitions), {.tile = Zeros(rank)});
  const Kind kind = sharding == nullptr ? Kind::kReplicated : sharding->kind;
  switch (kind) {
    case Kind::kReplicated:
    case Kind::kUnknown:
      for (int64_t p = 0; p < partitions; ++p) map.places_[p].replicated = p;
      break;
    case Kind::kManual:
      for (int64_t p = 0; p < partitions; ++p) map.places_[p].manual = p;
      break;
    case Kind::kUnreduced:
      for (int64_t p = 0; p < partitions; ++p) map.places_[p].unreduced = p;
      map.reduction_ = sharding->reduction;
      break;
    case Kind::kMaximal:
      HLO_RETURN_IF_ERROR(map.AddMaximal(sharding->maximal_device, partitions));
      break;
    case Kind::kTiled:
      HLO_RETURN_IF_ERROR(map.AddTiled(*sharding, rank, partitions));
      break;
    case Kind::kNamed:
      HLO_RETURN_IF_ERROR(map.AddNamed(*sharding, rank, partitions));
      break;
    case Kind::kTuple:
      return absl::FailedPreconditionError("an array has a sharding of a tuple");
  }
  map.CountPositions();
  return map;
}

// Only the device's own copy is used for joining.
absl::Status TileMap::AddMaximal(int64_t device, int64_t partitions) {
  if (device < 0 || device >= partitions) {
    return absl::FailedPreconditionError(
        fmt::format("the sharding names device {}, but a replica has {} partitions", device, partitions));
  }
  for (int64_t p = 0; p < partitions; ++p) places_[p].replicated = p == device ? 0 : -1 - p;
  return absl::OkStatus();
}

absl::Status TileMap::AddTiled(const Sharding& sharding, int64_t rank, int64_t partitions) {
  static constexpr Subgroup kCopies[] = {Subgroup::kReplicated};
  const absl::Span<const Subgroup> subgroups =
      sharding.last_tile_dim_replicate ? absl::MakeConstSpan(kCopies) : sharding.last_tile_dims;
  const std::vector<int64_t> devices =
      sharding.iota == nullptr ? std::vector<int64_t>(sharding.devices.begin(), sharding.devices.end())
                               : ExpandIota(sharding.iota->reshape_dims, sharding.iota->transpose_perm);
  if (devices.size() == 1 && devices[0] == 0) {  // XLA reads a grid of one device as replicated.
    for (int64_t p = 0; p < partitions; ++p) places_[p].replicated = p;
    return absl::OkStatus();
  }
  const int64_t data_rank = static_cast<int64_t>(sharding.tile_dims.size() - subgroups.size());
  HLO_RETURN_IF_ERROR(CheckRank(data_rank, rank));
  HLO_RETURN_IF_ERROR(CheckDevices(devices, partitions));
  if (absl::c_linear_search(subgroups, Subgroup::kMaximal))
    return absl::UnimplementedError("shardings with maximal subgroups are not evaluated");
  tile_counts_ = Index(sharding.tile_dims.first(static_cast<size_t>(rank)));
  if (absl::c_linear_search(subgroups, Subgroup::kUnreduced)) reduction_ = sharding.reduction;
  size_t position = 0;
  for (const Index& index : EachIndex(sharding.tile_dims)) {
    Placement& place = places_[devices[position++]];
    std::copy_n(index.begin(), rank, place.tile.begin());
    for (size_t g = 0; g < subgroups.size(); ++g) {
      int64_t& number = subgroups[g] == Subgroup::kManual      ? place.manual
                        : subgroups[g] == Subgroup::kUnreduced ? place.unreduced
                                                               : place.replicated;
      number = number * sharding.tile_dims[rank + g] + index[rank + g];
    }
  }
  return absl::OkStatus();
}

absl::Status TileMap::AddNamed(const Sharding& sharding, int64_t rank, int64_t partitions) {
  using Tail = Sharding::NamedTail;
  const Mesh& mesh = *sharding.mesh;
  if (mesh.single_device) return AddMaximal(mesh.device_id, partitions);
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return Mismatch(-1, partitions);
  }
  if (mesh.axes.empty() && sharding.tail != Tail::kManual && sharding.tail != Tail::kUnreduced) {
    for (int64_t p = 0; p < partitions; ++p) places_[p].replicated = p;
    return absl::OkStatus();
  }
  if (count != partitions) return Mismatch(count, partitions);
  const std::vector<int64_t> devices = DevicesOf(mesh, count);
  HLO_RETURN_IF_ERROR(CheckDevices(devices, partitions));
  if (sharding.tail == Tail::kDims) {
    HLO_RETURN_IF_ERROR(CheckRank(static_cast<int64_t>(sharding.dims.size()), rank));
    for (int64_t d = 0; d < rank; ++d) {
      for (const AxisRef& ref : sharding.dims[d].axes)
        tile_counts_[d] *= ref.size != 0 ? ref.size : mesh.axes[ref.axis].size;
    }
  }
  const bool unreduced = sharding.tail == Tail::kUnreduced || !sharding.unreduced_axes.empty();
  if (unreduced) reduction_ = sharding.reduction;
  // Partitions that agree in the named axes differ in the others, which are counted in the order of the mesh.
  std::map<std::tuple<Index, int64_t, int64_t>, int64_t> copies;
  int64_t position = 0;
  for (const Index& index : EachIndex(sizes)) {
    const MeshCoordinate coordinate = {mesh, index};
    Placement& place = places_[devices[position]];
    if (sharding.tail == Tail::kDims) {
      for (int64_t d = 0; d < rank; ++d) place.tile[d] = coordinate.Of(sharding.dims[d].axes);
    }
    place.manual = sharding.tail == Tail::kManual ? position : coordinate.Of(sharding.manual_axes);
    const bool all_unreduced = sharding.tail == Tail::kUnreduced && !sharding.has_unreduced_axes;
    place.unreduced = all_unreduced ? position : coordinate.Of(sharding.unreduced_axes);
    place.replicated = copies[{place.tile, place.manual, place.unreduced}]++;
    ++position;
  }
  return absl::OkStatus();
}

void TileMap::CountPositions() {
  for (const Placement& place : places_) {
    manual_count_ = std::max(manual_count_, place.manual + 1);
    unreduced_count_ = std::max(unreduced_count_, place.unreduced + 1);
    replicated_count_ = std::max(replicated_count_, place.replicated + 1);
  }
}

bool TileMap::IsWhole() const {
  return absl::c_all_of(tile_counts_, [](int64_t count) { return count == 1; });
}

Index TileMap::TileDims(absl::Span<const int64_t> dims) const {
  Index sizes(dims);
  for (int64_t d = 0; d < sizes.rank(); ++d)
    sizes[d] = sizes[d] / tile_counts_[d] + (sizes[d] % tile_counts_[d] != 0);
  return sizes;
}

absl::StatusOr<std::vector<const Sharding*>> LeafShardings(const Sharding* sharding, const Shape& shape) {
  const auto leaves = static_cast<size_t>(shape.LeafCount());
  if (sharding == nullptr || sharding->kind != Kind::kTuple)
    return std::vector<const Sharding*>(leaves, sharding);
  if (sharding->elements.size() != leaves && !(leaves == 0 && sharding->elements.size() == 1)) {
    return absl::FailedPreconditionError(fmt::format("the sharding has {} elements, but {} has {} leaves",
                                                     sharding->elements.size(), ToString(shape), leaves));
  }
  return std::vector<const Sharding*>(sharding->elements.begin(),
                                      sharding->elements.begin() + static_cast<int64_t>(leaves));
}

}  // namespace hlo::spmd
