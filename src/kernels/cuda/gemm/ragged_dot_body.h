#pragma once
// ragged-dot: the group of each position selects the slice of rhs, or the slice of the result.

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/memory/element_io.h"
#include "kernels/cuda/memory/starts.h"

namespace hlo::cuda {

constexpr uint32_t kRaggedThreads = 256;

// Computes group_of[p, r]: the group of position r for the group sizes of prefix p, or -1. Groups are
// contiguous.
struct RaggedGroupsArgs {
  const void* sizes = nullptr;
  uint32_t byte_count = 4;
  bool is_signed = true;
  int64_t positions = 0, extent = 1, groups = 0;
  int32_t* group_of = nullptr;
};
struct RaggedGroups {
  using Args = RaggedGroupsArgs;
  static constexpr uint32_t kThreads = kRaggedThreads, kMinBlocks = 4;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t at = static_cast<int64_t>(env.block().x) * kThreads + env.thread();
    if (at >= args.positions) return;
    const int64_t prefix = at / args.extent, r = at - prefix * args.extent;
    int32_t group = -1;
    int64_t end = 0;
    for (int64_t g = 0; g < args.groups; ++g) {
      const int64_t start = end;
      int64_t size = ReadIndex(args.sizes, args.byte_count, args.is_signed, prefix * args.groups + g);
      size = size < -args.extent ? -args.extent : size > args.extent ? args.extent : size;
      end = start + size;
      end = end < 0 ? 0 : end > args.extent ? args.extent : end;
      if (start <= r && r < end) group = static_cast<int32_t>(g);
    }
    args.group_of[at] = group;
  }
};

// One thread per element, for results of fewer than 2^31 elements; accumulates in ascending k.
struct RaggedArgs {
  Gemm gemm;
  const void *a = nullptr, *b = nullptr;
  void* result = nullptr;
  const int32_t* group_of = nullptr;
  IndexMap batch, rows, terms;            // Maps into group_of.
  int64_t b_group = 0, result_group = 0;  // Strides between groups.
  uint32_t result_groups = 1;             // More than 1 only for a ragged contracting dimension.
  bool by_terms = false;
};

template <class T>
struct RaggedGemm {
  using Args = RaggedArgs;
  static constexpr uint32_t kThreads = kRaggedThreads, kMinBlocks = 4;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const Gemm& p = args.gemm;
    const uint32_t x = env.block().x * kThreads + env.thread();
    if (x >= args.result_groups * p.batch * p.m * p.n) return;
    const uint32_t j = x % p.n, i = x / p.n % p.m, batch = x / p.n / p.m % p.batch,
                   own = x / p.n / p.m / p.batch;
    const int64_t a_row = RowLocation(p.a, batch, i).offset, b_row = RowLocation(p.b, batch, j).offset;
    const int32_t* groups = args.group_of + args.batch.Offset(batch) + args.rows.Offset(i);
    T sum{};
    for (uint32_t k = 0; k < p.k; ++k) {
      const int32_t group = groups[args.terms.Offset(k)];
      if (group < 0 || (args.by_terms && static_cast<uint32_t>(group) != own)) continue;
      const T left = LoadCommonElement<T>(p.a.type, args.a, a_row + p.a.k.Offset(k));
      sum = MultiplyAdd(
          left, LoadCommonElement<T>(p.b.type, args.b, b_row + group * args.b_group + p.b.k.Offset(k)), sum);
    }
    const Result& result = p.result;
    StoreElement<T>(result.type, args.result,
                    own * args.result_group + result.batch.Offset(batch) + result.rows.Offset(i) +
                        result.columns.Offset(j),
                    sum);
  }
};

}  // namespace hlo::cuda
