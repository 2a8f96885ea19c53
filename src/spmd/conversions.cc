#include "spmd/conversions.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "spmd/shardy_text.h"

namespace hlo::spmd {
namespace {

constexpr std::string_view kFullToShard = "SPMDFullToShardShape", kShardToFull = "SPMDShardToFullShape";
constexpr std::string_view kGlobalToLocal = "xla.sdy.GlobalToLocalShape",
                           kLocalToGlobal = "xla.sdy.LocalToGlobalShape";

// Returns the target without the prefix that those of Shardy had first; "" for other instructions.
std::string_view TargetOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return {};
  std::string_view target = instruction.Get<attr::custom_call_target>();
  constexpr std::string_view kPrefix = "local_";
  if (target.starts_with(kPrefix)) target.remove_prefix(kPrefix.size());
  return target;
}

// The axes of meshes along which a region is manual.
struct ManualAxes {
  bool all = false;
  std::vector<std::string_view> names;

  bool Contain(std::string_view name) const { return all || absl::c_linear_search(names, name); }
};

// Returns the manual axes that a sharding of a local value names; none if it has another form.
ManualAxes ManualAxesOf(const Sharding* sharding) {
  if (sharding == nullptr) return {};
  if (sharding->kind == Sharding::Kind::kManual) return {.all = true};
  if (sharding->kind != Sharding::Kind::kNamed) return {};
  if (sharding->tail == Sharding::NamedTail::kManual) return {.all = true};
  ManualAxes axes;
  for (const AxisRef& ref : sharding->manual_axes) axes.names.push_back(sharding->mesh->axes[ref.axis].name);
  return axes;
}

// Returns the sharding without the axes that are not manual. Returns Unimplemented if it does not name axes.
absl::StatusOr<const Sharding*> Restricted(const Sharding* sharding, const ManualAxes& axes, Arena& arena) {
  if (sharding == nullptr || axes.all) return sharding;
  if (sharding->kind == Sharding::Kind::kReplicated) return sharding;
  if (sharding->kind != Sharding::Kind::kNamed) {
    return absl::UnimplementedError(
        "the region is manual along some axes of a mesh, but the sharding of its boundary does not name "
        "axes");
  }
  auto* restricted = arena.New<Sharding>(*sharding);
  restricted->replicated_axes = restricted->unreduced_axes = restricted->manual_axes = {};
  restricted->has_unreduced_axes = false;
  std::vector<DimSharding> dims;
  for (const DimSharding& dim : sharding->dims) {
    std::vector<AxisRef> kept;
    for (const AxisRef& ref : dim.axes) {
      if (axes.Contain(sharding->mesh->axes[ref.axis].name)) kept.push_back(ref);
    }
    dims.push_back({arena.Copy(absl::MakeConstSpan(kept)), false});
  }
  restricted->dims = arena.Copy(absl::MakeConstSpan(dims));
  return restricted;
}

// The conversion at the boundary of a manual region of Shardy.
struct ShardyBoundary {
  std::vector<const Sharding*> layouts;  // By operand; those of the global values.
  ManualAxes axes;
};

constexpr std::string_view kManualAxes = "xla.sdy.manual_axes";

bool NamesManualAxes(const Instruction& instruction) {
  return !FrontendAttribute(instruction.Get<attr::frontend_attributes>(), kManualAxes).empty();
}

// Returns the attributes of the boundary, or of the call of its region, which had them first.
const FrontendAttributes* BoundaryAttributes(const Instruction& boundary, bool enters) {
  const auto source = [](const Instruction* value) {
    while (value->opcode() == Opcode::kGetTupleElement) value = value->operand(0);
    return value;
  };
  const auto is_region = [](const Instruction& i) {
    return i.opcode() == Opcode::kCall && NamesManualAxes(i);
  };
  const auto receives = [&](const Instruction* user) {
    return is_region(*user) && absl::c_any_of(user->operands(), [&](const Instruction* operand) {
             return source(operand) == &boundary;
           });
  };
  const Instruction* named = &boundary;
  if (NamesManualAxes(boundary)) return named->Get<attr::frontend_attributes>();
  if (enters) {
    const auto& all = boundary.parent()->instructions();
    if (const auto region = absl::c_find_if(all, receives); region != all.end()) named = *region;
  } else if (boundary.operand_count() > 0 && is_region(*source(boundary.operand(0)))) {
    named = source(boundary.operand(0));
  }
  return named->Get<attr::frontend_attributes>();
}

absl::StatusOr<ShardyBoundary> ReadBoundary(const Instruction& call, Arena& arena) {
  const bool enters = TargetOf(call) == kGlobalToLocal;
  const FrontendAttributes* attributes = BoundaryAttributes(call, enters);
  ShardyBoundary boundary;
  if (const std::string_view text = FrontendAttribute(attributes, kManualAxes); !text.empty()) {
    HLO_ASSIGN_OR_RETURN(boundary.axes.names, ReadManualAxes(text));
    HLO_ASSIGN_OR_RETURN(const std::vector<NamedMesh> meshes, ReadMeshes(*call.parent()->module(), arena));
    const std::string_view layouts =
        FrontendAttribute(attributes, enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
    HLO_ASSIGN_OR_RETURN(boundary.layouts, ReadShardings(layouts, meshes, arena));
    return boundary;
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<const Sharding*> results,
                       LeafShardings(call.Get<attr::sharding>(), call.shape()));
  const Sharding* local = nullptr;
  for (int64_t i = 0; i < call.operand_count(); ++i) {
    const Sharding* operand = call.operand(i)->Get<attr::sharding>();
    const Sharding* result = i < static_cast<int64_t>(results.size()) ? results[i] : nullptr;
    boundary.layouts.push_back(enters ? operand : result);
    if (local == nullptr) local = enters ? result : operand;
  }
  boundary.axes = ManualAxesOf(local);
  if (!boundary.axes.all && boundary.axes.names.empty())
    return absl::FailedPreconditionError("the shardings of a manual region do not name its manual axes");
  return boundary;
}

int64_t DeviceCount(const Mesh& mesh) {
  int64_t count = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size < 0 || __builtin_mul_overflow(count, axis.size, &count)) return 0;
  }
  return count;
}

