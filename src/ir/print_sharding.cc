// Prints shardings and device groups (text-format 6.2, 8.9, 9.6).

#include <algorithm>

#include "base/append.h"
#include "ir/device_groups.h"
#include "ir/printer.h"

namespace hlo {
namespace {

using Kind = Sharding::Kind;
using Subgroup = Sharding::SubgroupType;
using Reduction = Sharding::Reduction;

constexpr std::string_view kReductionRecord = "sdy::reduction_op";

std::string_view KindWord(Kind kind) {
  switch (kind) {
    case Kind::kReplicated:
      return "replicated";
    case Kind::kMaximal:
      return "maximal";
    case Kind::kManual:
      return "manual";
    case Kind::kUnknown:
      return "unknown";
    case Kind::kUnreduced:
      return "unreduced";
    default:
      return "";
  }
}

std::string_view SubgroupWord(Subgroup type) {
  constexpr std::string_view kWords[] = {"replicated", "manual", "maximal", "unreduced"};
  return kWords[static_cast<size_t>(type)];
}

bool HasUnreducedPart(const Sharding& s) {
  return s.kind == Kind::kUnreduced ||
         (s.kind == Kind::kTiled && std::find(s.last_tile_dims.begin(), s.last_tile_dims.end(),
                                              Subgroup::kUnreduced) != s.last_tile_dims.end());
}

const Metadata* FindReduction(const Sharding& s) {
  const auto it = std::find_if(s.metadata.begin(), s.metadata.end(),
                               [](const Metadata* m) { return m->op_type == kReductionRecord; });
  return it == s.metadata.end() ? nullptr : *it;
}

// Returns the metadata record of the reduction of unreduced data. XLA appends one every time it prints;
// otherwise it is appended only if absent.
const Metadata* ReductionToAppend(const Sharding& s, bool as_xla) {
  static const Metadata kRecords[] = {
      {kReductionRecord, "SUM"}, {kReductionRecord, "MAX"}, {kReductionRecord, "MIN"}};
  if (!HasUnreducedPart(s)) return nullptr;
  const Metadata* written = FindReduction(s);
  if (written == nullptr) return &kRecords[0];
  if (!as_xla) return nullptr;
  for (const Metadata& record : kRecords) {
    if (written->op_name == record.op_name) return &record;
  }
  return &kRecords[0];
}

// True if the axes are all axes of the mesh; `unreduced{...}` is then printed as `unreduced`.
bool CoversAllAxes(const Mesh& mesh, absl::Span<const AxisRef> axes) {
  std::vector<bool> covered(mesh.axes.size());
  for (const AxisRef& ref : axes) {
    if (ref.size == 0 && ref.axis >= 0 && ref.axis < static_cast<int64_t>(covered.size()))
      covered[ref.axis] = true;
  }
  return std::find(covered.begin(), covered.end(), false) == covered.end();
}

std::string_view ReductionWord(Reduction reduction) {
  return reduction == Reduction::kMax ? "max" : reduction == Reduction::kMin ? "min" : "";
}

}  // namespace

void Printer::PutIota(const IotaTile& iota) {
  PutInts(iota.dims, '[', ']');
  Put("<=");
  PutInts(iota.reshape_dims, '[', ']');
  if (iota.reshape_dims.size() < 2) return;
  Put('T');
  PutInts(iota.transpose_perm, '(', ')');
}

void Printer::PutMesh(const Mesh& mesh) {
  if (mesh.single_device) {
    Append(&out_, "single_device[device_id={}]", mesh.device_id);
    return;
  }
  Put("mesh[");
  PutList(mesh.axes, ",", [&](const MeshAxis& axis) {
    PutQuotedUnlessXla(axis.name, '\'');
    Put('=');
    PutInt(axis.size);
  });
  Put(']');
  if (mesh.iota != nullptr && mesh.iota->reshape_dims.size() > 1) {
    Put(", device_ids=(");
    PutInts(mesh.iota->reshape_dims, '[', ']');
    Put('T');
    PutInts(mesh.iota->transpose_perm, '(', ')');
    Put(')');
  } else if (!mesh.device_ids.empty()) {
    Put(", device_ids=");
    PutInts(mesh.device_ids, '(', ')');
  }
}

void Printer::PutAxes(const Mesh& mesh, absl::Span<const AxisRef> axes, std::string_view separator) {
  PutList(axes, separator, [&](const AxisRef& ref) {
    PutQuotedUnlessXla(mesh.axes[ref.axis].name, '\'');
    if (ref.size != 0) Append(&out_, ":({}){}", ref.pre_size, ref.size);
  });
}

void Printer::PutShardingMetadata(const Sharding& s, bool braces) {
  std::vector<const Metadata*> records(s.metadata.begin(), s.metadata.end());
  if (const Metadata* more = s.kind == Kind::kNamed ? nullptr : ReductionToAppend(s, style_.as_xla)) {
    records.push_back(more);
  }
  if (records.empty()) return;
  Put(s.kind == Kind::kNamed ? ", metadata=" : " metadata=");
  braces = braces || records.size() > 1;
  if (braces) Put('{');
  PutList(records, ", ", [&](const Metadata* record) { PutMetadata(*record); });
  if (braces) Put('}');
}

void Printer::PutDeviceSharding(const Sharding& s) {
  if (s.kind == Kind::kTiled) {
    Put("devices=");
    if (s.iota != nullptr) {
      PutIota({s.tile_dims, s.iota->reshape_dims, s.iota->transpose_perm});
    } else {
      PutInts(s.tile_dims, '[', ']');
      PutList(s.devices, ",", [&](int64_t device) { PutInt(device); });
    }
    if (s.last_tile_dim_replicate) Put(" last_tile_dim_replicate");
    if (!s.last_tile_dims.empty()) {
      Put(" last_tile_dims={");
      PutList(s.last_tile_dims, ", ", [&](Subgroup type) { Put(SubgroupWord(type)); });
      Put('}');
    }
  } else {
    Put(KindWord(s.kind));
    if (s.kind == Kind::kMaximal) Append(&out_, " device={}", s.maximal_device);
  }
  if (s.group != Sharding::Group::kNone) {
    Append(&out_, " {} {}", s.group == Sharding::Group::kShardAs ? "shard_as" : "shard_like", s.group_id);
  }
}

void Printer::PutUnreduced(const Sharding& s) {
  Put(", unreduced=");
  Put(ReductionWord(s.reduction));
  Put('{');
  PutAxes(*s.mesh, s.unreduced_axes, ", ");
  Put('}');
}

void Printer::PutNamedDims(const Sharding& s) {
  auto axes = [&](std::string_view name, absl::Span<const AxisRef> list) {
    if (list.empty()) return;
    Append(&out_, ", {}={{", name);
    PutAxes(*s.mesh, list, ", ");
    Put('}');
  };
  Put(", [");
  PutList(s.dims, ", ", [&](const DimSharding& dim) {
    Put('{');
    PutAxes(*s.mesh, dim.axes, ", ");
    if (dim.open) Put(dim.axes.empty() ? "?" : ", ?");
    Put('}');
  });
  Put(']');
  axes("replicated", s.replicated_axes);
  if (!s.unreduced_axes.empty()) PutUnreduced(s);
  axes("manual", s.manual_axes);
}

void Printer::PutNamedSharding(const Sharding& s) {
  using Tail = Sharding::NamedTail;
  PutMesh(*s.mesh);
  switch (s.tail) {
    case Tail::kNone:
      break;
    case Tail::kReplicated:
      Put(", replicated");
      break;
    case Tail::kManual:
      Put(", manual");
      break;
    case Tail::kUnreduced:
      if (!s.unreduced_axes.empty() && !CoverMesh(*s.mesh, s.unreduced_axes)) {
        PutNamedDims(s);
        break;
      }
      Put(", unreduced");
      if (s.reduction != Reduction::kSum) Put('=');
      Put(ReductionWord(s.reduction));
      if (!s.unreduced_axes.empty() && !CoversAllAxes(*s.mesh, s.unreduced_axes)) {
        Put('{');
        PutAxes(*s.mesh, s.unreduced_axes, ", ");
        Put('}');
      }
      break;
    case Tail::kDims:
      PutNamedDims(s);
      break;
  }
}

void Printer::PutSharding(const Sharding& s, bool metadata) {
  Put('{');
  if (s.kind == Kind::kTuple) {
    for (size_t i = 0; i < s.elements.size(); ++i) {
      if (i > 0) Put(", ");
      if (i > 0 && i % 5 == 0) Append(&out_, "/*index={}*/", i);
      PutSharding(*s.elements[i], metadata);
    }
  } else if (s.kind == Kind::kNamed) {
    PutNamedSharding(s);
    if (metadata) PutShardingMetadata(s, /*braces=*/true);
  } else {
    PutDeviceSharding(s);
    if (metadata) PutShardingMetadata(s, /*braces=*/false);
  }
  Put('}');
}

void Printer::PutReplicaGroups(const ReplicaGroups& groups) {
  if (groups.form != ReplicaGroups::Form::kList && style_.expand_groups) {
    const std::vector<std::vector<int64_t>> lists = ExpandGroups(groups);
    Put('{');
    PutList(lists, ",", [&](const std::vector<int64_t>& list) { PutInts(list); });
    return Put('}');
  }
  switch (groups.form) {
    case ReplicaGroups::Form::kList:
      return PutIntLists(groups.groups);
    case ReplicaGroups::Form::kIota:
      return PutIota(*groups.iota);
    case ReplicaGroups::Form::kMesh:
      PutMesh(*groups.mesh);
      Put(" {");
      PutAxes(*groups.mesh, groups.axes, ",");
      return Put('}');
  }
}

}  // namespace hlo
