#include "kernels/cpu/bytecode/small_dot.h"

#include <cstring>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxTerms = 1024;  // Maximum products of two elements.
constexpr int64_t kMaxPositions = 4096;

// Returns the offsets of `count` elements with one stride, or of all indices of several dimensions.
std::vector<int32_t> Places(int64_t count, int64_t stride, const Index& sizes, const Index& strides) {
  std::vector<int32_t> places;
  if (sizes.empty()) {
    for (int64_t i = 0; i < count; ++i) places.push_back(static_cast<int32_t>(i * stride));
  } else {
    for (const Index& i : EachIndex(sizes)) places.push_back(static_cast<int32_t>(Offset(i, strides)));
  }
  return places;
}

// Returns the offsets for each matrix of the batch.
std::vector<int32_t> InBatch(const std::vector<int32_t>& places, const Index& batch_dims,
                             const Index& strides) {
  std::vector<int32_t> all;
  for (const Index& b : EachIndex(batch_dims)) {
    for (const int32_t place : places) all.push_back(place + static_cast<int32_t>(Offset(b, strides)));
  }
  return all;
}

}  // namespace

std::optional<SmallDot> SmallDot::Make(const loops::GemmProblem& p) {
  const ElementType type = p.c_type;
  if ((type != ElementType::kF32 && type != ElementType::kF64) || p.a.type != type || p.b.type != type)
    return std::nullopt;
  const int64_t batch = Product(p.batch_dims);
  for (const int64_t size : {batch, p.m, p.n, p.k, batch * (p.m + p.n)}) {
    if (size > kMaxPositions) return std::nullopt;
  }
  if (batch * p.m * p.n > kMaxTerms || batch * p.m * p.n * p.k > kMaxTerms) return std::nullopt;
  SmallDot dot;
  dot.type_ = type;
  dot.m_ = p.m;
  dot.n_ = p.n;
  dot.rows_ =
      InBatch(Places(p.m, p.a.row_stride, p.a.row_sizes, p.a.row_strides), p.batch_dims, p.a.batch_strides);
  dot.row_terms_ = Places(p.k, p.a.column_stride, p.a.column_sizes, p.a.column_strides);
  dot.columns_ = InBatch(Places(p.n, p.b.column_stride, p.b.column_sizes, p.b.column_strides), p.batch_dims,
                         p.b.batch_strides);
  dot.column_terms_ = Places(p.k, p.b.row_stride, p.b.row_sizes, p.b.row_strides);
  const std::vector<int32_t> neighbours = Places(p.k, 1, {}, {});
  dot.in_order_ = dot.row_terms_ == neighbours && dot.column_terms_ == neighbours;
  dot.has_contiguous_columns_ = true;
  for (size_t j = 0; j + 1 < dot.columns_.size(); ++j) {
    const bool is_last = (j + 1) % static_cast<size_t>(p.n) == 0;
    dot.has_contiguous_columns_ &= is_last || dot.columns_[j + 1] == dot.columns_[j] + 1;
  }
  return dot;
}

// Each lane has the sums of SumOfTerms.
template <class T>
int64_t SmallDot::RunVectors(const T* x, const T* b, const int32_t* columns, T* c) const {
  constexpr int kCount = kLanes<double>;
  using Wide = Vector<double>;
  using Narrow = typename VectorOf<T, kCount* static_cast<int>(sizeof(T))>::type;
  const auto terms = static_cast<int64_t>(row_terms_.size());
  int64_t j = 0;
  for (; j + kCount <= n_; j += kCount) {
    const T* y = b + columns[j];
    const auto term = [&](int64_t k) {
      Narrow column;
      std::memcpy(&column, y + column_terms_[k], sizeof column);
      return static_cast<double>(x[row_terms_[k]]) * __builtin_convertvector(column, Wide);
    };
    Wide even = {}, odd = {};
    int64_t k = 0;
    for (; k + 1 < terms; k += 2) {
      even += term(k);
      odd += term(k + 1);
    }
    if (k < terms) even += term(k);
    const Narrow sums = __builtin_convertvector(even + odd, Narrow);
    std::memcpy(c + j, &sums, sizeof sums);
  }
  return j;
}

template <class T>
void SmallDot::RunAs(const T* a, const T* b, T* c) const {
  const auto rows = static_cast<int64_t>(rows_.size()), terms = static_cast<int64_t>(row_terms_.size());
  const int32_t* columns = columns_.data();
  for (int64_t begin = 0; begin < rows; begin += m_, columns += n_) {
    for (int64_t row = begin; row < begin + m_; ++row) {
      const T* x = a + rows_[row];
      const int64_t first = has_contiguous_columns_ ? RunVectors(x, b, columns, c) : 0;
      c += first;
      for (int64_t j = first; j < n_; ++j) {
        const T* y = b + columns[j];
        const auto product = [](T left, T right) {
          return static_cast<double>(left) * static_cast<double>(right);
        };
        *c++ = in_order_ ? SumOfTerms<T>(terms, [&](int64_t k) { return product(x[k], y[k]); })
                         : SumOfTerms<T>(terms, [&](int64_t k) {
                             return product(x[row_terms_[k]], y[column_terms_[k]]);
                           });
      }
    }
  }
}

void SmallDot::Run(const void* a, const void* b, void* c) const {
  if (type_ == ElementType::kF32)
    RunAs(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
  else
    RunAs(static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(c));
}

}  // namespace hlo::cpu
