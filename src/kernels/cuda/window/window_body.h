#pragma once
// reduce-window and select-and-scatter: one thread per output iterates over the elements under its window.

#include "base/arithmetic.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/reduce/reduce_op.h"

namespace hlo::cuda {

constexpr uint32_t kWindowThreads = 256;
// Maximum number of windowed dimensions of kernels with one operation, and of kernels with user-defined
// combiners.
constexpr int kMaxWindows = 4, kMaxWideWindows = 8;

// All numbers are below 2^31 (window_plan.cc), including dilated positions.

// A windowed dimension. `outer` and `size` extract its digit from an element number; `other_size` and
// `other_stride` describe it in the other array.
struct WindowSlot {
  FastDiv outer, size;
  int32_t other_size = 1, other_stride = 0;
  int32_t window = 1, step = 1, padding = 0, dilation = 1, holes = 1;  // `holes` is the base dilation.
};
struct WindowRun {
  FastDiv outer, size;
  int32_t other_stride = 0;
};
template <int kMax>
struct WindowsOf {
  // Runs of dimensions between and around the windowed ones.
  static constexpr int kMaxSlots = kMax, kMaxRuns = kMax + 1;
  uint32_t count = 0, slot_count = 0, run_count = 0;
  // The elements from this index on in this slot come after all others; -1 if there are none.
  int32_t peeled = -1, peeled_from = 0;
  WindowSlot slots[kMax];
  WindowRun runs[kMaxRuns];

