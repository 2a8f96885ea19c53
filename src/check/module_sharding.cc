// Checks threads and shardings (shape-rules 4.6), which only partitioning and distribution use.

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/counted.h"
#include "check/module_context.h"
#include "check/support.h"
#include "ir/device_groups.h"
#include "types/shape_leaves.h"

namespace hlo::check {
namespace {

constexpr std::string_view kShardingRule = "4.6";

int64_t TiledDeviceCount(const Sharding& sharding) {
  if (sharding.iota == nullptr) return static_cast<int64_t>(sharding.devices.size());
  int64_t count = 1;
  for (int64_t size : sharding.tile_dims) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

int64_t DataRank(const Sharding& sharding) {
  return static_cast<int64_t>(sharding.tile_dims.size()) - (sharding.last_tile_dim_replicate ? 1 : 0) -
         static_cast<int64_t>(sharding.last_tile_dims.size());
}

// True for a grid of one tile, which XLA reads as replicated, manual or unreduced.
bool HasOneTile(const Sharding& sharding) {
  if (sharding.last_tile_dims.size() > 1 || DataRank(sharding) < 0) return false;
  const auto end = sharding.tile_dims.begin() + DataRank(sharding);
  return std::all_of(sharding.tile_dims.begin(), end, [](int64_t size) { return size == 1; });
}

// True for a named sharding whose dimensions matter: neither replicated nor wholly manual or unreduced.
bool HasNamedTiles(const Sharding& sharding) {
  using Tail = Sharding::NamedTail;
  if (sharding.mesh->single_device || (sharding.tail != Tail::kDims && sharding.tail != Tail::kUnreduced))
    return false;
  const Mesh& mesh = *sharding.mesh;
  const int64_t devices = DeviceCount(mesh);
  for (absl::Span<const AxisRef> axes : {sharding.manual_axes, sharding.unreduced_axes}) {
    if (!axes.empty() && DeviceCount(mesh, axes) == devices) return false;
  }
  return !sharding.manual_axes.empty() || !sharding.unreduced_axes.empty() ||
         std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [&](const DimSharding& dim) { return DeviceCount(mesh, dim.axes) > 1; });
}

// The sharding of one leaf.
class LeafSharding {
 public:
  LeafSharding(RuleContext& c, SourceRange at, int64_t partitions)
      : c_(c), at_(at), partitions_(partitions) {}

  void Check(const Sharding& sharding, const Shape& leaf) {
    if (leaf.IsToken()) return;
    if (sharding.kind == Sharding::Kind::kMaximal) {
      CheckDevice(sharding.maximal_device);
    } else if (sharding.kind == Sharding::Kind::kTiled && !HasOneTile(sharding)) {
      CheckTiles(sharding, leaf);
    } else if (sharding.kind == Sharding::Kind::kNamed && sharding.mesh->single_device) {
      CheckDevice(sharding.mesh->device_id);
    } else if (sharding.kind == Sharding::Kind::kNamed && HasNamedTiles(sharding)) {
      CheckRank("", static_cast<int64_t>(sharding.dims.size()), leaf);
      CheckCount(DeviceCount(*sharding.mesh));
    }
  }

 private:
  void CheckDevice(int64_t device) {
    if (device < 0) {
      c_.ErrorIfStrict(at_, kShardingRule, "the sharding names device {}, but devices are numbered from 0",
                       device);
    } else if (partitions_ > 1 && device >= partitions_) {
      c_.ErrorIfStrict(at_, kShardingRule, "the sharding names device {}, but the module has {} partitions",
                       device, partitions_);
    }
  }

  void CheckRank(std::string_view tiles, int64_t tiled_rank, const Shape& leaf) {
    const int64_t rank = leaf.IsArray() || leaf.IsBuffer() ? leaf.rank() : 0;
    if (tiled_rank != rank) {
      c_.ErrorIfStrict(at_, kShardingRule, "the sharding{} tiles {}, but {} has {}", tiles,
                       Counted(tiled_rank, "dimension"), Text(leaf), rank);
    }
  }

