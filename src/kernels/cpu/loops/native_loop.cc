#include "kernels/cpu/loops/native_loop.h"

#include "loops/lane.h"

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include "kernels/cpu/loops/native_emitter.h"
#endif

namespace hlo::cpu {

bool NativeLoop::Supports(ElementType type) {
  return loops::IsStoredAsLane(type) || type == ElementType::kBF16 || type == ElementType::kF16;
}

std::unique_ptr<const NativeLoop> NativeLoop::Compile([[maybe_unused]] const loops::LoopProgram& program,
                                                      [[maybe_unused]] const std::vector<Input>& inputs,
                                                      [[maybe_unused]] const std::vector<Output>& outputs) {
#ifdef HLO_RUN_HAS_NATIVE_CODE
  if (FindNativeIsa() < NativeIsa::kAvx512) return nullptr;
  std::unique_ptr<const MachineCode> code = NativeEmitter(program, inputs, outputs).Make();
  if (code != nullptr) return std::unique_ptr<const NativeLoop>(new NativeLoop(std::move(code)));
#endif
  return nullptr;
}

}  // namespace hlo::cpu
