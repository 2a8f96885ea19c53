#pragma once
// VM programs with sections (custom_combiner_body.h) for instructions with user-defined combiners, and their
// launches.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "kernels/cuda/combiner/custom_combiner_body.h"
#include "kernels/cuda/launch/cuda_kernel.h"
#include "kernels/cuda/vm/lower_loop.h"

namespace hlo::cuda {

// The arguments of a program are the operands followed by the results. Arrays are indexed by linear element
// number.
loops::Access OperandAccess(const Instruction& instruction, int64_t k);
loops::Access ResultAccess(const Instruction& instruction, int64_t k);
std::vector<void*> Arguments(absl::Span<const void* const> operands, absl::Span<void* const> results);

// A program with sections, and the parameters of its launches.
struct Code {
  VmTemplate made;
  std::vector<int32_t> ends;  // Section ends (instruction indices).
  size_t shared_bytes = 0;
};
using SharedCode = std::shared_ptr<const Code>;

void EndSection(VmBuilder& builder, std::vector<int32_t>& ends);
// The functions below return Unimplemented if the code is too long or has an operation that the VM lacks.
absl::StatusOr<SharedCode> Finished(VmBuilder& builder, std::vector<int32_t> ends,
                                    const DeviceProperties& device);

// The value, initial value and result of one folded array.
struct CombinedArrays {
  loops::Access value, init, result;
};
absl::StatusOr<SharedCode> CombinerCode(const std::vector<CombinedArrays>& arrays,
                                        const loops::ScalarFunction& combiner,
                                        const DeviceProperties& device);
// Makes a program that compares pairs of elements of all `arrays`.
absl::StatusOr<SharedCode> ComparisonCode(const std::vector<loops::Access>& arrays,
                                          const loops::ScalarFunction& comparison,
                                          const DeviceProperties& device);

// ArgsOf returns the kernel arguments of a launch. LaunchCombiner launches `count` threads.
CombinerArgs ArgsOf(const Code& code, CombinerTask task, absl::Span<void* const> arguments);
absl::Status LaunchCombiner(const Code& code, int64_t count, const CombinerArgs& args, Stream stream);

}  // namespace hlo::cuda
