#pragma once
// Converts instructions and attributes to the messages of a serialised module.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

// The ids of instructions and computations.
struct ProtoIds {
  absl::flat_hash_map<const Instruction*, int64_t> instructions;
  absl::flat_hash_map<const Computation*, int64_t> computations;
};
absl::Status ToProto(const Instruction& instruction, const ProtoIds& ids, proto::HloInstructionProto* out);

absl::StatusOr<proto::HloModuleProto> ToProto(const Module& module);
void ToProto(const Sharding& sharding, proto::OpSharding* out);
void ToProto(const ReplicaGroups& groups, proto::HloInstructionProto* out);
void ToProto(const Metadata& metadata, proto::OpMetadata* out);
void ToProto(const FrontendAttributes& attributes, proto::FrontendAttributes* out);
void ToProto(const OriginNode& array, proto::OriginalArrayProto* out);

inline std::string Bytes(std::string_view text) { return std::string(text); }
template <class Values, class Field>
void AddAll(const Values& values, Field* field) {
  for (const auto& value : values) field->Add(value);
}

}  // namespace hlo::io
