#pragma once
// Files of one LiteralProto: its bytes (.pb, .binpb), or as protobuf text.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

absl::StatusOr<Literal> ReadLiteralProto(const std::string& path);
absl::Status WriteLiteralProto(const std::string& path, const Literal& value);

// The messages of a shape and of a value, whose elements are in the order of the shape's layout.
void ToProto(const Shape& shape, proto::ShapeProto* out);
absl::Status ToProto(const Literal& value, proto::LiteralProto* out);

}  // namespace hlo::io
