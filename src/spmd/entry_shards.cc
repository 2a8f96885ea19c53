#include "spmd/entry_shards.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/arena.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "spmd/conversions.h"
#include "spmd/shards.h"
#include "spmd/shardy_text.h"
#include "types/shape_leaves.h"

namespace hlo::spmd {
namespace {

// True for custom calls that only modules before partitioning have.
bool BelongsToPartitioner(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const std::string_view target = instruction.Get<attr::custom_call_target>();
  return target == "Sharding" || target == "ShardBarrierFrom" || target == "ShardBarrierTo" ||
         target.starts_with("xla.sdy.") || target.starts_with("local_xla.sdy.") ||
         IsShapeConversion(instruction);
}

// Sends, receives and transfers from and to the host keep their shardings.
bool KeepsSharding(Opcode opcode) {
  return opcode == Opcode::kInfeed || opcode == Opcode::kOutfeed || opcode == Opcode::kSend ||
         opcode == Opcode::kSendDone || opcode == Opcode::kRecv || opcode == Opcode::kRecvDone ||
         opcode == Opcode::kParameter;
}

bool ActsBetweenPartitions(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kPartitionId) return true;
  const bool collective =
      instruction.Has<attr::replica_groups>() || instruction.Has<attr::source_target_pairs>();
  return collective && instruction.Get<attr::channel_id>() > 0;
}

// Returns the array that has tiles of the given shape.
Shape Enlarged(const Shape& tile, const TileMap& map) {
  if (!tile.IsArray() || map.IsWhole()) return tile;
  Index dims(tile.dims());
  for (int64_t d = 0; d < dims.rank(); ++d) {
    if (__builtin_mul_overflow(dims[d], map.tile_counts()[d], &dims[d])) return tile;
  }
  return Shape::Array(tile.type(), dims);
}

// Requires that the tiles of `whole` have the shape of `tile`.
absl::Status CheckTiles(const Shape& whole, const Shape& tile, const std::vector<TileMap>& maps,
                        size_t* leaf) {
  const auto misfit = [&](const Shape& expected) {
    return absl::FailedPreconditionError(
        fmt::format("the partitioned module has {}, but the tiles of {} are {}", ToString(tile),
                    ToString(whole), ToString(expected)));
  };
  if (whole.IsTuple()) {
    if (!tile.IsTuple() || tile.elements().size() != whole.elements().size()) return misfit(whole);
    for (size_t i = 0; i < whole.elements().size(); ++i)
      HLO_RETURN_IF_ERROR(CheckTiles(whole.elements()[i], tile.elements()[i], maps, leaf));
    return absl::OkStatus();
  }
  const TileMap& map = maps[(*leaf)++];
  if (!whole.IsArray()) return tile.IsArray() ? misfit(whole) : absl::OkStatus();
  const Shape expected = Shape::Array(whole.type(), map.TileDims(whole.dims()));
  const bool fits = tile.IsArray(whole.type()) && Index(tile.dims()) == Index(expected.dims());
  return fits ? absl::OkStatus() : misfit(expected);
}

absl::StatusOr<std::vector<TileMap>> MapsOf(const std::vector<const Sharding*>& shardings, const Shape& shape,
                                            int64_t partitions) {
  std::vector<TileMap> maps;
  absl::Status status;
  size_t number = 0;
  VisitLeaves(shape, [&](const Shape& leaf) {
    const Sharding* sharding = shardings[number++];
    const bool is_array = leaf.IsArray();
    absl::StatusOr<TileMap> map =
        TileMap::Make(is_array ? sharding : nullptr, is_array ? leaf.rank() : 0, partitions);
    if (!map.ok()) {
      status.Update(map.status());
    } else {
      maps.push_back(*std::move(map));
    }
  });
  if (!status.ok()) return status;
  return maps;
}

bool HasSharding(const Instruction& instruction) {
  return instruction.Get<attr::sharding>() != nullptr ||
         !FrontendAttribute(instruction.Get<attr::frontend_attributes>(), "xla.sdy.sharding").empty();
}

// Reads shardings in either form: of the attribute, or of the frontend attribute.
class ShardingReader {
 public:
  explicit ShardingReader(const Module& module) : module_(module) {}

  absl::StatusOr<std::vector<const Sharding*>> Read(const Instruction& instruction) {
    const Sharding* sharding = instruction.Get<attr::sharding>();
    const std::string_view text =
        FrontendAttribute(instruction.Get<attr::frontend_attributes>(), "xla.sdy.sharding");
    if (sharding != nullptr || text.empty()) return LeafShardings(sharding, instruction.shape());
    HLO_ASSIGN_OR_RETURN(const std::vector<NamedMesh> meshes, ReadMeshes(module_, arena_));
    HLO_ASSIGN_OR_RETURN(const std::vector<const Sharding*> all, ReadShardings(text, meshes, arena_));
    const auto leaves = static_cast<size_t>(instruction.shape().LeafCount());
    if (all.size() != leaves) {
      return absl::FailedPreconditionError(
          fmt::format("there are {} shardings for {} leaves", all.size(), leaves));
    }
    return all;
  }

