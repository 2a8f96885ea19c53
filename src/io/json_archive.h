#pragma once
// Reads values in the format of ToJson: {"0": {"type": "f32", "shape": [2], "values": [1, "nan"]}}. Type and
// shape are optional, as in {"x": [1, 2]} or [1, 2], which is the value of key 0.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"

namespace hlo::io {

absl::StatusOr<std::unique_ptr<Archive>> OpenJson(const std::string& path);
std::string JsonOf(absl::Span<const LiteralLeaf> arrays);

}  // namespace hlo::io
