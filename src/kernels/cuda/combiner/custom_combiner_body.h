#pragma once
// reduce-window, scan, scatter, select-and-scatter and sort with user-defined combiners that are VM programs
// (vm.h), over any number of arrays of any types. Arrays are dense and indexed by linear element number. All
// tasks share one kernel because the VM takes long to compile.

#include "kernels/cuda/gather_scatter/scatter_body.h"
#include "kernels/cuda/sort/sort_lines.h"
#include "kernels/cuda/vm/vm_body.h"
#include "kernels/cuda/window/window_body.h"

namespace hlo::cuda {

enum class CombinerTask : uint8_t {
  kWindow,
  kSelect,
  kWinners,
  kScatter,
  kScan,
  kSortRuns,
  kMergeRuns,
  kRepairRuns
};

// Outputs per thread of a sort. Sorting a run takes 4 merge passes, an even number, so the result ends in the
// initial buffer.
constexpr uint32_t kCombinerRun = 16;

struct CombinerArgs {
  // The VM program consists of up to four sections; `end` holds the ends of the first three.
  //   Folds (windows, winners, scatters): load values; combine them with the accumulators; load the initial
  //   accumulators; store them.
  //   Comparisons (selections, sorts): load the first element; load the second; compare them into slot 0.
  //   Scans: load carries; one step; store carries.
  VmProgram program;
  int32_t end[3];
  CombinerTask task;
  // Windows of results over the base, of sources over the operand, or of the operand over the sources.
  WideGeometry geometry;
  uint32_t* winners;
  ScatterArgs scatter;
  // Scans: number of lines, elements per line, and number of adjacent lines (the stride of a line).
  int64_t line_count, length, inner;
  bool reversed;
  // For sorts:
  SortLines lines;
  uint32_t *order, *merged;  // Permutations.
  uint32_t* failed;          // A flag per line: a merge must be repeated sequentially.
  uint32_t chunks, run;      // Chunks per line, of kCombinerRun outputs each; length of the sorted runs.
};

// Two adjacent sorted runs and the output of their merge.
struct RunPair {
  const uint32_t *left, *right;
  uint32_t left_count, right_count;
  uint32_t* out;
  HLO_DEVICE uint32_t count() const { return left_count + right_count; }
};
HLO_DEVICE RunPair PairAt(const uint32_t* from, uint32_t* to, uint32_t first, uint32_t run, uint32_t n) {
  const uint32_t rest = n - first, left = rest < run ? rest : run, others = rest - left;
  return {from + first, from + first + left, left, others < run ? others : run, to + first};
}

// The work of one thread on the sections of a program.
template <class V>
struct CombinerThread {
  const CombinerArgs& args;
  V* slots;
  uint32_t threads;
  uint64_t number;  // Linear thread index in the grid.
  template <class Env>
  HLO_DEVICE CombinerThread(Env& env, const CombinerArgs& a)
      : args(a),
        slots(reinterpret_cast<V*>(env.shared()) + env.thread()),
        threads(env.threads()),
        number(static_cast<uint64_t>(env.block().x) * env.threads() + env.thread()) {}

  HLO_DEVICE void Run(int begin, int end, int64_t element) const {
    VmRunOne<V>(args.program, begin, end, slots, threads, static_cast<uint64_t>(element));
  }

  // --- Folds.
  HLO_DEVICE void Init(int64_t element) const { Run(args.end[1], args.end[2], element); }
  HLO_DEVICE void Accumulate(int64_t element) const { Run(0, args.end[1], element); }
  HLO_DEVICE void Store(int64_t element) const { Run(args.end[2], args.program.code_count, element); }

  // Computes one result: folds the elements under its window in the reference's order.
  HLO_DEVICE void Window() const {
    if (number >= args.geometry.count) return;
    Init(0);
    EachTap(args.geometry, static_cast<uint32_t>(number), [&](int32_t offset) { Accumulate(offset); });
    Store(static_cast<int64_t>(number));
  }
  // Applies the updates of one target in order, for one element of the window. The thread at the first
  // position of a run of equal sorted keys does the work. The results already hold the operands.
  HLO_DEVICE void Scatter() const {
    const ScatterArgs& scatter = args.scatter;
    if (number >= static_cast<uint64_t>(scatter.position_count) * scatter.window_count) return;
    const auto at = static_cast<uint32_t>(number / scatter.window_count),
               w = static_cast<uint32_t>(number % scatter.window_count);
    const uint32_t target = scatter.keys[at];
    if (target == scatter.nowhere || (at > 0 && scatter.keys[at - 1] == target)) return;
    const WalkOffsets within = scatter.window.At(w);
    Init(target + within.operand);
    for (uint32_t k = at; k < scatter.position_count && scatter.keys[k] == target; ++k)
      Accumulate(scatter.positions.At(scatter.order[k]).update + within.update);
    Store(target + within.operand);
  }
  // Computes one element of a select-and-scatter from the sources of the windows that selected it.
  HLO_DEVICE void Winners() const {
    if (number >= args.geometry.count) return;
    Init(0);
    EachWinner(args.geometry, args.winners, static_cast<uint32_t>(number),
               [&](int32_t source) { Accumulate(source); });
    Store(static_cast<int64_t>(number));
  }

  // --- Comparisons.
  HLO_DEVICE bool Holds(int64_t a, int64_t b) const {
    Run(0, args.end[0], a);
    Run(args.end[0], args.end[1], b);
    Run(args.end[1], args.program.code_count, 0);
    return slots[0].words[0] != 0;
  }
  // Selects the element of a window that no later element beats.
  HLO_DEVICE void Select() const {
    if (number >= args.geometry.count) return;
    uint32_t chosen = kNoWinner;
    EachTap(args.geometry, static_cast<uint32_t>(number), [&](int32_t offset) {
      if (chosen == kNoWinner || !Holds(chosen, offset)) chosen = static_cast<uint32_t>(offset);
    });
    args.winners[number] = chosen;
  }

