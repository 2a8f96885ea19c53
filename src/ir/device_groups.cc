#include "ir/device_groups.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace hlo {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 24;

std::optional<int64_t> Product(IntList sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 0 || (size > 0 && product > kMaxDevices / size)) return std::nullopt;
    product *= size;
  }
  return product;
}

bool IsPermutation(IntList perm) {
  std::vector<bool> seen(perm.size());
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(perm.size()) || seen[p]) return false;
    seen[p] = true;
  }
  return true;
}

std::vector<std::vector<int64_t>> Cut(const std::vector<int64_t>& devices, int64_t group_size) {
  std::vector<std::vector<int64_t>> groups;
  if (group_size <= 0) return groups;
  for (size_t i = 0; i + group_size <= devices.size(); i += group_size) {
    groups.emplace_back(devices.begin() + i, devices.begin() + i + group_size);
  }
  return groups;
}

// A factor of a mesh axis. Each axis is split into the sub-axes in `axes` and the rest before and after them.
struct Factor {
  int64_t size;
  bool grouped;
  int64_t rank;  // The position in `axes` if grouped.
};

std::vector<Factor> Factors(const Mesh& mesh, absl::Span<const AxisRef> axes) {
  std::vector<Factor> factors;
  for (int64_t a = 0; a < static_cast<int64_t>(mesh.axes.size()); ++a) {
    std::vector<std::pair<AxisRef, int64_t>> parts;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].axis == a) parts.emplace_back(axes[i], static_cast<int64_t>(i));
    }
    std::sort(parts.begin(), parts.end(),
              [](const auto& x, const auto& y) { return x.first.pre_size < y.first.pre_size; });
    int64_t before = 1;  // The product of the factors so far.
    for (const auto& [ref, rank] : parts) {
      const int64_t pre = ref.size == 0 ? 1 : ref.pre_size;
      const int64_t size = ref.size == 0 ? mesh.axes[a].size : ref.size;
      if (pre < before || size <= 0) return {};
      if (pre > before) factors.push_back({pre / before, false, 0});
      factors.push_back({size, true, rank});
      before = pre * size;
    }
    if (before != mesh.axes[a].size) factors.push_back({mesh.axes[a].size / before, false, 0});
  }
  return factors;
}

}  // namespace

bool HasChannel(const Instruction& instruction) { return instruction.Get<attr::channel_id>() > 0; }

GroupMode GroupModeOf(const Instruction& instruction) {
  if (instruction.Get<attr::use_global_device_ids>()) return GroupMode::kFlattened;
  if (!HasChannel(instruction)) return GroupMode::kCrossReplica;
  return FindAttribute(instruction.opcode(), "use_global_device_ids") == AttrId::kNone
             ? GroupMode::kCrossPartition
             : GroupMode::kCrossReplicaAndPartition;
}

std::string_view Name(GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossReplica:
      return "cross-replica";
    case GroupMode::kCrossPartition:
      return "cross-partition";
    case GroupMode::kCrossReplicaAndPartition:
      return "cross-replica-and-partition";
    case GroupMode::kFlattened:
      return "flattened";
  }
  return "";
}

std::vector<int64_t> ExpandIota(IntList reshape_dims, IntList transpose_perm) {
  const std::optional<int64_t> count = Product(reshape_dims);
  if (!count) return {};
  std::vector<int64_t> devices(*count);
  std::iota(devices.begin(), devices.end(), 0);
  if (transpose_perm.empty() || *count == 0) return devices;
  if (transpose_perm.size() != reshape_dims.size() || !IsPermutation(transpose_perm)) return {};
  std::vector<int64_t> strides(reshape_dims.size(), 1);
  for (size_t d = reshape_dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * reshape_dims[d];
  std::vector<int64_t> index(reshape_dims.size());
  for (int64_t& device : devices) {
    device = 0;
    for (size_t d = 0; d < index.size(); ++d) device += index[d] * strides[transpose_perm[d]];
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < reshape_dims[transpose_perm[d]]) break;
      index[d] = 0;
    }
  }
  return devices;
}

std::vector<std::vector<int64_t>> ExpandGroups(const ReplicaGroups& groups) {
  if (groups.form == ReplicaGroups::Form::kList) {
    std::vector<std::vector<int64_t>> lists;
    for (IntList list : groups.groups) lists.emplace_back(list.begin(), list.end());
    return lists;
  }
  if (groups.form == ReplicaGroups::Form::kIota) {
    const IotaTile& iota = *groups.iota;
    if (iota.dims.size() != 2) return {};
    return Cut(ExpandIota(iota.reshape_dims, iota.transpose_perm), iota.dims[1]);
  }
  const Mesh& mesh = *groups.mesh;
  if (mesh.single_device) return {{mesh.device_id}};
  const std::vector<Factor> factors = Factors(mesh, groups.axes);
  std::vector<int64_t> sizes, perm, grouped;
  for (const Factor& f : factors) sizes.push_back(f.size);
  int64_t group_size = 1;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].grouped) {
      grouped.push_back(static_cast<int64_t>(i));
      group_size *= factors[i].size;
    } else {
      perm.push_back(static_cast<int64_t>(i));
    }
  }
  std::sort(grouped.begin(), grouped.end(),
            [&](int64_t a, int64_t b) { return factors[a].rank < factors[b].rank; });
  perm.insert(perm.end(), grouped.begin(), grouped.end());
  std::vector<int64_t> positions = ExpandIota(sizes, perm);
  std::vector<int64_t> ids(mesh.device_ids.begin(), mesh.device_ids.end());
  if (mesh.iota != nullptr) ids = ExpandIota(mesh.iota->reshape_dims, mesh.iota->transpose_perm);
  if (!ids.empty()) {
    for (int64_t& p : positions) p = p < static_cast<int64_t>(ids.size()) ? ids[p] : p;
  }
  return Cut(positions, group_size);
}

int64_t DeviceCount(const Mesh& mesh) {
  int64_t count = 1;
  for (const MeshAxis& axis : mesh.axes) count *= axis.size;
  return count;
}

int64_t DeviceCount(const Mesh& mesh, absl::Span<const AxisRef> axes) {
  int64_t count = 1;
  for (const AxisRef& ref : axes) count *= ref.size != 0 ? ref.size : mesh.axes[ref.axis].size;
  return count;
}

bool CoverMesh(const Mesh& mesh, absl::Span<const AxisRef> axes) {
  return !axes.empty() && DeviceCount(mesh, axes) == DeviceCount(mesh);
}

}  // namespace hlo
