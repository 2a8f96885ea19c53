// Parses shardings with device lists, and replica groups (text-format 6.2.1, 8.9).

#include <algorithm>

#include "absl/algorithm/container.h"
#include "base/counted.h"
#include "text/iota.h"
#include "text/parser.h"
#include "text/sharding_items.h"

namespace hlo::text {

// sharding: `{}`, `{one}` or `{{one}, {one}}`.
bool Parser::ParseSharding(const Sharding** sharding) {
  if (!At(Tok::kLBrace)) return Unexpected("'{' and a sharding");
  const Token brace = token();
  const uint32_t last_end = lex_.last_end();
  Next();
  const bool is_tuple = At(Tok::kLBrace) || At(Tok::kRBrace);
  if (!is_tuple) {
    lex_.Rewind(brace, last_end);
    return ParseOneSharding(sharding);
  }
  std::vector<const Sharding*> elements;
  if (!At(Tok::kRBrace)) {
    do {
      if (!ParseOneSharding(&elements.emplace_back())) return false;
    } while (Accept(Tok::kComma));
  }
  auto* tuple = arena().New<Sharding>();
  tuple->kind = Sharding::Kind::kTuple;
  tuple->elements = Keep(elements);
  *sharding = tuple;
  return Expect(Tok::kRBrace, "',' or '}' in a tuple of shardings");
}

// one-sharding: `{items}` or `{mesh[...], ...}`.
bool Parser::ParseOneSharding(const Sharding** sharding) {
  if (!Expect(Tok::kLBrace, "'{' and a sharding")) return false;
  auto* result = arena().New<Sharding>();
  *sharding = result;
  return (AtMesh() ? ParseNamedSharding(*result) : ParseDeviceSharding(*result)) &&
         Expect(Tok::kRBrace, "'}' at the end of the sharding");
}

// device-sharding: items without commas, in any order.
bool Parser::ParseDeviceSharding(Sharding& sharding) {
  const uint32_t begin = token().begin;
  // Until 2018 a sharding could contain a shape.
  if (At(Tok::kType)) {
    if (!Tolerate(token().range(), "a shape inside a sharding is spelling of an old dump; ignored"))
      return false;
    Shape ignored;
    if (!ParseShape(&ignored)) return false;
  }
  ShardingItems items;
  while (!At(Tok::kRBrace)) {
    if (!ParseShardingItem(sharding, items)) return false;
  }
  return FinishDeviceSharding(sharding, items, From(begin));
}

// sharding-item: a kind, devices, subgroups, a shard group or metadata.
bool Parser::ParseShardingItem(Sharding& sharding, ShardingItems& items) {
  const Token word = token();
  switch (word.kind) {
    case Tok::kReplicated:
      items.replicated = true;
      return Accept(word.kind);
    case Tok::kMaximal:
      items.maximal = true;
      return Accept(word.kind);
    case Tok::kManual:
      items.manual = true;
      return Accept(word.kind);
    case Tok::kUnknown:
      items.unknown = true;
      return Accept(word.kind);
    case Tok::kUnreduced:
      items.unreduced = true;
      return Accept(word.kind);
    case Tok::kLastTileDimReplicate:
      sharding.last_tile_dim_replicate = true;
      return Accept(word.kind);
    case Tok::kShardAs:
    case Tok::kShardLike:
      Next();
      if (sharding.group == Sharding::Group::kNone) {
        sharding.group = word.Is(Tok::kShardAs) ? Sharding::Group::kShardAs : Sharding::Group::kShardLike;
      }
      return ParseInt(&sharding.group_id);
    default:
      break;
  }
  const std::string_view name = At(Tok::kAttr) ? lex_.Word(word) : std::string_view();
  if (name == "device") {
    Next();
    return ParseInt(&items.devices.emplace_back());
  }
  if (name == "devices") {
    Next();
    return ParseTileAssignment(sharding, items);
  }
  if (name == "last_tile_dims") {
    Next();
    items.has_last_tile_dims = true;
    return ParseSubgroupTypes(&sharding.last_tile_dims);
  }
  if (name == "metadata") {
    Next();
    return ParseShardingMetadata(sharding);
  }
  return Unexpected("'}' or a part of a sharding such as replicated, maximal, manual or devices=");
}

// subgroup-types: `{manual, replicated}`.
bool Parser::ParseSubgroupTypes(absl::Span<const Sharding::SubgroupType>* types) {
  using Type = Sharding::SubgroupType;
  if (!Expect(Tok::kLBrace, "'{' and subgroup types")) return false;
  std::vector<Type> all;
  if (!At(Tok::kRBrace)) {
    do {
      switch (token().kind) {
        case Tok::kReplicated:
          all.push_back(Type::kReplicated);
          break;
        case Tok::kManual:
          all.push_back(Type::kManual);
          break;
        case Tok::kMaximal:
          all.push_back(Type::kMaximal);
          break;
        case Tok::kUnreduced:
          all.push_back(Type::kUnreduced);
          break;
        default:
          return Unexpected("replicated, manual, maximal or unreduced");
      }
      Next();
    } while (Accept(Tok::kComma));
  }
  *types = Keep(all);
  return Expect(Tok::kRBrace, "',' or '}' in a list of subgroup types");
}

// sharding-metadata: one record or `{record, record}`. Its stack frames are not looked up, as in XLA.
bool Parser::ParseShardingMetadata(Sharding& sharding) {
  if (!At(Tok::kLBrace)) return Unexpected("'{' and metadata");
  std::vector<const Metadata*> records(sharding.metadata.begin(), sharding.metadata.end());
  const size_t frame_uses = frame_uses_.size();
  if (lex_.base()[lex_.SkipBlanks(token().end)] != '{') {
    if (!ParseMetadata(&records.emplace_back())) return false;
  } else {
    sharding.metadata_braces = true;
    Next();
    do {
      if (!ParseMetadata(&records.emplace_back())) return false;
    } while (Accept(Tok::kComma));
    if (!Expect(Tok::kRBrace, "',' or '}' in a list of metadata")) return false;
  }
  frame_uses_.resize(frame_uses);
  sharding.metadata = Keep(records);
  return true;
}

// tile-assignment: `[2,2]0,1,2,3` or `[2,2]<=[4]`.
bool Parser::ParseTileAssignment(Sharding& sharding, ShardingItems& items) {
  const uint32_t begin = token().begin;
  std::vector<int64_t> dims;
  if (!ReadBracketed(&dims)) return false;
  std::optional<int64_t> count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return Error(From(begin), "a tile grid has no dimension of size {}", dim);
    count = Product(*count, dim);
    if (!count) return Error(From(begin), "a tile grid of more devices than can be counted");
  }
  sharding.tile_dims = Keep(dims);
  items.has_tiles = true;
  if (Accept(Tok::kLessEqual)) {
    return ParseIota(sharding.tile_dims, &sharding.iota);
  }
  do {
    if (!ParseInt(&items.devices.emplace_back())) return false;
  } while (Accept(Tok::kComma));
  return true;
}