  HLO_DEVICE int32_t RunOffset(uint32_t i) const {
    int32_t offset = 0;
    HLO_UNROLL
    for (int r = 0; r < kMaxRuns; ++r) {
      if (r >= static_cast<int>(run_count)) break;
      const uint32_t rest = runs[r].outer.Quotient(i),
                     digit = rest - runs[r].size.Quotient(rest) * runs[r].size.divisor;
      offset += digit * runs[r].other_stride;
    }
    return offset;
  }
  HLO_DEVICE int32_t Digit(int k, uint32_t i) const {
    const uint32_t rest = slots[k].outer.Quotient(i);
    return rest - slots[k].size.Quotient(rest) * slots[k].size.divisor;
  }
};
using WindowGeometry = WindowsOf<kMaxWindows>;
using WideGeometry = WindowsOf<kMaxWideWindows>;

// Window elements [begin, end) along one dimension that are within the base; `origin` is the position of
// window element 0 in the dilated base.
struct TapRange {
  int32_t origin, begin, end;
};
HLO_DEVICE TapRange TapsOf(const WindowSlot& slot, int32_t output) {
  const int32_t origin = output * slot.step - slot.padding,
                last = (slot.other_size - 1) * slot.holes - origin;
  const int32_t begin = origin >= 0 ? 0 : CeilDiv(-origin, slot.dilation);
  const int32_t end = last < 0 ? 0 : last / slot.dilation + 1;
  return {origin, begin, end < slot.window ? end : slot.window};
}
// Returns the base element under a window element, or -1 for a hole of the dilation.
HLO_DEVICE int32_t BaseAt(const WindowSlot& slot, const TapRange& taps, int32_t w) {
  const int32_t at = taps.origin + w * slot.dilation;
  if (slot.holes == 1) return at;
  return at % slot.holes == 0 ? at / slot.holes : -1;
}

// Calls visit(ranges) with the ranges of all elements in row-major order, or with those before the peeled
// ones and then with the peeled ones.
template <int kCount, class Geometry, class Visit>
HLO_DEVICE void EachPart(const Geometry& g, TapRange (&taps)[kCount], Visit&& visit) {
  const int32_t from = g.peeled_from;
  TapRange whole = {};
  for (int part = 0; part < (g.peeled < 0 ? 1 : 2); ++part) {
    HLO_UNROLL
    for (int k = 0; k < kCount; ++k) {
      if (k != g.peeled) continue;
      if (part == 0) {
        whole = taps[k];
        taps[k].end = whole.end < from ? whole.end : from;
      } else {
        taps[k] = {whole.origin, whole.begin > from ? whole.begin : from, whole.end};
      }
    }
    visit(taps);
  }
}

// Calls visit(index in the other array) for the elements under the window of output i, in the order of
// semantics 5.3.
template <class Visit>
HLO_DEVICE void EachTap(const WindowGeometry& g, uint32_t i, Visit&& visit) {
  static_assert(kMaxWindows == 4);
  TapRange all[kMaxWindows];
  HLO_UNROLL
  for (int k = 0; k < kMaxWindows; ++k)
    all[k] = k < static_cast<int>(g.slot_count) ? TapsOf(g.slots[k], g.Digit(k, i)) : TapRange{0, 0, 1};
  const int32_t first = g.RunOffset(i);
  EachPart(g, all, [&](const TapRange(&taps)[kMaxWindows]) {
    for (int32_t a = taps[0].begin; a < taps[0].end; ++a) {
      const int32_t at_a = BaseAt(g.slots[0], taps[0], a);
      if (at_a < 0) continue;
      for (int32_t b = taps[1].begin; b < taps[1].end; ++b) {
        const int32_t at_b = BaseAt(g.slots[1], taps[1], b);
        if (at_b < 0) continue;
        for (int32_t c = taps[2].begin; c < taps[2].end; ++c) {
          const int32_t at_c = BaseAt(g.slots[2], taps[2], c);
          if (at_c < 0) continue;
          const int32_t line = first + at_a * g.slots[0].other_stride + at_b * g.slots[1].other_stride +
                               at_c * g.slots[2].other_stride;
          for (int32_t d = taps[3].begin; d < taps[3].end; ++d) {
            const int32_t at_d = BaseAt(g.slots[3], taps[3], d);
            if (at_d >= 0) visit(line + at_d * g.slots[3].other_stride);
          }
        }
      }
    }
  });
}

// Calls visit(digits) for digits[k] in [ranges[k].begin, ranges[k].end); the last one varies fastest.
template <class Range, class Visit>
HLO_DEVICE void EachDigits(const Range* ranges, int count, Visit&& visit) {
  int32_t digits[kMaxWideWindows];
  for (int k = 0; k < count; ++k) {
    if (ranges[k].begin >= ranges[k].end) return;
    digits[k] = ranges[k].begin;
  }
  for (int k = 0; k >= 0;) {
    visit(digits);
    for (k = count - 1; k >= 0; --k) {
      if (++digits[k] < ranges[k].end) break;
      digits[k] = ranges[k].begin;
    }
  }
}
template <class Visit>
HLO_DEVICE void EachTap(const WideGeometry& g, uint32_t i, Visit&& visit) {
  TapRange taps[kMaxWideWindows];
  const auto count = static_cast<int>(g.slot_count);
  for (int k = 0; k < count; ++k) taps[k] = TapsOf(g.slots[k], g.Digit(k, i));
  const int32_t first = g.RunOffset(i);
  EachPart(g, taps, [&](const TapRange* ranges) {
    EachDigits(ranges, count, [&](const int32_t* w) {
      int32_t offset = first;
      for (int k = 0; k < count; ++k) {
        const int32_t at = BaseAt(g.slots[k], ranges[k], w[k]);
        if (at < 0) return;
        offset += at * g.slots[k].other_stride;
      }
      visit(offset);
    });
  });
}

struct ReduceWindowArgs {
  WindowGeometry geometry;  // Windows of the result over the base.
  const void *base = nullptr, *init = nullptr;
  void* result = nullptr;
  ReduceOp fold = ReduceOp::kAdd;
  ElementKind kind;
};

// Computes acc = init, then acc = fold(acc, x) in the reference's order, rounded after every step.
template <class E>
struct ReduceWindowKernel {
  using Args = ReduceWindowArgs;
  static constexpr uint32_t kThreads = kWindowThreads, kMinBlocks = 4;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    using Stored = typename E::Stored;
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.geometry.count) return;
    typename E::ComputeType value = E::Load(*static_cast<const Stored*>(args.init), args.kind);
    EachTap(args.geometry, i, [&](int32_t offset) {
      value = CombineRounded<E>(args.fold, value,
                                E::Load(static_cast<const Stored*>(args.base)[offset], args.kind), args.kind);
    });
    static_cast<Stored*>(args.result)[i] = E::Store(value, args.kind);
  }
};

constexpr uint32_t kNoWinner = 0xffffffffu;

