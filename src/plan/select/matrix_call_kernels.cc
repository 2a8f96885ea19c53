// Selects kernels for calls of LAPACK and similar libraries. They compute in f64 or c128 for all types, and
// round once.

#include <cstring>
#include <optional>

#include "absl/algorithm/container.h"
#include "kernels/lapack/lu.h"
#include "kernels/lapack/qr.h"
#include "kernels/lapack/spectra.h"
#include "kernels/lapack/triangular.h"
#include "plan/select/library_kernels.h"
#include "plan/select/matrix_batch.h"
#include "reference/custom/matrix_calls.h"
#include "reference/lapack/systems.h"
#include "reference/obstacles.h"

namespace hlo::plan {
namespace {

using reference::custom::MatrixCall;

template <class T>
void Potrf(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0);
  int64_t order = lapack::Cholesky(call.lower ? array.matrix() : array.matrix().Transposed());
  if (order != 0) {
    // On failure, its position and the elements behind it must be the reference's.
    WideMatrix<T> again = entry.Copy<T>(call.array, 0);
    const absl::StatusOr<int64_t> exact = reference::lapack::Potrf(again.matrix(), call.lower);
    if (exact.ok()) order = *exact;  // Otherwise the deadline has passed, and the run has no results.
    again.Store();
  } else {
    array.Store();
  }
  entry.StoreInteger(static_cast<size_t>(call.info), order);
}

template <class T>
void Getrf(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0);
  const Matrix<T> a = array.matrix();
  cpu::CachedVector<int64_t> pivots(std::min(a.rows, a.columns));
  entry.StoreInteger(2, lapack::Lu(a, absl::MakeSpan(pivots)));
  array.Store();
  entry.StoreIntegers(1, pivots, 1);
}

template <class T>
void Trsm(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> x = entry.Copy<T>(call.array + 1, 0);
  if (call.scale.has_value()) {
    const Shape& shape = entry.OperandShape(*call.scale);
    WideMatrix<T> alpha(nullptr, shape.type(), 1, 1);
    alpha.Load(entry.operands[*call.scale]);
    for (T& element : x.vector()) element *= alpha.vector()[0];
  }
  lapack::SolveTriangular(entry.Source<T>(call.array), x.matrix(), call.triangle);
  x.Store();
}

template <class T>
void Geqrf(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0), taus = entry.ResultList<T>(1);
  lapack::Geqrf(array.matrix(), taus.vector());
  array.Store();
  taus.Store();
}

template <class T>
void Geqp3(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0), taus = entry.ResultList<T>(2);
  const auto* given = static_cast<const int32_t*>(entry.Operand(call.array + 1));
  cpu::CachedVector<int64_t> pivots(given, given + array.matrix().columns);
  lapack::Geqp3(array.matrix(), absl::MakeSpan(pivots), taus.vector());
  array.Store();
  entry.StoreIntegers(1, pivots, 0);
  taus.Store();
}

template <class T>
void Orgqr(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0), taus = entry.InputList<T>(call.array + 1);
  lapack::Orgqr(array.matrix(), absl::Span<const T>(taus.vector()));
  array.Store();
}

template <class T>
void Ormqr(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> reflectors = entry.Input<T>(0), taus = entry.InputList<T>(1), c = entry.Copy<T>(2, 0);
  lapack::Ormqr(reflectors.matrix().AsConst(), absl::Span<const T>(taus.vector()), c.matrix(), call.left,
                call.adjoint);
  c.Store();
}

// The operands, and the results before info, are (below, diagonal, above, right sides).
template <class T>
void Gtsv(const MatrixCall& call, const BatchEntry& entry) {
  const auto copy_list = [&](int k) {
    WideMatrix<T> list = entry.ResultList<T>(k);
    list.Load(entry.Operand(k));
    return list;
  };
  WideMatrix<T> below = copy_list(0), diagonal = copy_list(1), above = copy_list(2);
  WideMatrix<T> sides = entry.Copy<T>(call.array, 3);
  // The first element of `below` and the last one of `above` are unused.
  const size_t unused = std::min<size_t>(diagonal.vector().size(), 1);
  entry.StoreInteger(4, reference::lapack::Gtsv(below.vector().subspan(unused), diagonal.vector(),
                                                above.vector(), sides.matrix()));
  for (const WideMatrix<T>* each : {&below, &diagonal, &above, &sides}) each->Store();
}

