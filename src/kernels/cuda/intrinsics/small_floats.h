#pragma once
// The formats of small floats by element type, for code that also compiles for the device.

#include "hlo_run/element_type.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "types/small_float_codes.h"

namespace hlo::cuda {

// Returns the format of a type of 16 bits or fewer.
HLO_DEVICE FloatFormat FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF4E2M1FN:
      return kF4E2M1FNFormat;
    case ElementType::kF6E2M3FN:
      return kF6E2M3FNFormat;
    case ElementType::kF6E3M2FN:
      return kF6E3M2FNFormat;
    case ElementType::kF8E3M4:
      return kF8E3M4Format;
    case ElementType::kF8E4M3:
      return kF8E4M3Format;
    case ElementType::kF8E4M3FN:
      return kF8E4M3FNFormat;
    case ElementType::kF8E4M3FNUZ:
      return kF8E4M3FNUZFormat;
    case ElementType::kF8E4M3B11FNUZ:
      return kF8E4M3B11FNUZFormat;
    case ElementType::kF8E5M2:
      return kF8E5M2Format;
    case ElementType::kF8E5M2FNUZ:
      return kF8E5M2FNUZFormat;
    case ElementType::kF8E8M0FNU:
      return kF8E8M0FNUFormat;
    case ElementType::kBF16:
      return kBF16Format;
    default:
      return kF16Format;
  }
}

}  // namespace hlo::cuda