struct SelectArgs {
  WindowGeometry windows;   // Windows of the source over the operand.
  WindowGeometry covering;  // Windows of the operand over the source; slots have the window's attributes.
  const void *operand = nullptr, *source = nullptr, *init = nullptr;
  void* result = nullptr;
  uint32_t* winners = nullptr;
  Order select = Order::kGe;
  ReduceOp scatter = ReduceOp::kAdd;
  ElementKind kind;
};

// Selects the element that no later one beats.
template <class E>
struct SelectWinners {
  using Args = SelectArgs;
  static constexpr uint32_t kThreads = kWindowThreads, kMinBlocks = 4;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    using Stored = typename E::Stored;
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.windows.count) return;
    uint32_t chosen = kNoWinner;
    typename E::ComputeType best = {};
    EachTap(args.windows, i, [&](int32_t offset) {
      const typename E::ComputeType x = E::Load(static_cast<const Stored*>(args.operand)[offset], args.kind);
      if (chosen != kNoWinner && E::Holds(args.select, best, x, args.kind)) return;
      chosen = static_cast<uint32_t>(offset);
      best = x;
    });
    args.winners[i] = chosen;
  }
};

// Outputs [begin, end) whose window covers the element at `offset`.
struct OutputRange {
  int32_t begin, end;
};
HLO_DEVICE OutputRange OutputsOver(const WindowSlot& slot, int32_t offset) {
  const int32_t at = offset + slot.padding, reach = (slot.window - 1) * slot.dilation;
  const int32_t begin = at - reach <= 0 ? 0 : CeilDiv(at - reach, slot.step);
  const int32_t end = at < 0 ? 0 : at / slot.step + 1;
  return {begin, end < slot.other_size ? end : slot.other_size};
}

// Calls visit(index) for the windows that selected element i, in order.
template <class Visit>
HLO_DEVICE void EachWinner(const WindowGeometry& g, const uint32_t* winners, uint32_t i, Visit&& visit) {
  OutputRange over[kMaxWindows];
  HLO_UNROLL
  for (int k = 0; k < kMaxWindows; ++k)
    over[k] = k < static_cast<int>(g.slot_count) ? OutputsOver(g.slots[k], g.Digit(k, i)) : OutputRange{0, 1};
  const int32_t first = g.RunOffset(i);
  for (int32_t a = over[0].begin; a < over[0].end; ++a) {
    for (int32_t b = over[1].begin; b < over[1].end; ++b) {
      for (int32_t c = over[2].begin; c < over[2].end; ++c) {
        const int32_t line =
            first + a * g.slots[0].other_stride + b * g.slots[1].other_stride + c * g.slots[2].other_stride;
        for (int32_t d = over[3].begin; d < over[3].end; ++d) {
          const int32_t offset = line + d * g.slots[3].other_stride;
          if (winners[offset] == i) visit(offset);
        }
      }
    }
  }
}

template <class Visit>
HLO_DEVICE void EachWinner(const WideGeometry& g, const uint32_t* winners, uint32_t i, Visit&& visit) {
  OutputRange over[kMaxWideWindows];
  const auto count = static_cast<int>(g.slot_count);
  for (int k = 0; k < count; ++k) over[k] = OutputsOver(g.slots[k], g.Digit(k, i));
  const int32_t first = g.RunOffset(i);
  EachDigits(over, count, [&](const int32_t* o) {
    int32_t offset = first;
    for (int k = 0; k < count; ++k) offset += o[k] * g.slots[k].other_stride;
    if (winners[offset] == i) visit(offset);
  });
}

// Accumulates the sources of the windows that selected an element.
template <class E>
struct ScatterWinners {
  using Args = SelectArgs;
  static constexpr uint32_t kThreads = kWindowThreads, kMinBlocks = 4;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    using Stored = typename E::Stored;
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.covering.count) return;
    typename E::ComputeType value = E::Load(*static_cast<const Stored*>(args.init), args.kind);
    EachWinner(args.covering, args.winners, i, [&](int32_t source) {
      value =
          CombineRounded<E>(args.scatter, value,
                            E::Load(static_cast<const Stored*>(args.source)[source], args.kind), args.kind);
    });
    static_cast<Stored*>(args.result)[i] = E::Store(value, args.kind);
  }
};

}  // namespace hlo::cuda