// Returns 0 for shardings that cover any number of devices.
int64_t DeviceCount(const Sharding& sharding) {
  if (sharding.mesh != nullptr) return DeviceCount(*sharding.mesh);
  if (sharding.kind != Sharding::Kind::kTiled) return 0;
  int64_t count = 1;
  for (int64_t size : sharding.tile_dims) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return 0;
  }
  return count;
}

absl::StatusOr<ShapeConversion> ConversionOf(const Sharding* from, const Sharding* to, const Shape& operand,
                                             const Shape& result, int64_t partitions) {
  if (!operand.IsArray() || !result.IsArray(operand.type()))
    return absl::FailedPreconditionError(
        fmt::format("converts {} to {}; expected arrays of one type", ToString(operand), ToString(result)));
  HLO_ASSIGN_OR_RETURN(TileMap from_map, TileMap::Make(from, operand.rank(), partitions));
  HLO_ASSIGN_OR_RETURN(TileMap to_map, TileMap::Make(to, result.rank(), partitions));
  const Index cut = from_map.TileDims(operand.dims()), made = to_map.TileDims(result.dims());
  if (cut != made) {
    return absl::FailedPreconditionError(
        fmt::format("a device holds {} of the operand {}, but {} of the result {}",
                    ToString(Shape::Array(operand.type(), cut)), ToString(operand),
                    ToString(Shape::Array(operand.type(), made)), ToString(result)));
  }
  return ShapeConversion{std::move(from_map), std::move(to_map), result};
}

}  // namespace

