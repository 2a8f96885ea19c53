#include "kernels/cuda/lapack/conversion.h"

#include <utility>

#include "device/copy.h"
#include "kernels/cuda/vm/lower_loop.h"

namespace hlo::cuda {

std::optional<Conversion> Conversion::Make(ElementType from, ElementType to, int64_t count,
                                           const DeviceProperties& device) {
  Conversion conversion;
  conversion.byte_count_ = count * ByteCount(to);
  if (from == to) return conversion;
  const loops::ComputeType compute_type = loops::ComputeTypeOf(to);
  loops::LoopProgram program({}, {count});
  loops::Value value = program.Load(loops::Access{.argument = 0, .type = from, .inner = {1}});
  if (loops::ComputeTypeOf(from) != compute_type)
    value = program.Apply(*loops::FindConvert(from, to), compute_type, {value});
  if (const auto round = loops::FindRounding(to); round.has_value())
    value = program.Apply(*round, compute_type, {value});
  program.Store(value, loops::Access{.argument = 1, .type = to, .inner = {1}});
  program.Finish();
  absl::StatusOr<LoweredProgram> lowered = LowerLoop(program, device);
  if (!lowered.ok()) return std::nullopt;
  conversion.loop_ = *std::move(lowered);
  return conversion;
}

// The arguments of the loop are `from` and `to`.
absl::Status Conversion::Run(const void* from, void* to, Stream stream) const {
  if (is_copy()) return device::CopyOnDevice(to, from, byte_count_, stream);
  void* pointers[] = {const_cast<void*>(from), to};
  return loop_->run(pointers, nullptr, stream);
}

}  // namespace hlo::cuda
