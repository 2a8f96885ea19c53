#pragma once
// scatter: each element of the operand accumulates its updates in order. Updates are grouped into positions,
// one start index each, times the elements of a window; the windows of two positions are identical or
// disjoint.

#include "kernels/cuda/memory/starts.h"
#include "kernels/cuda/reduce/reduce_op.h"

namespace hlo::cuda {

constexpr uint32_t kScatterThreads = 256;
// Maximum number of positions whose duplicates are found without sorting.
constexpr uint32_t kFewPositions = 1024;
constexpr uint32_t kFewWindow = 64;  // Window elements per thread block.

struct ScatterArgs {
  StartsArgs starts;
  Walk positions, window;
  const void* updates = nullptr;
  void* result = nullptr;  // Initialised with the operand.
  uint32_t position_count = 0, window_count = 1;
  ReduceOp fold = ReduceOp::kAdd;
  ElementKind kind;
  // Sorted path: targets of the positions (`nowhere` if out of bounds), and the positions sorted by target.
  uint32_t* keys = nullptr;
  const uint32_t* order = nullptr;
  uint32_t nowhere = 0;
};

// Offset of a position's window in the operand, or -1, and of its first update.
struct Target {
  int64_t operand, update;
};
HLO_DEVICE Target TargetOf(const ScatterArgs& args, uint32_t position) {
  const WalkOffsets offsets = args.positions.At(position);
  const int64_t start = args.starts.Start(offsets.index);
  return {start < 0 ? -1 : start + offsets.operand, offsets.update};
}

template <class E>
HLO_DEVICE typename E::ComputeType UpdateAt(const ScatterArgs& args, int64_t i) {
  return E::Load(static_cast<const typename E::Stored*>(args.updates)[i], args.kind);
}

// Indices are unique: one thread per update.
template <class E>
struct ScatterOnce {
  using Args = ScatterArgs;
  static constexpr uint32_t kThreads = kScatterThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.position_count) return;
    const Target target = TargetOf(args, i);
    if (target.operand < 0) return;
    auto* element = static_cast<typename E::Stored*>(args.result) + target.operand;
    const typename E::ComputeType update = UpdateAt<E>(args, target.update);
    *element = E::Store(E::Combine(args.fold, E::Load(*element, args.kind), update, args.kind), args.kind);
  }
};

// Few positions: each finds the next one with the same target.
struct FewPositions {
  int64_t target[kFewPositions], update[kFewPositions];
  uint32_t next[kFewPositions];
  bool is_first[kFewPositions];
};

template <class E>
struct ScatterFew {
  using Args = ScatterArgs;
  static constexpr uint32_t kThreads = kScatterThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    auto& few = *reinterpret_cast<FewPositions*>(env.shared());
    const uint32_t n = args.position_count;
    for (uint32_t p = env.thread(); p < n; p += env.threads()) {
      const Target target = TargetOf(args, p);
      few.target[p] = target.operand;
      few.update[p] = target.update;
    }
    env.sync();
    for (uint32_t p = env.thread(); p < n; p += env.threads()) {
      const int64_t target = few.target[p];
      uint32_t next = p + 1, before = 0;
      while (next < n && few.target[next] != target) ++next;
      while (before < p && few.target[before] != target) ++before;
      few.next[p] = next;
      few.is_first[p] = before == p && target >= 0;
    }
    env.sync();
    const uint32_t begin = env.block().x * kFewWindow, rest = args.window_count - begin,
                   width = rest < kFewWindow ? rest : kFewWindow;
    for (uint32_t i = env.thread(); i < n * width; i += env.threads()) {
      const uint32_t p = i / width;
      if (!few.is_first[p]) continue;
      const WalkOffsets within = args.window.At(begin + i % width);
      auto* element = static_cast<typename E::Stored*>(args.result) + few.target[p] + within.operand;
      typename E::ComputeType value = E::Load(*element, args.kind);
      for (uint32_t q = p; q < n; q = few.next[q])
        value =
            CombineRounded<E>(args.fold, value, UpdateAt<E>(args, few.update[q] + within.update), args.kind);
      *element = E::Store(value, args.kind);
    }
  }
};

struct ScatterTargets {
  using Args = ScatterArgs;
  static constexpr uint32_t kThreads = kScatterThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.position_count) return;
    const int64_t target = TargetOf(args, i).operand;
    args.keys[i] = target < 0 ? args.nowhere : static_cast<uint32_t>(target);
  }
};

// One thread per run of equal targets and window element.
template <class E>
struct ScatterRuns {
  using Args = ScatterArgs;
  static constexpr uint32_t kThreads = kScatterThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint64_t i = static_cast<uint64_t>(env.block().x) * env.threads() + env.thread();
    if (i >= static_cast<uint64_t>(args.position_count) * args.window_count) return;
    const auto at = static_cast<uint32_t>(i / args.window_count),
               w = static_cast<uint32_t>(i % args.window_count);
    const uint32_t target = args.keys[at];
    if (target == args.nowhere || (at > 0 && args.keys[at - 1] == target)) return;
    const WalkOffsets within = args.window.At(w);
    auto* element = static_cast<typename E::Stored*>(args.result) + target + within.operand;
    typename E::ComputeType value = E::Load(*element, args.kind);
    for (uint32_t k = at; k < args.position_count && args.keys[k] == target; ++k) {
      const int64_t update = args.positions.At(args.order[k]).update + within.update;
      value = CombineRounded<E>(args.fold, value, UpdateAt<E>(args, update), args.kind);
    }
    *element = E::Store(value, args.kind);
  }
};

}  // namespace hlo::cuda
