#pragma once
// Programs of pieces (coded_body.h) for instructions whose to_apply is code, and their launches.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "kernels/cuda/lower_tile.h"
#include "kernels/cuda/registry.h"
#include "kernels/cuda/vm_kernels.h"

namespace hlo::cuda {

// Arguments of programs: the operands, and then the results. An array is read and written by the number of an
// element.
cpu::Access OperandAccess(const Instruction& instruction, int64_t k);
cpu::Access ResultAccess(const Instruction& instruction, int64_t k);
std::vector<void*> Arguments(absl::Span<const void* const> operands, absl::Span<void* const> results);

// A program of pieces, and what its launches need.
struct Code {
  VmTemplate made;
  std::vector<int32_t> ends;  // Of the pieces.
  size_t shared_bytes = 0;
};
using SharedCode = std::shared_ptr<const Code>;

void EndPiece(VmBuilder& builder, std::vector<int32_t>& ends);
// All below: Unimplemented where there is too much code, or no instruction for it.
absl::StatusOr<SharedCode> Finished(VmBuilder& builder, std::vector<int32_t> ends,
                                    const DeviceProperties& device);

// The pieces of a fold, over as many arrays as there are places.
struct FoldPlaces {
  cpu::Access value, init, result;
};
absl::StatusOr<SharedCode> FoldCode(const std::vector<FoldPlaces>& places, const cpu::TileCode& combiner,
                                    const DeviceProperties& device);
// The pieces of a comparison, of pairs of elements of each of the arrays.
absl::StatusOr<SharedCode> ComparisonCode(const std::vector<cpu::Access>& arrays,
                                          const cpu::TileCode& comparison, const DeviceProperties& device);

// The arguments of one of its launches, and a launch of a thread each.
CodedArgs ArgsOf(const Code& code, CodedTask task, absl::Span<void* const> arguments);
absl::Status LaunchCoded(const Code& code, int64_t count, const CodedArgs& args, Stream stream);

}  // namespace hlo::cuda
