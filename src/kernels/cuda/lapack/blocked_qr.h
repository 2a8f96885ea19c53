#pragma once
// QR factorisations of a batch of matrices, and products with their reflectors, as sequences of launches.

#include <algorithm>

#include "kernels/cuda/lapack/blocked.h"
#include "kernels/cuda/lapack/reflectors_body.h"

namespace hlo::cuda {

template <class T>
absl::Status Reflect(const ApplyReflectorsArgs<T>& args, int64_t batch, Stream stream) {
  if (args.count == 0) return absl::OkStatus();
  return LaunchBlocks<ApplyReflectors<T>>(Tiles(args.columns, kReflectedColumns) * batch,
                                          ApplyReflectors<T>::kSharedBytes, args, stream);
}

template <class T>
absl::Status FactorQr(T* data, T* taus, const MatrixSizes& sizes, Stream stream) {
  const auto [m, n, batch] = sizes;
  const int64_t count = std::min(m, n);
  const MatrixView<T> a{data, m * n, n, 1};
  for (int64_t first = 0; first < count; first += kReflectedColumns) {
    const int64_t size = std::min<int64_t>(kReflectedColumns, count - first), end = first + size;
    const MatrixView<T> panel = a.From(first, first);
    HLO_RETURN_IF_ERROR(
        LaunchBlocks<QrPanel<T>>(batch, QrPanel<T>::kSharedBytes,
                                 {panel, Small(m - first), Small(size), taus + first, Small(count)}, stream));
    HLO_RETURN_IF_ERROR(Reflect<T>({.reflectors = panel,
                                    .c = a.From(first, end),
                                    .taus = taus + first,
                                    .tau_stride = Small(count),
                                    .count = Small(size),
                                    .rows = Small(m - first),
                                    .columns = Small(n - end),
                                    .conjugate = true},
                                   batch, stream));
  }
  return absl::OkStatus();
}

}  // namespace hlo::cuda
