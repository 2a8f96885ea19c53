// Factorisations and triangular systems as library kernels: the opcodes, and the calls of LAPACK and its
// relatives. They compute in f64 or c128, whatever the type of the arrays is, and round once.

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/kept_vector.h"
#include "kernels/cpu/widen.h"
#include "kernels/factor/lu.h"
#include "kernels/factor/triangular.h"
#include "plan/library_kernels.h"
#include "reference/custom/matrix_calls.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using linalg::Complex;
using linalg::Matrix;
using reference::custom::MatrixCall;

// The elements of a matrix as T: where they lie, or in memory of its own.
template <class T>
class Wide {
 public:
  // `data` may be null: then nobody needs them.
  Wide(void* data, ElementType type, int64_t rows, int64_t columns)
      : data_(data), type_(type), rows_(rows), columns_(columns) {
    if (data == nullptr || type != (std::is_same_v<T, double> ? ElementType::kF64 : ElementType::kC128))
      own_.resize(rows * columns);
  }

  // Elements of the same type.
  void Load(const void* from) {
    if (own_.empty() && from == data_) return;
    cpu::WidenBlockOf<T>(type_)(from, columns_, 1, rows_, columns_, elements(), columns_);
  }
  void Store() const {
    if (data_ != nullptr && !own_.empty()) cpu::NarrowRowOf<T>(type_)(own_.data(), rows_ * columns_, data_);
  }
  T* elements() { return own_.empty() ? static_cast<T*>(data_) : own_.data(); }
  absl::Span<T> vector() { return {elements(), static_cast<size_t>(rows_ * columns_)}; }
  Matrix<T> matrix() { return Matrix<T>::Dense(elements(), rows_, columns_); }

 private:
  void* data_;
  ElementType type_;
  int64_t rows_, columns_;
  cpu::KeptVector<T> own_;
};

// One entry of a batch: of every operand and result, what belongs to it.
struct Entry {
  const Instruction& instruction;
  absl::Span<const void* const> operands;
  absl::Span<void* const> results;
  int64_t number, batch;

  const Shape& OperandShape(int k) const { return instruction.operand(k)->shape(); }
  const Shape& ResultShape(int k) const {
    return instruction.shape().IsTuple() ? instruction.shape().element(k) : instruction.shape();
  }
  int64_t Offset(const Shape& shape) const { return *DenseByteCount(shape) / batch * number; }
  const void* Operand(int k) const {
    return static_cast<const std::byte*>(operands[k]) + Offset(OperandShape(k));
  }
  // Null where nobody needs it, or there is none.
  void* Result(int k) const {
    if (k >= static_cast<int>(results.size()) || results[k] == nullptr) return nullptr;
    return static_cast<std::byte*>(results[k]) + Offset(ResultShape(k));
  }

  // In the last dimensions.
  static int64_t Rows(const Shape& shape) { return shape.dim(shape.rank() - 2); }
  static int64_t Columns(const Shape& shape) { return shape.dim(shape.rank() - 1); }

  template <class T>
  Wide<T> ResultMatrix(int k, const Shape& like) const {
    return Wide<T>(Result(k), like.type(), Rows(like), Columns(like));
  }
  // Result k, with the elements of operand `from` to begin with.
  template <class T>
  Wide<T> Copy(int from, int k) const {
    Wide<T> matrix = ResultMatrix<T>(k, OperandShape(from));
    matrix.Load(Operand(from));
    return matrix;
  }
  template <class T>
  factor::Source<T> Source(int k) const {
    const Shape& shape = OperandShape(k);
    return {Operand(k), shape.type(), Rows(shape), Columns(shape), Columns(shape), 1};
  }
  // Integers of a call are s32.
  void StoreInteger(int k, int64_t value) const {
    if (void* result = Result(k)) *static_cast<int32_t*>(result) = static_cast<int32_t>(value);
  }
  // Row numbers, from 1 there.
  void StorePivots(int k, absl::Span<const int64_t> pivots) const {
    auto* result = static_cast<int32_t*>(Result(k));
    for (size_t i = 0; i < pivots.size() && result != nullptr; ++i)
      result[i] = static_cast<int32_t>(pivots[i] + 1);
  }
};

