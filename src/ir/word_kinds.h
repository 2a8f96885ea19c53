#pragma once
// Attributes whose values are words of an enumeration.

#include "hlo_run/attribute.h"

namespace hlo {

// Returns function.operator()<E>() for the enumeration E of the kind; false if its values are not words.
template <class Function>
bool VisitWordKind(AttrKind kind, Function function) {
  switch (kind) {
    case AttrKind::kComparisonDirection:
      return function.template operator()<ComparisonDirection>();
    case AttrKind::kComparisonOrder:
      return function.template operator()<ComparisonOrder>();
    case AttrKind::kComparisonType:
      return function.template operator()<ComparisonType>();
    case AttrKind::kFftType:
      return function.template operator()<FftType>();
    case AttrKind::kFusionKind:
      return function.template operator()<FusionKind>();
    case AttrKind::kRandomDistribution:
      return function.template operator()<RandomDistribution>();
    case AttrKind::kRngAlgorithm:
      return function.template operator()<RngAlgorithm>();
    case AttrKind::kPrecisionAlgorithm:
      return function.template operator()<PrecisionAlgorithm>();
    case AttrKind::kConvolutionKind:
      return function.template operator()<ConvolutionKind>();
    case AttrKind::kTransposeA:
      return function.template operator()<TransposeA>();
    case AttrKind::kPaddingType:
      return function.template operator()<PaddingType>();
    case AttrKind::kCustomCallSchedule:
      return function.template operator()<CustomCallSchedule>();
    case AttrKind::kApiVersion:
      return function.template operator()<ApiVersion>();
    case AttrKind::kAllReduceMode:
      return function.template operator()<AllReduceMode>();
    case AttrKind::kShuffleMode:
      return function.template operator()<ShuffleMode>();
    default:
      return false;
  }
}

}  // namespace hlo
