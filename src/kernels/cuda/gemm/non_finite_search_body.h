#pragma once
// Searches an array for infinities and NaN.

#include "kernels/cuda/memory/element_io.h"

namespace hlo::cuda {

struct NonFiniteSearchArgs {
  static constexpr uint32_t kBlockThreads = 256;
  const void* data = nullptr;
  int64_t count = 0;
  ElementType type = ElementType::kF32;
  bool is_flags = false;      // The array contains flags of an earlier launch: searches for nonzero flags.
  uint32_t* found = nullptr;  // One flag per thread block: 1 or 0.
};

struct NonFiniteSearch {
  using Args = NonFiniteSearchArgs;
  static constexpr uint32_t kThreads = NonFiniteSearchArgs::kBlockThreads;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const NonFiniteSearchArgs& args) {
    bool found = false;
    const int64_t step = static_cast<int64_t>(env.grid().x) * kThreads;
    for (int64_t i = static_cast<int64_t>(env.block().x) * kThreads + env.thread(); i < args.count; i += step)
      found |= IsNonFinite(args, i);
    auto* any = reinterpret_cast<uint32_t*>(env.shared());
    const uint32_t lanes = env.ballot(found);
    if (env.thread() % kWarpSize == 0) any[env.thread() / kWarpSize] = lanes;
    env.sync();
    if (env.thread() != 0) return;
    uint32_t all = 0;
    for (uint32_t w = 0; w < kThreads / kWarpSize; ++w) all |= any[w];
    args.found[env.block().x] = all != 0 ? 1 : 0;
  }

 private:
  static HLO_DEVICE bool IsNonFinite(const NonFiniteSearchArgs& args, int64_t i) {
    if (args.is_flags) return static_cast<const uint32_t*>(args.data)[i] != 0;
    const ComplexNumber<double> value = LoadElement<ComplexNumber<double>>(args.type, args.data, i);
    return !(value.re - value.re == 0) || !(value.im - value.im == 0);
  }
};

}  // namespace hlo::cuda
