#include "kernels/cpu/convolution/batch_norm.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/vectorize.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/widen.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kRun = 512;         // Elements that are widened at a time.
constexpr int64_t kChunk = 32 << 10;  // Elements per work item.
constexpr int64_t kMaxPartials = 64;  // Maximum number of partial sums for rows of features.
constexpr int kPartialSums = 8;

class Reader {
 public:
  explicit Reader(const FloatArray& array)
      : widen_(WidenBlockOf<double>(array.type)),
        data_(static_cast<const std::byte*>(array.data)),
        width_(ByteCount(array.type)) {}
  // Returns the next n <= kRun elements as f64.
  const double* Read(int64_t first, int64_t n) {
    widen_(data_ + first * width_, n, 1, 1, n, run_, n);
    return run_;
  }

 private:
  WidenBlock<double> widen_;
  const std::byte* data_;
  int64_t width_;
  double run_[kRun];
};

// Calls visit(first element, count, first feature) for runs of the elements [begin, end). The elements of a
// run belong to one feature, or to consecutive features.
template <class Visit>
void EachRun(const FeatureDims& dims, int64_t begin, int64_t end, Visit&& visit) {
  const int64_t row = dims.inner == 1 ? dims.features : dims.inner;
  while (begin < end) {
    const int64_t n = std::min({kRun, end - begin, row - begin % row});
    visit(begin, n, dims.inner == 1 ? begin % row : begin / row % dims.features);
    begin += n;
  }
}

struct Sums {
  double *first, *second;
};

void AddRunOfFeatures(const double* x, const double* mean, const double* y, int64_t n, const Sums& sums) {
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    sums.first[i] += y[i];
    sums.second[i] += y[i] * (x[i] - mean[i]);
  }
}

void AddRun(const double* x, double mean, const double* y, int64_t n, const Sums& sums) {
  double first[kPartialSums] = {}, second[kPartialSums] = {};
  int64_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums) {
    for (int k = 0; k < kPartialSums; ++k) {
      first[k] += y[i + k];
      second[k] += y[i + k] * (x[i + k] - mean);
    }
  }
  for (; i < n; ++i) {
    first[0] += y[i];
    second[0] += y[i] * (x[i] - mean);
  }
  for (int k = 0; k < kPartialSums; ++k) {
    *sums.first += first[k];
    *sums.second += second[k];
  }
}

// Sums rows of features in parallel parts with partial sums of their own.
void SumRows(const FeatureDims& dims, const FloatArray& x, const double* mean, const FloatArray& y,
             const Sums& sums) {
  const int64_t least = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, dims.features));
  const int64_t rows = std::max(least, (dims.outer + kMaxPartials - 1) / kMaxPartials);
  const int64_t parts = (dims.outer + rows - 1) / rows;
  CachedVector<double> partial(2 * parts * dims.features, 0.0);
  ParallelFor(parts, 2.0 * static_cast<double>(dims.element_count()), [&](int64_t part) {
    Reader xs(x), ys(y);
    double* own = partial.data() + 2 * part * dims.features;
    const int64_t end = std::min(dims.outer, (part + 1) * rows) * dims.features;
    EachRun(dims, part * rows * dims.features, end, [&](int64_t begin, int64_t n, int64_t f) {
      AddRunOfFeatures(xs.Read(begin, n), mean + f, ys.Read(begin, n), n, {own + f, own + dims.features + f});
    });
  });
  for (int64_t part = 0; part < parts; ++part) {
    const double* own = partial.data() + 2 * part * dims.features;
    for (int64_t f = 0; f < dims.features; ++f) {
      sums.first[f] += own[f];
      sums.second[f] += own[dims.features + f];
    }
  }
}

}  // namespace

void FeatureSums(const FeatureDims& dims, const FloatArray& x, const double* mean, const FloatArray& y,
                 double* first, double* second) {
  std::fill_n(first, dims.features, 0.0);
  std::fill_n(second, dims.features, 0.0);
  if (dims.element_count() == 0) return;
  if (dims.inner == 1) return SumRows(dims, x, mean, y, {first, second});
  ParallelFor(dims.features, 2.0 * static_cast<double>(dims.element_count()), [&](int64_t f) {
    Reader xs(x), ys(y);
    for (int64_t o = 0; o < dims.outer; ++o) {
      const int64_t begin = (o * dims.features + f) * dims.inner;
      EachRun(dims, begin, begin + dims.inner, [&](int64_t at, int64_t n, int64_t) {
        AddRun(xs.Read(at, n), mean[f], ys.Read(at, n), n, {first + f, second + f});
      });
    }
  });
}

void FeatureLines(const FeatureDims& dims, const FloatArray& x, const FloatArray* y, const FeatureLine& line,
                  ElementType type, void* result) {
  const int64_t count = dims.element_count(), width = ByteCount(type);
  const int64_t step = dims.inner == 1 ? 1 : 0;
  const NarrowRow<double> narrow = NarrowRowOf<double>(type);
  ParallelFor((count + kChunk - 1) / kChunk, 2.0 * static_cast<double>(count), [&](int64_t chunk) {
    Reader xs(x), ys(y == nullptr ? x : *y);
    double run[kRun];
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    EachRun(dims, chunk * kChunk, end, [&](int64_t begin, int64_t n, int64_t f) {
      const double* values = xs.Read(begin, n);
      const double *shift = line.shift + f, *factor = line.factor + f, *offset = line.offset + f;
      if (y == nullptr) {
        for (int64_t i = 0; i < n; ++i)
          run[i] = (values[i] - shift[i * step]) * factor[i * step] + offset[i * step];
      } else {
        const double *others = ys.Read(begin, n), *y_factor = line.y_factor + f;
        for (int64_t i = 0; i < n; ++i)
          run[i] = (values[i] - shift[i * step]) * factor[i * step] +
                   (others[i] * y_factor[i * step] + offset[i * step]);
      }
      narrow(run, n, static_cast<std::byte*>(result) + begin * width);
    });
  });
}

void ToDoubles(const FloatArray& from, int64_t n, double* to) {
  WidenBlockOf<double>(from.type)(from.data, n, 1, 1, n, to, n);
}
void FromDoubles(const double* from, int64_t n, ElementType type, void* to) {
  NarrowRowOf<double>(type)(from, n, to);
}

}  // namespace hlo::cpu