  // Returns the shardings of a result. Those of a value without a sharding are the ones of a tuple's
  // operands, and those with which a manual region ends.
  absl::StatusOr<std::vector<const Sharding*>> ReadResult(const Instruction& value) {
    if (HasSharding(value)) return Read(value);
    if (value.opcode() == Opcode::kTuple) {
      std::vector<const Sharding*> all;
      for (const Instruction* operand : value.operands()) {
        HLO_ASSIGN_OR_RETURN(const std::vector<const Sharding*> some, ReadResult(*operand));
        all.insert(all.end(), some.begin(), some.end());
      }
      return all;
    }
    const bool is_element = value.opcode() == Opcode::kGetTupleElement;
    const Instruction& end = is_element ? *value.operand(0) : value;
    if (EndsManualRegion(end)) {
      HLO_ASSIGN_OR_RETURN(const std::vector<const Sharding*> all, ResultShardings(end, arena_));
      if (!is_element) return all;
      const auto index = static_cast<size_t>(value.Get<attr::index>());
      if (!value.shape().IsTuple() && index < all.size()) return std::vector<const Sharding*>{all[index]};
    }
    return Read(value);
  }

 private:
  const Module& module_;
  Arena arena_;
};

// True if some subgroups of partitions hold unrelated values.
bool IsManual(const Sharding* sharding) {
  if (sharding == nullptr) return false;
  const auto& subgroups = sharding->last_tile_dims;
  return sharding->kind == Sharding::Kind::kManual || sharding->tail == Sharding::NamedTail::kManual ||
         !sharding->manual_axes.empty() ||
         std::find(subgroups.begin(), subgroups.end(), Sharding::SubgroupType::kManual) != subgroups.end();
}

// Adds what the shardings belong to.
absl::Status Of(const Instruction& instruction, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("'{}': {}", instruction.name(), Message(status)));
}

absl::StatusOr<Literal> SplitValue(const Literal& value, const std::vector<TileMap>& maps, int64_t partition,
                                   size_t* leaf) {
  if (!value.shape().IsTuple()) {
    const TileMap& map = maps[(*leaf)++];
    return value.shape().IsArray() ? TileOf(value, map, partition) : value;
  }
  std::vector<Literal> elements;
  for (const Literal& element : value.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal tile, SplitValue(element, maps, partition, leaf));
    elements.push_back(std::move(tile));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> JoinValues(const std::vector<Literal>& parts, const std::vector<TileMap>& maps,
                                   const Shape& shape, size_t* leaf, const std::string& key,
                                   std::vector<std::string>* disagreements) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      std::vector<Literal> tiles;
      for (const Literal& part : parts) {
        if (part.elements().size() != shape.elements().size())
          return absl::InternalError("the results of partitions have different shapes");
        tiles.push_back(part.elements()[i]);
      }
      HLO_ASSIGN_OR_RETURN(Literal element,
                           JoinValues(tiles, maps, shape.elements()[i], leaf,
                                      fmt::format("{}{}{}", key, key.empty() ? "" : ".", i), disagreements));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  const TileMap& map = maps[(*leaf)++];
  if (!shape.IsArray()) return parts[0];
  HLO_ASSIGN_OR_RETURN(JoinedArray joined, JoinTiles(parts, map, shape));
  for (const Disagreement& d : joined.disagreements) {
    disagreements->push_back(fmt::format(
        "partitions {} and {} differ in element [{}] of {}, of which they hold copies", d.partition, d.other,
        absl::StrJoin(d.index, ","), key.empty() ? "the result" : fmt::format("result {}", key)));
  }
  return std::move(joined.value);
}

}  // namespace

bool IsPartitioned(const Module& module) {
  if (!FrontendAttribute(module.header().frontend_attributes, "xla.sdy.meshes").empty()) return false;
  bool annotated = false, acts_between = false, fused = module.header().is_scheduled;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (BelongsToPartitioner(*instruction)) return false;
      annotated |= instruction->Has<attr::sharding>() && !KeepsSharding(instruction->opcode());
      acts_between |= ActsBetweenPartitions(*instruction);
      fused |= instruction->opcode() == Opcode::kFusion;
    }
  }
  if (module.entry()->name().find("_spmd") != std::string_view::npos) return true;
  if (fused && module.header().num_partitions > 1) return true;
  return !annotated && acts_between;
}

