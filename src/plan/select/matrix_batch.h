#pragma once
// The matrices of a batch, one at a time, in the wide types of the factorisations.

#include <algorithm>
#include <type_traits>

#include "base/parallel.h"
#include "ir/result_shapes.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/widen.h"
#include "kernels/lapack/product.h"
#include "kernels/lapack/small_batches.h"
#include "plan/select/kernel.h"
#include "plan/select/library_kernels.h"
#include "types/index.h"

namespace hlo::plan {

using Complex = std::complex<double>;

// A matrix with elements of type T: a view of the array, or a converted copy.
template <class T>
class WideMatrix {
 public:
  // `data` may be null if the matrix is unused.
  WideMatrix(void* data, ElementType type, int64_t rows, int64_t columns)
      : data_(data), type_(type), rows_(rows), columns_(columns) {
    if (data == nullptr || type != lapack::kElementType<T>) own_.resize(rows * columns);
  }

  // Loads elements of the array's type.
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
  cpu::CachedVector<T> own_;
};

// One entry of a batch, with its part of every operand and result.
struct BatchEntry {
  const Instruction& instruction;
  absl::Span<const void* const> operands;
  absl::Span<void* const> results;
  int64_t number;
  absl::Span<const int64_t> operand_bytes, result_bytes;  // The distance of entries.

  const Shape& OperandShape(int k) const { return instruction.operand(k)->shape(); }
  const Shape& ResultShape(int k) const {
    return instruction.shape().IsTuple() ? instruction.shape().element(k) : instruction.shape();
  }
  const void* Operand(int k) const {
    return static_cast<const std::byte*>(operands[k]) + number * operand_bytes[k];
  }
  // Null if the result is unused or does not exist.
  void* Result(int k) const {
    if (k >= static_cast<int>(results.size()) || results[k] == nullptr) return nullptr;
    return static_cast<std::byte*>(results[k]) + number * result_bytes[k];
  }

  // The sizes of the last two dimensions.
  static int64_t Rows(const Shape& shape) { return shape.dim(shape.rank() - 2); }
  static int64_t Columns(const Shape& shape) { return shape.dim(shape.rank() - 1); }

  template <class T>
  WideMatrix<T> ResultMatrix(int k, const Shape& like) const {
    return WideMatrix<T>(Result(k), like.type(), Rows(like), Columns(like));
  }
  // Returns result k, initialised with operand `from`.
  template <class T>
  WideMatrix<T> Copy(int from, int k) const {
    WideMatrix<T> matrix = ResultMatrix<T>(k, OperandShape(from));
    matrix.Load(Operand(from));
    return matrix;
  }
  // Returns an operand as a matrix, or as a vector along its last dimension.
  template <class T>
  WideMatrix<T> Input(int k) const {
    const Shape& shape = OperandShape(k);
    return Read<T>(k, Rows(shape), Columns(shape));
  }
  template <class T>
  WideMatrix<T> InputList(int k) const {
    return Read<T>(k, 1, Columns(OperandShape(k)));
  }
  // Returns a result as a vector.
  template <class T>
  WideMatrix<T> ResultList(int k) const {
    return WideMatrix<T>(Result(k), ResultShape(k).type(), 1, Columns(ResultShape(k)));
  }
  template <class T>
  lapack::Source<T> Source(int k) const {
    const Shape& shape = OperandShape(k);
    return {Operand(k), shape.type(), Rows(shape), Columns(shape), Columns(shape), 1};
  }
  // Integer results of calls are s32.
  void StoreInteger(int k, int64_t value) const {
    if (void* result = Result(k)) *static_cast<int32_t*>(result) = static_cast<int32_t>(value);
  }
  // Adds `first` to each.
  void StoreIntegers(int k, absl::Span<const int64_t> values, int64_t first) const {
    auto* result = static_cast<int32_t*>(Result(k));
    for (size_t i = 0; i < values.size() && result != nullptr; ++i)
      result[i] = static_cast<int32_t>(values[i] + first);
  }

