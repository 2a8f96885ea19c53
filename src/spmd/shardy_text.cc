#include "spmd/shardy_text.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"

namespace hlo::spmd {
namespace {

// A recursive-descent reader. Each function returns false at text that it does not expect, or sets a problem.
class ShardyReader {
 public:
  ShardyReader(std::string_view text, Arena& arena) : text_(text), rest_(text), arena_(arena) {}

  // {name = #sdy.mesh<...>, ...}
  bool ReadMeshList(std::vector<NamedMesh>* meshes) {
    if (!Accept("{")) return false;
    while (!Accept("}")) {
      NamedMesh& mesh = meshes->emplace_back();
      if (!Word(&mesh.name) || !Accept("=") || !Accept("#sdy.") || !ReadMesh(&mesh.mesh)) return false;
      Accept(",");
    }
    return true;
  }

  // #sdy.sharding<...> or #sdy.sharding_per_value<[<...>, ...]>
  bool ReadShardingList(const std::vector<NamedMesh>& meshes, std::vector<const Sharding*>* shardings) {
    if (!Accept("#sdy.sharding_per_value<"))
      return Accept("#sdy.sharding") && ReadSharding(meshes, &shardings->emplace_back());
    if (!Accept("[")) return false;
    while (!Accept("]")) {
      if (!ReadSharding(meshes, &shardings->emplace_back())) return false;
      Accept(",");
    }
    return Accept(">");
  }

  // #sdy<manual_axes{"a"}>
  bool ReadManualAxisList(std::vector<std::string_view>* names) {
    if (!Accept("#sdy<manual_axes") || !Accept("{")) return false;
    while (!Accept("}")) {
      if (!Quoted(&names->emplace_back())) return false;
      Accept(",");
    }
    return Accept(">");
  }

  absl::Status Problem(std::string_view what) const {
    if (!problem_.empty()) return absl::FailedPreconditionError(fmt::format("'{}': {}", text_, problem_));
    return absl::FailedPreconditionError(fmt::format("'{}' is not a {}", text_, what));
  }

