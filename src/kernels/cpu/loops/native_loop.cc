#include "kernels/cpu/loops/native_loop.h"

#include "loops/compute_type.h"

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/loops/avx512_emitter.h"
#endif

namespace hlo::cpu {
namespace {

// Compilation takes about as long.
constexpr int64_t kCompileNanoseconds = 100'000;
std::atomic<int64_t> delay = kCompileNanoseconds;

}  // namespace

int64_t SetNativeCodeDelay(int64_t nanoseconds) { return delay.exchange(nanoseconds); }
int64_t NativeCodeDelay() { return delay; }

void LazyNativeLoop::Prepare(double nanoseconds,
                             absl::FunctionRef<std::unique_ptr<const NativeLoop>()> compile) {
  if (started_.load(std::memory_order_relaxed)) return;
  const int64_t spent = nanoseconds_.fetch_add(static_cast<int64_t>(nanoseconds));
  if (static_cast<double>(spent) + nanoseconds < static_cast<double>(delay) || started_.exchange(true))
    return;
  code_ = compile();
  is_ready_.store(true, std::memory_order_release);
}

bool NativeLoop::Supports(ElementType type) {
  return loops::IsStoredAsComputed(type) || type == ElementType::kBF16 || type == ElementType::kF16;
}

ElementType NativeLoop::TypeOf(loops::ComputeType compute_type) {
  constexpr ElementType kTypes[] = {
      ElementType::kPred, ElementType::kS8,  ElementType::kS16, ElementType::kS32, ElementType::kS64,
      ElementType::kU8,   ElementType::kU16, ElementType::kU32, ElementType::kU64, ElementType::kF32,
      ElementType::kF64,  ElementType::kC64, ElementType::kC128};
  return kTypes[static_cast<int>(compute_type)];
}

std::unique_ptr<const NativeLoop> NativeLoop::Compile([[maybe_unused]] const loops::LoopProgram& program,
                                                      [[maybe_unused]] const std::vector<Input>& inputs,
                                                      [[maybe_unused]] const std::vector<Output>& outputs) {
#ifdef HLO_RUN_HAS_NATIVE_CODE
  const NativeIsa isa = FindNativeIsa();
  if (isa == NativeIsa::kNone) return nullptr;
  std::unique_ptr<const MachineCode> code = isa == NativeIsa::kAvx2
                                                ? Avx2Emitter(program, inputs, outputs).Make()
                                                : Avx512Emitter(program, inputs, outputs).Make();
  if (code != nullptr) return std::unique_ptr<const NativeLoop>(new NativeLoop(std::move(code)));
#endif
  return nullptr;
}

}  // namespace hlo::cpu