  // --- Sorts. Bottom-up merge sort of runs of doubling length. It gives the reference's permutation even if
  // the comparator is not a strict weak ordering.
  HLO_DEVICE bool ComesBefore(uint32_t a, uint32_t b) const {
    return Holds(args.lines.Address(a), args.lines.Address(b));
  }
  // Writes outputs [begin, end) of the merge, where `i` of the first `begin` outputs came from the left run.
  // Returns how many of the first `end` outputs come from the left run.
  HLO_DEVICE uint32_t Merge(const RunPair& pair, uint32_t i, uint32_t begin, uint32_t end) const {
    uint32_t j = begin - i;
    for (uint32_t o = begin; o < end; ++o) {
      const bool take_right =
          i == pair.left_count || (j < pair.right_count && ComesBefore(pair.right[j], pair.left[i]));
      pair.out[o] = take_right ? pair.right[j++] : pair.left[i++];
    }
    return i;
  }
  // Returns how many of the first `count` outputs come from the left run, by binary search (merge path). The
  // runs must be sorted.
  HLO_DEVICE uint32_t LeftOf(const RunPair& pair, uint32_t count) const {
    uint32_t low = count > pair.right_count ? count - pair.right_count : 0,
             high = count < pair.left_count ? count : pair.left_count;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (ComesBefore(pair.right[count - 1 - middle], pair.left[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  HLO_DEVICE void SortRuns() const {
    if (number >= static_cast<uint64_t>(args.lines.count) * args.chunks) return;
    const auto line = static_cast<uint32_t>(number / args.chunks);
    const uint32_t first = static_cast<uint32_t>(number % args.chunks) * kCombinerRun,
                   rest = args.lines.length - first, n = rest < kCombinerRun ? rest : kCombinerRun;
    uint32_t *from = args.order + line * args.lines.length + first,
             *to = args.merged + line * args.lines.length + first;
    for (uint32_t t = 0; t < n; ++t) from[t] = line * args.lines.length + first + t;
    if (first == 0) args.failed[line] = 0;
    for (uint32_t run = 1; run < kCombinerRun; run *= 2) {
      for (uint32_t begin = 0; begin < n; begin += 2 * run) {
        const RunPair pair = PairAt(from, to, begin, run, n);
        Merge(pair, 0, 0, pair.count());
      }
      uint32_t* next = from;
      from = to;
      to = next;
    }
  }
  // Each thread merges its own part of the output, starting at its merge-path split. If every part ends at
  // the split of the next one, the parts form one sequential merge; otherwise the line is flagged for
  // RepairRuns.
  template <class Env>
  HLO_DEVICE void MergeRuns(Env& env) const {
    if (number >= static_cast<uint64_t>(args.lines.count) * args.chunks) return;
    const auto line = static_cast<uint32_t>(number / args.chunks);
    const uint32_t n = args.lines.length, at = static_cast<uint32_t>(number % args.chunks) * kCombinerRun,
                   first = at / (2 * args.run) * (2 * args.run);
    const RunPair pair = PairAt(args.order + line * n, args.merged + line * n, first, args.run, n);
    const uint32_t begin = at - first,
                   end = pair.count() - begin < kCombinerRun ? pair.count() : begin + kCombinerRun;
    const uint32_t left = Merge(pair, LeftOf(pair, begin), begin, end);
    if (left != LeftOf(pair, end)) env.atomic_or(args.failed + line, 1);
  }
  // Repeats the merges of a flagged line sequentially, one thread block per line.
  template <class Env>
  HLO_DEVICE void RepairRuns(Env& env) const {
    const uint32_t line = env.block().x, n = args.lines.length;
    if (args.failed[line] == 0) return;
    for (uint64_t first = uint64_t{2} * args.run * env.thread(); first < n;
         first += uint64_t{2} * args.run * threads) {
      const RunPair pair =
          PairAt(args.order + line * n, args.merged + line * n, static_cast<uint32_t>(first), args.run, n);
      Merge(pair, 0, 0, pair.count());
    }
    env.sync();
    if (env.thread() == 0) args.failed[line] = 0;
  }

  // --- Scans: one line per thread.
  HLO_DEVICE void Scan() const {
    const auto line = static_cast<int64_t>(number);
    if (line >= args.line_count) return;
    Run(0, args.end[0], line);
    const int64_t first = line / args.inner * args.length * args.inner + line % args.inner;
    for (int64_t t = 0; t < args.length; ++t)
      Run(args.end[0], args.end[1], first + (args.reversed ? args.length - 1 - t : t) * args.inner);
    Run(args.end[1], args.program.code_count, line);
  }
};

template <int kWords>
struct CustomCombiner {
  using Args = CombinerArgs;
  static constexpr uint32_t kThreads = kVmThreads, kMinBlocks = 4;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const CombinerThread<VmValue<kWords>> thread(env, args);
    switch (args.task) {
      case CombinerTask::kWindow:
        return thread.Window();
      case CombinerTask::kSelect:
        return thread.Select();
      case CombinerTask::kWinners:
        return thread.Winners();
      case CombinerTask::kScatter:
        return thread.Scatter();
      case CombinerTask::kScan:
        return thread.Scan();
      case CombinerTask::kSortRuns:
        return thread.SortRuns();
      case CombinerTask::kMergeRuns:
        return thread.MergeRuns(env);
      case CombinerTask::kRepairRuns:
        return thread.RepairRuns(env);
    }
  }
};

}  // namespace hlo::cuda
