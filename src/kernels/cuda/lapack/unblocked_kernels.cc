// Registers the kernels of geqp3, gehrd and sytrd. All types are widened to f64 or c128 and rounded once.

#include "kernels/cuda/lapack/unblocked_kernels.h"

#include <algorithm>

#include "kernels/cuda/lapack/factorisation_builder.h"
#include "kernels/cuda/lapack/unblocked_body.h"

namespace hlo::cuda {
std::optional<CudaKernel> FindPivotedQrKernel(const Instruction& call, const DeviceProperties& device) {
  FactorisationBuilder b(call, 0, device);
  const WideArray operand = b.Operand(0), factor = b.Result(0, &operand), taus = b.Result(2);
  const size_t order = b.Integers(1);
  const int64_t m = b.rows, n = b.columns, batch = b.batch;
  b.RequireReflections(batch, m, n, std::min(m, n));
  return b.Finish(
      "geqp3",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (batch * n == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        HLO_RETURN_IF_ERROR(
            LaunchBlocks<FactorPivotedQr<T>>(batch, FactorPivotedQr<T>::kSharedBytes,
                                             {.a = {At<T>(memory, factor.offset), m * n, n, 1},
                                              .rows = Small(m),
                                              .columns = Small(n),
                                              .given = static_cast<const int32_t*>(operands[1]),
                                              .order = static_cast<int32_t*>(results[order]),
                                              .taus = At<T>(memory, taus.offset)},
                                             stream));
        HLO_RETURN_IF_ERROR(Narrow(factor, memory, results, stream));
        return Narrow(taus, memory, results, stream);
      });
}

std::optional<CudaKernel> FindHessenbergKernel(const Instruction& call, int64_t array, int64_t low,
                                               int64_t high, const DeviceProperties& device) {
  FactorisationBuilder b(call, array, device);
  const WideArray operand = b.Operand(array), form = b.Result(0, &operand), taus = b.Result(1);
  const int64_t n = b.columns, batch = b.batch;
  b.RequireReflections(batch, 2 * n, n, n);  // From both sides.
  return b.Finish(
      "gehrd",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (batch * n == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        HLO_RETURN_IF_ERROR(
            LaunchBlocks<ReduceToHessenberg<T>>(batch, ReduceToHessenberg<T>::kSharedBytes,
                                                {.a = {At<T>(memory, form.offset), n * n, n, 1},
                                                 .n = Small(n),
                                                 .low = Small(low),
                                                 .high = Small(high),
                                                 .taus = At<T>(memory, taus.offset)},
                                                stream));
        HLO_RETURN_IF_ERROR(Narrow(form, memory, results, stream));
        return Narrow(taus, memory, results, stream);
      });
}

// The upper triangle is the lower one of the matrix with both dimensions reversed.
std::optional<CudaKernel> FindTridiagonalKernel(const Instruction& call, int64_t array, bool lower,
                                                const DeviceProperties& device) {
  FactorisationBuilder b(call, array, device);
  const WideArray operand = b.Operand(array), factor = b.Result(0, &operand), diagonal = b.RealResult(1),
                  off_diagonal = b.RealResult(2), taus = b.Result(3);
  const int64_t n = b.columns, batch = b.batch, element = ByteCount(b.wide());
  b.RequireReflections(batch, 2 * n, n, n);  // From both sides.
  const int64_t form = b.Take(batch * n * n * element), form_taus = b.Take(batch * n * element);
  return b.Finish(
      "sytrd",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (batch * n == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        T *data = At<T>(memory, factor.offset), *dense = At<T>(memory, form),
          *dense_taus = At<T>(memory, form_taus);
        const MatrixView<T> a =
            lower ? MatrixView<T>{data, n * n, n, 1} : MatrixView<T>{data + n * n - 1, n * n, -n, -1};
        HLO_RETURN_IF_ERROR(LaunchElements<ExpandHermitian<T>>({a, dense, n, batch * n * n}, stream));
        HLO_RETURN_IF_ERROR(LaunchBlocks<ReduceToHessenberg<T>>(
            batch, ReduceToHessenberg<T>::kSharedBytes,
            {{dense, n * n, n, 1}, Small(n), 0, Small(n - 1), dense_taus}, stream));
        HLO_RETURN_IF_ERROR(LaunchElements<StoreTridiagonalParts<T>>(
            {dense, dense_taus, a, n, batch * n * n, !lower, At<double>(memory, diagonal.offset),
             At<double>(memory, off_diagonal.offset), At<T>(memory, taus.offset)},
            stream));
        for (const WideArray* result : {&factor, &diagonal, &off_diagonal, &taus})
          HLO_RETURN_IF_ERROR(Narrow(*result, memory, results, stream));
        return absl::OkStatus();
      });
}

}  // namespace hlo::cuda
