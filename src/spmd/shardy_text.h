#pragma once
// Reads the shardings that exports of Shardy keep in frontend attributes (spmd 5.3).

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "hlo_run/module.h"

namespace hlo::spmd {

// Returns the value of a frontend attribute of an instruction or of a header; "" if it is absent.
std::string_view FrontendAttribute(const FrontendAttributes* attributes, std::string_view key);

struct NamedMesh {
  std::string_view name;
  const Mesh* mesh;
};
// Reads the header's `xla.sdy.meshes`, as in {mesh = #sdy.mesh<["a"=2, "b"=4]>}; none if it is absent. The
// meshes are stored in the arena and refer to the text. Returns FailedPrecondition for text that is not a
// list of meshes.
absl::StatusOr<std::vector<NamedMesh>> ReadMeshes(const Module& module, Arena& arena);

// Reads #sdy.sharding<@mesh, [{"a"}, {?}]> or #sdy.sharding_per_value<[<@mesh, [{}]>, ...]>. Returns
// FailedPrecondition for other text and for meshes and axes that do not exist.
absl::StatusOr<std::vector<const Sharding*>> ReadShardings(std::string_view text,
                                                           const std::vector<NamedMesh>& meshes,
                                                           Arena& arena);

// Reads #sdy<manual_axes{"a", "b"}>.
absl::StatusOr<std::vector<std::string_view>> ReadManualAxes(std::string_view text);

}  // namespace hlo::spmd
