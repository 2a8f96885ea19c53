// Converts shardings, device groups and metadata to messages.

#include "io/write_instruction.h"

namespace hlo::io {
namespace {

void MeshToProto(const Mesh& mesh, proto::MeshProto* out) {
  if (mesh.single_device) {
    out->add_device_ids(mesh.device_id);
    return;
  }
  for (const MeshAxis& axis : mesh.axes) {
    proto::MeshAxis* added = out->add_axes();
    added->set_name(Bytes(axis.name));
    added->set_size(axis.size);
  }
  AddAll(mesh.device_ids, out->mutable_device_ids());
  if (mesh.iota == nullptr) return;
  AddAll(mesh.iota->reshape_dims, out->mutable_iota_transform()->mutable_reshape_dims());
  AddAll(mesh.iota->transpose_perm, out->mutable_iota_transform()->mutable_transpose_perm());
}

template <class Field>
void AddAxes(absl::Span<const AxisRef> axes, Field* field) {
  for (const AxisRef& axis : axes) {
    proto::AxisRefProto* added = field->Add();
    added->set_mesh_axis_index(axis.axis);
    if (axis.size == 0) continue;
    added->mutable_sub_axis_info()->set_pre_size(axis.pre_size);
    added->mutable_sub_axis_info()->set_size(axis.size);
  }
}

// Adds references to all axes of a mesh.
template <class Field>
void AddAllAxes(const Mesh& mesh, Field* field) {
  for (size_t i = 0; i < mesh.axes.size(); ++i) field->Add()->set_mesh_axis_index(static_cast<int64_t>(i));
}

void NamedToProto(const Sharding& s, proto::NamedShardingProto* out) {
  if (s.mesh != nullptr) MeshToProto(*s.mesh, out->mutable_mesh());
  for (const DimSharding& dim : s.dims) {
    auto* added = out->add_dim_shardings();
    AddAxes(dim.axes, added->mutable_axes());
    added->set_is_closed(!dim.open);
  }
  AddAxes(s.replicated_axes, out->mutable_replicated_axes());
  AddAxes(s.unreduced_axes, out->mutable_unreduced_axes());
  AddAxes(s.manual_axes, out->mutable_manual_axes());
  if (s.tail == Sharding::NamedTail::kManual && s.manual_axes.empty())
    AddAllAxes(*s.mesh, out->mutable_manual_axes());
  if (s.tail == Sharding::NamedTail::kUnreduced && s.unreduced_axes.empty())
    AddAllAxes(*s.mesh, out->mutable_unreduced_axes());
  out->set_reduction_op(static_cast<proto::NamedShardingProto::ReductionOp>(s.reduction));
  for (const hlo::Metadata* metadata : s.metadata) ToProto(*metadata, out->add_metadata());
}

proto::OpSharding::Type TypeOf(const Sharding& s) {
  switch (s.kind) {
    case Sharding::Kind::kMaximal:
      return proto::OpSharding::MAXIMAL;
    case Sharding::Kind::kManual:
      return proto::OpSharding::MANUAL;
    case Sharding::Kind::kUnknown:
      return proto::OpSharding::UNKNOWN;
    case Sharding::Kind::kUnreduced:
      return proto::OpSharding::UNREDUCED;
    case Sharding::Kind::kTiled:
    case Sharding::Kind::kNamed:
      return proto::OpSharding::OTHER;
    case Sharding::Kind::kTuple:
      return proto::OpSharding::TUPLE;
    default:
      return proto::OpSharding::REPLICATED;
  }
}

proto::OpSharding::Type TypeOf(Sharding::SubgroupType type) {
  switch (type) {
    case Sharding::SubgroupType::kManual:
      return proto::OpSharding::MANUAL;
    case Sharding::SubgroupType::kMaximal:
      return proto::OpSharding::MAXIMAL;
    case Sharding::SubgroupType::kUnreduced:
      return proto::OpSharding::UNREDUCED;
    default:
      return proto::OpSharding::REPLICATED;
  }
}

}  // namespace

void ToProto(const Sharding& s, proto::OpSharding* out) {
  out->set_type(TypeOf(s));
  for (const Sharding* element : s.elements) ToProto(*element, out->add_tuple_shardings());
  if (s.kind == Sharding::Kind::kNamed) return NamedToProto(s, out->mutable_named_sharding());
  if (s.kind == Sharding::Kind::kMaximal) out->add_tile_assignment_devices(s.maximal_device);
  if (s.kind == Sharding::Kind::kTiled) {
    AddAll(s.tile_dims, out->mutable_tile_assignment_dimensions());
    AddAll(s.devices, out->mutable_tile_assignment_devices());
    if (s.iota != nullptr) {
      AddAll(s.iota->reshape_dims, out->mutable_iota_reshape_dims());
      for (int64_t d : s.iota->transpose_perm) out->add_iota_transpose_perm(static_cast<int32_t>(d));
      // The text may omit the identity permutation.
      if (s.iota->transpose_perm.empty()) {
        for (size_t d = 0; d < s.iota->reshape_dims.size(); ++d)
          out->add_iota_transpose_perm(static_cast<int32_t>(d));
      }
    }
    out->set_replicate_on_last_tile_dim(s.last_tile_dim_replicate);
    for (Sharding::SubgroupType type : s.last_tile_dims) out->add_last_tile_dims(TypeOf(type));
  }
  for (const hlo::Metadata* metadata : s.metadata) ToProto(*metadata, out->add_metadata());
  if (s.group == Sharding::Group::kNone) return;
  out->set_is_shard_group(true);
  out->set_shard_group_id(s.group_id);
  out->set_shard_group_type(s.group == Sharding::Group::kShardAs ? proto::OpSharding::AS
                                                                 : proto::OpSharding::LIKE);
}

void ToProto(const ReplicaGroups& groups, proto::HloInstructionProto* out) {
  if (groups.form == ReplicaGroups::Form::kMesh) {
    MeshToProto(*groups.mesh, out->mutable_mesh_axes_replica_group_list()->mutable_mesh());
    AddAxes(groups.axes, out->mutable_mesh_axes_replica_group_list()->mutable_axes());
  } else if (groups.form == ReplicaGroups::Form::kIota) {
    proto::IotaReplicaGroupListProto* list = out->mutable_iota_collective_device_list();
    list->set_num_replica_groups(groups.iota->dims[0]);
    list->set_num_devices_per_group(groups.iota->dims[1]);
    AddAll(groups.iota->reshape_dims, list->mutable_iota_reshape_dims());
    for (int64_t d : groups.iota->transpose_perm) list->add_iota_transpose_perm(static_cast<int32_t>(d));
    if (groups.iota->transpose_perm.empty()) {
      for (size_t d = 0; d < groups.iota->reshape_dims.size(); ++d)
        list->add_iota_transpose_perm(static_cast<int32_t>(d));
    }
  } else {
    for (const IntList& group : groups.groups)
      AddAll(group, out->add_replica_groups()->mutable_replica_ids());
  }
}

void ToProto(const Metadata& m, proto::OpMetadata* out) {
  out->set_op_type(Bytes(m.op_type));
  out->set_op_name(Bytes(m.op_name));
  out->set_source_file(Bytes(m.source_file));
  out->set_source_line(m.source_line);
  out->set_source_end_line(m.source_end_line);
  out->set_source_column(m.source_column);
  out->set_source_end_column(m.source_end_column);
  out->set_deduplicated_name(Bytes(m.deduplicated_name));
  out->set_scheduling_name(Bytes(m.scheduling_name));
  out->set_stack_frame_id(m.stack_frame_id);
}

void ToProto(const FrontendAttributes& attributes, proto::FrontendAttributes* out) {
  for (const hlo::KeyValue& entry : attributes.entries) {
    proto::KeyValue* added = out->add_map();
    added->set_key(Bytes(entry.key));
    added->set_value(Bytes(entry.value));
  }
}

void ToProto(const OriginNode& array, proto::OriginalArrayProto* out) {
  out->set_instruction_name(Bytes(array.name));
  AddAll(array.index, out->mutable_shape_index());
}

}  // namespace hlo::io
