#pragma once
// Expands bitcasts between tiled layouts.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites a bitcast of an array with a tiled layout, or to one, as a module of pads, reshapes, transposes
// and slices. Returns nullopt for other bitcasts, and if the elements change their type or their width in
// memory.
std::optional<CheckedModule> ExpandTiledBitcast(const Instruction& bitcast);

}  // namespace hlo::plan
