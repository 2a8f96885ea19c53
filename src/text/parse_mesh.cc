// Parses shardings and groups that refer to mesh axes (text-format 6.2.2).

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "base/counted.h"
#include "ir/device_groups.h"
#include "text/iota.h"
#include "text/parser.h"

namespace hlo::text {
namespace {

// Changes a named sharding without dimensions to `replicated`, `manual` or `unreduced` where it means the
// same, as XLA does.
void UseShortForm(Sharding& sharding) {
  using Tail = Sharding::NamedTail;
  const Mesh& mesh = *sharding.mesh;
  if (!sharding.dims.empty() || (sharding.tail != Tail::kDims && sharding.tail != Tail::kUnreduced)) return;
  const bool all_unreduced = sharding.tail == Tail::kUnreduced && !sharding.has_unreduced_axes;
  if (all_unreduced ? mesh.axes.empty()
                    : sharding.replicated_axes.empty() && sharding.unreduced_axes.empty() &&
                          sharding.manual_axes.empty()) {
    sharding.tail = Tail::kReplicated;
    sharding.reduction = Sharding::Reduction::kSum;
  } else if (CoverMesh(mesh, sharding.unreduced_axes)) {
    sharding.tail = Tail::kUnreduced;
  } else if (CoverMesh(mesh, sharding.manual_axes)) {
    sharding.tail = Tail::kManual;
  }
}

}  // namespace
namespace {

// Axis names are looked up linearly.
constexpr size_t kMaxAxes = 1024;

}  // namespace

bool Parser::AtMesh() const {
  if (!At(Tok::kIdent)) return false;
  const std::string_view word = lex_.Bytes(token());
  return word == "mesh" || word == "maximal_mesh" || word == "single_device";
}

// mesh: `mesh['x'=2,'y'=4]`, optionally with `, device_ids=(...)`, or `single_device[device_id=3]`.
bool Parser::ParseMesh(const Mesh** mesh) {
  const uint32_t begin = token().begin;
  auto* result = arena().New<Mesh>();
  *mesh = result;
  result->single_device = lex_.Bytes(token()) != "mesh";
  Next();
  if (!Expect(Tok::kLSquare, "'[' and the axes of the mesh")) return false;
  if (result->single_device) {
    if (!At(Tok::kAttr) || lex_.Word(token()) != "device_id") return Unexpected("device_id=");
    Next();
    return ParseInt(&result->device_id) && Expect(Tok::kRSquare, "']' after the device");
  }
  std::vector<MeshAxis> axes;
  if (!ReadList(Tok::kRSquare, "',' or ']' in a mesh", [&] {
        if (axes.size() == kMaxAxes) return Error(token().range(), "a mesh of more than {} axes", kMaxAxes);
        MeshAxis& axis = axes.emplace_back();
        const SourceRange range = token().range();
        if (!ParseString(&axis.name)) return false;
        if (!Expect(Tok::kEqual, "'=' after the name of an axis") || !ParseInt(&axis.size)) return false;
        for (size_t i = 0; i + 1 < axes.size(); ++i) {
          if (axes[i].name == axis.name) return Error(range, "a second axis with the name '{}'", axis.name);
        }
        return true;
      }))
    return false;
  result->axes = Keep(axes);
  return ParseMeshDevices(*result, From(begin));
}

// mesh-devices: an optional `, device_ids=(0,2,1,3)` or `, device_ids=([2,2]T(1,0))`.
bool Parser::ParseMeshDevices(Mesh& mesh, SourceRange mesh_range) {
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  const auto devices = ProductOf(sizes);
  if (!devices) return Error(mesh_range, "a mesh of more devices than can be counted");
  if (!At(Tok::kComma)) return true;
  const Token comma = token();
  const uint32_t last_end = lex_.last_end();
  Next();
  // XLA searches the bytes for the word, so a comment before the word hides it.
  const bool only_blanks = std::all_of(lex_.base() + comma.end, lex_.base() + token().begin, IsBlank);
  if (!At(Tok::kAttr) || lex_.Word(token()) != "device_ids" || !only_blanks) {
    lex_.Rewind(comma, last_end);
    return true;
  }
  Next();
  const uint32_t begin = token().begin;
  if (!Expect(Tok::kLParen, "'(' and the devices of the mesh")) return false;
  if (At(Tok::kLSquare)) {
    const auto* dims = arena().New<std::vector<int64_t>>(std::vector<int64_t>{*devices});
    const IotaTile* tile;
    if (!ParseIota(*dims, &tile)) return false;
    // A single remaining dimension is the identity.
    if (tile->reshape_dims.size() > 1) mesh.iota = tile;
    return Expect(Tok::kRParen, "')' after the devices of the mesh");
  }
  std::vector<int64_t> ids;
  if (!ReadList(Tok::kRParen, "',' or ')' in a list of devices",
                [&] { return ParseInt(&ids.emplace_back()); }))
    return false;
  if (ids.empty()) return true;
  if (static_cast<int64_t>(ids.size()) != *devices) {
    return Error(From(begin), "{} for a mesh of {}", Counted(ids.size(), "device"), *devices);
  }
  if (!IsPermutation(ids, ids.size()))
    return Error(From(begin), "the devices are not 0 to {} in some order", ids.size() - 1);
  if (absl::c_is_sorted(ids)) return Error(From(begin), "devices in their natural order are not written");
  mesh.device_ids = Keep(ids);
  return true;
}

// axes: `{'x', 'y':(1)2}`.
bool Parser::ParseAxes(const Mesh& mesh, absl::Span<const AxisRef>* axes) {
  return ReadBracedList(axes, "'{' and axes of the mesh", "',' or '}' in a list of axes",
                        [&](AxisRef* axis) { return ParseAxis(mesh, axis); });
}

// axis: `'x'` or a sub-axis, `'x':(2)4`.
bool Parser::ParseAxis(const Mesh& mesh, AxisRef* axis) {
  const uint32_t begin = token().begin;
  std::string_view name;
  if (!ParseString(&name)) return false;
  const auto row = absl::c_find_if(mesh.axes, [&](const MeshAxis& a) { return a.name == name; });
  axis->axis = row - mesh.axes.begin();
  if (row == mesh.axes.end()) {
    const bool is_number = absl::SimpleAtoi(absl::string_view(name.data(), name.size()), &axis->axis);
    if (!is_number || axis->axis < 0 || axis->axis >= static_cast<int64_t>(mesh.axes.size())) {
      return Error(From(begin), "the mesh has no axis '{}'", name);
    }
  }
  if (!Accept(Tok::kColon)) return true;
  if (!Expect(Tok::kLParen, "'(' and the product of the parts before") || !ParseInt(&axis->pre_size) ||
      !Expect(Tok::kRParen, "')' before the size of the part") || !ParseInt(&axis->size)) {
    return false;
  }
  const int64_t full = mesh.axes[axis->axis].size;
  const auto end = Product(axis->pre_size, axis->size);
  if (axis->size < 2 || axis->pre_size < 1 || axis->size == full) {
    return Error(From(begin), "a part of an axis has at least 2 and fewer than all {} devices", full);
  }
  if (!end || full % *end != 0)
    return Error(From(begin), "this part does not divide the axis of size {}", full);
  return true;
}

// dim-sharding: `{'x', ?}`.
bool Parser::ParseDimSharding(const Mesh& mesh, DimSharding* dim) {
  if (!Expect(Tok::kLBrace, "'{' and axes of the mesh")) return false;
  std::vector<AxisRef> all;
  if (!At(Tok::kRBrace)) {
    do {
      if (Accept(Tok::kQuestion)) {
        dim->open = true;
        break;
      }
      if (!ParseAxis(mesh, &all.emplace_back())) return false;
    } while (Accept(Tok::kComma));
  }
  dim->axes = Keep(all);
  return Expect(Tok::kRBrace, dim->open ? "'}' after '?'" : "',' or '}' in a list of axes");
}

// named-sharding: a mesh and the use of its axes.
bool Parser::ParseNamedSharding(Sharding& sharding) {
  const uint32_t begin = token().begin;
  sharding.kind = Sharding::Kind::kNamed;
  if (!ParseMesh(&sharding.mesh)) return false;
  const bool comma = Accept(Tok::kComma);
  if (sharding.mesh->single_device) {
    if (!comma) return true;
    if (!At(Tok::kAttr) || lex_.Word(token()) != "metadata") return Unexpected("metadata= or '}'");
    Next();
    return ParseShardingMetadata(sharding);
  }
  if (!ParseNamedTail(sharding)) return false;
  if (sharding.tail == Sharding::NamedTail::kManual && sharding.mesh->axes.empty())
    return Error(From(begin), "a manual sharding needs a mesh that has axes");
  if (!CheckNamedAxes(sharding, From(begin))) return false;
  UseShortForm(sharding);
  return true;
}

// named-tail: `replicated`, `manual`, `unreduced`, or a list of dimensions.
bool Parser::ParseNamedTail(Sharding& sharding) {
  using Tail = Sharding::NamedTail;
  if (At(Tok::kReplicated) || At(Tok::kManual)) {
    sharding.tail = At(Tok::kReplicated) ? Tail::kReplicated : Tail::kManual;
    Next();
  } else if (At(Tok::kUnreduced) || (At(Tok::kAttr) && lex_.Word(token()) == "unreduced")) {
    sharding.tail = Tail::kUnreduced;
    const bool glued = At(Tok::kAttr);
    Next();
    if ((glued || Accept(Tok::kEqual)) && !ParseReduction(sharding)) return false;
    if (At(Tok::kLBrace)) {
      sharding.has_unreduced_axes = true;
      if (!ParseAxes(*sharding.mesh, &sharding.unreduced_axes)) return false;
    }
  } else {
    sharding.tail = Tail::kDims;
    if (!Expect(Tok::kLSquare, "replicated, manual, unreduced or '[' and the dimensions")) return false;
    std::vector<DimSharding> dims;
    if (!ReadList(Tok::kRSquare, "',' or ']' in a list of dimensions",
                  [&] { return ParseDimSharding(*sharding.mesh, &dims.emplace_back()); }))
      return false;
    sharding.dims = Keep(dims);
  }
  while (Accept(Tok::kComma)) {
    if (!ParseNamedAxes(sharding)) return false;
  }
  return true;
}

// reduction: `sum`, `max` or `min`.
bool Parser::ParseReduction(Sharding& sharding) {
  using Reduction = Sharding::Reduction;
  const std::string_view word = At(Tok::kIdent) ? lex_.Bytes(token()) : std::string_view();
  if (word != "sum" && word != "max" && word != "min") return Unexpected("sum, max or min");
  sharding.reduction = word == "sum" ? Reduction::kSum : word == "max" ? Reduction::kMax : Reduction::kMin;
  return Accept(Tok::kIdent);
}

// named-axes: `replicated={...}`, `unreduced=max{...}`, `manual={...}` or metadata.
bool Parser::ParseNamedAxes(Sharding& sharding) {
  const Token word = token();
  const std::string_view name = At(Tok::kAttr) ? lex_.Word(word) : std::string_view();
  if (name == "metadata") {
    Next();
    return ParseShardingMetadata(sharding);
  }
  const bool axes_allowed = sharding.tail == Sharding::NamedTail::kDims;
  if (!axes_allowed || (name != "replicated" && name != "unreduced" && name != "manual")) {
    return Unexpected(axes_allowed ? "replicated=, unreduced=, manual= or metadata=" : "metadata=");
  }
  Next();
  if (name == "replicated") return ParseAxes(*sharding.mesh, &sharding.replicated_axes);
  if (name == "manual") return ParseAxes(*sharding.mesh, &sharding.manual_axes);
  sharding.has_unreduced_axes = true;
  if (At(Tok::kIdent) && !ParseReduction(sharding)) return false;
  return ParseAxes(*sharding.mesh, &sharding.unreduced_axes);
}

// Checks that each sub-axis is used once, and that lists other than the dimensions are sorted.
bool Parser::CheckNamedAxes(const Sharding& sharding, SourceRange range) {
  std::vector<AxisRef> used;
  auto add = [&](absl::Span<const AxisRef> axes) { used.insert(used.end(), axes.begin(), axes.end()); };
  auto before = [](const AxisRef& a, const AxisRef& b) {
    return std::pair(a.axis, a.pre_size) < std::pair(b.axis, b.pre_size);
  };
  auto mergeable = [&](absl::Span<const AxisRef> axes) {
    return std::adjacent_find(axes.begin(), axes.end(), [](const AxisRef& a, const AxisRef& b) {
             return a.axis == b.axis && a.size != 0 && b.size != 0 && a.pre_size * a.size == b.pre_size;
           }) != axes.end();
  };
  for (const DimSharding& dim : sharding.dims) {
    add(dim.axes);
    if (mergeable(dim.axes)) return Error(range, "two neighbouring parts of an axis must be written as one");
  }
  for (const auto& axes : {sharding.replicated_axes, sharding.unreduced_axes, sharding.manual_axes}) {
    add(axes);
    if (mergeable(axes)) return Error(range, "two neighbouring parts of an axis must be written as one");
    if (!std::is_sorted(axes.begin(), axes.end(), before))
      return Error(range, "axes must be in the order of the mesh here");
  }
  std::sort(used.begin(), used.end(), before);
  for (size_t i = 0; i + 1 < used.size(); ++i) {
    const AxisRef& a = used[i];
    const AxisRef& b = used[i + 1];
    if (a.axis != b.axis) continue;
    if (a.size == 0 || b.size == 0 || a.pre_size * a.size > b.pre_size) {
      return Error(range, "the axis '{}' is used twice", sharding.mesh->axes[a.axis].name);
    }
  }
  return true;
}

}  // namespace hlo::text
