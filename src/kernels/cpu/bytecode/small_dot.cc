#include "kernels/cpu/bytecode/small_dot.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/types/span.h"
#include "kernels/cpu/bytecode/micro_ops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

// Maximum products of two elements, also for a matrix and a vector.
constexpr int64_t kMaxTerms = 1024, kMaxTermsWithVector = 16 << 10;
constexpr int64_t kMaxPositions = 4096;

// Returns the offsets of `count` elements with one stride, or of all indices of several dimensions.
std::vector<int32_t> ElementOffsets(int64_t count, int64_t stride, const Index& sizes, const Index& strides) {
  std::vector<int32_t> offsets;
  if (sizes.empty()) {
    for (int64_t i = 0; i < count; ++i) offsets.push_back(static_cast<int32_t>(i * stride));
  } else {
    for (const Index& i : EachIndex(sizes)) offsets.push_back(static_cast<int32_t>(Offset(i, strides)));
  }
  return offsets;
}

// Returns the offsets for each matrix of the batch.
std::vector<int32_t> InBatch(const std::vector<int32_t>& offsets, const Index& batch_dims,
                             const Index& strides) {
  std::vector<int32_t> all;
  for (const Index& b : EachIndex(batch_dims)) {
    for (const int32_t offset : offsets) all.push_back(offset + static_cast<int32_t>(Offset(b, strides)));
  }
  return all;
}

// Returns true if the offsets of each matrix are neighbours.
bool AreContiguous(const std::vector<int32_t>& offsets, int64_t per_matrix) {
  for (size_t j = 0; j + 1 < offsets.size(); ++j) {
    const bool is_last = (j + 1) % static_cast<size_t>(per_matrix) == 0;
    if (!is_last && offsets[j + 1] != offsets[j] + 1) return false;
  }
  return true;
}

// Shorter dots have scalar sums. A single dot does more often, because its operands were often stored as
// scalars just before, and vectors cannot be loaded from several pending stores.
constexpr int64_t kMinVectorTerms = 12, kMinTermsOfLine = 33;
static_assert(kMinVectorTerms > kMaxInlineTerms);

// Converts elements at these offsets to the type of the sums, so that loops need not.
template <class T, class Sum>
void Gather(const T* x, const std::vector<int32_t>& offsets, Sum* to) {
  for (const int32_t offset : offsets) *to++ = static_cast<Sum>(x[offset]);
}

// Adds the products of elements of type T. Those of f32 are exact in f64, so that fusing changes no bits.
template <class T, class Sum>
[[gnu::always_inline]] inline void AddProducts(Vector<Sum> a, Vector<Sum> b, Vector<Sum>& sums) {
#if defined(HLO_AVX512_VECTORS)
  if constexpr (std::is_same_v<Sum, float>) {
    sums = _mm512_fmadd_ps(a, b, sums);
    return;
  } else if constexpr (std::is_same_v<T, float>) {
    sums = _mm512_fmadd_pd(a, b, sums);
    return;
  }
#elif defined(HLO_AVX2_VECTORS) && defined(__FMA__)
  if constexpr (std::is_same_v<Sum, float>) {
    sums = _mm256_fmadd_ps(a, b, sums);
    return;
  } else if constexpr (std::is_same_v<T, float>) {
    sums = _mm256_fmadd_pd(a, b, sums);
    return;
  }
#endif
  sums += a * b;
}

