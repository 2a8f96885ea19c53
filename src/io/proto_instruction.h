#pragma once
// Converts one instruction of a serialised module to a line of text.

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

// Resolves the ids in an instruction.
struct ProtoNames {
  // The instructions of the computation by id.
  absl::flat_hash_map<int64_t, const proto::HloInstructionProto*> instructions;
  const absl::flat_hash_map<int64_t, const proto::HloComputationProto*>& computations;
  const proto::HloModuleProto& module;
};

// Appends `name = shape opcode(operands), attributes`.
absl::Status AppendInstruction(const proto::HloInstructionProto& instruction, const ProtoNames& names,
                               std::string* out);

}  // namespace hlo::io