int64_t BatchOf(const Shape& matrices) { return Product(matrices.dims().first(matrices.rank() - 2)); }

// Of one matrix, about.
double Nanoseconds(const Shape& matrices) {
  const auto m = static_cast<double>(Entry::Rows(matrices)),
             n = static_cast<double>(Entry::Columns(matrices));
  return 200 + m * n * std::min(m, n) * 0.1;
}
// Large matrices share the threads; small ones, and many, get one each.
bool AreShared(const Shape& matrices) {
  return BatchOf(matrices) < 4 * ThreadCount() && Nanoseconds(matrices) > 100'000;
}

// body.operator()<T>(entry) for each matrix of operand `array`, with T double or complex.
template <class Body>
absl::Status ForEachMatrix(const Instruction& instruction, absl::Span<const void* const> operands,
                           absl::Span<void* const> results, int array, Body&& body) {
  const Shape& shape = instruction.operand(array)->shape();
  const int64_t batch = BatchOf(shape);
  const auto one = [&](int64_t number) {
    const Entry entry{instruction, operands, results, number, batch};
    if (IsComplex(shape.type()))
      body.template operator()<Complex>(entry);
    else
      body.template operator()<double>(entry);
  };
  if (AreShared(shape)) {
    for (int64_t i = 0; i < batch; ++i) one(i);
  } else {
    ParallelFor(batch, Nanoseconds(shape) * static_cast<double>(batch), one);
  }
  return absl::OkStatus();
}

// --- The opcodes

// Zeros above the diagonal, or NaN throughout where there is no factor.
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
  return ForEachMatrix(cholesky, operands, results, 0, [&]<class T>(const Entry& entry) {
    Wide<T> array = entry.Copy<T>(0, 0);
    // The upper factor is the lower one of the transpose, transposed.
    const Matrix<T> a = lower ? array.matrix() : array.matrix().Transposed();
    const int64_t order = factor::Cholesky(a);
    // A last element of zero is its own root.
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
  return ForEachMatrix(solve, operands, results, 0, [&]<class T>(const Entry& entry) {
    Wide<T> x = entry.Copy<T>(1, 0);
    factor::SolveTriangular(entry.Source<T>(0), x.matrix(), options);
    x.Store();
  });
}

// --- Calls

template <class T>
void Potrf(const MatrixCall& call, const Entry& entry) {
  Wide<T> array = entry.Copy<T>(call.array, 0);
  const int64_t order = factor::Cholesky(call.lower ? array.matrix() : array.matrix().Transposed());
  if (order != 0) {
    // What stands behind the failure is the reference's.
    Wide<T> again = entry.Copy<T>(call.array, 0);
    linalg::Potrf(again.matrix(), call.lower);
    again.Store();
  } else {
    array.Store();
  }
  entry.StoreInteger(1, order);
}

template <class T>
void Getrf(const MatrixCall& call, const Entry& entry) {
  Wide<T> array = entry.Copy<T>(call.array, 0);
  const Matrix<T> a = array.matrix();
  cpu::KeptVector<int64_t> pivots(std::min(a.rows, a.columns));
  entry.StoreInteger(2, factor::Lu(a, absl::MakeSpan(pivots)));
  array.Store();
  entry.StorePivots(1, pivots);
}

template <class T>
void Trsm(const MatrixCall& call, const Entry& entry) {
  Wide<T> x = entry.Copy<T>(call.array + 1, 0);
  if (call.is_scaled) {
    const Shape& shape = entry.OperandShape(call.array - 1);
    Wide<T> alpha(nullptr, shape.type(), 1, 1);
    alpha.Load(entry.operands[call.array - 1]);
    for (T& element : x.vector()) element *= alpha.vector()[0];
  }
  factor::SolveTriangular(entry.Source<T>(call.array), x.matrix(), call.triangle);
  x.Store();
}

struct CallKernel {
  MatrixCall::Function function;
  std::string_view name;
  void (*real)(const MatrixCall& call, const Entry& entry);
  void (*complex)(const MatrixCall& call, const Entry& entry);
};
constexpr CallKernel kCallKernels[] = {
    {MatrixCall::Function::kPotrf, "potrf", Potrf<double>, Potrf<Complex>},
    {MatrixCall::Function::kGetrf, "getrf", Getrf<double>, Getrf<Complex>},
    {MatrixCall::Function::kTrsm, "trsm", Trsm<double>, Trsm<Complex>},
};

// Results that no kernel writes are work space. The first one is written, and may hold an operand.
void ClearResults(const Instruction& call, absl::Span<void* const> results) {
  for (size_t k = 1; k < results.size(); ++k) {
    if (results[k] != nullptr)
      std::memset(results[k], 0, *DenseByteCount(call.shape().element(static_cast<int64_t>(k))));
  }
}

// Bytes of the copy that Wide makes of a matrix.
int64_t CopyBytes(const Shape& matrices) {
  const int64_t wide = ByteCount(IsComplex(matrices.type()) ? ElementType::kC128 : ElementType::kF64);
  return ByteCount(matrices.type()) == wide ? 0 : Entry::Rows(matrices) * Entry::Columns(matrices) * wide;
}

}  // namespace