// Store the sum of the lanes of each vector. They halve the vectors together, in the order of SumOfLanes.
#if defined(HLO_AVX512_VECTORS)
[[gnu::always_inline]] inline void StoreFourSums(const Vector<double> (&sums)[4], double* out) {
  const auto halves = [](__m512d a, __m512d b) {
    return _mm512_shuffle_f64x2(a, b, 0x44) + _mm512_shuffle_f64x2(a, b, 0xee);
  };
  const __m512d low = halves(sums[0], sums[1]), high = halves(sums[2], sums[3]);
  const __m512d pairs = _mm512_shuffle_f64x2(low, high, 0x88) + _mm512_shuffle_f64x2(low, high, 0xdd);
  const __m512d all = pairs + _mm512_permute_pd(pairs, 0x55);
  _mm256_storeu_pd(out, _mm512_castpd512_pd256(_mm512_maskz_compress_pd(0x55, all)));
}
[[gnu::always_inline]] inline void StoreFourSums(const Vector<float> (&sums)[4], float* out) {
  const auto halves = [](__m512 a, __m512 b) {
    return _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xee);
  };
  const __m512 low = halves(sums[0], sums[1]), high = halves(sums[2], sums[3]);
  const __m512 quarters = _mm512_shuffle_f32x4(low, high, 0x88) + _mm512_shuffle_f32x4(low, high, 0xdd);
  const __m512 pairs = quarters + _mm512_permute_ps(quarters, 0x4e);
  const __m512 all = pairs + _mm512_permute_ps(pairs, 0xb1);
  _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, all)));
}
#elif defined(HLO_AVX2_VECTORS)
[[gnu::always_inline]] inline void StoreFourSums(const Vector<double> (&sums)[4], double* out) {
  const auto halves = [](__m256d a, __m256d b) {
    return _mm256_permute2f128_pd(a, b, 0x20) + _mm256_permute2f128_pd(a, b, 0x31);
  };
  const __m256d low = halves(sums[0], sums[2]), high = halves(sums[1], sums[3]);
  _mm256_storeu_pd(out, _mm256_unpacklo_pd(low, high) + _mm256_unpackhi_pd(low, high));
}
[[gnu::always_inline]] inline void StoreFourSums(const Vector<float> (&sums)[4], float* out) {
  const auto halves = [](__m256 a, __m256 b) {
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
  };
  const __m256 low = halves(sums[0], sums[2]), high = halves(sums[1], sums[3]);
  const __m256 pairs = _mm256_shuffle_ps(low, high, 0x44) + _mm256_shuffle_ps(low, high, 0xee);
  const __m256 all = pairs + _mm256_permute_ps(pairs, 0xb1);
  // Elements 0 and 2 of both halves.
  _mm_storeu_ps(out, _mm_shuffle_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1), 0x88));
}
#endif

// Sets out[i] to the sum of the lanes of sums[i].
template <class T, int kCount>
[[gnu::always_inline]] inline void StoreSums(const Vector<T> (&sums)[kCount], T* out) {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  if constexpr (kCount == 4) return StoreFourSums(sums, out);
#endif
  for (int i = 0; i < kCount; ++i) out[i] = SumOfLanes<T>(sums[i]);
}

// Computes the dot products of x with kCount vectors y.
template <class T, int kCount>
[[gnu::always_inline]] inline void VectorDots(const T* x, const std::array<const T*, kCount>& y,
                                              int64_t terms, T* out) {
  // Two accumulators hide the latency of additions.
  Vector<T> even[kCount] = {}, odd[kCount] = {};
  const auto add = [&](const auto& load, Vector<T>* sums) __attribute__((always_inline)) {
    const Vector<T> left = load(x);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) AddProducts<T, T>(left, load(y[i]), sums[i]);
  };
  int64_t k = 0;
  const auto load = [&](const T* from) __attribute__((always_inline)) { return LoadVector(from + k); };
  while (k + 2 * kLanes<T> <= terms) {
    add(load, even);
    k += kLanes<T>;
    add(load, odd);
    k += kLanes<T>;
  }
  for (; k + kLanes<T> <= terms; k += kLanes<T>) add(load, even);
  const auto rest = static_cast<int>(terms - k);
  if (rest > 0)
    add(
        [&](const T* from) __attribute__((always_inline)) { return LoadFirst(from + k, rest); }, odd);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) even[i] += odd[i];
  StoreSums<T, kCount>(even, out);
}

