#pragma once
// Values as ToJson writes them: {"0": {"type": "f32", "shape": [2], "values": [1, "nan"]}}; the type and the
// shape may be left out, as in {"x": [1, 2]} or [1, 2], which is the value of the key 0.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"

namespace hlo::io {

absl::StatusOr<std::unique_ptr<Archive>> OpenJson(const std::string& path);

}  // namespace hlo::io
