// Converts shardings, device groups and metadata to text (text-format 6.2, 8.9).

#include <iterator>

#include "fmt/format.h"
#include "io/proto_text.h"
#include "ir/printer.h"

namespace hlo::io {
namespace {

std::string Quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  AppendEscaped(text, &out);
  return out + quote;
}

std::string_view TypeWord(int type) {
  switch (type) {
    case proto::OpSharding::MAXIMAL:
      return "maximal";
    case proto::OpSharding::MANUAL:
      return "manual";
    case proto::OpSharding::UNKNOWN:
      return "unknown";
    case proto::OpSharding::UNREDUCED:
      return "unreduced";
    default:
      return "replicated";
  }
}

std::string MeshText(const proto::MeshProto& mesh) {
  if (mesh.axes_size() == 0 && mesh.device_ids_size() == 1)
    return fmt::format("single_device[device_id={}]", mesh.device_ids(0));
  std::string out = "mesh[";
  for (int i = 0; i < mesh.axes_size(); ++i) {
    out += fmt::format("{}{}={}", i > 0 ? "," : "", Quoted(mesh.axes(i).name(), '\''), mesh.axes(i).size());
  }
  out += "]";
  if (mesh.has_iota_transform() && mesh.iota_transform().reshape_dims_size() > 1) {
    out += fmt::format(", device_ids=({}T{})", IntsText(mesh.iota_transform().reshape_dims(), '[', ']'),
                       IntsText(mesh.iota_transform().transpose_perm(), '(', ')'));
  } else if (mesh.device_ids_size() > 0) {
    out += ", device_ids=" + IntsText(mesh.device_ids(), '(', ')');
  }
  return out;
}

template <class Axes>
std::string AxesText(const proto::MeshProto& mesh, const Axes& axes, std::string_view separator) {
  std::vector<std::string> words;
  for (const proto::AxisRefProto& ref : axes) {
    const int64_t index = ref.mesh_axis_index();
    std::string word = index >= 0 && index < mesh.axes_size()
                           ? Quoted(mesh.axes(static_cast<int>(index)).name(), '\'')
                           : fmt::format("'axis {}'", index);
    if (ref.has_sub_axis_info())
      word += fmt::format(":({}){}", ref.sub_axis_info().pre_size(), ref.sub_axis_info().size());
    words.push_back(std::move(word));
  }
  return absl::StrJoin(words, absl::string_view(separator.data(), separator.size()));
}

std::string NamedText(const proto::NamedShardingProto& named) {
  const proto::MeshProto& mesh = named.mesh();
  std::string out = MeshText(mesh);
  if (mesh.axes_size() == 0 && mesh.device_ids_size() > 0) return out;  // A single device.
  const std::string_view reduction = named.reduction_op() == proto::NamedShardingProto::MAX   ? "max"
                                     : named.reduction_op() == proto::NamedShardingProto::MIN ? "min"
                                                                                              : "";
  const bool plain = named.dim_shardings_size() == 0 && named.replicated_axes_size() == 0;
  if (plain && named.unreduced_axes_size() + named.manual_axes_size() == 0) return out + ", replicated";
  if (plain && named.unreduced_axes_size() == 0 && named.manual_axes_size() == mesh.axes_size())
    return out + ", manual";
  std::vector<std::string> dims;
  for (const proto::NamedShardingProto::DimensionSharding& dim : named.dim_shardings()) {
    std::string text = AxesText(mesh, dim.axes(), ", ");
    if (!dim.is_closed()) text += text.empty() ? "?" : ", ?";
    dims.push_back("{" + text + "}");
  }
  if (plain && named.unreduced_axes_size() == mesh.axes_size() && named.manual_axes_size() == 0) {
    out += ", unreduced";
    if (!reduction.empty()) out += fmt::format("={}", reduction);
  } else {
    out += ", [" + absl::StrJoin(dims, ", ") + "]";
    if (named.replicated_axes_size() > 0)
      out += ", replicated={" + AxesText(mesh, named.replicated_axes(), ", ") + "}";
    if (named.unreduced_axes_size() > 0)
      out += fmt::format(", unreduced={}{{{}}}", reduction, AxesText(mesh, named.unreduced_axes(), ", "));
    if (named.manual_axes_size() > 0) out += ", manual={" + AxesText(mesh, named.manual_axes(), ", ") + "}";
  }
  return out;
}

std::string DevicesText(const proto::OpSharding& s) {
  std::string out;
  if (s.type() == proto::OpSharding::OTHER) {
    out = "devices=" + IntsText(s.tile_assignment_dimensions(), '[', ']');
    if (s.iota_reshape_dims_size() > 0) {
      out += "<=" + IntsText(s.iota_reshape_dims(), '[', ']');
      if (s.iota_reshape_dims_size() > 1) out += "T" + IntsText(s.iota_transpose_perm(), '(', ')');
    } else {
      out += absl::StrJoin(s.tile_assignment_devices(), ",");
    }
    if (s.replicate_on_last_tile_dim()) out += " last_tile_dim_replicate";
    if (s.last_tile_dims_size() > 0) {
      std::vector<std::string> words;
      for (int type : s.last_tile_dims()) words.emplace_back(TypeWord(type));
      out += " last_tile_dims={" + absl::StrJoin(words, ", ") + "}";
    }
  } else {
    out = TypeWord(s.type());
    if (s.type() == proto::OpSharding::MAXIMAL && s.tile_assignment_devices_size() > 0)
      out += fmt::format(" device={}", s.tile_assignment_devices(0));
  }
  if (s.is_shard_group()) {
    const bool as = s.shard_group_type() == proto::OpSharding::AS;
    out += fmt::format(" {} {}", as ? "shard_as" : "shard_like", s.shard_group_id());
  }
  return out;
}

template <class Records>
std::string RecordsText(const Records& records) {
  std::vector<std::string> texts;
  for (const proto::OpMetadata& record : records) texts.push_back(MetadataText(record));
  return texts.size() == 1 ? texts[0] : "{" + absl::StrJoin(texts, ", ") + "}";
}

}  // namespace