int64_t FactorMemory(const Instruction& instruction) {
  const bool is_call = instruction.opcode() == Opcode::kCustomCall;
  const std::optional<MatrixCall> call =
      is_call ? reference::custom::MatrixCallOf(instruction) : std::nullopt;
  if (is_call && !call.has_value()) return 0;
  const int array = is_call ? call->array : 0;
  const Shape& shape = instruction.operand(array)->shape();
  const bool solves = is_call ? call->function == MatrixCall::Function::kTrsm
                              : instruction.opcode() == Opcode::kTriangularSolve;
  int64_t bytes = CopyBytes(instruction.operand(array + (solves ? 1 : 0))->shape());
  if (is_call && call->function == MatrixCall::Function::kGetrf)
    bytes +=
        factor::LuScratchBytes(Entry::Rows(shape), Entry::Columns(shape), IsComplex(shape.type()) ? 16 : 8);
  return bytes * (AreShared(shape) ? 1 : std::min<int64_t>(ThreadCount(), BatchOf(shape)));
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

LibraryKernel FindMatrixCallKernel(const Instruction& instruction) {
  const std::optional<MatrixCall> call = reference::custom::MatrixCallOf(instruction);
  if (!call.has_value()) return {};
  const auto kernel = std::find_if(std::begin(kCallKernels), std::end(kCallKernels),
                                   [&](const CallKernel& row) { return row.function == call->function; });
  if (kernel == std::end(kCallKernels)) return {};
  const auto run = [call = *call, kernel](const Instruction& instruction, auto operands, auto results) {
    ClearResults(instruction, results);
    return ForEachMatrix(instruction, operands, results, call.array, [&]<class T>(const Entry& entry) {
      (std::is_same_v<T, double> ? kernel->real : kernel->complex)(call, entry);
    });
  };
  // A factor takes the matrix's place; that of potrf only where the matrix is there until it succeeds.
  const bool in_place = call->function == MatrixCall::Function::kGetrf ||
                        (call->function == MatrixCall::Function::kPotrf &&
                         CopyBytes(instruction.operand(call->array)->shape()) > 0);
  return {.name = kernel->name,
          .run = run,
          .replaced = in_place && call->array == 0 ? 1 : 0,
          .skips_unused = true};
}

}  // namespace hlo::plan
