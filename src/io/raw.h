#pragma once
// Reads and writes .bin and .raw files, which contain the bytes of arrays in their layouts.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo::io {

// The arrays of a tuple follow each other. An array with bounded dimensions occupies the size of its bounds;
// its run-time sizes are s32 numbers in its metadata prefix M(n) or, without one, after it.
absl::StatusOr<Literal> ReadRaw(const std::string& path, const Shape& expected);
absl::Status WriteRaw(const std::string& path, const Literal& value);

}  // namespace hlo::io
