#pragma once
// Simultaneous moves of small buffers by one thread block, which reads all of them before it writes any.

#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/memory/words.h"

namespace hlo::cuda {

struct MovesArgs {
  static constexpr int kMaxMoves = 64;
  static constexpr uint32_t kMaxBytes = 32 << 10;  // The sum of all moves, each rounded up to 16 bytes.
  struct OneMove {
    void* to = nullptr;
    const void* from = nullptr;
    uint32_t byte_count = 0;
    uint32_t staged = 0;  // The offset in shared memory.
  };
  OneMove moves[kMaxMoves];
  int32_t count = 0;
};
static_assert(sizeof(MovesArgs) <= 4096);

template <class Word, class Env>
HLO_DEVICE void CopyWords(Env& env, void* to, const void* from, uint32_t count) {
  HLO_ROLLED
  for (uint32_t i = env.thread(); i < count; i += env.threads())
    static_cast<Word*>(to)[i] = static_cast<const Word*>(from)[i];
}
// The threads of a block copy an array together.
template <class Env>
HLO_DEVICE void CopyTogether(Env& env, void* to, const void* from, uint32_t byte_count) {
  const auto unaligned = static_cast<uint32_t>(
      (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | byte_count) % 16);
  if (unaligned == 0)
    CopyWords<Word16>(env, to, from, byte_count / 16);
  else if (unaligned % 4 == 0)
    CopyWords<uint32_t>(env, to, from, byte_count / 4);
  else
    CopyWords<uint8_t>(env, to, from, byte_count);
}

struct MovesKernel {
  using Args = MovesArgs;
  static constexpr uint32_t kThreads = 256;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    for (int m = 0; m < args.count; ++m)
      CopyTogether(env, env.shared() + args.moves[m].staged, args.moves[m].from, args.moves[m].byte_count);
    env.sync();
    for (int m = 0; m < args.count; ++m)
      CopyTogether(env, args.moves[m].to, env.shared() + args.moves[m].staged, args.moves[m].byte_count);
  }
};

}  // namespace hlo::cuda
