#pragma once
// Values of one type and shape as values of another.

#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"

namespace hlo::io {

// Ends the message about a value of another type.
inline constexpr std::string_view kConvertHint = " (--convert allows other types)";

// The array with its elements converted. FailedPrecondition names the first one that the type cannot hold:
// integers and pred are converted exactly, floats are rounded and stay finite.
absl::StatusOr<Literal> ConvertElements(const Literal& array, ElementType type);

// The value as one of the expected shape: layouts and, where they are within bounds, sizes may differ, and
// types too if the options allow it.
absl::StatusOr<Literal> FitTo(const Literal& value, const Shape& expected, const ReadOptions& options);

}  // namespace hlo::io
