#pragma once
// Collectives and transfers whose values go from GPU to GPU: which instructions these are, and the programs
// that reduce.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "device/properties.h"
#include "hlo_run/module.h"
#include "kernels/cuda/launch/lowered_program.h"

namespace hlo::plan {

struct PeerCollective {
  enum class Kind : uint8_t {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kAllToAll,          // Exchanges parts of one operand, along a dimension.
    kAllToAllOperands,  // Exchanges whole operands.
    kBroadcast,
    kRaggedAllToAll,
    kPermute,
    kSend,
    kSendDone,
    kRecv,
    kRecvDone,
    kConvertShapes,  // The boundary of a manual region: tiles of whole arrays, or whole arrays of tiles.
  };
  Kind kind;
  std::string name;
  // The leaves of the result are copies of the operands, then the results, then contexts.
  bool returns_operands = false;
};

// True if only one device sends, and one receives.
inline bool IsTransfer(PeerCollective::Kind kind) {
  return kind >= PeerCollective::Kind::kSend && kind <= PeerCollective::Kind::kRecvDone;
}

// Returns nullopt if the devices exchange the values through the host. They do if a root, a slice or a
// dimension is known only at run time, or if to_apply is not one operation in the type of the arrays. The
// answer depends only on the opcode, the reducer and the operand shapes, because all devices of a collective
// must agree.
std::optional<PeerCollective> FindPeerCollective(const Instruction& instruction);

// The maximal number of arrays that one launch of a fold reads.
constexpr int64_t kMaxFoldedArrays = 8;

// Returns the program that computes acc = x0, acc = to_apply(acc, x1), ... for `element_count` elements of
// `array_count` dense arrays. Its pointers are those of the arrays, then that of the result, which may be the
// first array. `instruction` must be a reduction that FindPeerCollective accepts.
absl::StatusOr<cuda::LoweredProgram> LowerFold(const Instruction& instruction, ElementType type,
                                               int64_t array_count, int64_t element_count,
                                               const device::DeviceProperties& device);

}  // namespace hlo::plan
