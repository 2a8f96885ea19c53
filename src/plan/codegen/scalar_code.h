#pragma once
// Computations on scalars (the to_apply of reductions, scatters, sorts, scans and maps) as tile code.

#include <cstdint>
#include <optional>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::plan {

// What runs the code. Tiles: no loops, and few values. Threads, each of which runs it on elements of its own:
// both.
enum class CodeFor : uint8_t { kTiles, kThreads };

// The code of the parameters, which are arrays of the sizes `lanes` and tuples of those, to the root, or to
// the elements of a tuple that it is. Of conditionals all branches are computed, and one is selected. Rounded
// after every operation. nullopt: the computation is more than operations on scalars and on such arrays.
std::optional<cpu::TileCode> FindLaneCode(const Computation& computation, absl::Span<const int64_t> lanes,
                                          CodeFor runs = CodeFor::kTiles);

// The same of any to_apply of (accumulators..., values...).
std::optional<cpu::TileCode> FindCombinerCode(const Computation& to_apply,
                                              absl::Span<const ElementType> types,
                                              CodeFor runs = CodeFor::kTiles);

// A sort's to_apply of (a of operand 0, b of operand 0, a of operand 1, ...): whether a comes before b.
std::optional<cpu::TileCode> FindComparatorCode(const Computation& to_apply,
                                                absl::Span<const ElementType> types,
                                                CodeFor runs = CodeFor::kTiles);

// A scalar expression of one parameter as tile code; nullopt where it is more than elementwise operations.
std::optional<cpu::TileCode> FindUnaryCode(const Instruction& root, const Instruction& parameter);

}  // namespace hlo::plan
