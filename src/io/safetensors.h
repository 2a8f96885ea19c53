#pragma once
// The .safetensors format: a JSON directory of names, types and byte ranges, followed by the elements of all
// tensors.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"

namespace hlo::io {

absl::StatusOr<std::unique_ptr<Archive>> OpenSafetensors(const std::string& path);
absl::Status WriteSafetensors(const std::string& path, absl::Span<const LiteralLeaf> arrays);

}  // namespace hlo::io