 private:
  bool Fails(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  void SkipBlanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\\"), rest_.size())); }
  bool Accept(std::string_view word) {
    SkipBlanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool Word(std::string_view* word) {
    SkipBlanks();
    const size_t end = std::min(rest_.find_first_of(" =,<>[]{}()"), rest_.size());
    *word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return end > 0;
  }
  // A quoted string; the quotes may be escaped.
  bool Quoted(std::string_view* word) {
    if (!Accept("\"")) return false;
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) return false;
    *word = rest_.substr(0, end);
    if (word->ends_with('\\')) word->remove_suffix(1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool Number(int64_t* value) {
    SkipBlanks();
    const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const bool ok = absl::SimpleAtoi(absl::string_view(rest_.data(), end), value);
    rest_.remove_prefix(end);
    return ok;
  }

  // mesh<["a"=2], device_ids=[1,0]>
  bool ReadMesh(const Mesh** result) {
    if (!Accept("mesh<[")) return false;
    std::vector<MeshAxis> axes;
    while (!Accept("]")) {
      MeshAxis& axis = axes.emplace_back();
      if (!Quoted(&axis.name) || !Accept("=") || !Number(&axis.size)) return false;
      Accept(",");
    }
    auto* mesh = arena_.New<Mesh>();
    *result = mesh;
    mesh->axes = arena_.Copy(absl::MakeConstSpan(axes));
    if (Accept(",")) {
      std::vector<int64_t> ids;
      if (!Accept("device_ids=[")) return false;
      while (!Accept("]")) {
        if (!Number(&ids.emplace_back())) return false;
        Accept(",");
      }
      mesh->device_ids = arena_.Copy(absl::MakeConstSpan(ids));
      if (axes.empty() && ids.size() == 1) {
        mesh->single_device = true;
        mesh->device_id = ids[0];
      }
    }
    return Accept(">");
  }

  // <@mesh, [{"a"}, {"b":(1)2, ?}], replicated={"c"}, unreduced={"d"}>
  bool ReadSharding(const std::vector<NamedMesh>& meshes, const Sharding** result) {
    auto* sharding = arena_.New<Sharding>();
    *result = sharding;
    sharding->kind = Sharding::Kind::kNamed;
    sharding->tail = Sharding::NamedTail::kDims;
    if (!Accept("<")) return false;
    if (Accept("@")) {
      std::string_view name;
      if (!Word(&name)) return false;
      const auto mesh =
          std::find_if(meshes.begin(), meshes.end(), [&](const NamedMesh& m) { return m.name == name; });
      if (mesh == meshes.end()) return Fails(fmt::format("the module has no mesh '{}'", name));
      sharding->mesh = mesh->mesh;
    } else if (!ReadMesh(&sharding->mesh)) {
      return false;
    }
    if (!Accept(",") || !Accept("[")) return false;
    std::vector<DimSharding> dims;
    while (!Accept("]")) {
      DimSharding& dim = dims.emplace_back();
      if (!ReadAxes(*sharding->mesh, &dim.axes, &dim.open)) return false;
      std::string_view priority;
      if (Accept("p")) Word(&priority);
      Accept(",");
    }
    sharding->dims = arena_.Copy(absl::MakeConstSpan(dims));
    bool open = false;
    while (Accept(",")) {
      const bool replicated = Accept("replicated=");
      if (!replicated && !Accept("unreduced=")) return false;
      auto& axes = replicated ? sharding->replicated_axes : sharding->unreduced_axes;
      if (!ReadAxes(*sharding->mesh, &axes, &open)) return false;
      sharding->has_unreduced_axes |= !replicated;
    }
    return Accept(">");
  }

  // {"a", "b":(1)2, ?}
  bool ReadAxes(const Mesh& mesh, absl::Span<const AxisRef>* result, bool* open) {
    if (!Accept("{")) return false;
    std::vector<AxisRef> axes;
    while (!Accept("}")) {
      if (Accept("?")) {
        *open = true;
        continue;
      }
      std::string_view name;
      if (!Quoted(&name)) return false;
      const auto axis =
          std::find_if(mesh.axes.begin(), mesh.axes.end(), [&](const MeshAxis& a) { return a.name == name; });
      if (axis == mesh.axes.end()) return Fails(fmt::format("the mesh has no axis '{}'", name));
      AxisRef& ref = axes.emplace_back();
      ref.axis = axis - mesh.axes.begin();
      if (Accept(":(")) {
        if (!Number(&ref.pre_size) || !Accept(")") || !Number(&ref.size)) return false;
        int64_t product = 0;
        const bool divides = ref.pre_size > 0 && ref.size > 0 &&
                             !__builtin_mul_overflow(ref.pre_size, ref.size, &product) &&
                             axis->size % product == 0;
        if (!divides) return Fails(fmt::format("a part of the axis '{}' does not divide it", name));
      }
      Accept(",");
    }
    *result = arena_.Copy(absl::MakeConstSpan(axes));
    return true;
  }

  std::string_view text_, rest_;
  Arena& arena_;
  std::string problem_;
};

}  // namespace

std::string_view FrontendAttribute(const FrontendAttributes* attributes, std::string_view key) {
  if (attributes == nullptr) return {};
  for (const KeyValue& entry : attributes->entries) {
    if (entry.key == key) return entry.value;
  }
  return {};
}

absl::StatusOr<std::vector<NamedMesh>> ReadMeshes(const Module& module, Arena& arena) {
  std::vector<NamedMesh> meshes;
  const std::string_view text = FrontendAttribute(module.header().frontend_attributes, "xla.sdy.meshes");
  if (text.empty()) return meshes;
  ShardyReader reader(text, arena);
  if (!reader.ReadMeshList(&meshes)) return reader.Problem("list of meshes");
  return meshes;
}

absl::StatusOr<std::vector<const Sharding*>> ReadShardings(std::string_view text,
                                                           const std::vector<NamedMesh>& meshes,
                                                           Arena& arena) {
  ShardyReader reader(text, arena);
  std::vector<const Sharding*> shardings;
  if (!reader.ReadShardingList(meshes, &shardings)) return reader.Problem("sharding of Shardy");
  return shardings;
}

absl::StatusOr<std::vector<std::string_view>> ReadManualAxes(std::string_view text) {
  Arena unused;
  ShardyReader reader(text, unused);
  std::vector<std::string_view> names;
  if (!reader.ReadManualAxisList(&names)) return reader.Problem("list of manual axes");
  return names;
}

}  // namespace hlo::spmd
