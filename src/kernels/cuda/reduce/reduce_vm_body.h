#pragma once
// Reductions on the VM (vm.h), for those that reduce_body.h does not support. The grouping depends on the
// shape only. A group of threads computes each output, or a chunk of a long one. Each thread folds its
// elements in order, then the group combines its threads pairwise, and the chunks are combined in order.

#include "base/arithmetic.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

// Slots [0, count) hold the accumulators, [count, 2 * count) the next values.
struct ReduceVmArgs {
  VmProgram program;
  // Ends of the program's sections: yield values; combine; load initial values into the accumulators; store
  // them.
  int32_t body_end, combine_end, init_end;
  int32_t count;
  int64_t kept, reduced, inner_count, part_length;
  int64_t chunks, chunk_length;
  uint32_t group;  // Threads per output or chunk: a power of two.
  bool rows;       // The inner dimensions are reduced. Otherwise adjacent threads compute adjacent outputs.
  bool in_order;   // Only adjacent elements may be combined.
  bool joins_chunks;  // Second launch: combines chunks into results.
  void* partials;     // Chunks: count * kept * chunks values.
};

template <int kWords>
struct ReduceVm {
  using Args = ReduceVmArgs;
  using V = VmValue<kWords>;
  static constexpr uint32_t kThreads = kVmThreads, kMinBlocks = 4;

  static HLO_DEVICE void RunPart(const Args& args, int begin, int end, V* slots, uint32_t threads,
                                 uint64_t position) {
    VmRunOne<V>(args.program, begin, end, slots, threads, position);
  }
  static HLO_DEVICE void Combine(const Args& args, V* slots, uint32_t threads) {
    RunPart(args, args.body_end, args.combine_end, slots, threads, 0);
  }
  static HLO_DEVICE void LoadInit(const Args& args, V* slots, uint32_t threads) {
    RunPart(args, args.combine_end, args.init_end, slots, threads, 0);
  }
  static HLO_DEVICE void StoreResult(const Args& args, V* slots, uint32_t threads, int64_t output) {
    RunPart(args, args.init_end, args.program.code_count, slots, threads, static_cast<uint64_t>(output));
  }
  // Computes accumulators = combiner(init, accumulators) and stores them.
  static HLO_DEVICE void Finish(const Args& args, V* slots, uint32_t threads, int64_t output) {
    for (int k = 0; k < args.count; ++k) slots[(args.count + k) * threads] = slots[k * threads];
    LoadInit(args, slots, threads);
    Combine(args, slots, threads);
    StoreResult(args, slots, threads, output);
  }
  // Returns the loop position of element r of an output.
  static HLO_DEVICE uint64_t Position(const Args& args, int64_t output, int64_t r) {
    if (!args.rows) return static_cast<uint64_t>(r * args.inner_count + output);
    if (args.part_length == 1) return static_cast<uint64_t>(output * args.inner_count + r);
    const int64_t outer = output * args.part_length + r % args.part_length;
    return static_cast<uint64_t>(outer * args.inner_count + r / args.part_length);
  }
  // Loads element r into the accumulators or combines it with them.
  static HLO_DEVICE void Accumulate(const Args& args, V* slots, uint32_t threads, int64_t output, int64_t r,
                                    bool first) {
    RunPart(args, 0, args.body_end, slots, threads, Position(args, output, r));
    if (!first) return Combine(args, slots, threads);
    for (int k = 0; k < args.count; ++k) slots[k * threads] = slots[(args.count + k) * threads];
  }

  // Combines the chunks of each output in order.
  template <class Env>
  static HLO_DEVICE void JoinChunks(Env& env, const Args& args) {
    const uint32_t threads = env.threads();
    V* slots = reinterpret_cast<V*>(env.shared()) + env.thread();
    const int64_t output = int64_t{env.block().x} * threads + env.thread();
    if (output >= args.kept) return;
    const V* partials = static_cast<const V*>(args.partials) + output * args.chunks;
    for (int64_t chunk = 0; chunk < args.chunks; ++chunk) {
      for (int k = 0; k < args.count; ++k)
        slots[(chunk == 0 ? k : args.count + k) * threads] = partials[k * args.kept * args.chunks + chunk];
      if (chunk > 0) Combine(args, slots, threads);
    }
    Finish(args, slots, threads, output);
  }

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    if (args.joins_chunks) return JoinChunks(env, args);
    const uint32_t threads = env.threads(), group = args.group, outputs = threads / group;
    const uint32_t lane = args.rows ? env.thread() % group : env.thread() / outputs;
    const uint32_t neighbour = args.rows ? 1 : outputs;  // Distance to the next thread of the group.
    V* slots = reinterpret_cast<V*>(env.shared()) + env.thread();
    const int64_t unit =
        int64_t{env.block().x} * outputs + (args.rows ? env.thread() / group : env.thread() % outputs);
    const int64_t output = args.rows ? unit / args.chunks : unit % args.kept;
    const int64_t chunk = args.rows ? unit % args.chunks : unit / args.kept;
    const int64_t begin = chunk * args.chunk_length;
    const bool works = unit < args.kept * args.chunks;
    int64_t n = args.reduced - begin;
    n = n < args.chunk_length ? n : args.chunk_length;
    if (group == 1 && args.chunks == 1) {
      if (!works) return;
      LoadInit(args, slots, threads);
      for (int64_t r = 0; r < n; ++r) Accumulate(args, slots, threads, output, r, false);
      return StoreResult(args, slots, threads, output);
    }
    const int64_t each = CeilDiv(n, group);  // Elements per thread, in order.
    const int64_t first = args.in_order ? lane * each : lane, step = args.in_order ? 1 : group;
    const int64_t end = args.in_order ? (first + each < n ? first + each : n) : n;
    if (works) {
      for (int64_t r = first; r < end; r += step)
        Accumulate(args, slots, threads, output, begin + r, r == first);
    }
    const int64_t active = args.in_order ? (each == 0 ? 0 : CeilDiv(n, each)) : (n < group ? n : group);
    for (uint32_t distance = 1; distance < group; distance *= 2) {
      env.sync();
      const bool folds = works && lane % (2 * distance) == 0 && lane + distance < active;
      if (!folds) continue;
      for (int k = 0; k < args.count; ++k)
        slots[(args.count + k) * threads] = slots[k * threads + distance * neighbour];
      Combine(args, slots, threads);
    }
    if (!works || lane != 0) return;
    if (args.chunks == 1) return Finish(args, slots, threads, output);
    V* partials = static_cast<V*>(args.partials) + output * args.chunks + chunk;
    for (int k = 0; k < args.count; ++k) partials[k * args.kept * args.chunks] = slots[k * threads];
  }
};

// Instances, by words per value.
using ReduceVm4 = ReduceVm<1>;
using ReduceVm8 = ReduceVm<2>;
using ReduceVm16 = ReduceVm<4>;

}  // namespace hlo::cuda
