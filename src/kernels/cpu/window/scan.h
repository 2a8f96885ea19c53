#pragma once
// This file implements scans along a dimension. All positions of the other dimensions advance in lockstep.

#include <cstdint>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"

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

// Scans a single line whose outputs are its carries, op(x, carry) or op(carry, x), in one call.
using ScanLineFn = void (*)(int64_t length, int64_t step, const void* in, void* out, void* carry);
// Returns the loop for a binary operation on a type whose storage type is the lane type, or nullptr.
ScanLineFn FindScanLine(Opcode opcode, ElementType type, bool carry_first);

}  // namespace hlo::cpu
