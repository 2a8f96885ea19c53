#pragma once
// The .npy format: one array, its header a Python dictionary.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "io/file.h"

namespace hlo::io {

// Reads header and elements; messages do not name the file. FailedPrecondition for what is no such file, and
// for an array that is not of the expected shape.
absl::StatusOr<Literal> ReadNpy(ByteStream& stream, const Shape& expected, const ReadOptions& options);

// The header before the elements of an array of this shape. Types that NumPy lacks are unsigned integers of
// the same width.
std::string NpyHeader(const Shape& shape);

}  // namespace hlo::io
