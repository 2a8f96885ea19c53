#pragma once
// This file declares the functions that machine code of bytecode calls.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/bytecode/bytecode.h"

namespace hlo::cpu::native {

// Returns clamp(index, 0, max) * byte_stride.
int64_t ClampedAddress(const Bytecode::Range& range, const std::byte* index);
// Returns true if the index is in [0, max].
bool IsInside(const Bytecode::Range& range, const std::byte* index);
void RunDot(const SmallDot& dot, const std::byte* a, const std::byte* b, std::byte* out);
float DotF32(const std::byte* a, const std::byte* b, int64_t terms);
double DotF64(const std::byte* a, const std::byte* b, int64_t terms);
void Splat4(std::byte* out, const std::byte* value, int64_t count);
void Splat8(std::byte* out, const std::byte* value, int64_t count);
// Returns the function of floats of a code of HLO_FUNCTIONS.
const void* FindFunction(uint16_t code);

}  // namespace hlo::cpu::native
