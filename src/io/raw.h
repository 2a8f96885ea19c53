#pragma once
// Bytes as arrays lie in memory by their layouts: .bin and .raw files.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo::io {

// One array after the other where the shape is a tuple. A bounded array keeps the place of its bounds; its
// run-time sizes are s32 numbers in its metadata prefix M(n) or, without one, behind it.
absl::StatusOr<Literal> ReadRaw(const std::string& path, const Shape& expected);
absl::Status WriteRaw(const std::string& path, const Literal& value);

}  // namespace hlo::io