RealPrecision PrecisionOf(const MatrixCall& call, const BatchEntry& entry) {
  const ElementType type = entry.OperandShape(call.array).type();
  const bool is_double = type == ElementType::kF64 || type == ElementType::kC128;
  return is_double ? RealPrecision::kDouble : RealPrecision::kSingle;
}

template <class T>
void Syevd(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> array = entry.Copy<T>(call.array, 0);
  WideMatrix<double> w = entry.ResultList<double>(1);
  const bool vectors = entry.Result(0) != nullptr;
  const int64_t info =
      lapack::Syevd(array.matrix(), call.lower, w.vector(), vectors, PrecisionOf(call, entry));
  array.Store();
  w.Store();
  entry.StoreInteger(2, info);
}

// The results are (a, s, u, v^H or v, info).
template <class T>
void Gesdd(const MatrixCall& call, const BatchEntry& entry) {
  WideMatrix<T> a = entry.Input<T>(call.array);
  WideMatrix<double> s = entry.ResultList<double>(1);
  std::optional<WideMatrix<T>> u, v;
  Matrix<T> left, right;  // Their data are null if they are unused.
  if (call.vectors && entry.Result(2) != nullptr) {
    u.emplace(entry.ResultMatrix<T>(2, entry.ResultShape(2)));
    left = u->matrix();
  }
  if (call.vectors && entry.Result(3) != nullptr) {
    v.emplace(entry.ResultMatrix<T>(3, entry.ResultShape(3)));
    right = call.adjoint ? v->matrix().Transposed() : v->matrix();
  }
  const int64_t info = lapack::Gesdd(a.matrix().AsConst(), s.vector(), left, right, PrecisionOf(call, entry));
  if (v.has_value() && call.adjoint) {
    for (T& element : v->vector()) element = Conj(element);
  }
  for (const std::optional<WideMatrix<T>>* vectors : {&u, &v}) {
    if (vectors->has_value()) (*vectors)->Store();
  }
  s.Store();
  entry.StoreInteger(4, info);
}

// --- Calls on batches of small matrices

struct SmallArguments {
  const Instruction& instruction;
  absl::Span<const void* const> operands;
  absl::Span<void* const> results;

  lapack::SmallBatch Operand(int k) const {
    return SmallBatchOf(instruction.operand(k)->shape(), operands[k]);
  }
  // Null if the result is unused or does not exist.
  void* Result(size_t k) const { return k < results.size() ? results[k] : nullptr; }
  int32_t* Integers(size_t k) const { return static_cast<int32_t*>(Result(k)); }
};

void SmallPotrf(const MatrixCall& call, const SmallArguments& arguments) {
  const lapack::SmallBatch batch = arguments.Operand(call.array);
  const BatchEntries entries(arguments.instruction, arguments.operands, arguments.results, batch.count);
  lapack::SmallCholesky(batch, call.lower, /*clears=*/false, arguments.Result(0),
                        arguments.Integers(static_cast<size_t>(call.info)),
                        [&](int64_t number) { Potrf<double>(call, entries[number]); });
}

void SmallGetrf(const MatrixCall& call, const SmallArguments& arguments) {
  lapack::SmallLu(arguments.Operand(call.array), arguments.Result(0), arguments.Integers(1),
                  arguments.Integers(2));
}

void SmallTrsm(const MatrixCall& call, const SmallArguments& arguments) {
  lapack::SmallSolve(arguments.Operand(call.array), arguments.Operand(call.array + 1), call.triangle,
                     arguments.Result(0));
}

bool HasSmallMatrices(const MatrixCall& call, const Instruction& instruction) {
  const Shape& shape = instruction.operand(call.array)->shape();
  if (call.function != MatrixCall::Function::kTrsm) return IsSmallBatch(shape);
  return !call.scale.has_value() && AreSmallSystems(shape, instruction.operand(call.array + 1)->shape());
}

// --- The scratch memory that they need for one matrix, in bytes

