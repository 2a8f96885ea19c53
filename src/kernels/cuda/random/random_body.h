#pragma once
// rng-bit-generator (semantics 7.2 to 7.4) and rng: one counter block per thread.

#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/launch/run_state.h"
#include "kernels/cuda/memory/element_io.h"
#include "types/counter_random.h"
#include "types/normal_random.h"

namespace hlo::cuda {

struct RandomBitsArgs {
  const uint64_t* state = nullptr;
  uint64_t* next_state = nullptr;  // nullptr: not needed.
  void* bits = nullptr;
  uint32_t state_words = 2;
  uint64_t blocks = 0, count = 0;  // Counter blocks; elements.
  uint32_t byte_count = 4, kept_bits = 32;
  bool is_signed = false;  // Sub-byte types are sign-extended.
  // Threefry: block (i, j, k) of (outer, half of size, inner) gives elements 2j and 2j + 1 along `size`.
  uint64_t size = 1, inner = 1;
};

HLO_DEVICE void SetBits(const RandomBitsArgs& args, uint64_t i, uint64_t value) {
  if (args.byte_count == 8) {
    static_cast<uint64_t*>(args.bits)[i] = value;
  } else if (args.byte_count == 4) {
    static_cast<uint32_t*>(args.bits)[i] = static_cast<uint32_t>(value);
  } else if (args.byte_count == 2) {
    static_cast<uint16_t*>(args.bits)[i] = static_cast<uint16_t>(value);
  } else {
    const uint32_t shift = 8 - args.kept_bits;
    const auto high = static_cast<uint8_t>(value << shift);
    static_cast<uint8_t*>(args.bits)[i] = args.is_signed
                                              ? static_cast<uint8_t>(static_cast<int8_t>(high) >> shift)
                                              : static_cast<uint8_t>(high >> shift);
  }
}

struct ThreeFryKernel {
  using Args = RandomBitsArgs;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint64_t i = static_cast<uint64_t>(env.block().x) * env.threads() + env.thread();
    if (i == 0 && args.next_state != nullptr) {
      args.next_state[0] = args.state[0];
      args.next_state[1] = args.state[1] + args.blocks;
    }
    if (i >= args.blocks) return;
    const uint64_t counter = args.state[1] + i;
    const auto words = ThreeFry<uint32_t>(args.state[0], {LowWord(counter), HighWord(counter)});
    if (args.byte_count == 8) return SetBits(args, i, JoinWords(words.low, words.high));
    const uint64_t half = (args.size + 1) / 2, k = i % args.inner, j = i / args.inner % half;
    const uint64_t at = (i / args.inner / half * args.size + 2 * j) * args.inner + k;
    SetBits(args, at, words.low);
    if (2 * j + 1 < args.size) SetBits(args, at + args.inner, words.high);
  }
};

struct PhiloxKernel {
  using Args = RandomBitsArgs;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint64_t i = static_cast<uint64_t>(env.block().x) * env.threads() + env.thread();
    const uint64_t key = args.state[0], low = args.state[1],
                   high = args.state_words == 2 ? key : args.state[2];
    if (i == 0 && args.next_state != nullptr) {
      args.next_state[0] = key;
      args.next_state[1] = low + args.blocks;
      if (args.state_words == 3) args.next_state[2] = high + (low + args.blocks < low ? 1 : 0);
    }
    if (i >= args.blocks) return;
    const uint64_t l = low + i, h = high + (l < low ? 1 : 0);
    const FourWords words = Philox(l, h, key);
    const uint64_t step = args.byte_count == 8 ? 2 : 4;
    HLO_UNROLL
    for (uint64_t k = 0; k < 4; ++k) {
      if (k >= step || i * step + k >= args.count) break;
      SetBits(args, i * step + k, step == 4 ? words.word[k] : words.Pair(static_cast<int>(k & 1)));
    }
  }
};

struct DrawArgs {
  const RunState* state = nullptr;
  const void *a = nullptr, *b = nullptr;
  void* result = nullptr;
  uint64_t count = 0;
  ElementType type = ElementType::kF32;
  uint32_t bits = 32;  // Bit width of the type.
  bool is_float = true, normal = false;
};

// rng (semantics 7.7), identical to the reference: one element per thread, from one counter block.
struct DrawKernel {
  using Args = DrawArgs;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint64_t i = static_cast<uint64_t>(env.block().x) * env.threads() + env.thread();
    if (i >= args.count) return;
    const uint64_t low = args.state->low + i, high = args.state->high + (low < i ? 1 : 0);
    const FourWords block = Philox(low, high, args.state->seed);
    const uint64_t words[2] = {block.Pair(0), block.Pair(1)};
    if (!args.is_float) {
      const auto a = LoadRealElement<uint64_t>(args.type, args.a, 0),
                 b = LoadRealElement<uint64_t>(args.type, args.b, 0);
      const uint64_t span = (b - a) & (~uint64_t{0} >> (64 - args.bits));
      return StoreRealElement(args.type, args.result, static_cast<int64_t>(i),
                              span == 0 ? a : a + words[0] % span);
    }
    const auto a = LoadRealElement<double>(args.type, args.a, 0),
               b = LoadRealElement<double>(args.type, args.b, 0);
    const auto rounded = [&](double x) {
      return args.type == ElementType::kF64 ? x : static_cast<double>(static_cast<float>(x));
    };
    double value = a;
    if (args.normal) {
      value = rounded(NormalNumber(words[0], words[1], a, b));
    } else {
      // Rounding must not reach b.
      for (int k = 0; k < 2; ++k) {
        const double x = rounded(RandomFraction(words[k]) * (b - a) + a);
        if (!(x < b) && a < b) continue;
        value = x;
        break;
      }
    }
    StoreRealElement(args.type, args.result, static_cast<int64_t>(i), value);
  }
};

struct AdvanceArgs {
  RunState* state = nullptr;
  uint64_t* before = nullptr;  // The counter before the update, low and high; nullptr: not needed.
  int64_t delta = 0;
};
struct AdvanceKernel {
  using Args = AdvanceArgs;
  static constexpr uint32_t kThreads = 32;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    if (env.block().x != 0 || env.thread() != 0) return;
    const RunState state = *args.state;
    if (args.before != nullptr) {
      args.before[0] = state.low;
      args.before[1] = state.high;
    }
    const uint64_t low = state.low + static_cast<uint64_t>(args.delta);
    args.state->low = low;
    args.state->high = state.high + (args.delta < 0 ? ~uint64_t{0} : 0) + (low < state.low ? 1 : 0);
  }
};

}  // namespace hlo::cuda