// Reads `[1,2,3]` with at least one number.
bool Parser::ReadBracketed(std::vector<int64_t>* values) {
  if (!At(Tok::kLSquare)) return Unexpected("'[' and sizes");
  do {
    lex_.NextInteger();
    if (!ParseInt(&values->emplace_back())) return false;
  } while (At(Tok::kComma));
  return Expect(Tok::kRSquare, "',' or ']' in a list of sizes");
}

// iota: `[8]` or `[2,4]T(1,0)` after `<=`.
bool Parser::ParseIota(IntList dims, const IotaTile** tile) {
  const uint32_t begin = token().begin;
  std::vector<int64_t> reshape, perm;
  if (!ReadBracketed(&reshape)) return false;
  if (reshape.size() > 1) {
    if (!At(Tok::kIdent) || lex_.Bytes(token()) != "T")
      return Unexpected("T(...), the order of the dimensions before it");
    Next();
    if (!At(Tok::kLParen)) return Unexpected("'(' and a permutation");
    do {
      lex_.NextInteger();
      if (!ParseInt(&perm.emplace_back())) return false;
    } while (At(Tok::kComma));
    if (!Expect(Tok::kRParen, "',' or ')' in a permutation")) return false;
  } else {
    perm = {0};
  }
  if (!IsPermutation(perm, reshape.size())) {
    return Error(From(begin), "T({}) is not a permutation of the {} before it", fmt::join(perm, ","),
                 Counted(reshape.size(), "dimension"));
  }
  const auto devices = ProductOf(reshape);
  const auto wanted = ProductOf({dims.begin(), dims.end()});
  if (!devices || absl::c_any_of(reshape, [](int64_t d) { return d < 0; })) {
    return Error(From(begin), "sizes of an iota are not negative, and their product fits 64 bits");
  }
  if (devices != wanted)
    return Error(From(begin), "{} for a grid of {}", Counted(*devices, "device"), wanted.value_or(-1));
  CanonicalizeIota(&reshape, &perm);
  *tile = arena().New<IotaTile>(IotaTile{dims, Keep(reshape), Keep(perm)});
  return true;
}

