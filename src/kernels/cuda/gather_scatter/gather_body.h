#pragma once
// gather: each thread copies one or several words of the result.

#include "kernels/cuda/memory/starts.h"

namespace hlo::cuda {

constexpr uint32_t kGatherThreads = 256, kGatherWords = 4;

struct GatherArgs {
  StartsArgs starts;
  Walk walk;  // Iterates over the words of the result.
  const void* operand = nullptr;
  void* result = nullptr;
  uint32_t count = 0;
};

template <class Word>
struct GatherKernel {
  using Args = GatherArgs;
  static constexpr uint32_t kThreads = kGatherThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t first = env.block().x * kGatherThreads * kGatherWords + env.thread();
    Word words[kGatherWords] = {};
    HLO_UNROLL
    for (uint32_t k = 0; k < kGatherWords; ++k) {
      const uint32_t i = first + k * kGatherThreads;
      if (i >= args.count) continue;
      const WalkOffsets offsets = args.walk.At(i);
      words[k] = static_cast<const Word*>(args.operand)[offsets.operand + args.starts.Start(offsets.index)];
    }
    HLO_UNROLL
    for (uint32_t k = 0; k < kGatherWords; ++k) {
      const uint32_t i = first + k * kGatherThreads;
      if (i < args.count) static_cast<Word*>(args.result)[i] = words[k];
    }
  }
};

}  // namespace hlo::cuda
