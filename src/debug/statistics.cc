#include "debug/statistics.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "types/dispatch.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

constexpr int64_t kMaxShown = 4;
constexpr size_t kMaxLeaves = 4;

template <class W>
double AsDouble(W value) {
  if constexpr (std::is_same_v<W, std::complex<double>>)
    return std::abs(value);
  else
    return static_cast<double>(value);
}

// Calls `see` with each element as a double.
template <class See>
void ForEachElement(const Literal& array, int64_t begin, int64_t end, const See& see) {
  if (array.data() == nullptr) return;
  DispatchWide(array.type(), [&]<class W>() {
    const LoadFn<W> load = Loader<W>(array.type());
    for (int64_t i = begin; i < end; ++i) see(AsDouble(load(array.data(), i)));
  });
}

std::string IfAny(int64_t count, std::string_view what) {
  return count == 0 ? "" : fmt::format(", {} {}", count, what);
}

std::string ArraySummary(const Literal& array) {
  const std::string shape = ToString(array.shape());
  if (array.data() == nullptr && array.element_count() > 0) return shape + " elided";
  if (array.element_count() <= kMaxShown) return shape + " " + ToString(array);
  const ArrayStatistics s = Statistics(array);
  return fmt::format("{} min {:.7g}, max {:.7g}, mean {:.7g}{}{}", shape, s.min, s.max, s.mean,
                     IfAny(s.nan, "NaN"), IfAny(s.inf, "infinite"));
}

}  // namespace

double ElementAsDouble(const Literal& array, int64_t i) {
  double element = 0;
  ForEachElement(array, i, i + 1, [&](double value) { element = value; });
  return element;
}

ArrayStatistics Statistics(const Literal& array) {
  ArrayStatistics s;
  s.min = std::numeric_limits<double>::infinity();
  s.max = -s.min;
  double sum = 0, squares = 0;
  ForEachElement(array, 0, array.element_count(), [&](double value) {
    s.nan += std::isnan(value);
    s.inf += std::isinf(value);
    s.zero += value == 0;
    if (!std::isfinite(value)) return;
    ++s.finite;
    s.min = std::min(s.min, value);
    s.max = std::max(s.max, value);
    sum += value;
    squares += value * value;
  });
  s.count = array.element_count();
  if (s.finite == 0) s.min = s.max = 0;
  s.mean = s.finite > 0 ? sum / static_cast<double>(s.finite) : 0;
  s.rms = s.finite > 0 ? std::sqrt(squares / static_cast<double>(s.finite)) : 0;
  return s;
}

std::vector<int64_t> Histogram(const Literal& array, const ArrayStatistics& s, int64_t bins) {
  std::vector<int64_t> counts(static_cast<size_t>(bins));
  const double width = s.max - s.min;
  ForEachElement(array, 0, array.element_count(), [&](double value) {
    if (!std::isfinite(value)) return;
    const double position = width > 0 ? (value - s.min) / width * static_cast<double>(bins) : 0;
    counts[static_cast<size_t>(std::clamp<double>(position, 0, static_cast<double>(bins - 1)))] += 1;
  });
  return counts;
}

std::string DescribeValue(const Literal& value) {
  if (value.shape().IsArray()) return ArraySummary(value);
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(value);
  std::string text = "(";
  for (size_t i = 0; i < std::min(leaves.size(), kMaxLeaves); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", leaves[i].key, ArraySummary(*leaves[i].value));
  if (leaves.size() > kMaxLeaves) text += fmt::format("; and {} more", leaves.size() - kMaxLeaves);
  return text + ")";
}

}  // namespace hlo::debug
