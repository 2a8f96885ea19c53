#pragma once
// Running results along a dimension: all positions of the other dimensions side by side, one step after the
// other.

#include <cstdint>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {

// Arrays of [outer, length, inner]; carries of [outer, inner].
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
  KeptVector<ScanInput> inputs, initial;
  KeptVector<ScanOutput> outputs, carries;
};

// (outputs[t]..., carries...) = code(inputs[t]..., carries...) for t = 0, 1, ..., or downwards.
void Scan(const ScanDims& dims, const ScanArrays& arrays, const TileCode& code);

// A single line of one array whose outputs are its carries, op(x, carry) or op(carry, x): no call an element.
using ScanLineFn = void (*)(int64_t length, int64_t step, const void* in, void* out, void* carry);
// Of operations of two operands on types that their lane holds; nullptr for others.
ScanLineFn FindScanLine(Opcode opcode, ElementType type, bool carry_first);

}  // namespace hlo::cpu