std::string ShardingText(const proto::OpSharding& sharding) {
  if (sharding.type() == proto::OpSharding::TUPLE) {
    std::vector<std::string> elements;
    for (const proto::OpSharding& element : sharding.tuple_shardings())
      elements.push_back(ShardingText(element));
    return "{" + absl::StrJoin(elements, ", ") + "}";
  }
  if (sharding.has_named_sharding()) {
    const proto::NamedShardingProto& named = sharding.named_sharding();
    std::string out = "{" + NamedText(named);
    if (named.metadata_size() == 1) out += ", metadata={" + RecordsText(named.metadata()) + "}";
    if (named.metadata_size() > 1) out += ", metadata=" + RecordsText(named.metadata());
    return out + "}";
  }
  std::string out = "{" + DevicesText(sharding);
  if (sharding.metadata_size() > 0) out += " metadata=" + RecordsText(sharding.metadata());
  return out + "}";
}

std::string ReplicaGroupsText(const proto::HloInstructionProto& instruction) {
  if (instruction.has_mesh_axes_replica_group_list()) {
    const proto::MeshAxesReplicaGroupListProto& list = instruction.mesh_axes_replica_group_list();
    return MeshText(list.mesh()) + " {" + AxesText(list.mesh(), list.axes(), ",") + "}";
  }
  if (instruction.has_iota_collective_device_list()) {
    const proto::IotaReplicaGroupListProto& iota = instruction.iota_collective_device_list();
    std::string out = fmt::format("[{},{}]<={}", iota.num_replica_groups(), iota.num_devices_per_group(),
                                  IntsText(iota.iota_reshape_dims(), '[', ']'));
    if (iota.iota_reshape_dims_size() > 1) out += "T" + IntsText(iota.iota_transpose_perm(), '(', ')');
    return out;
  }
  const auto& groups = instruction.has_collective_device_list()
                           ? instruction.collective_device_list().replica_groups()
                           : instruction.replica_groups();
  std::vector<std::string> lists;
  for (const proto::ReplicaGroup& group : groups) lists.push_back(IntsText(group.replica_ids()));
  return "{" + absl::StrJoin(lists, ",") + "}";
}

std::string MetadataText(const proto::OpMetadata& m) {
  std::vector<std::string> fields;
  const auto text = [&](std::string_view field, const std::string& value) {
    if (!value.empty()) fields.push_back(fmt::format("{}={}", field, Quoted(value, '"')));
  };
  const auto number = [&](std::string_view field, int64_t value) {
    if (value != 0) fields.push_back(fmt::format("{}={}", field, value));
  };
  text("op_type", m.op_type());
  text("op_name", m.op_name());
  text("source_file", m.source_file());
  number("source_line", m.source_line());
  number("source_end_line", m.source_end_line());
  number("source_column", m.source_column());
  number("source_end_column", m.source_end_column());
  text("deduplicated_name", m.deduplicated_name());
  text("scheduling_name", m.scheduling_name());
  number("stack_frame_id", m.stack_frame_id());
  return "{" + absl::StrJoin(fields, " ") + "}";
}

std::string FrontendAttributesText(const proto::FrontendAttributes& attributes) {
  std::vector<std::string> entries;
  for (const proto::KeyValue& entry : attributes.map()) {
    const bool json = ReadsAsJson(entry.value(), /*as_xla=*/false);
    entries.push_back(NameText(entry.key()) + "=" + (json ? entry.value() : Quoted(entry.value(), '"')));
  }
  return "{" + absl::StrJoin(entries, ",") + "}";
}

}  // namespace hlo::io