absl::StatusOr<EntryShards> EntryShards::Make(const Module& module, int64_t partitions, const Module* whole) {
  const Module& source = whole != nullptr ? *whole : module;
  const bool partitioned = whole != nullptr || IsPartitioned(module);
  if (source.entry()->parameters().size() != module.entry()->parameters().size()) {
    return absl::FailedPreconditionError(
        fmt::format("the module before partitioning has {} parameters, but the partitioned one has {}",
                    source.entry()->parameters().size(), module.entry()->parameters().size()));
  }
  EntryShards shards;
  ShardingReader reader(source);
  // Returns the maps of a value with these shardings, and sets its whole shape.
  const auto read = [&](absl::StatusOr<std::vector<const Sharding*>> found, const Instruction& value,
                        const Instruction& tile, Shape* shape) -> absl::StatusOr<std::vector<TileMap>> {
    HLO_ASSIGN_OR_RETURN(std::vector<const Sharding*> shardings, std::move(found));
    // Before partitioning every partition has whole arrays, and only manual values differ.
    if (!partitioned) {
      static constexpr Sharding kManual = {.kind = Sharding::Kind::kManual};
      for (const Sharding*& sharding : shardings) sharding = IsManual(sharding) ? &kManual : nullptr;
    }
    HLO_ASSIGN_OR_RETURN(std::vector<TileMap> maps, MapsOf(shardings, value.shape(), partitions));
    size_t leaf = 0;
    *shape = value.shape();
    if (partitioned && whole == nullptr)
      *shape = MapLeaves(*shape, [&](const Shape& each) { return Enlarged(each, maps[leaf++]); });
    if (whole == nullptr) return maps;
    leaf = 0;
    const absl::Status fits = CheckTiles(value.shape(), tile.shape(), maps, &leaf);
    if (!fits.ok() && !HasSharding(value)) {
      return absl::NotFoundError(
          fmt::format("the partitioned module has {} of {}, by a sharding that XLA chose; "
                      "add `sharding=` to it in the module before partitioning",
                      ToString(tile.shape()), ToString(value.shape())));
    }
    HLO_RETURN_IF_ERROR(fits);
    return maps;
  };
  for (size_t i = 0; i < source.entry()->parameters().size(); ++i) {
    const Instruction& parameter = *source.entry()->parameters()[i];
    auto maps = read(reader.Read(parameter), parameter, *module.entry()->parameters()[i],
                     &shards.parameters_.emplace_back());
    if (!maps.ok()) return Of(parameter, absl::FailedPreconditionError(std::string(Message(maps.status()))));
    shards.parameter_maps_.push_back(*std::move(maps));
  }
  const Instruction& root = *source.entry()->root();
  auto maps = read(whole != nullptr ? reader.ReadResult(root) : reader.Read(root), root,
                   *module.entry()->root(), &shards.result_);
  if (absl::IsNotFound(maps.status())) {
    shards.unknown_result_ = fmt::format("'{}': {}", root.name(), Message(maps.status()));
    return shards;
  }
  if (!maps.ok()) return Of(root, maps.status());
  shards.result_maps_ = *std::move(maps);
  if (partitioned && whole == nullptr && !HasSharding(root)) {
    shards.unknown_result_ =
        "no sharding of the root tells how to join the results of the partitions; --shard-by "
        "FILE takes it from the module before partitioning";
  }
  return shards;
}

bool EntryShards::CanJoin() const {
  return unknown_result_.empty() && std::all_of(result_maps_.begin(), result_maps_.end(),
                                                [](const TileMap& map) { return map.manual_count() == 1; });
}

std::vector<std::vector<int64_t>> EntryShards::CopiesOf(int64_t leaf) const {
  const TileMap& map = result_maps_[static_cast<size_t>(leaf)];
  std::vector<std::vector<int64_t>> groups;
  for (int64_t partition = 0; partition < map.partitions(); ++partition) {
    if (map.at(partition).replicated < 0) continue;
    const auto is_copy = [&](const std::vector<int64_t>& group) {
      Placement place = map.at(partition);
      place.replicated = map.at(group[0]).replicated;
      return place == map.at(group[0]);
    };
    const auto group = std::find_if(groups.begin(), groups.end(), is_copy);
    if (group == groups.end())
      groups.push_back({partition});
    else
      group->push_back(partition);
  }
  return groups;
}

absl::StatusOr<std::vector<Literal>> EntryShards::Split(absl::Span<const Literal> arguments,
                                                        int64_t partition) const {
  if (arguments.size() != parameters_.size()) {
    return absl::FailedPreconditionError(fmt::format("the run has {} for {}",
                                                     Counted(arguments.size(), "argument"),
                                                     Counted(parameters_.size(), "parameter")));
  }
  std::vector<Literal> parts;
  for (size_t i = 0; i < arguments.size(); ++i) {
    size_t leaf = 0;
    HLO_ASSIGN_OR_RETURN(Literal part, SplitValue(arguments[i], parameter_maps_[i], partition, &leaf));
    parts.push_back(std::move(part));
  }
  return parts;
}

absl::StatusOr<Literal> EntryShards::SplitResult(const Literal& result, int64_t partition) const {
  size_t leaf = 0;
  return SplitValue(result, result_maps_, partition, &leaf);
}

absl::StatusOr<JoinedResult> EntryShards::Join(absl::Span<const Literal> results) const {
  JoinedResult joined;
  size_t leaf = 0;
  HLO_ASSIGN_OR_RETURN(joined.value, JoinValues({results.begin(), results.end()}, result_maps_, result_,
                                                &leaf, "", &joined.disagreements));
  return joined;
}

}  // namespace hlo::spmd
