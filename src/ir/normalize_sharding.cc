// Shardings as XLA normalises them when it reads them (text-format 6.2.1, 6.2.2).

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/arena.h"
#include "ir/as_xla.h"
#include "ir/device_groups.h"

namespace hlo {
namespace {

using Kind = Sharding::Kind;
using Subgroup = Sharding::SubgroupType;

struct Iota {
  std::vector<int64_t> reshape, perm;
};

bool IsPermutation(const std::vector<int64_t>& perm, size_t size) {
  std::vector<bool> seen(size);
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(size) || seen[p]) return false;
    seen[p] = true;
  }
  return perm.size() == size;
}

// Takes dimension d out of the iota.
void Drop(Iota& iota, int64_t d) {
  iota.reshape.erase(iota.reshape.begin() + d);
  iota.perm.erase(std::find(iota.perm.begin(), iota.perm.end(), d));
  for (int64_t& p : iota.perm) p -= p > d;
}

// Without sizes of 1, and with dimensions merged that stay neighbours under the transpose.
void Simplify(Iota& iota) {
  if (iota.perm.empty()) {
    iota.perm.resize(iota.reshape.size());
    std::iota(iota.perm.begin(), iota.perm.end(), 0);
  }
  if (!IsPermutation(iota.perm, iota.reshape.size())) return;
  for (int64_t d = static_cast<int64_t>(iota.reshape.size()) - 1; d >= 0; --d) {
    if (iota.reshape[d] == 1 && iota.reshape.size() > 1) Drop(iota, d);
  }
  for (size_t i = 0; i + 1 < iota.perm.size();) {
    const int64_t d = iota.perm[i];
    if (iota.perm[i + 1] != d + 1) {
      ++i;
      continue;
    }
    iota.reshape[d] *= iota.reshape[d + 1];
    Drop(iota, d + 1);
    i = 0;
  }
}

// Cuts the transposed iota's dimensions and `dims` into common factors: on success each of `dims` is a run of
// the iota's dimensions, and counts[k] says how many. nullopt where they do not fit.
std::optional<std::vector<size_t>> Align(Iota& iota, const std::vector<int64_t>& dims) {
  std::vector<size_t> counts;
  size_t at = 0;
  for (int64_t size : dims) {
    size_t count = 0;
    while (size > 1) {
      if (at == iota.perm.size()) return std::nullopt;
      const int64_t d = iota.perm[at];
      const int64_t have = iota.reshape[d];
      if (have <= 0) return std::nullopt;
      if (have > size) {
        if (have % size != 0) return std::nullopt;
        // The rest becomes a dimension of its own behind d.
        iota.reshape[d] = size;
        iota.reshape.insert(iota.reshape.begin() + d + 1, have / size);
        for (int64_t& p : iota.perm) p += p > d;
        iota.perm.insert(iota.perm.begin() + at + 1, d + 1);
      } else if (size % have != 0) {
        return std::nullopt;
      }
      size /= iota.reshape[iota.perm[at]];
      ++at;
      ++count;
    }
    counts.push_back(count);
  }
  return counts;
}

class Normalizer {
 public:
  explicit Normalizer(Arena& arena) : arena_(arena) {}

  const Sharding* operator()(const Sharding& sharding) {
    Sharding* s = arena_.New<Sharding>(sharding);
    if (s->kind == Kind::kTuple) {
      std::vector<const Sharding*> elements;
      for (const Sharding* element : s->elements) elements.push_back((*this)(*element));
      s->elements = arena_.Copy(absl::Span<const Sharding* const>(elements));
    } else if (s->kind == Kind::kTiled) {
      Tiles(*s);
    } else if (s->kind == Kind::kNamed) {
      s->mesh = NormalMesh(*s->mesh);
    }
    return s;
  }

  const Mesh* NormalMesh(const Mesh& mesh) {
    if (mesh.iota == nullptr) return &mesh;
    Mesh* result = arena_.New<Mesh>(mesh);
    result->iota = NormalIota(*mesh.iota);
    if (result->iota->reshape_dims.size() < 2) result->iota = nullptr;
    return result;
  }

  const IotaTile* NormalIota(const IotaTile& tile) {
    Iota iota{{tile.reshape_dims.begin(), tile.reshape_dims.end()},
              {tile.transpose_perm.begin(), tile.transpose_perm.end()}};
    Simplify(iota);
    return arena_.New<IotaTile>(IotaTile{tile.dims, Keep(iota.reshape), Keep(iota.perm)});
  }

 private:
  IntList Keep(const std::vector<int64_t>& values) { return arena_.Copy(IntList(values)); }