// replica-groups: `{{0,1},{2,3}}`, `[2,4]<=[8]` or `mesh['x'=2] {'x'}`.
bool Parser::ParseReplicaGroups(const ReplicaGroups** groups) {
  auto* result = arena().New<ReplicaGroups>();
  *groups = result;
  if (AtMesh()) {
    result->form = ReplicaGroups::Form::kMesh;
    return ParseMesh(&result->mesh) && ParseAxes(*result->mesh, &result->axes);
  }
  if (At(Tok::kLBrace)) return ParseIntLists(&result->groups);
  if (!At(Tok::kLSquare)) return Unexpected("replica groups: {{0,1},{2,3}}, [2,4]<=[8] or mesh[...] {...}");
  result->form = ReplicaGroups::Form::kIota;
  const uint32_t begin = token().begin;
  std::vector<int64_t> dims;
  if (!ReadBracketed(&dims)) return false;
  if (dims.size() != 2) return Error(From(begin), "replica groups have two sizes: groups and members");
  return Expect(Tok::kLessEqual, "'<=' after the sizes") && ParseIota(Keep(dims), &result->iota);
}

namespace {

using Type = Sharding::SubgroupType;

// Replication is last; the others have the order of XLA's enumeration.
int OrderOf(Type type) {
  switch (type) {
    case Type::kMaximal:
      return 0;
    case Type::kManual:
      return 1;
    case Type::kUnreduced:
      return 2;
    case Type::kReplicated:
      return 3;
  }
  return 3;
}

// Returns the permutation of the grid dimensions that sorts the subgroups by type.
std::vector<int64_t> SubgroupOrder(size_t rank, const std::vector<Type>& types) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  const size_t data = rank - types.size();
  std::stable_sort(order.begin() + static_cast<int64_t>(data), order.end(),
                   [&](int64_t a, int64_t b) { return OrderOf(types[a - data]) < OrderOf(types[b - data]); });
  return order;
}

Sharding::Reduction ReductionOf(absl::Span<const Metadata* const> records) {
  for (const Metadata* record : records) {
    if (record->op_type != "sdy::reduction_op") continue;
    if (record->op_name == "MAX") return Sharding::Reduction::kMax;
    if (record->op_name == "MIN") return Sharding::Reduction::kMin;
    break;
  }
  return Sharding::Reduction::kSum;
}

}  // namespace

bool Parser::FinishDeviceSharding(Sharding& sharding, const ShardingItems& items, SourceRange range) {
  using Kind = Sharding::Kind;
  const bool special = items.replicated || items.maximal || items.manual || items.unknown || items.unreduced;
  if (sharding.last_tile_dim_replicate && items.has_last_tile_dims) {
    return Error(range, "last_tile_dim_replicate and last_tile_dims exclude each other");
  }
  if (special && sharding.iota != nullptr && !Tolerate(range, "the tile grid of this sharding is ignored"))
    return false;
  if (items.maximal && !items.replicated) {
    if (items.devices.size() != 1) return Error(range, "a maximal sharding needs one device=");
    sharding.kind = Kind::kMaximal;
    sharding.maximal_device = items.devices[0];
  } else if (special) {
    if (!items.devices.empty()) return Error(range, "this kind of sharding has no devices");
    if (items.unreduced) sharding.reduction = ReductionOf(sharding.metadata);
    sharding.kind = items.replicated ? Kind::kReplicated
                    : items.manual   ? Kind::kManual
                    : items.unknown  ? Kind::kUnknown
                                     : Kind::kUnreduced;
  } else {
    if (!items.has_tiles) return Error(range, "a sharding needs a kind such as replicated, or devices=");
    sharding.kind = Kind::kTiled;
    if (sharding.iota == nullptr) {
      const auto count = static_cast<int64_t>(items.devices.size());
      if (count != ProductOf({sharding.tile_dims.begin(), sharding.tile_dims.end()})) {
        return Error(range, "{} for a grid of {}", Counted(count, "device"),
                     fmt::join(sharding.tile_dims, "x"));
      }
      if (count < 2) return Error(range, "a tiled sharding needs at least two devices");
      sharding.devices = Keep(items.devices);
    }
    return NormalizeTiles(sharding, range);
  }
  sharding.tile_dims = {};
  sharding.iota = nullptr;
  sharding.last_tile_dim_replicate = false;
  sharding.last_tile_dims = {};
  return true;
}