// Computes the dot products of x with the vectors at these offsets.
template <class T>
void DotsOfLines(const T* x, const T* y, const int32_t* offsets, int64_t count, int64_t terms, T* out) {
  constexpr int kAtOnce = 4;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    VectorDots<T, kAtOnce>(x, {y + offsets[i], y + offsets[i + 1], y + offsets[i + 2], y + offsets[i + 3]},
                           terms, out + i);
  for (; i < count; ++i) VectorDots<T, 1>(x, {y + offsets[i]}, terms, out + i);
}

// Computes the products of a row with kCount vectors of columns, which begin at these offsets. Each lane has
// the sums of even and odd terms, like SumOfTerms.
template <class T, class Sum, int kCount>
void ColumnSums(const Sum* factors, const T* y, const std::vector<int32_t>& terms,
                const std::array<int64_t, kCount>& columns, const std::array<T*, kCount>& c) {
  using Wide = Vector<Sum>;
  using Narrow = typename VectorOf<T, kLanes<Sum>* static_cast<int>(sizeof(T))>::type;
  Wide even[kCount] = {}, odd[kCount] = {};
  const auto add = [&](size_t k, Wide * sums) __attribute__((always_inline)) {
    const Wide factor = Broadcast(factors[k]);
    const T* row = y + terms[k];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) AddProducts<T, Sum>(factor, LoadAs<Sum>(row + columns[i]), sums[i]);
  };
  size_t k = 0;
  for (; k + 1 < terms.size(); k += 2) {
    add(k, even);
    add(k + 1, odd);
  }
  if (k < terms.size()) add(k, even);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    const Narrow sums = __builtin_convertvector(even[i] + odd[i], Narrow);
    std::memcpy(c[i], &sums, sizeof sums);
  }
}

// Computes the products of a row with all columns if they fill a vector, and returns their number. The terms
// are those of the row, and those of a column.
template <class T, class Sum>
int64_t RowByVectors(const T* x, const std::vector<int32_t>& row_terms, const T* b,
                     const std::vector<int32_t>& column_terms, const int32_t* columns, int64_t n, T* c) {
  constexpr int64_t kWidth = kLanes<Sum>, kAtOnce = 4;
  if (n < kWidth) return 0;
  Sum factors[kMaxPositions];
  Gather(x, row_terms, factors);
  const auto run = [&]<size_t... kIndex>(int64_t begin, std::index_sequence<kIndex...>) {
    // The last vector may overlap its predecessor.
    const auto at = [&](size_t k) { return std::min(begin + static_cast<int64_t>(k) * kWidth, n - kWidth); };
    ColumnSums<T, Sum, sizeof...(kIndex)>(factors, b, column_terms, {columns[at(kIndex)]...},
                                          {(c + at(kIndex))...});
  };
  for (int64_t j = 0; j < n; j += kAtOnce * kWidth) {
    switch (std::min(kAtOnce, (n - j + kWidth - 1) / kWidth)) {
      case 1:
        run(j, std::make_index_sequence<1>());
        break;
      case 2:
        run(j, std::make_index_sequence<2>());
        break;
      case 3:
        run(j, std::make_index_sequence<3>());
        break;
      default:
        run(j, std::make_index_sequence<4>());
    }
  }
  return n;
}

// Returns the elements at these offsets.
template <class T>
[[gnu::always_inline]] inline Vector<double> LoadRows(const T* x, const int32_t* offsets) {
#if defined(HLO_AVX512_VECTORS)
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets));
  if constexpr (std::is_same_v<T, float>)
    return _mm512_cvtps_pd(_mm256_i32gather_ps(x, at, sizeof(T)));
  else
    return _mm512_i32gather_pd(at, x, sizeof(T));
#elif defined(HLO_AVX2_VECTORS)
  // Single loads are faster than the instruction for gathers.
  const T a = x[offsets[0]], b = x[offsets[1]], c = x[offsets[2]], d = x[offsets[3]];
  if constexpr (std::is_same_v<T, float>)
    return _mm256_cvtps_pd(_mm_setr_ps(a, b, c, d));
  else
    return _mm256_setr_pd(a, b, c, d);