using NeedsResult = absl::FunctionRef<bool(int)>;  // True if the result is used.

int64_t WidthOf(const Shape& shape) { return IsComplex(shape.type()) ? 16 : 8; }

int64_t CopyOfMatrix(const MatrixCall& call, const Instruction& instruction, NeedsResult) {
  return CopyBytes(instruction.operand(call.array)->shape());
}
int64_t CopyOfRightSides(const MatrixCall& call, const Instruction& instruction, NeedsResult) {
  return CopyBytes(instruction.operand(call.array + 1)->shape());
}
// Returns the bytes of the copy and of the scratch memory of the factorisation.
template <int64_t (*kScratch)(int64_t rows, int64_t columns, int64_t element_bytes)>
int64_t CopyAndScratch(const MatrixCall& call, const Instruction& instruction, NeedsResult) {
  const Shape& a = instruction.operand(call.array)->shape();
  return CopyBytes(a) + kScratch(BatchEntry::Rows(a), BatchEntry::Columns(a), WidthOf(a));
}
int64_t OrmqrBytes(const MatrixCall& call, const Instruction& instruction, NeedsResult) {
  const Shape &a = instruction.operand(0)->shape(), &c = instruction.operand(2)->shape();
  return CopyBytes(a) + CopyBytes(c) +
         lapack::OrmqrScratchBytes(BatchEntry::Rows(a), BatchEntry::Columns(a),
                                   call.left ? BatchEntry::Columns(c) : BatchEntry::Rows(c), WidthOf(a));
}

int64_t GtsvBytes(const MatrixCall& call, const Instruction& instruction, NeedsResult) {
  const Shape& sides = instruction.operand(call.array)->shape();
  const bool is_copied = CopyBytes(sides) > 0;
  return CopyBytes(sides) + (is_copied ? 3 * BatchEntry::Rows(sides) * WidthOf(sides) : 0);
}

int64_t SyevdBytes(const MatrixCall& call, const Instruction& instruction, NeedsResult needs) {
  const Shape& a = instruction.operand(call.array)->shape();
  return CopyBytes(a) + lapack::SyevdScratchBytes(BatchEntry::Columns(a), WidthOf(a), needs(0));
}
int64_t GesddBytes(const MatrixCall& call, const Instruction& instruction, NeedsResult needs) {
  const Shape& a = instruction.operand(call.array)->shape();
  const bool u = call.vectors && needs(2), v = call.vectors && needs(3);
  int64_t bytes =
      CopyBytes(a) + lapack::GesddScratchBytes(BatchEntry::Rows(a), BatchEntry::Columns(a), WidthOf(a), u, v);
  if (u) bytes += CopyBytes(instruction.shape().element(2));
  if (v) bytes += CopyBytes(instruction.shape().element(3));
  return bytes;
}

// States whether the first result may alias the matrix. The result of potrf may do so only if the matrix is
// copied, because the input is needed again on failure.
enum class InPlace : uint8_t { kNo, kCopied, kYes };

