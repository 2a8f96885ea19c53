#pragma once
// The .npz format: a zip archive of .npy files.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"

namespace hlo::io {

absl::StatusOr<std::unique_ptr<Archive>> OpenNpz(const std::string& path);
// Writes an archive without compression and with fixed dates, so that equal values give equal bytes.
absl::Status WriteNpz(const std::string& path, absl::Span<const LiteralLeaf> arrays);

}  // namespace hlo::io
