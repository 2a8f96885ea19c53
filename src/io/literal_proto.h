#pragma once
// Files that contain one LiteralProto, as bytes (.pb, .binpb) or protobuf text.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

absl::StatusOr<Literal> ReadLiteralProto(const std::string& path);
absl::Status WriteLiteralProto(const std::string& path, const Literal& value);

// Convert a shape and a value to messages. The elements have the order of the shape's layout.
void ToProto(const Shape& shape, proto::ShapeProto* out);
absl::Status ToProto(const Literal& value, proto::LiteralProto* out);

}  // namespace hlo::io
