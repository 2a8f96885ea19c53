#pragma once
// Serialised modules as HLO text: parser and checker then treat them as they treat any other text.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "hlo_run/literal.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

absl::StatusOr<Shape> ShapeOf(const proto::ShapeProto& shape);
// InvalidArgument where the data are not those of the shape. Elided where there are none at all.
absl::StatusOr<Literal> LiteralOf(const proto::LiteralProto& literal);
// The same elements for a literal whose elements are in the order of memory that its layout says.
absl::StatusOr<Literal> InRowMajorOrder(Literal in_memory);
// A literal as XLA writes it outside of messages: the length of a ShapeProto in eight bytes, the ShapeProto,
// and the bytes of memory of each array, behind the s32 sizes of its dynamic dimensions. Elements under a
// byte, pred included, share bytes.
absl::StatusOr<Literal> LiteralOfBytes(std::string_view bytes);
// The whole module. Names keep the characters that text allows; the others become underscores.
absl::StatusOr<std::string> TextOf(const proto::HloModuleProto& module);

// Pieces of it.
std::string NameText(std::string_view name);
std::string ShardingText(const proto::OpSharding& sharding);
std::string MetadataText(const proto::OpMetadata& metadata);
std::string FrontendAttributesText(const proto::FrontendAttributes& attributes);
// Empty where the instruction has no groups.
std::string ReplicaGroupsText(const proto::HloInstructionProto& instruction);
template <class Values>
std::string IntsText(const Values& values, char open = '{', char close = '}') {
  return open + absl::StrJoin(values, ",") + close;
}

}  // namespace hlo::io
