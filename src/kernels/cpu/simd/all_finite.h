#pragma once

#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo::cpu {

// Returns true if all of the `count` elements are finite.
bool IsFinite(const void* data, ElementType type, int64_t count);

}  // namespace hlo::cpu