  // Groups of replication, manual and so on: sizes of 1 vanish, equal types merge, replication goes last.
  void Tiles(Sharding& s) {
    std::vector<Subgroup> types(s.last_tile_dims.begin(), s.last_tile_dims.end());
    if (s.last_tile_dim_replicate) types = {Subgroup::kReplicated};
    std::vector<int64_t> dims(s.tile_dims.begin(), s.tile_dims.end());
    const size_t data_dims = dims.size() - std::min(dims.size(), types.size());
    const bool had_types = !types.empty();

    std::vector<int64_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    auto rank = [&](int64_t d) {
      constexpr int kRank[] = {/*replicated*/ 9, /*manual*/ 2, /*maximal*/ 1, /*unreduced*/ 3};
      return d < static_cast<int64_t>(data_dims) ? 0 : kRank[static_cast<size_t>(types[d - data_dims])];
    };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
    std::vector<int64_t> new_dims;
    std::vector<Subgroup> new_types;
    for (int64_t d : order) {
      if (d < static_cast<int64_t>(data_dims)) {
        new_dims.push_back(dims[d]);
      } else if (dims[d] != 1) {
        const Subgroup type = types[d - data_dims];
        if (!new_types.empty() && new_types.back() == type) {
          new_dims.back() *= dims[d];
        } else {
          new_dims.push_back(dims[d]);
          new_types.push_back(type);
        }
      }
    }
    Transpose(s, dims, order);
    const bool data_whole =
        std::all_of(new_dims.begin(), new_dims.begin() + data_dims, [](int64_t size) { return size == 1; });
    if (had_types && data_whole && new_types.size() <= 1 && Collapse(s, new_types)) return;
    s.tile_dims = Keep(new_dims);
    s.last_tile_dim_replicate = new_types.size() == 1 && new_types[0] == Subgroup::kReplicated;
    s.last_tile_dims = s.last_tile_dim_replicate ? absl::Span<const Subgroup>()
                                                 : arena_.Copy(absl::Span<const Subgroup>(new_types));
    if (!new_types.empty() && new_types.back() == Subgroup::kReplicated && s.iota == nullptr) {
      SortGroups(s, new_dims.back());
    }
  }

  static bool Collapse(Sharding& s, const std::vector<Subgroup>& types) {
    const Subgroup type = types.empty() ? Subgroup::kReplicated : types[0];
    if (type == Subgroup::kMaximal) return false;
    s.kind = type == Subgroup::kManual      ? Kind::kManual
             : type == Subgroup::kUnreduced ? Kind::kUnreduced
                                            : Kind::kReplicated;
    return true;
  }

  // Moves the tile's dimensions: as an iota where that can say it, else as a list.
  void Transpose(Sharding& s, const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
    const bool moves = !std::is_sorted(order.begin(), order.end());
    if (s.iota != nullptr) {
      Iota iota{{s.iota->reshape_dims.begin(), s.iota->reshape_dims.end()},
                {s.iota->transpose_perm.begin(), s.iota->transpose_perm.end()}};
      Simplify(iota);
      if (moves && !TransposeIota(iota, dims, order)) {
        const std::vector<int64_t> devices = ExpandIota(s.iota->reshape_dims, s.iota->transpose_perm);
        s.iota = nullptr;
        s.devices = Keep(devices);
      } else {
        s.iota = arena_.New<IotaTile>(IotaTile{{}, Keep(iota.reshape), Keep(iota.perm)});
        return;
      }
    }
    if (!moves) return;
    const std::vector<int64_t> positions = ExpandIota(dims, order);
    std::vector<int64_t> moved;
    for (int64_t p : positions)
      moved.push_back(p < static_cast<int64_t>(s.devices.size()) ? s.devices[p] : 0);
    s.devices = Keep(moved);
  }

  static bool TransposeIota(Iota& iota, const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
    const auto counts = Align(iota, dims);
    if (!counts) return false;
    std::vector<int64_t> perm;
    for (int64_t d : order) {
      const size_t begin = std::accumulate(counts->begin(), counts->begin() + d, size_t{0});
      perm.insert(perm.end(), iota.perm.begin() + begin, iota.perm.begin() + begin + (*counts)[d]);
    }
    iota.perm = perm;
    Simplify(iota);
    return true;
  }

  void SortGroups(Sharding& s, int64_t size) {
    std::vector<int64_t> devices(s.devices.begin(), s.devices.end());
    if (size <= 0) return;
    for (size_t i = 0; i + size <= devices.size(); i += size) {
      std::sort(devices.begin() + i, devices.begin() + i + size);
    }
    s.devices = Keep(devices);
  }

  Arena& arena_;
};

const Sharding* ForEachLeaf(const Sharding* sharding, const Shape& shape, Arena& arena) {
  if (!shape.IsTuple() || sharding->kind == Kind::kTuple) return sharding;
  const std::vector<const Sharding*> leaves(std::max<int64_t>(shape.LeafCount(), 1), sharding);
  Sharding* tuple = arena.New<Sharding>();
  tuple->kind = Kind::kTuple;
  tuple->elements = arena.Copy(absl::Span<const Sharding* const>(leaves));
  return tuple;
}

const ReplicaGroups* NormalGroups(const ReplicaGroups& groups, Normalizer& normal, Arena& arena) {
  ReplicaGroups* result = arena.New<ReplicaGroups>(groups);
  if (groups.iota != nullptr) result->iota = normal.NormalIota(*groups.iota);
  if (groups.mesh != nullptr) result->mesh = normal.NormalMesh(*groups.mesh);
  return result;
}

}  // namespace

void NormalizeShardingsAsXla(Module& module) {
  Normalizer normal(module.arena());
  for (const Computation* c : module.computations()) {
    for (Instruction* i : c->instructions()) {
      if (const Sharding* sharding = i->Get<attr::sharding>()) {
        const Sharding* result = ForEachLeaf(normal(*sharding), i->shape(), module.arena());
        InstructionEditor::SetAttribute(module, *i, AttrId::sharding, AttrValue::Of(result));
      }
      if (const Domain* domain = i->Get<attr::domain>()) {
        const Domain* result =
            module.arena().New<Domain>(Domain{normal(*domain->entry), normal(*domain->exit)});
        InstructionEditor::SetAttribute(module, *i, AttrId::domain, AttrValue::Of(result));
      }
      if (const ReplicaGroups* groups = i->Get<attr::replica_groups>()) {
        const ReplicaGroups* result = NormalGroups(*groups, normal, module.arena());
        InstructionEditor::SetAttribute(module, *i, AttrId::replica_groups, AttrValue::Of(result));
      }
    }
  }
}

}  // namespace hlo
