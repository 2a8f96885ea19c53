#include "kernels/cpu/loops/access_runs.h"

#include <algorithm>

#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::Affine;
using loops::Edge;
using loops::LoopProgram;

int64_t InnerOffset(const loops::Strides& strides, absl::Span<const int64_t> dims, int64_t position) {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    offset += position % dims[d] * strides[d];
    position /= dims[d];
  }
  return offset;
}

// Returns the multiple of the spacing at a value inside the edge, or nullopt for values outside.
std::optional<int64_t> MultipleAt(const Edge& edge, int64_t at) {
  if (at < 0 || at % edge.spacing != 0 || at / edge.spacing >= edge.size) return std::nullopt;
  return at / edge.spacing;
}

// Returns the access at one position.
AccessRun ElementAt(const LoopProgram& program, const Access& access, int64_t position) {
  AccessRun run{.first = position, .count = 1};
  int64_t element = access.offset + InnerOffset(access.inner, program.inner_dims(), position);
  bool is_inside = true;
  for (const Edge& edge : access.edges) {
    const std::optional<int64_t> multiple =
        MultipleAt(edge, ValueAt(edge.at, program.inner_dims(), position));
    is_inside = is_inside && multiple.has_value();
    element += multiple.value_or(0) * edge.stride;
  }
  if (access.argument == Access::kInside) {
    run.element = is_inside ? 1 : 0;
    return run;
  }
  if (!is_inside && access.next >= 0) return ElementAt(program, program.access(access.next), position);
  if (!is_inside) {
    run.argument = access.outside == Access::kZeros ? AccessRun::kNumbers : access.outside;
    return run;
  }
  run.argument = access.argument == Access::kIota ? AccessRun::kNumbers : access.argument;
  run.element = element;
  if (!access.starts.empty()) run.moved_by = &access;
  return run;
}

// True if all run-time starts are the same at both positions.
bool HasSameStarts(const Access& access, absl::Span<const int64_t> dims, int64_t a, int64_t b) {
  return std::all_of(access.starts.begin(), access.starts.end(), [&](const loops::RuntimeStart& start) {
    return !start.index.has_value() || ValueAt(*start.index, dims, a) == ValueAt(*start.index, dims, b);
  });
}

// Appends an element to a run. Returns false if the run cannot contain it.
bool Extend(AccessRun& run, const AccessRun& element, absl::Span<const int64_t> dims, bool may_repeat) {
  if (run.argument != element.argument || run.moved_by != element.moved_by) return false;
  if (run.moved_by != nullptr && !HasSameStarts(*run.moved_by, dims, run.first, element.first)) return false;
  const int64_t stride = element.element - (run.element + (run.count - 1) * run.stride);
  const bool is_simple = stride == 1 || (stride == 0 && may_repeat);
  if (run.count > 1 ? stride != run.stride : run.argument != AccessRun::kNumbers && !is_simple) return false;
  run.stride = stride;
  ++run.count;
  return true;
}

}  // namespace

bool AccessRun::has_own_starts() const {
  return moved_by != nullptr &&
         std::any_of(moved_by->starts.begin(), moved_by->starts.end(),
                     [](const loops::RuntimeStart& start) { return start.index.has_value(); });
}

int64_t ValueAt(const Affine& affine, absl::Span<const int64_t> inner_dims, int64_t position) {
  return affine.offset + InnerOffset(affine.inner, inner_dims, position);
}

std::optional<std::vector<AccessRun>> RunsOf(const LoopProgram& program, const Access& access, int64_t most,
                                             bool may_repeat) {
  std::vector<AccessRun> runs;
  for (int64_t position = 0; position < program.inner_count(); ++position) {
    const AccessRun element = ElementAt(program, access, position);
    if (element.argument == AccessRun::kNumbers && element.moved_by != nullptr) return std::nullopt;
    if (!runs.empty() && Extend(runs.back(), element, program.inner_dims(), may_repeat)) continue;
    if (static_cast<int64_t>(runs.size()) == most) return std::nullopt;
    runs.push_back(element);
  }
  return runs;
}

int64_t PositionOf(const loops::RuntimeStart& start, void* const* arguments) {
  const auto* positions = static_cast<const std::byte*>(arguments[start.argument]);
  return ReadInteger(start.type, positions + start.element * ByteCount(start.type));
}

int64_t FixedStartsOf(const Access& access, void* const* arguments) {
  int64_t start = 0;
  for (const loops::RuntimeStart& s : access.starts) {
    if (s.index.has_value()) continue;
    const int64_t position = PositionOf(s, arguments);
    start += std::min(std::max<int64_t>(position, 0), s.max) * s.stride;
  }
  return start;
}

}  // namespace hlo::cpu
