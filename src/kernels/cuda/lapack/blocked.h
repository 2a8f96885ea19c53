#pragma once
// Blocked algorithms of linear algebra on a batch of matrices, as sequences of launches.

#include <algorithm>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/copy.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/lapack/triangular_body.h"
#include "kernels/cuda/launch/cuda_kernel.h"
#include "kernels/cuda/launch/launch.h"
#include "types/index.h"

namespace hlo::cuda {

template <class Kernel>
absl::Status LaunchBlocks(int64_t blocks, size_t shared_bytes, const typename Kernel::Args& args,
                          Stream stream) {
  if (blocks == 0) return absl::OkStatus();
  return Launch<Kernel>({{static_cast<uint32_t>(blocks)}, Kernel::kThreads, shared_bytes}, args, stream);
}

struct MatrixSizes {
  int64_t rows, columns, batch;
};

inline uint32_t Small(int64_t x) { return static_cast<uint32_t>(x); }
inline int64_t Tiles(int64_t count, int64_t tile) { return CeilDiv(count, tile); }

// Launches a thread for each of args.count elements.
template <class Kernel>
absl::Status LaunchElements(const typename Kernel::Args& args, Stream stream) {
  return LaunchBlocks<Kernel>(Tiles(args.count, Kernel::kThreads), 0, args, stream);
}

template <class T>
absl::Status Subtract(const SubtractArgs<T>& args, int64_t batch, Stream stream) {
  using Kernel = SubtractGemm<T>;
  return LaunchBlocks<Kernel>(Tiles(args.rows, Kernel::kTile) * Tiles(args.columns, Kernel::kTile) * batch,
                              Kernel::kSharedBytes, args, stream);
}
template <class T>
absl::Status Solve(const SolveArgs<T>& args, int64_t batch, Stream stream) {
  using Kernel = SolveBlock<T>;
  return LaunchBlocks<Kernel>(Tiles(args.columns, Kernel::kThreads) * batch, Kernel::kSharedBytes, args,
                              stream);
}

// Factors l l^H = a in place, from the lower triangle. `potrf` may have the order and the pivots.
template <class T>
absl::Status Factor(const MatrixView<T>& a, int64_t n, int64_t batch, FactorArgs<T> args, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  HLO_RETURN_IF_ERROR(device::FillOnDevice(args.failed, 0, batch * sizeof *args.failed, stream));
  for (int64_t first = 0; first < n; first += kBlock) {
    const MatrixView<T> block = a.From(first, first);
    const auto size = static_cast<uint32_t>(std::min(kBlock, n - first));
    args.a = block;
    args.size = size;
    args.first = static_cast<int32_t>(first);
    HLO_RETURN_IF_ERROR(LaunchBlocks<FactorBlock<T>>(batch, FactorBlock<T>::kSharedBytes, args, stream));
    const auto rest = static_cast<uint32_t>(n - first - size);
    if (rest == 0) break;
    // The rows below are solved against the adjoint of the diagonal block (trsm).
    const MatrixView<T> below = block.From(size, 0);
    HLO_RETURN_IF_ERROR(
        Solve<T>({.a = block, .x = below.Adjoint(), .size = size, .columns = rest}, batch, stream));
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = block.From(size, size),
                                     .a = below,
                                     .b = below.Adjoint(),
                                     .rows = rest,
                                     .columns = rest,
                                     .depth = size,
                                     .lower_only = true},
                                    batch, stream));
  }
  return absl::OkStatus();
}

// Solves a x = x in place (trsm).
template <class T>
absl::Status Substitute(SolveArgs<T> args, int64_t n, int64_t batch, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  const MatrixView<T> a = args.a, x = args.x;
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t size = std::min(kBlock, n - done), first = args.lower ? done : n - done - size;
    args.a = a.From(first, first);
    args.x = x.From(first, 0);
    args.size = static_cast<uint32_t>(size);
    HLO_RETURN_IF_ERROR(Solve<T>(args, batch, stream));
    const int64_t rest = args.lower ? first + size : 0;  // First remaining row.
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = x.From(rest, 0),
                                     .a = a.From(rest, first),
                                     .b = args.x,
                                     .rows = static_cast<uint32_t>(n - done - size),
                                     .columns = args.columns,
                                     .depth = static_cast<uint32_t>(size)},
                                    batch, stream));
  }
  return absl::OkStatus();
}

// Calls run.operator()<T>() with the wide type.
template <class Run>
absl::Status InWideType(bool complex, Run&& run) {
  return complex ? run.template operator()<WideComplex>() : run.template operator()<double>();
}

// True if the launches for matrices of this size fit the grid and shared memory, and its sizes 31 bits.
inline bool Fits(int64_t batch, int64_t rows, int64_t columns, const DeviceProperties& device) {
  const double blocks = static_cast<double>(batch) * static_cast<double>(Tiles(rows, 16)) *
                        static_cast<double>(Tiles(columns, 16));
  return blocks < 0x1p31 && std::max(rows, columns) < int64_t{1} << 31 &&
         device.shared_bytes_per_block >= static_cast<int64_t>(SolveBlock<double>::kSharedBytes);
}

inline int64_t BatchOf(const Shape& matrices) {
  return hlo::Product(matrices.dims().subspan(0, static_cast<size_t>(matrices.rank() - 2)));
}

}  // namespace hlo::cuda
