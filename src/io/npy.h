#pragma once
// The .npy format: one array after a header that is a Python dictionary.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "io/file.h"

namespace hlo::io {

// Reads header and elements. Returns FailedPrecondition for other files and for arrays of another shape;
// messages do not name the file.
absl::StatusOr<Literal> ReadNpy(ByteStream& stream, const Shape& expected, const ReadOptions& options);

// Returns the header for an array of this shape. Types that NumPy lacks are stored as unsigned integers of
// the same width.
std::string NpyHeader(const Shape& shape);

}  // namespace hlo::io
