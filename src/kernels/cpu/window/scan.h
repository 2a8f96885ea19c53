#pragma once
// This file implements scans along a dimension. All positions of the other dimensions advance in lockstep.
// A reduce-window whose windows are the prefixes of each line is a scan, too.

#include <cstdint>
#include <optional>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/window/reduce_window.h"

namespace hlo::cpu {

// Arrays are [outer, length, inner]; carries are [outer, inner].
struct ScanDims {
  int64_t outer = 1, length = 1, inner = 1;
  bool reverse = false;
};
struct ScanInput {
  ElementType type;
  const void* data;
};
struct ScanOutput {
  ElementType type;
  void* data;
};
struct ScanArrays {
  CachedVector<ScanInput> inputs, initial;
  CachedVector<ScanOutput> outputs, carries;
};

// Computes (outputs[t]..., carries...) = code(inputs[t]..., carries...) for t ascending, or descending.
void Scan(const ScanDims& dims, const ScanArrays& arrays, const TileCode& code);

// The windows of a reduce-window that are the prefixes of lines along one dimension.
struct Prefixes {
  ScanDims dims;               // Those of the base.
  bool has_empty_one = false;  // The results of a line begin with that of the empty prefix.
};
// Computes acc = init, then for t ascending acc = combiner(acc, base[t]) and result[t] = acc. The initial
// value comes first if there is an empty prefix.
void ReducePrefixes(const Prefixes& prefixes, absl::Span<const WindowArray> arrays, const TileCode& combiner);
// Returns nullopt for other windows.
std::optional<Prefixes> FindPrefixes(absl::Span<const int64_t> base_dims, Window window,
                                     absl::Span<const int64_t> result_dims);

// Scans a single line whose outputs are its carries, op(x, carry) or op(carry, x), in one call.
using ScanLineFn = void (*)(int64_t length, int64_t step, const void* in, void* out, void* carry);
// Computes the same as ReducePrefixes for one array, line by line. `prefixes.dims.inner` is 1.
void ReducePrefixesOfLines(const Prefixes& prefixes, const WindowArray& array, ScanLineFn line);
// Returns the loop for a binary operation on a type whose storage type is the compute type, or nullptr.
ScanLineFn FindScanLine(Opcode opcode, ElementType type, bool carry_first);

}  // namespace hlo::cpu
