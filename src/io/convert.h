#pragma once
// Converts values to other types and shapes.

#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"

namespace hlo::io {

// The suffix of messages about values of another type.
inline constexpr std::string_view kConvertHint = " (--convert allows other types)";

// Converts the elements of an array. Integers and pred must be representable; floats are rounded and must
// stay finite. FailedPrecondition names the first element that the type cannot represent.
absl::StatusOr<Literal> ConvertElements(const Literal& array, ElementType type);

// Converts the value to the expected shape. Layouts may differ, sizes may differ within bounds, and types may
// differ if the options allow it.
absl::StatusOr<Literal> FitTo(const Literal& value, const Shape& expected, const ReadOptions& options);

}  // namespace hlo::io
