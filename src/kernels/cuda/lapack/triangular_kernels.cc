// Registers the kernels of cholesky and triangular-solve. All types are widened to f64 or c128 and rounded
// once.

#include "kernels/cuda/lapack/triangular_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "fmt/format.h"
#include "ir/triangle_options.h"
#include "kernels/cuda/lapack/blocked.h"
#include "kernels/cuda/lapack/conversion.h"

namespace hlo::cuda {
namespace {

std::string NameOf(const char* what, bool complex) {
  return complex ? fmt::format("{} c128, blocks of {}", what, kTriangleBlock<WideComplex>)
                 : fmt::format("{} f64, blocks of {}", what, kTriangleBlock<double>);
}

}  // namespace

std::optional<CudaKernel> FindCholeskyKernel(const Instruction& cholesky, const DeviceProperties& device) {
  const Shape &a = cholesky.operand(0)->shape(), &result = cholesky.shape();
  const bool complex = IsComplex(a.type()), lower = cholesky.Get<attr::lower>();
  const ElementType wide = complex ? ElementType::kC128 : ElementType::kF64;
  const int64_t n = a.dim(a.rank() - 1), batch = BatchOf(a), count = batch * n * n;
  const std::optional<Conversion> widen = Conversion::Make(a.type(), wide, count, device),
                                  narrow = Conversion::Make(wide, result.type(), count, device);
  if (IsComplex(result.type()) != complex || !widen || !narrow || !Fits(batch, n, n, device))
    return std::nullopt;
  const int64_t flag_bytes = device::Aligned(batch * int64_t{sizeof(uint32_t)});
  return CudaKernel{
      NameOf("cholesky", complex), flag_bytes + (narrow->is_copy() ? 0 : count * ByteCount(wide)),
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
          Stream stream) -> absl::Status {
        if (count == 0) return absl::OkStatus();
        auto* failed = static_cast<uint32_t*>(workspace);
        void* data = narrow->is_copy() ? results[0] : static_cast<std::byte*>(workspace) + flag_bytes;
        HLO_RETURN_IF_ERROR(widen->Run(operands[0], data, stream));
        HLO_RETURN_IF_ERROR(InWideType(complex, [&]<class T>() -> absl::Status {
          // The upper factor is the transposed lower factor of the transpose.
          const MatrixView<T> matrices{static_cast<T*>(data), n * n, lower ? n : 1, lower ? 1 : n};
          HLO_RETURN_IF_ERROR(Factor<T>(matrices, n, batch, {.failed = failed}, stream));
          return LaunchElements<FinishFactor<T>>({static_cast<T*>(data), n, count, lower, failed}, stream);
        }));
        return narrow->Run(data, results[0], stream);
      }};
}

std::optional<CudaKernel> MakeSolveKernel(const Shape& a, const Shape& b, const Shape& result,
                                          const TriangleOptions& options, int64_t operand,
                                          const DeviceProperties& device) {
  const bool complex = IsComplex(a.type());
  if (IsComplex(b.type()) != complex || IsComplex(result.type()) != complex) return std::nullopt;
  const ElementType wide = complex ? ElementType::kC128 : ElementType::kF64;
  const int64_t n = a.dim(a.rank() - 1), batch = BatchOf(a), columns = b.dim(b.rank() - 1),
                size = b.dim(b.rank() - 2) * columns;
  const std::optional<Conversion> widen_a = Conversion::Make(a.type(), wide, batch * n * n, device),
                                  widen_b = Conversion::Make(b.type(), wide, batch * size, device),
                                  narrow = Conversion::Make(wide, result.type(), batch * size, device);
  const bool left = options.left;
  const int64_t others = left ? columns : b.dim(b.rank() - 2);
  if (!widen_a || !widen_b || !narrow || !Fits(batch, n, std::max(n, others), device)) return std::nullopt;
  // X op(A) = B is equivalent to op(A)^T X^T = B^T.
  const bool transposed = (options.op != MatrixOp::kNone) == left;
  const bool lower = options.lower != transposed, adjoint = options.op == MatrixOp::kAdjoint,
             unit_diagonal = options.unit_diagonal;
  const int64_t a_bytes = widen_a->is_copy() ? 0 : device::Aligned(batch * n * n * ByteCount(wide));
  return CudaKernel{
      NameOf("triangular-solve", complex), a_bytes + (narrow->is_copy() ? 0 : batch * size * ByteCount(wide)),
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
          Stream stream) -> absl::Status {
        if (batch * size == 0) return absl::OkStatus();
        void* triangle = workspace;
        if (widen_a->is_copy())
          triangle = const_cast<void*>(operands[operand]);  // It is only read.
        else
          HLO_RETURN_IF_ERROR(widen_a->Run(operands[operand], triangle, stream));
        void* data = narrow->is_copy() ? results[0] : static_cast<std::byte*>(workspace) + a_bytes;
        HLO_RETURN_IF_ERROR(widen_b->Run(operands[operand + 1], data, stream));
        HLO_RETURN_IF_ERROR(InWideType(complex, [&]<class T>() {
          const SolveArgs<T> args{
              .a = {static_cast<T*>(triangle), n * n, transposed ? 1 : n, transposed ? n : 1, adjoint},
              .x = {static_cast<T*>(data), size, left ? columns : 1, left ? 1 : columns},
              .columns = static_cast<uint32_t>(others),
              .lower = lower,
              .unit_diagonal = unit_diagonal};
          return Substitute<T>(args, n, batch, stream);
        }));
        return narrow->Run(data, results[0], stream);
      }};
}

std::optional<CudaKernel> FindTriangularSolveKernel(const Instruction& solve,
                                                    const DeviceProperties& device) {
  return MakeSolveKernel(solve.operand(0)->shape(), solve.operand(1)->shape(), solve.shape(),
                         TriangleOf(solve), 0, device);
}

}  // namespace hlo::cuda