  void CheckCount(int64_t devices) {
    if (partitions_ > 1 && devices != partitions_) {
      c_.ErrorIfStrict(at_, kShardingRule, "the sharding covers {}, but the module has {} partitions",
                       Counted(devices, "device"), partitions_);
    }
  }

  void CheckTiles(const Sharding& sharding, const Shape& leaf) {
    CheckRank(" " + Text(sharding.tile_dims), DataRank(sharding), leaf);
    if (sharding.iota == nullptr) {
      ids_.assign(sharding.devices.begin(), sharding.devices.end());
      std::sort(ids_.begin(), ids_.end());
      if (!ids_.empty()) {
        CheckDevice(ids_.front());
        if (ids_.back() != ids_.front()) CheckDevice(ids_.back());
      }
      const auto twice = std::adjacent_find(ids_.begin(), ids_.end());
      if (twice != ids_.end())
        c_.ErrorIfStrict(at_, kShardingRule, "the sharding names device {} twice", *twice);
    }
    CheckCount(TiledDeviceCount(sharding));
  }

  RuleContext& c_;
  SourceRange at_;
  int64_t partitions_;
  std::vector<int64_t> ids_;
};

// Equality of shardings.

// Returns the devices of a list or an iota; none if there are too many.
std::vector<int64_t> Devices(const Sharding& sharding) {
  if (sharding.iota == nullptr) return {sharding.devices.begin(), sharding.devices.end()};
  constexpr int64_t kMax = 1 << 16;
  const int64_t count = TiledDeviceCount(sharding);
  const IotaTile& iota = *sharding.iota;
  const size_t rank = iota.reshape_dims.size();
  if (count < 0 || count > kMax) return {};
  std::vector<int64_t> stride(rank, 1), ids(static_cast<size_t>(count));
  for (size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * iota.reshape_dims[i];
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, id = 0;
    for (size_t k = rank; k-- > 0;) {
      const auto from =
          static_cast<size_t>(iota.transpose_perm.empty() ? static_cast<int64_t>(k) : iota.transpose_perm[k]);
      if (from >= rank || iota.reshape_dims[from] <= 0) return {};
      id += rest % iota.reshape_dims[from] * stride[from];
      rest /= iota.reshape_dims[from];
    }
    ids[flat] = id;
  }
  return ids;
}

// Returns the kind of a grid of devices that means the same as a named sharding.
Sharding::Kind KindOfNamed(const Sharding& sharding) {
  using Kind = Sharding::Kind;
  using Tail = Sharding::NamedTail;
  if (sharding.mesh->single_device) return Kind::kMaximal;
  if (sharding.tail == Tail::kManual || CoverMesh(*sharding.mesh, sharding.manual_axes)) return Kind::kManual;
  const bool all_unreduced = sharding.tail == Tail::kUnreduced && sharding.unreduced_axes.empty();
  if (all_unreduced || CoverMesh(*sharding.mesh, sharding.unreduced_axes)) return Kind::kUnreduced;
  return HasNamedTiles(sharding) ? Kind::kTiled : Kind::kReplicated;
}

Sharding::Kind KindOf(const Sharding& sharding) {
  if (sharding.kind == Sharding::Kind::kNamed) return KindOfNamed(sharding);
  if (sharding.kind != Sharding::Kind::kTiled || !HasOneTile(sharding)) return sharding.kind;
  if (sharding.last_tile_dims.empty()) return Sharding::Kind::kReplicated;
  switch (sharding.last_tile_dims[0]) {
    case Sharding::SubgroupType::kReplicated:
      return Sharding::Kind::kReplicated;
    case Sharding::SubgroupType::kManual:
      return Sharding::Kind::kManual;
    case Sharding::SubgroupType::kUnreduced:
      return Sharding::Kind::kUnreduced;
    case Sharding::SubgroupType::kMaximal:
      return Sharding::Kind::kTiled;
  }
  return sharding.kind;
}

int64_t DeviceOf(const Sharding& sharding) {
  return sharding.kind == Sharding::Kind::kNamed ? sharding.mesh->device_id : sharding.maximal_device;
}

bool AxesDiffer(absl::Span<const AxisRef> a, absl::Span<const AxisRef> b) {
  return !std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const AxisRef& x, const AxisRef& y) {
    return std::tie(x.axis, x.pre_size, x.size) == std::tie(y.axis, y.pre_size, y.size);
  });
}