#else
  Vector<double> values;
  for (int i = 0; i < kLanes<double>; ++i) values[i] = static_cast<double>(x[offsets[i]]);
  return values;
#endif
}

#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
constexpr size_t kMostTransposed = 8;
// Transposes eight rows, of which only the first elements are used if there are fewer than eight.
[[gnu::always_inline]] inline void LoadTransposed(const float* x, const int32_t* offsets, size_t count,
                                                  __m256 (&columns)[kMostTransposed]) {
  __m256 rows[8], pairs[8], quads[8];
#if defined(HLO_AVX512_VECTORS)
  const auto used = static_cast<__mmask8>((1u << count) - 1);
  const auto load = [&](const float* from) { return _mm256_maskz_loadu_ps(used, from); };
#else
  const __m256i used = internal::FirstLanes(static_cast<int>(count));
  const auto load = [&](const float* from) { return _mm256_maskload_ps(from, used); };
#endif
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = load(x + offsets[i]);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    // Elements i and i + 4 of four rows.
    const int from = i / 2, select = i % 2;
    const __m256 low = pairs[from], high = pairs[from + 2], low4 = pairs[from + 4], high4 = pairs[from + 6];
    quads[i] = select == 0 ? _mm256_shuffle_ps(low, high, 0x44) : _mm256_shuffle_ps(low, high, 0xee);
    quads[i + 4] = select == 0 ? _mm256_shuffle_ps(low4, high4, 0x44) : _mm256_shuffle_ps(low4, high4, 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    columns[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
    columns[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
  }
}

// Returns the sums of the first columns times these factors, in the order of SumOfTerms.
[[gnu::always_inline]] inline __m256 SumOfColumns(const __m256 (&columns)[kMostTransposed], size_t terms,
                                                  const float* factors) {
#if defined(HLO_AVX512_VECTORS)
  __m512d sums[2] = {};
#pragma GCC unroll 8
  for (size_t k = 0; k < kMostTransposed; ++k) {
    if (k < terms) sums[k % 2] += _mm512_cvtps_pd(columns[k]) * static_cast<double>(factors[k]);
  }
  return _mm512_cvtpd_ps(sums[0] + sums[1]);
#else
  __m256d low[2] = {}, high[2] = {};
#pragma GCC unroll 8
  for (size_t k = 0; k < kMostTransposed; ++k) {
    if (k >= terms) break;
    const auto factor = static_cast<double>(factors[k]);
    low[k % 2] += _mm256_cvtps_pd(_mm256_castps256_ps128(columns[k])) * factor;
    high[k % 2] += _mm256_cvtps_pd(_mm256_extractf128_ps(columns[k], 1)) * factor;
  }
  return _mm256_set_m128(_mm256_cvtpd_ps(high[0] + high[1]), _mm256_cvtpd_ps(low[0] + low[1]));
#endif
}

// Performs ColumnOfRows for rows of at most eight contiguous terms.
void ColumnOfShortRows(const float* a, absl::Span<const int32_t> rows, size_t terms, const float* y, float* c,
                       int64_t stride) {
  for (size_t begin = 0; begin < rows.size(); begin += 8) {
    const size_t first = std::min(begin, rows.size() - 8);
    __m256 columns[kMostTransposed];
    LoadTransposed(a, &rows[first], terms, columns);
    const __m256 all = SumOfColumns(columns, terms, y);
    float* to = c + static_cast<int64_t>(first) * stride;
    if (stride == 1) {
      _mm256_storeu_ps(to, all);
      continue;
    }
    for (int i = 0; i < 8; ++i) to[i * stride] = all[i];
  }
}
#endif

// Computes the products of rows with a column; each lane has a row, with the sums of SumOfTerms. The results
// are `stride` elements apart.
template <class T>
void ColumnOfRows(const T* a, absl::Span<const int32_t> rows, const std::vector<int32_t>& row_terms,
                  const T* y, const std::vector<int32_t>& column_terms, T* c, int64_t stride) {
  constexpr size_t kWidth = kLanes<double>;
  const auto terms = static_cast<int64_t>(row_terms.size());
  for (size_t begin = 0; begin < rows.size(); begin += kWidth) {
    // The last vector may overlap its predecessor.
    const size_t first = std::min(begin, rows.size() - kWidth);
    const auto product = [&](int64_t k) __attribute__((always_inline)) {
      return LoadRows(a + row_terms[k], &rows[first]) * static_cast<double>(y[column_terms[k]]);
    };
    const Vector<double> all = AddTerms<Vector<double>>(terms, product);
    T* to = c + static_cast<int64_t>(first) * stride;
    for (size_t i = 0; i < kWidth; ++i) to[static_cast<int64_t>(i) * stride] = static_cast<T>(all[i]);
  }
}

// Computes `count` dot products, each lane one of them, with the sums of SumOfTerms. The rows and columns
// begin at these offsets.
template <class T>
void DotsOfEach(const T* a, const int32_t* rows, const std::vector<int32_t>& row_terms, const T* b,
                const int32_t* columns, const std::vector<int32_t>& column_terms, int64_t count, T* c) {
  constexpr int64_t kWidth = kLanes<double>;
  using Narrow = typename VectorOf<T, kWidth* static_cast<int>(sizeof(T))>::type;
  const auto terms = static_cast<int64_t>(row_terms.size());
  for (int64_t begin = 0; begin < count; begin += kWidth) {
    // The last vector may overlap its predecessor.
    const int64_t first = std::min(begin, count - kWidth);
    const auto product = [&](int64_t k) __attribute__((always_inline)) {
      return LoadRows(a + row_terms[k], rows + first) * LoadRows(b + column_terms[k], columns + first);
    };
    const Narrow sums = __builtin_convertvector(AddTerms<Vector<double>>(terms, product), Narrow);
    std::memcpy(c + first, &sums, sizeof sums);
  }
}

}  // namespace

template <class T>
T DotOfLines(const T* x, const T* y, int64_t terms) {
  if (terms >= kMinTermsOfLine) {
    T result;
    VectorDots<T, 1>(x, {y}, terms, &result);
    return result;
  }
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
  const bool has_vector = batch == 1 && std::min(p.m, p.n) == 1;
  if (batch * p.m * p.n > kMaxTerms ||
      batch * p.m * p.n * p.k > (has_vector ? kMaxTermsWithVector : kMaxTerms))
    return std::nullopt;
  SmallDot dot;
  dot.type_ = type;
  dot.m_ = p.m;
  dot.n_ = p.n;
  dot.rows_ = InBatch(ElementOffsets(p.m, p.a.row_stride, p.a.row_sizes, p.a.row_strides), p.batch_dims,
                      p.a.batch_strides);
  dot.row_terms_ = ElementOffsets(p.k, p.a.column_stride, p.a.column_sizes, p.a.column_strides);
  dot.columns_ = InBatch(ElementOffsets(p.n, p.b.column_stride, p.b.column_sizes, p.b.column_strides),
                         p.batch_dims, p.b.batch_strides);
  dot.column_terms_ = ElementOffsets(p.k, p.b.row_stride, p.b.row_sizes, p.b.row_strides);
  const std::vector<int32_t> neighbours = ElementOffsets(p.k, 1, {}, {});
  dot.in_order_ = dot.row_terms_ == neighbours && dot.column_terms_ == neighbours;
  dot.has_contiguous_columns_ = AreContiguous(dot.columns_, p.n);
  dot.is_column_ = p.n == 1 && AreContiguous(dot.rows_, p.m);
  if (dot.UsesEach()) dot.ExpandOffsets();
  return dot;
}

// Returns true if each lane computes another result, because no vector is filled by rows, columns or terms.
bool SmallDot::UsesEach() const {
  constexpr int64_t kWidth = kLanes<double>;
  const bool has_vectors = (has_contiguous_columns_ && n_ >= kWidth) || (is_column_ && m_ >= kWidth);
  return !UsesLines() && !UsesVectorsOfRows() && !has_vectors && std::ssize(rows_) * n_ >= kWidth;
}

void SmallDot::ExpandOffsets() {
  for (size_t row = 0; row < rows_.size(); ++row) {
    const int32_t* columns = columns_.data() + static_cast<int64_t>(row) / m_ * n_;
    for (int64_t j = 0; j < n_; ++j) {
      row_of_each_.push_back(rows_[row]);
      column_of_each_.push_back(columns[j]);
    }
  }
}

template <class T>
int64_t SmallDot::RunVectors(const T* x, const Terms& row_terms, const T* b, const Terms& column_terms,
                             const int32_t* columns, int64_t n, T* c) {
  if (std::ssize(row_terms) >= kMinFloatTerms && n >= kLanes<T>)
    return RowByVectors<T, T>(x, row_terms, b, column_terms, columns, n, c);
  return RowByVectors<T, double>(x, row_terms, b, column_terms, columns, n, c);
}

// Returns true if each dot product is computed in vectors of its terms.
bool SmallDot::UsesLines() const {
  const bool is_single = rows_.size() == 1 && n_ == 1;
  return in_order_ && static_cast<int64_t>(row_terms_.size()) >= kMinVectorTerms && !is_single;
}

// Returns true if the rows take the place of columns, because columns are too few to fill vectors.
bool SmallDot::UsesVectorsOfRows() const {
  return m_ >= kLanes<double> && n_ < kLanes<double> && !UsesLines();
}

template <class T>
void SmallDot::RunRow(const T* x, const T* b, const int32_t* columns, T* c) const {
  const auto terms = static_cast<int64_t>(row_terms_.size());
  int64_t j = has_contiguous_columns_ ? RunVectors(x, row_terms_, b, column_terms_, columns, n_, c) : 0;
  if (UsesLines()) return DotsOfLines(x, b, columns + j, n_ - j, terms, c + j);
  for (; j < n_; ++j) {
    const T* y = b + columns[j];
    c[j] = in_order_ ? DotOfLines(x, y, terms) : SumOfTerms<T>(terms, [&](int64_t k) {
      return static_cast<double>(x[row_terms_[k]]) * static_cast<double>(y[column_terms_[k]]);
    });
  }
}

template <class T>
void SmallDot::RunColumn(const T* a, absl::Span<const int32_t> rows, const T* y, T* c) const {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  if constexpr (std::is_same_v<T, float>) {
    if (rows.size() >= 8 && in_order_ && row_terms_.size() <= kMostTransposed)
      return ColumnOfShortRows(a, rows, row_terms_.size(), y, c, n_);
  }
#endif
  ColumnOfRows(a, rows, row_terms_, y, column_terms_, c, n_);
}

template <class T>
void SmallDot::RunAs(const T* a, const T* b, T* c) const {
  if (!row_of_each_.empty())
    return DotsOfEach(a, row_of_each_.data(), row_terms_, b, column_of_each_.data(), column_terms_,
                      std::ssize(row_of_each_), c);
  const auto rows = static_cast<int64_t>(rows_.size());
  const int32_t* columns = columns_.data();
  for (int64_t begin = 0; begin < rows; begin += m_, columns += n_) {
    int64_t row = begin;
    // The result is a column: its rows take the place of columns.
    if (is_column_)
      row += RunVectors(b + *columns, column_terms_, a, row_terms_, &rows_[begin], m_, c + begin);
    if (row == begin && n_ == 1 && UsesLines()) {
      DotsOfLines(b + *columns, a, &rows_[begin], m_, static_cast<int64_t>(row_terms_.size()), c + begin);
      continue;
    }
    if (row == begin && UsesVectorsOfRows()) {
      const absl::Span<const int32_t> offsets = absl::MakeConstSpan(rows_).subspan(begin, m_);
      for (int64_t j = 0; j < n_; ++j) RunColumn(a, offsets, b + columns[j], c + begin * n_ + j);
      continue;
    }
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