// Normalises a tile grid as XLA's reader does: merges subgroups of one type, drops those of size 1 and moves
// replication last. A grid that splits nothing becomes replicated.
bool Parser::NormalizeTiles(Sharding& sharding, SourceRange range) {
  std::vector<Type> types(sharding.last_tile_dims.begin(), sharding.last_tile_dims.end());
  if (sharding.last_tile_dim_replicate) types = {Type::kReplicated};
  std::vector<int64_t> dims(sharding.tile_dims.begin(), sharding.tile_dims.end());
  if (types.size() > dims.size()) {
    return Error(range, "{} for a grid of {}", Counted(types.size(), "subgroup type"),
                 Counted(dims.size(), "dimension"));
  }
  sharding.last_tile_dim_replicate = false;
  sharding.last_tile_dims = {};
  if (types.empty()) return true;

  const size_t data_rank = dims.size() - types.size();
  const std::vector<int64_t> order = SubgroupOrder(dims.size(), types);
  if (!absl::c_is_sorted(order)) TransposeTiles(sharding, order);
  std::vector<int64_t> grid(dims.begin(), dims.begin() + static_cast<int64_t>(data_rank));
  std::vector<Type> merged;
  for (size_t i = data_rank; i < dims.size(); ++i) {
    const int64_t size = dims[order[i]];
    const Type type = types[order[i] - data_rank];
    if (size == 1) continue;
    if (!merged.empty() && merged.back() == type) {
      grid.back() *= size;
    } else {
      merged.push_back(type);
      grid.push_back(size);
    }
  }
  const bool splits_data =
      absl::c_any_of(absl::MakeConstSpan(grid).first(data_rank), [](int64_t d) { return d != 1; });
  const bool is_unreduced = absl::c_linear_search(merged, Type::kUnreduced);
  if (is_unreduced) sharding.reduction = ReductionOf(sharding.metadata);
  if (!splits_data && merged.size() <= 1) {
    const Type type = merged.empty() ? types[0] : merged[0];
    if (type != Type::kMaximal) {
      sharding.kind = type == Type::kManual      ? Sharding::Kind::kManual
                      : type == Type::kUnreduced ? Sharding::Kind::kUnreduced
                                                 : Sharding::Kind::kReplicated;
      sharding.tile_dims = sharding.devices = {};
      sharding.iota = nullptr;
      return true;
    }
  }
  sharding.tile_dims = Keep(grid);
  if (sharding.iota != nullptr) {
    sharding.iota = arena().New<IotaTile>(
        IotaTile{sharding.tile_dims, sharding.iota->reshape_dims, sharding.iota->transpose_perm});
  }
  if (merged == std::vector<Type>{Type::kReplicated}) {
    sharding.last_tile_dim_replicate = true;
    std::vector<int64_t> devices(sharding.devices.begin(), sharding.devices.end());
    for (auto it = devices.begin(); it != devices.end(); it += grid.back()) std::sort(it, it + grid.back());
    sharding.devices = Keep(devices);
  } else {
    sharding.last_tile_dims = Keep(merged);
  }
  return true;
}

// Transposes the grid together with its devices.
void Parser::TransposeTiles(Sharding& sharding, const std::vector<int64_t>& order) {
  const std::vector<int64_t> dims(sharding.tile_dims.begin(), sharding.tile_dims.end());
  if (sharding.iota != nullptr && sharding.iota->reshape_dims.size() == 1) {
    std::vector<int64_t> reshape = dims, perm = order;
    CanonicalizeIota(&reshape, &perm);
    sharding.iota = arena().New<IotaTile>(IotaTile{sharding.tile_dims, Keep(reshape), Keep(perm)});
    return;
  }
  constexpr int64_t kMaxDevices = 1 << 20;
  const int64_t count = ProductOf(dims).value_or(kMaxDevices + 1);
  if (count > kMaxDevices) return;
  const std::vector<int64_t> from =
      sharding.iota != nullptr ? ExpandIota(*sharding.iota)
                               : std::vector<int64_t>(sharding.devices.begin(), sharding.devices.end());
  sharding.devices = Keep(Transposed(from, dims, order));
  sharding.iota = nullptr;
}

}  // namespace hlo::text
