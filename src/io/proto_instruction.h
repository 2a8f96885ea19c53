#pragma once
// One instruction of a serialised module as a line of text.

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

// What numbers in an instruction stand for.
struct ProtoNames {
  absl::flat_hash_map<int64_t, const proto::HloInstructionProto*> instructions;  // Of its computation.
  const absl::flat_hash_map<int64_t, const proto::HloComputationProto*>& computations;
  const proto::HloModuleProto& module;
};

// `name = shape opcode(operands), attributes`.
absl::Status AppendInstruction(const proto::HloInstructionProto& instruction, const ProtoNames& names,
                               std::string* out);

}  // namespace hlo::io
