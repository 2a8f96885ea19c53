// Selects kernels for cholesky and triangular-solve. They compute in f64 or c128 for all types, and round
// once.

#include "ir/triangle_options.h"
#include "kernels/lapack/triangular.h"
#include "plan/select/conditions.h"
#include "plan/select/library_kernels.h"
#include "plan/select/matrix_batch.h"
#include "reference/lapack/systems.h"

namespace hlo::plan {
namespace {

absl::Status RunCholesky(const Instruction& cholesky, absl::Span<const void* const> operands,
                         absl::Span<void* const> results) {
  const bool lower = cholesky.Get<attr::lower>();
  const auto one = [&]<class T>(const BatchEntry& entry) {
    WideMatrix<T> array = entry.Copy<T>(0, 0);
    // The upper factor is the transposed lower factor of the transpose.
    const Matrix<T> a = lower ? array.matrix() : array.matrix().Transposed();
    reference::lapack::FinishCholesky(a, lapack::Cholesky(a));
    array.Store();
  };
  const Shape& shape = cholesky.shape();
  if (!IsSmallBatch(shape)) return ForEachMatrix(cholesky, operands, results, 0, one);
  const BatchEntries entries(cholesky, operands, results, BatchOf(shape));
  lapack::SmallCholesky(SmallBatchOf(shape, operands[0]), lower, /*clears=*/true, results[0], nullptr,
                        [&](int64_t number) { one.operator()<double>(entries[number]); });
  return absl::OkStatus();
}

absl::Status RunTriangularSolve(const Instruction& solve, absl::Span<const void* const> operands,
                                absl::Span<void* const> results) {
  const TriangleOptions options = TriangleOf(solve);
  const Shape &triangles = solve.operand(0)->shape(), &sides = solve.operand(1)->shape();
  if (AreSmallSystems(triangles, sides)) {
    lapack::SmallSolve(SmallBatchOf(triangles, operands[0]), SmallBatchOf(sides, operands[1]), options,
                       results[0]);
    return absl::OkStatus();
  }
  return ForEachMatrix(solve, operands, results, 0, [&]<class T>(const BatchEntry& entry) {
    WideMatrix<T> x = entry.Copy<T>(1, 0);
    lapack::SolveTriangular(entry.Source<T>(0), x.matrix(), options);
    x.Store();
  });
}

bool SupportsTypes(const Instruction& instruction) {
  const Instruction& last = *instruction.operand(instruction.operand_count() - 1);
  return HasOneField(instruction) && last.shape().type() == instruction.shape().type();
}

}  // namespace

int64_t FactorMemory(const Instruction& instruction) {
  const Instruction& changed = *instruction.operand(instruction.operand_count() - 1);
  return ConcurrentMatrices(instruction.operand(0)->shape()) * CopyBytes(changed.shape());
}

LibraryKernel FindCholeskyKernel(const Instruction& cholesky) {
  if (!SupportsTypes(cholesky)) return {};
  return {.name = "cholesky", .run = &RunCholesky, .in_place_results_on_cpu = 1};
}

LibraryKernel FindTriangularSolveKernel(const Instruction& solve) {
  if (!SupportsTypes(solve)) return {};
  return {.name = "triangular-solve", .run = &RunTriangularSolve};
}

}  // namespace hlo::plan