 private:
  template <class T>
  WideMatrix<T> Read(int k, int64_t rows, int64_t columns) const {
    WideMatrix<T> list(const_cast<void*>(Operand(k)), OperandShape(k).type(), rows, columns);
    list.Load(Operand(k));
    return list;
  }
};

inline int64_t BatchOf(const Shape& matrices) { return Product(matrices.dims().first(matrices.rank() - 2)); }

// Estimates the time of one matrix.
inline double Nanoseconds(const Shape& matrices) {
  const auto m = static_cast<double>(BatchEntry::Rows(matrices)),
             n = static_cast<double>(BatchEntry::Columns(matrices));
  return 200 + m * n * std::min(m, n) * 0.1;
}
// True if all threads work on one matrix, for large matrices; otherwise each thread works on its own.
inline bool UsesAllThreads(const Shape& matrices) {
  return BatchOf(matrices) < 4 * ThreadCount() && Nanoseconds(matrices) > 100'000;
}

// Returns the number of matrices that are processed concurrently.
inline int64_t ConcurrentMatrices(const Shape& matrices) {
  return UsesAllThreads(matrices) ? 1 : std::min<int64_t>(ThreadCount(), BatchOf(matrices));
}

// The bytes of an entry of a batch in each operand and result; 0 if there is no second entry.
struct EntryBytes {
  cpu::CachedVector<int64_t> operands, results;

  EntryBytes(const Instruction& instruction, int64_t batch) {
    const auto bytes_each = [&](const Shape& whole) {
      return batch <= 1 || whole.IsTuple() ? 0 : *DenseByteCount(whole) / batch;
    };
    for (const Instruction* operand : instruction.operands())
      operands.push_back(bytes_each(operand->shape()));
    for (const Shape& result : ResultShapes(instruction)) results.push_back(bytes_each(result));
  }
};

// The entries of the batches that an instruction reads and writes.
class BatchEntries {
 public:
  BatchEntries(const Instruction& instruction, absl::Span<const void* const> operands,
               absl::Span<void* const> results, int64_t batch)
      : instruction_(instruction), operands_(operands), results_(results), bytes_(instruction, batch) {}
  BatchEntry operator[](int64_t number) const {
    return {instruction_, operands_, results_, number, bytes_.operands, bytes_.results};
  }

 private:
  const Instruction& instruction_;
  absl::Span<const void* const> operands_;
  absl::Span<void* const> results_;
  EntryBytes bytes_;
};

// Calls body.operator()<T>(entry) for each matrix of operand `array`, with T double or complex.
template <class Body>
absl::Status ForEachMatrix(const Instruction& instruction, absl::Span<const void* const> operands,
                           absl::Span<void* const> results, int array, Body&& body) {
  const Shape& shape = instruction.operand(array)->shape();
  const int64_t batch = BatchOf(shape);
  const BatchEntries entries(instruction, operands, results, batch);
  const auto one = [&](int64_t number) {
    const BatchEntry entry = entries[number];
    if (IsComplex(shape.type()))
      body.template operator()<Complex>(entry);
    else
      body.template operator()<double>(entry);
  };
  if (UsesAllThreads(shape)) {
    for (int64_t i = 0; i < batch; ++i) one(i);
  } else {
    ParallelFor(batch, Nanoseconds(shape) * static_cast<double>(batch), one);
  }
  return absl::OkStatus();
}

// --- Batches of small matrices

inline bool IsSmallBatch(const Shape& matrices) {
  return lapack::IsSmallBatch(matrices.type(), BatchOf(matrices), BatchEntry::Rows(matrices),
                              BatchEntry::Columns(matrices));
}
// Returns true if both operands of a triangular solve are small.
inline bool AreSmallSystems(const Shape& triangles, const Shape& sides) {
  return IsSmallBatch(triangles) && sides.type() == triangles.type() &&
         lapack::AreSmallRightSides(BatchEntry::Rows(sides), BatchEntry::Columns(sides));
}
inline lapack::SmallBatch SmallBatchOf(const Shape& matrices, const void* data) {
  return {matrices.type(), BatchOf(matrices), BatchEntry::Rows(matrices), BatchEntry::Columns(matrices),
          data};
}

// Returns the bytes of the copy that WideMatrix makes.
inline int64_t CopyBytes(const Shape& matrices) {
  const int64_t wide = ByteCount(IsComplex(matrices.type()) ? ElementType::kC128 : ElementType::kF64);
  return ByteCount(matrices.type()) == wide
             ? 0
             : BatchEntry::Rows(matrices) * BatchEntry::Columns(matrices) * wide;
}

}  // namespace hlo::plan
