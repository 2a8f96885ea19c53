#include "debug/summary.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"
#include "types/small_float.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

bool HasSpecials(ElementType type) { return IsFloat(type) || IsComplex(type); }

// Calls visit(modulus, position) for the elements within the run-time sizes.
template <class Visit>
void EachModulus(const Literal& array, Visit&& visit) {
  DispatchWide(array.type(), [&]<class W>() {
    const LoadFn<W> load = Loader<W>(array.type());
    for (int64_t i = 0; i < array.element_count(); ++i) {
      if (!IsWithinSizes(array, i)) continue;
      visit(ModulusOf(load(array.data(), i)), i);
    }
  });
}

// The loop has no branches.
template <class Bits>
bool AnyInBlock(const Bits* words, int64_t count, Bits infinity, bool nans, bool infinities) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  Bits is_nan = 0, is_infinity = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Bits magnitude = words[i] & kMagnitude;
    is_nan |= static_cast<Bits>(magnitude > infinity);
    is_infinity |= static_cast<Bits>(magnitude == infinity);
  }
  return (nans && is_nan != 0) || (infinities && is_infinity != 0);
}

// True if the bits without the sign of a word exceed those of infinity, or equal them.
template <class Bits>
bool AnyFrom(const std::byte* data, int64_t count, Bits infinity, bool nans, bool infinities) {
  constexpr int64_t kBlock = 1 << 16;
  constexpr double kNanosecondsABlock = 8000;
  const auto* words = reinterpret_cast<const Bits*>(data);
  if (count <= kBlock) return AnyInBlock(words, count, infinity, nans, infinities);
  std::atomic<bool> found = false;
  const int64_t blocks = CeilDiv(count, kBlock);
  ParallelFor(blocks, kNanosecondsABlock * static_cast<double>(blocks), [&](int64_t block) {
    const int64_t begin = block * kBlock;
    if (AnyInBlock(words + begin, std::min(kBlock, count - begin), infinity, nans, infinities)) found = true;
  });
  return found;
}

bool IsSpecial(double x, bool nans, bool infinities) {
  return (nans && std::isnan(x)) || (infinities && std::isinf(x));
}

FloatFormat FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return kF16Format;
    case ElementType::kBF16:
      return kBF16Format;
    case ElementType::kF8E5M2:
      return kF8E5M2Format;
    default:
      return kF8E4M3FNFormat;
  }
}

}  // namespace

bool IsWithinSizes(const Literal& array, int64_t position) {
  if (!array.has_dynamic_sizes()) return true;
  for (int64_t d = array.rank() - 1; d >= 0; --d) {
    if (position % array.dim(d) >= array.dynamic_size(d)) return false;
    position /= array.dim(d);
  }
  return true;
}

std::vector<int64_t> IndexOf(const Literal& array, int64_t position) {
  std::vector<int64_t> index(static_cast<size_t>(array.rank()));
  for (int64_t d = array.rank() - 1; d >= 0; --d) {
    index[static_cast<size_t>(d)] = position % array.dim(d);
    position /= array.dim(d);
  }
  return index;
}

std::string ElementText(const Literal& array, int64_t position) {
  std::string text;
  AppendElement(array, position, /*in_array=*/false, {}, &text);
  return text;
}

double Magnitude(const Literal& array, int64_t position) {
  return DispatchWide(array.type(), [&]<class W>() -> double {
    const W element = Loader<W>(array.type())(array.data(), position);
    if constexpr (std::is_same_v<W, bool>)
      return element ? 1 : 0;
    else
      return static_cast<double>(std::abs(std::complex<double>(element)));
  });
}

bool IsNanAt(const Literal& array, int64_t position) {
  if (!HasSpecials(array.type())) return false;
  return DispatchWide(array.type(), [&]<class W>() {
    const W element = Loader<W>(array.type())(array.data(), position);
    if constexpr (std::is_same_v<W, double> || std::is_same_v<W, std::complex<double>>)
      return std::isnan(std::real(element)) || std::isnan(std::imag(element));
    else
      return false;
  });
}

bool IsInfAt(const Literal& array, int64_t position) {
  return HasSpecials(array.type()) && !IsNanAt(array, position) && std::isinf(Magnitude(array, position));
}

