#pragma once
// This file generates random bits from counters: Threefry-2x32 with 20 rounds and Philox-4x32 with 10
// (semantics 7.2 to 7.4).

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

// Fills an array of `type`, which has at most 64 bits, and advances the state {key, counter}.
void ThreeFryBits(ElementType type, absl::Span<const int64_t> dims, void* bits, uint64_t* state);
// The state is {key, low counter} or {key, low counter, high counter}. With two words, the key is also the
// upper half of the counter.
void PhiloxBits(ElementType type, int64_t count, void* bits, absl::Span<uint64_t> state);

}  // namespace hlo::cpu
