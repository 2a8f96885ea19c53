#include "cli/value_text.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "debug/summary.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "nlohmann/json.hpp"
#include "types/wide.h"

namespace hlo::cli {
namespace {

constexpr int64_t kMaxElements = 1000;
constexpr int64_t kEdgeElements = 3;  // The number of elements shown at either end of a dimension.

int64_t StrideOf(const Literal& array, int64_t dim) {
  int64_t stride = 1;
  for (int64_t d = dim + 1; d < array.rank(); ++d) stride *= array.dim(d);
  return stride;
}

void AppendCorners(const Literal& array, int64_t dim, int64_t begin, std::string* out) {
  if (dim == array.rank()) {
    AppendElement(array, begin, /*in_array=*/true, {}, out);
    return;
  }
  const int64_t size = array.dynamic_size(dim), stride = StrideOf(array, dim);
  const bool is_vector = array.rank() == 1;
  out->append(is_vector ? "{" : "{ ");
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) out->append(", ");
    if (size > 2 * kEdgeElements && i == kEdgeElements) {
      out->append("..., ");
      i = size - kEdgeElements;
    }
    AppendCorners(array, dim + 1, begin + i * stride, out);
  }
  out->append(is_vector ? "}" : " }");
}

int64_t UsedCount(const Literal& array) {
  int64_t count = 1;
  for (int64_t d = 0; d < array.rank(); ++d) count *= array.dynamic_size(d);
  return count;
}

void AppendSummarised(const Literal& value, std::string* out) {
  if (value.shape().IsTuple()) {
    out->append(value.elements().empty() ? "(" : "( ");
    for (size_t i = 0; i < value.elements().size(); ++i) {
      if (i > 0) out->append(", ");
      AppendSummarised(value.elements()[i], out);
    }
    out->append(value.elements().empty() ? ")" : " )");
    return;
  }
  LiteralPrintOptions options{.shapes = true, .layouts = false};
  if (!value.shape().IsArray() || UsedCount(value) <= kMaxElements) {
    AppendLiteral(value, options, out);
    return;
  }
  options.max_elements = 0;  // Prints the shape and {...}.
  AppendLiteral(value, options, out);
  out->resize(out->rfind('{'));
  AppendCorners(value, 0, 0, out);
}

// Counts elements of one kind and stores the position of the first.
struct Occurrences {
  int64_t count = 0, first = -1;
  void Add(int64_t position) {
    if (count++ == 0) first = position;
  }
};

class ArrayStatistics {
 public:
  explicit ArrayStatistics(const Literal& array) : array_(array) {
    DispatchWide(array.type(), [&]<class W>() {
      const LoadFn<W> load = Loader<W>(array.type());
      for (int64_t i = 0; i < array.element_count(); ++i) {
        if (debug::IsWithinSizes(array, i)) Add<W>(load(array.data(), i), i);
      }
    });
  }

  std::string ToText() const {
    std::string text = ToString(array_.shape());
    if (array_.has_dynamic_sizes()) {
      std::vector<int64_t> sizes;
      for (int64_t d = 0; d < array_.rank(); ++d) sizes.push_back(array_.dynamic_size(d));
      text += fmt::format("({})", fmt::join(sizes, ","));
    }
    if (finite_ > 0) {
      text += fmt::format("  min {}  max {}  mean {:.6g}", NumberAt(least_), NumberAt(largest_), mean());
    } else {
      text += "  no finite element";
    }
    const auto add = [&](std::string_view name, const Occurrences& found) {
      if (found.count == 0) return;
      text += fmt::format("  {} {} (first at {{{}}})", name, found.count,
                          fmt::join(debug::IndexOf(array_, found.first), ","));
    };
    add("NaN", nans_);
    add("Inf", infinities_);
    return text;
  }

  nlohmann::ordered_json ToJson() const {
    nlohmann::ordered_json json = {{"shape", ToString(array_.shape())}};
    if (finite_ > 0) json.update({{"min", NumberAt(least_)}, {"max", NumberAt(largest_)}, {"mean", mean()}});
    const auto add = [&](const char* name, const Occurrences& found) {
      json[name] = found.count;
      if (found.count > 0) json[std::string("first_") + name] = debug::IndexOf(array_, found.first);
    };
    add("nan", nans_);
    add("inf", infinities_);
    return json;
  }

 private:
  template <Wide W>
  void Add(W value, int64_t position) {
    if constexpr (std::is_same_v<W, std::complex<double>>) {
      if (std::isnan(value.real()) || std::isnan(value.imag())) return nans_.Add(position);
      AddReal(std::abs(value), position);
    } else {
      AddReal(value, position);
    }
  }
  template <class R>
  void AddReal(R value, int64_t position) {
    if constexpr (std::is_same_v<R, double>) {
      if (std::isnan(value)) return nans_.Add(position);
      if (std::isinf(value)) return infinities_.Add(position);
    }
    // long double distinguishes large integers that double does not.
    const auto real = static_cast<long double>(value);
    if (finite_ == 0 || real < least_value_) least_value_ = real, least_ = position;
    if (finite_ == 0 || real > largest_value_) largest_value_ = real, largest_ = position;
    ++finite_;
    sum_ += real;
  }

  double mean() const { return static_cast<double>(sum_ / static_cast<long double>(finite_)); }
  std::string NumberAt(int64_t position) const {
    if (IsComplex(array_.type()))
      return fmt::format("{:.6g}", static_cast<double>(position == least_ ? least_value_ : largest_value_));
    return debug::ElementText(array_, position);
  }

  const Literal& array_;
  int64_t finite_ = 0, least_ = 0, largest_ = 0;
  long double least_value_ = 0, largest_value_ = 0, sum_ = 0;
  Occurrences nans_, infinities_;
};

}  // namespace

std::string SummarisedText(const Literal& value) {
  std::string text;
  AppendSummarised(value, &text);
  return text;
}

std::string StatisticsText(const Literal& value) {
  std::string text;
  for (const LiteralLeaf& leaf : ArrayLeaves(value))
    text += fmt::format("{}: {}\n", leaf.key, ArrayStatistics(*leaf.value).ToText());
  return text;
}

nlohmann::ordered_json StatisticsJson(const Literal& value) {
  auto json = nlohmann::ordered_json::object();
  for (const LiteralLeaf& leaf : ArrayLeaves(value)) json[leaf.key] = ArrayStatistics(*leaf.value).ToJson();
  return json;
}

}  // namespace hlo::cli
