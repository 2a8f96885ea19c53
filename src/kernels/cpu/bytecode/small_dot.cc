#include "kernels/cpu/bytecode/small_dot.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/bytecode/micro_ops.h"
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

// Returns true if the places of each matrix are neighbours.
bool AreContiguous(const std::vector<int32_t>& places, int64_t per_matrix) {
  for (size_t j = 0; j + 1 < places.size(); ++j) {
    const bool is_last = (j + 1) % static_cast<size_t>(per_matrix) == 0;
    if (!is_last && places[j + 1] != places[j] + 1) return false;
  }
  return true;
}

// Shorter dots have scalar sums. A single dot does more often, because its operands were often stored as
// scalars just before, and vectors cannot be loaded from several pending stores.
constexpr int64_t kMinVectorTerms = 12, kMinTermsOfLine = 33;
static_assert(kMinVectorTerms > kMaxInlineTerms);

// Adds the products of one vector of elements, of which the first n exist.
template <class T>
[[gnu::always_inline]] inline void AddProducts(Vector<T> x, Vector<T> y, Vector<double>& even,
                                               Vector<double>& odd) {
  if constexpr (sizeof(T) == sizeof(double)) {
    even += x * y;
  } else {
    const auto [x0, x1] = AsDoubles(x);
    const auto [y0, y1] = AsDoubles(y);
    even += x0 * y0;
    odd += x1 * y1;
  }
}

template <class T>
T VectorDot(const T* x, const T* y, int64_t terms) {
  Vector<double> even = {}, odd = {};
  int64_t k = 0;
  for (; k + kLanes<T> <= terms; k += kLanes<T>)
    AddProducts<T>(LoadVector(x + k), LoadVector(y + k), even, odd);
  if (k < terms) {
    const auto rest = static_cast<int>(terms - k);
    AddProducts<T>(LoadFirst(x + k, rest), LoadFirst(y + k, rest), even, odd);
  }
  return static_cast<T>(SumOfLanes<double>(even + odd));
}

}  // namespace

template <class T>
T DotOfLines(const T* x, const T* y, int64_t terms) {
  if (terms >= kMinTermsOfLine) return VectorDot(x, y, terms);
  return SumOfTerms<T>(terms,
                       [&](int64_t k) { return static_cast<double>(x[k]) * static_cast<double>(y[k]); });
}
template float DotOfLines(const float*, const float*, int64_t);
template double DotOfLines(const double*, const double*, int64_t);

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
  dot.has_contiguous_columns_ = AreContiguous(dot.columns_, p.n);
  dot.is_column_ = p.n == 1 && AreContiguous(dot.rows_, p.m);
  return dot;
}

// Each lane has the sums of SumOfTerms.
template <class T>
int64_t SmallDot::RunVectors(const T* x, const Terms& row_terms, const T* b, const Terms& column_terms,
                             const int32_t* columns, int64_t n, T* c) {
  constexpr int kCount = kLanes<double>;
  using Wide = Vector<double>;
  using Narrow = typename VectorOf<T, kCount* static_cast<int>(sizeof(T))>::type;
  const auto terms = static_cast<int64_t>(row_terms.size());
  if (n < kCount) return 0;
  for (int64_t begin = 0; begin < n; begin += kCount) {
    const int64_t j = std::min(begin, n - kCount);  // The last vector may overlap its predecessor.
    const T* y = b + columns[j];
    const auto term = [&](int64_t k) {
      Narrow column;
      std::memcpy(&column, y + column_terms[k], sizeof column);
      return static_cast<double>(x[row_terms[k]]) * __builtin_convertvector(column, Wide);
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
  return n;
}

template <class T>
void SmallDot::RunRow(const T* x, const T* b, const int32_t* columns, T* c) const {
  const auto terms = static_cast<int64_t>(row_terms_.size());
  int64_t j = has_contiguous_columns_ ? RunVectors(x, row_terms_, b, column_terms_, columns, n_, c) : 0;
  const bool uses_vectors = in_order_ && terms >= kMinVectorTerms && rows_.size() > 1;
  for (; j < n_; ++j) {
    const T* y = b + columns[j];
    if (uses_vectors)
      c[j] = VectorDot(x, y, terms);
    else
      c[j] = in_order_ ? DotOfLines(x, y, terms) : SumOfTerms<T>(terms, [&](int64_t k) {
        return static_cast<double>(x[row_terms_[k]]) * static_cast<double>(y[column_terms_[k]]);
      });
  }
}

template <class T>
void SmallDot::RunAs(const T* a, const T* b, T* c) const {
  const auto rows = static_cast<int64_t>(rows_.size());
  const int32_t* columns = columns_.data();
  for (int64_t begin = 0; begin < rows; begin += m_, columns += n_) {
    int64_t row = begin;
    // The result is a column: its rows take the place of columns.
    if (is_column_)
      row += RunVectors(b + *columns, column_terms_, a, row_terms_, &rows_[begin], m_, c + begin);
    for (; row < begin + m_; ++row) RunRow(a + rows_[row], b, columns, c + row * n_);
  }
}

void SmallDot::Run(const void* a, const void* b, void* c) const {
  if (type_ == ElementType::kF32)
    RunAs(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
  else
    RunAs(static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(c));
}

}  // namespace hlo::cpu