bool IsShapeConversion(const Instruction& instruction) {
  const std::string_view target = TargetOf(instruction);
  return target == kFullToShard || target == kShardToFull || target == kGlobalToLocal ||
         target == kLocalToGlobal;
}

bool EndsManualRegion(const Instruction& instruction) {
  const std::string_view target = TargetOf(instruction);
  return target == kShardToFull || target == kLocalToGlobal;
}

absl::StatusOr<std::vector<const Sharding*>> ResultShardings(const Instruction& call, Arena& arena) {
  if (TargetOf(call) == kShardToFull) return LeafShardings(call.Get<attr::sharding>(), call.shape());
  HLO_ASSIGN_OR_RETURN(ShardyBoundary boundary, ReadBoundary(call, arena));
  if (boundary.layouts.size() != static_cast<size_t>(call.shape().LeafCount())) {
    return absl::FailedPreconditionError(fmt::format(
        "it has {} for {} leaves", Counted(boundary.layouts.size(), "sharding"), call.shape().LeafCount()));
  }
  return std::move(boundary.layouts);
}

int64_t PartitionsOf(const Instruction& call) {
  int64_t count = 1;
  const auto add = [&](const Sharding& sharding) { count = std::max(count, DeviceCount(sharding)); };
  const auto add_all = [&](const Sharding* sharding) {
    if (sharding == nullptr) return;
    add(*sharding);
    for (const Sharding* element : sharding->elements) add(*element);
  };
  add_all(call.Get<attr::sharding>());
  for (const Instruction* operand : call.operands()) add_all(operand->Get<attr::sharding>());
  Arena arena;
  if (const auto meshes = ReadMeshes(*call.parent()->module(), arena); meshes.ok()) {
    for (const NamedMesh& mesh : *meshes) count = std::max(count, DeviceCount(*mesh.mesh));
  }
  return count;
}

absl::StatusOr<std::vector<ShapeConversion>> ConversionsOf(const Instruction& call, int64_t partitions) {
  Arena arena;
  const std::string_view target = TargetOf(call);
  const int64_t count = call.operand_count();
  const bool is_tuple = call.shape().IsTuple();
  if (is_tuple
          ? call.shape().LeafCount() != count || static_cast<int64_t>(call.shape().elements().size()) != count
          : count != 1) {
    return absl::FailedPreconditionError(
        fmt::format("'{}' of {} gives {}", target, Counted(count, "operand"), ToString(call.shape())));
  }
  const bool is_shardy = target == kGlobalToLocal || target == kLocalToGlobal;
  ShardyBoundary boundary;
  if (is_shardy) {
    HLO_ASSIGN_OR_RETURN(boundary, ReadBoundary(call, arena));
    if (static_cast<int64_t>(boundary.layouts.size()) != count) {
      return absl::FailedPreconditionError(fmt::format("'{}' has {}, but {} shardings", target,
                                                       Counted(count, "operand"), boundary.layouts.size()));
    }
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<const Sharding*> results,
                       LeafShardings(call.Get<attr::sharding>(), call.shape()));
  std::vector<ShapeConversion> conversions;
  for (int64_t i = 0; i < count; ++i) {
    const Sharding *from = call.operand(i)->Get<attr::sharding>(), *to = results[i];
    if (is_shardy) {
      HLO_ASSIGN_OR_RETURN(const Sharding* layout, Restricted(boundary.layouts[i], boundary.axes, arena));
      from = target == kGlobalToLocal ? layout : nullptr;
      to = target == kGlobalToLocal ? nullptr : layout;
    }
    const Shape& result = is_tuple ? call.shape().element(i) : call.shape();
    HLO_ASSIGN_OR_RETURN(ShapeConversion conversion,
                         ConversionOf(from, to, call.operand(i)->shape(), result, partitions));
    conversions.push_back(std::move(conversion));
  }
  return conversions;
}

}  // namespace hlo::spmd