struct CallKernel {
  MatrixCall::Function function;
  std::string_view name;
  void (*real)(const MatrixCall& call, const BatchEntry& entry);
  void (*complex)(const MatrixCall& call, const BatchEntry& entry);
  int64_t (*bytes)(const MatrixCall& call, const Instruction& instruction, NeedsResult needs);
  InPlace in_place;
  void (*small)(const MatrixCall& call, const SmallArguments& arguments) = nullptr;
};
using Function = MatrixCall::Function;
constexpr CallKernel kCallKernels[] = {
    {Function::kPotrf, "potrf", Potrf<double>, Potrf<Complex>, CopyOfMatrix, InPlace::kCopied, SmallPotrf},
    {Function::kGetrf, "getrf", Getrf<double>, Getrf<Complex>, CopyAndScratch<lapack::LuScratchBytes>,
     InPlace::kYes, SmallGetrf},
    {Function::kTrsm, "trsm", Trsm<double>, Trsm<Complex>, CopyOfRightSides, InPlace::kNo, SmallTrsm},
    {Function::kGeqrf, "geqrf", Geqrf<double>, Geqrf<Complex>, CopyAndScratch<lapack::QrScratchBytes>,
     InPlace::kYes},
    {Function::kGeqp3, "geqp3", Geqp3<double>, Geqp3<Complex>, CopyAndScratch<lapack::Geqp3ScratchBytes>,
     InPlace::kYes},
    {Function::kOrgqr, "orgqr", Orgqr<double>, Orgqr<Complex>, CopyAndScratch<lapack::QrScratchBytes>,
     InPlace::kYes},
    {Function::kOrmqr, "ormqr", Ormqr<double>, Ormqr<Complex>, OrmqrBytes, InPlace::kNo},
    {Function::kGtsv, "gtsv", Gtsv<double>, Gtsv<Complex>, GtsvBytes, InPlace::kNo},
    {Function::kSyevd, "syevd", Syevd<double>, Syevd<Complex>, SyevdBytes, InPlace::kYes},
    {Function::kGesdd, "gesdd", Gesdd<double>, Gesdd<Complex>, GesddBytes, InPlace::kNo},
};
const CallKernel* FindCallKernel(Function function) {
  const auto row = std::find_if(std::begin(kCallKernels), std::end(kCallKernels),
                                [&](const CallKernel& kernel) { return kernel.function == function; });
  return row == std::end(kCallKernels) ? nullptr : row;
}

// Clears the results that the kernel does not write. The first one, if it is written, may alias an operand.
void ClearResults(const Instruction& call, absl::Span<void* const> results, bool first) {
  if (!call.shape().IsTuple()) return;
  for (size_t k = first ? 0 : 1; k < results.size(); ++k) {
    if (results[k] != nullptr)
      std::memset(results[k], 0, *DenseByteCount(call.shape().element(static_cast<int64_t>(k))));
  }
}

}  // namespace

int64_t MatrixCallMemory(const Instruction& instruction, absl::FunctionRef<bool(int)> needs) {
  const std::optional<MatrixCall> call = reference::custom::MatrixCallOf(instruction);
  const CallKernel* kernel = call.has_value() ? FindCallKernel(call->function) : nullptr;
  if (kernel == nullptr) return 0;
  const Shape& a = instruction.operand(call->array)->shape();
  int64_t bytes = kernel->bytes(*call, instruction, needs);
  // An unused first result in which the kernel computes needs memory nevertheless.
  if (!needs(0) && call->function != Function::kGesdd && CopyBytes(a) == 0)
    bytes += BatchEntry::Rows(a) * BatchEntry::Columns(a) * WidthOf(a);
  return ConcurrentMatrices(a) * bytes;
}

LibraryKernel FindMatrixCallKernel(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  const bool has_arrays = !shape.IsTuple() || absl::c_all_of(shape.elements(), [](const Shape& element) {
    return element.IsArray();
  });
  if (!has_arrays || !reference::CustomCallUnsupportedReason(instruction, nullptr).empty()) return {};
  const std::optional<MatrixCall> call = reference::custom::MatrixCallOf(instruction);
  const CallKernel* kernel = call.has_value() ? FindCallKernel(call->function) : nullptr;
  if (kernel == nullptr) return {};
  const bool is_small = kernel->small != nullptr && HasSmallMatrices(*call, instruction);
  const auto run = [call = *call, kernel, is_small](const Instruction& instruction, auto operands,
                                                    auto results) {
    ClearResults(instruction, results, kernel->function == Function::kGesdd);
    if (is_small) {
      kernel->small(call, {instruction, operands, results});
      return absl::OkStatus();
    }
    return ForEachMatrix(instruction, operands, results, call.array, [&]<class T>(const BatchEntry& entry) {
      (std::is_same_v<T, double> ? kernel->real : kernel->complex)(call, entry);
    });
  };
  const bool is_copied = CopyBytes(instruction.operand(call->array)->shape()) > 0;
  const bool in_place =
      kernel->in_place == InPlace::kYes || (kernel->in_place == InPlace::kCopied && is_copied);
  return {.name = kernel->name,
          .run = run,
          .in_place_results_on_cpu = in_place && call->array == 0 ? 1 : 0,
          .skips_unused = true};
}

}  // namespace hlo::plan
