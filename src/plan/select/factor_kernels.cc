// Selects kernels for cholesky and triangular-solve. They compute in f64 or c128 for all types, and round
// once.

#include <limits>

#include "kernels/lapack/triangular.h"
#include "plan/select/library_kernels.h"
#include "plan/select/matrix_batch.h"

namespace hlo::plan {
namespace {

// Writes zeros above the diagonal, or NaN everywhere if there is no factor.
template <class T>
void FinishFactor(const Matrix<T>& l, bool exists) {
  for (int64_t i = 0; i < l.rows; ++i) {
    for (int64_t j = exists ? i + 1 : 0; j < l.columns; ++j)
      l(i, j) = exists ? 0 : std::numeric_limits<double>::quiet_NaN();
  }
}

absl::Status RunCholesky(const Instruction& cholesky, absl::Span<const void* const> operands,
                         absl::Span<void* const> results) {
  const bool lower = cholesky.Get<attr::lower>();
  return ForEachMatrix(cholesky, operands, results, 0, [&]<class T>(const BatchEntry& entry) {
    WideMatrix<T> array = entry.Copy<T>(0, 0);
    // The upper factor is the transposed lower factor of the transpose.
    const Matrix<T> a = lower ? array.matrix() : array.matrix().Transposed();
    const int64_t order = lapack::Cholesky(a);
    // A last pivot of zero is its own root.
    FinishFactor(a, order == 0 || (order == a.rows && a(order - 1, order - 1) == T(0)));
    array.Store();
  });
}

linalg::TriangleOptions TriangleOf(const Instruction& solve) {
  const TransposeA op = solve.Get<attr::transpose_a>();
  return {.left = solve.Get<attr::left_side>(),
          .lower = solve.Get<attr::lower>(),
          .unit_diagonal = solve.Get<attr::unit_diagonal>(),
          .op = op == TransposeA::kTranspose ? linalg::Op::kTranspose
                : op == TransposeA::kAdjoint ? linalg::Op::kAdjoint
                                             : linalg::Op::kNone};
}

absl::Status RunTriangularSolve(const Instruction& solve, absl::Span<const void* const> operands,
                                absl::Span<void* const> results) {
  const linalg::TriangleOptions options = TriangleOf(solve);
  return ForEachMatrix(solve, operands, results, 0, [&]<class T>(const BatchEntry& entry) {
    WideMatrix<T> x = entry.Copy<T>(1, 0);
    lapack::SolveTriangular(entry.Source<T>(0), x.matrix(), options);
    x.Store();
  });
}

}  // namespace

int64_t FactorMemory(const Instruction& instruction) {
  const Instruction& changed = *instruction.operand(instruction.operand_count() - 1);
  return ConcurrentMatrices(instruction.operand(0)->shape()) * CopyBytes(changed.shape());
}

LibraryKernel FindFactorKernel(const Instruction& instruction) {
  const Instruction& last = *instruction.operand(instruction.operand_count() - 1);
  const ElementType type = instruction.shape().type();
  const bool complex = IsComplex(type);
  if (last.shape().type() != type || IsComplex(instruction.operand(0)->shape().type()) != complex) return {};
  if (instruction.opcode() == Opcode::kCholesky)
    return {.name = "cholesky", .run = &RunCholesky, .replaced = 1};
  return {.name = "triangular-solve", .run = &RunTriangularSolve};
}

}  // namespace hlo::plan
