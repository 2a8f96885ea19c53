#pragma once
// Converts serialised modules to HLO text, which the parser and the checker then handle.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "hlo_run/literal.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

absl::StatusOr<Shape> ShapeOf(const proto::ShapeProto& shape);
// Returns InvalidArgument if the data do not fit the shape. The literal is elided if there are none.
absl::StatusOr<Literal> LiteralOf(const proto::LiteralProto& literal);
// The same for a value of a run: InvalidArgument if it is elided.
absl::StatusOr<Literal> ValueOf(const proto::LiteralProto& literal);
// Returns a literal in row-major order whose elements are in the order of its layout.
absl::StatusOr<Literal> InRowMajorOrder(const Literal& in_memory);
// Reads a literal as XLA writes it outside of messages. It begins with the 8-byte length of a ShapeProto and
// the ShapeProto. Each array follows as the s32 sizes of its dynamic dimensions and its bytes in memory.
// Elements narrower than a byte, including pred, are packed.
absl::StatusOr<Literal> LiteralOfBytes(std::string_view bytes);
// Returns the module as text. Characters that text does not allow in names become underscores.
absl::StatusOr<std::string> TextOf(const proto::HloModuleProto& module);

// Return parts of the text.
std::string NameText(std::string_view name);
std::string ShardingText(const proto::OpSharding& sharding);
std::string MetadataText(const proto::OpMetadata& metadata);
std::string FrontendAttributesText(const proto::FrontendAttributes& attributes);
// Returns "" if the instruction has no groups.
std::string ReplicaGroupsText(const proto::HloInstructionProto& instruction);
template <class Values>
std::string IntsText(const Values& values, char open = '{', char close = '}') {
  return open + absl::StrJoin(values, ",") + close;
}

}  // namespace hlo::io