// Compares named shardings by their parts, as XLA does. The names of axes do not matter.
bool NamedDiffer(const Sharding& a, const Sharding& b) {
  const Mesh &m = *a.mesh, &n = *b.mesh;
  const auto same_size = [](const MeshAxis& x, const MeshAxis& y) { return x.size == y.size; };
  if (!std::equal(m.axes.begin(), m.axes.end(), n.axes.begin(), n.axes.end(), same_size)) return true;
  if (m.iota == nullptr && n.iota == nullptr && m.device_ids != n.device_ids) return true;
  const auto same_dim = [](const DimSharding& x, const DimSharding& y) {
    return x.open == y.open && !AxesDiffer(x.axes, y.axes);
  };
  return a.tail != b.tail || a.reduction != b.reduction ||
         !std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same_dim) ||
         (a.tail == Sharding::NamedTail::kDims &&
          (AxesDiffer(a.manual_axes, b.manual_axes) || AxesDiffer(a.unreduced_axes, b.unreduced_axes)));
}

// Compares the sizes of a grid with those of named tiles. The order of the devices is not compared.
bool GridDiffers(const Sharding& named, const Sharding& grid) {
  if (!grid.last_tile_dims.empty() || !named.manual_axes.empty() || !named.unreduced_axes.empty())
    return false;
  if (DataRank(grid) != static_cast<int64_t>(named.dims.size())) return true;
  for (size_t d = 0; d < named.dims.size(); ++d) {
    if (grid.tile_dims[d] != DeviceCount(*named.mesh, named.dims[d].axes)) return true;
  }
  return false;
}

// True if the shardings certainly differ. Grids that require normalisation compare as not different.
bool Differ(const Sharding& a, const Sharding& b);

bool TilesDiffer(const Sharding& a, const Sharding& b) {
  const bool is_named = a.kind == Sharding::Kind::kNamed;
  if (is_named != (b.kind == Sharding::Kind::kNamed)) return is_named ? GridDiffers(a, b) : GridDiffers(b, a);
  if (!a.last_tile_dims.empty() || !b.last_tile_dims.empty()) return false;
  return a.last_tile_dim_replicate != b.last_tile_dim_replicate || a.tile_dims != b.tile_dims ||
         (!a.last_tile_dim_replicate && Devices(a) != Devices(b));
}

bool Differ(const Sharding& a, const Sharding& b) {
  using Kind = Sharding::Kind;
  if (&a == &b) return false;
  if (a.kind == Kind::kTuple && b.kind == Kind::kTuple) {
    return !std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                       [](const Sharding* x, const Sharding* y) { return !Differ(*x, *y); });
  }
  if (a.kind == Kind::kTuple) {
    return std::any_of(a.elements.begin(), a.elements.end(),
                       [&](const Sharding* x) { return Differ(*x, b); });
  }
  if (b.kind == Kind::kTuple) return Differ(b, a);
  if (a.group != b.group || (a.group != Sharding::Group::kNone && a.group_id != b.group_id)) return true;
  const Kind kind = KindOf(a);
  if (kind != KindOf(b)) return true;
  if (kind == Kind::kMaximal) return DeviceOf(a) != DeviceOf(b);
  if (kind == Kind::kReplicated) return false;
  if (a.kind == Kind::kNamed && b.kind == Kind::kNamed) return NamedDiffer(a, b);
  return kind == Kind::kTiled && TilesDiffer(a, b);
}