Summary Summarize(const Literal& array) {
  Summary summary;
  double sum = 0, squares = 0;
  EachModulus(array, [&](double x, int64_t i) {
    ++summary.elements;
    if (!std::isfinite(x)) {
      ++(std::isnan(x) ? summary.nans : summary.infinities);
      if (summary.first_bad < 0) summary.first_bad = i;
      return;
    }
    summary.min = summary.finite == 0 ? x : std::min(summary.min, x);
    summary.max = summary.finite == 0 ? x : std::max(summary.max, x);
    ++summary.finite;
    sum += x;
    squares += x * x;
  });
  if (summary.finite > 0) summary.mean = sum / static_cast<double>(summary.finite);
  summary.norm = std::sqrt(squares);
  return summary;
}

std::string ToString(const Summary& summary, const Literal& array) {
  std::string text = "no finite element";
  if (summary.finite > 0)
    text = fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  norm {:.6g}", summary.min, summary.max,
                       summary.mean, summary.norm);
  text += fmt::format("  NaN {}  Inf {}", summary.nans, summary.infinities);
  if (summary.first_bad >= 0)
    text += fmt::format("  first bad {{{}}}", fmt::join(IndexOf(array, summary.first_bad), ","));
  return text;
}

nlohmann::ordered_json ToJson(const Summary& summary, const Literal& array) {
  nlohmann::ordered_json json = {{"elements", summary.elements}};
  if (summary.finite > 0)
    json.update({{"min", summary.min}, {"max", summary.max}, {"mean", summary.mean}, {"norm", summary.norm}});
  json["nan"] = summary.nans;
  json["inf"] = summary.infinities;
  if (summary.first_bad >= 0) json["first_bad"] = IndexOf(array, summary.first_bad);
  return json;
}

bool HoldsSpecial(const Literal& array, bool nans, bool infinities) {
  if (!array.shape().IsArray() || !HasSpecials(array.type()) || array.data() == nullptr) return false;
  if (!array.has_dynamic_sizes())
    return HoldsSpecial(array.type(), array.data(), array.element_count(), nans, infinities);
  bool found = false;
  EachModulus(array, [&](double x, int64_t) { found = found || IsSpecial(x, nans, infinities); });
  return found;
}

bool HoldsSpecial(ElementType type, const std::byte* elements, int64_t count, bool nans, bool infinities) {
  switch (type) {
    case ElementType::kF32:
      return AnyFrom<uint32_t>(elements, count, 0x7f800000u, nans, infinities);
    case ElementType::kC64:
      return AnyFrom<uint32_t>(elements, 2 * count, 0x7f800000u, nans, infinities);
    case ElementType::kF64:
      return AnyFrom<uint64_t>(elements, count, uint64_t{0x7ff} << 52, nans, infinities);
    case ElementType::kC128:
      return AnyFrom<uint64_t>(elements, 2 * count, uint64_t{0x7ff} << 52, nans, infinities);
    case ElementType::kF16:
      return AnyFrom<uint16_t>(elements, count, 0x7c00, nans, infinities);
    case ElementType::kBF16:
      return AnyFrom<uint16_t>(elements, count, 0x7f80, nans, infinities);
    default:
      break;
  }
  const LoadFn<double> load = Loader<double>(type);
  bool found = false;
  for (int64_t i = 0; i < count; ++i) found = found || IsSpecial(load(elements, i), nans, infinities);
  return found;
}

std::vector<NarrowRange> NarrowRanges(const Literal& array, absl::Span<const ElementType> types) {
  std::vector<NarrowRange> ranges;
  if (!array.shape().IsArray() || !HasSpecials(array.type())) return ranges;
  for (const ElementType type : types) {
    if (BitWidth(type) >= BitWidth(ComponentType(array.type()))) continue;
    const FloatFormat format = FormatOf(type);
    const double largest = DecodeSmallFloat(format, format.max_code());
    const double least_normal = std::ldexp(1.0, 1 - format.bias);
    NarrowRange range{type};
    EachModulus(array, [&](double x, int64_t i) {
      if (!std::isfinite(x) || x == 0) return;
      const double rounded = DecodeSmallFloat(format, EncodeSmallFloat(format, std::fabs(x)));
      if (!(rounded <= largest)) {
        if (range.overflows++ == 0) range.first_overflow = i;
      } else if (rounded == 0) {
        if (range.underflows++ == 0) range.first_underflow = i;
      } else if (rounded < least_normal && rounded != std::fabs(x)) {
        ++range.subnormals;
      }
    });
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace hlo::debug