// An instruction whose sharding must be that of others, and its role in messages.
struct Participant {
  std::string_view role;
  const Instruction* instruction;
};

// Reports the first two participants whose shardings differ; those without a sharding are skipped.
void CheckSameShardings(ModuleContext& context, const Instruction& at,
                        absl::Span<const Participant> participants) {
  const Participant* first = nullptr;
  for (const Participant& participant : participants) {
    if (participant.instruction == nullptr || !participant.instruction->Has<attr::sharding>()) continue;
    if (first == nullptr) {
      first = &participant;
    } else if (Differ(*first->instruction->Get<attr::sharding>(),
                      *participant.instruction->Get<attr::sharding>())) {
      context.At(at)
          .ErrorIfStrict(participant.instruction->range_of<attr::sharding>(), kShardingRule,
                         "the shardings of the {} and the {} differ", first->role, participant.role)
          .Note(first->instruction->range_of<attr::sharding>(), "the other sharding");
      return;
    }
  }
}

void CheckThreads(ModuleContext& context, const Instruction& caller) {
  const std::string_view thread = caller.parent()->execution_thread();
  for (const Computation* called : caller.called_computations()) {
    if (called->execution_thread() == thread) [[likely]]
      continue;
    context.At(caller)
        .ErrorIfStrict({}, kShardingRule, "'{}' runs on thread '{}', but {} '{}' calls it on thread '{}'",
                       called->name(), called->execution_thread(), Name(caller.opcode()), caller.name(),
                       thread)
        .Note(called->name_range(), "'{}' is defined here", called->name());
  }
}

const Instruction* FirstParameter(const Computation* computation) {
  return computation == nullptr || computation->parameters().empty() ? nullptr : computation->parameter(0);
}

}  // namespace

void CheckSharding(ModuleContext& context, const Instruction& instruction, const Sharding& sharding) {
  RuleContext c = context.At(instruction);
  const SourceRange at = instruction.range_of<attr::sharding>();
  const Shape& shape = instruction.shape();
  if (shape.IsToken()) return;
  LeafSharding check(c, at, context.module.header().num_partitions);
  if (sharding.kind != Sharding::Kind::kTuple) {
    // The reader replicates a single sharding to all leaves.
    VisitLeaves(shape, [&](const Shape& leaf) { check.Check(sharding, leaf); });
    return;
  }
  if (!shape.IsTuple()) {
    c.ErrorIfStrict(at, kShardingRule, "a sharding of {} cannot go with {}",
                    Counted(sharding.elements.size(), "element"), Text(shape));
    return;
  }
  const auto leaves = static_cast<size_t>(shape.LeafCount());
  if (leaves != sharding.elements.size()) {
    if (leaves == 0 && sharding.elements.size() == 1) return;
    c.ErrorIfStrict(at, kShardingRule, "the sharding has {}, but {} has {} leaves",
                    Counted(sharding.elements.size(), "element"), Text(shape), leaves);
    return;
  }
  size_t number = 0;
  VisitLeaves(shape, [&](const Shape& leaf) { check.Check(*sharding.elements[number++], leaf); });
}

void CheckCalls(ModuleContext& context, const Instruction& instruction) {
  CheckThreads(context, instruction);
  if (instruction.opcode() == Opcode::kWhile) {
    const Computation* body = instruction.Get<attr::body>();
    const Computation* condition = instruction.Get<attr::condition>();
    CheckSameShardings(context, instruction,
                       {{"while", &instruction},
                        {"body root", body ? body->root() : nullptr},
                        {"body parameter", FirstParameter(body)},
                        {"condition parameter", FirstParameter(condition)}});
  } else if (instruction.opcode() == Opcode::kConditional) {
    std::vector<Participant> participants = {{"conditional", &instruction}};
    for (const Computation* branch : instruction.called_computations())
      participants.push_back({"branch root", branch->root()});
    CheckSameShardings(context, instruction, participants);
  }
}

}  // namespace hlo::check
