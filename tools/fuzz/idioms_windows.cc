// Convolutions and windows with dilations, groups, negative padding and any order of dimensions.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

// The window of one dimension.
struct Side {
  int64_t size = 1, stride = 1, low = 0, high = 0, base = 1, dilation = 1;
  bool is_reversed = false;

  // Returns the number of windows in a dimension of n elements.
  int64_t WindowsIn(int64_t n) const {
    const int64_t padded = (n == 0 ? 0 : (n - 1) * base + 1) + low + high, reach = (size - 1) * dilation + 1;
    return padded < reach ? 0 : (padded - reach) / stride + 1;
  }
};

Side RandomSide(Random& random, int64_t n, double plain) {
  Side side;
  if (random.Chance(plain)) return side;
  side.size = random.Between(1, 4);
  side.stride = random.Between(1, 3);
  side.base = random.Chance(0.5) ? 1 : random.Between(1, 3);
  side.dilation = random.Chance(0.5) ? 1 : random.Between(1, 3);
  side.low = random.Between(-2, 3);
  side.high = random.Between(-2, 3);
  const int64_t dilated = n == 0 ? 0 : (n - 1) * side.base + 1;
  if (dilated + side.low + side.high < 0) side.low = side.high = 0;
  side.is_reversed = random.Chance(0.2);
  return side;
}

std::string WindowText(const std::vector<Side>& sides, bool is_convolution) {
  std::vector<std::string> size, stride, pad, base, dilation, reversal;
  for (const Side& side : sides) {
    size.push_back(std::to_string(side.size));
    stride.push_back(std::to_string(side.stride));
    pad.push_back(fmt::format("{}_{}", side.low, side.high));
    base.push_back(std::to_string(side.base));
    dilation.push_back(std::to_string(side.dilation));
    reversal.push_back(side.is_reversed ? "1" : "0");
  }
  std::string text = fmt::format("window={{size={} stride={} pad={} lhs_dilate={} rhs_dilate={}",
                                 fmt::join(size, "x"), fmt::join(stride, "x"), fmt::join(pad, "x"),
                                 fmt::join(base, "x"), fmt::join(dilation, "x"));
  if (is_convolution) text += fmt::format(" rhs_reversal={}", fmt::join(reversal, "x"));
  return text + "}";
}

// The labels of an array's dimensions, and their sizes, in the same order.
struct Labelled {
  std::vector<std::pair<char, int64_t>> order;

  std::string labels() const {
    std::string text;
    for (const auto& [label, size] : order) text += label;
    return text;
  }
  Dims dims() const {
    Dims sizes;
    for (const auto& [label, size] : order) sizes.push_back(size);
    return sizes;
  }
};

}  // namespace

void GeneralConvolution(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type =
      random.Chance(0.8) ? s.FloatType() : random.Pick<ElementType>({kS32, kS8, kU8, kS64, kF16, kPred});
  const int64_t spatial = random.Below(4);
  const int64_t groups = random.Chance(0.5) ? 1 : random.Between(2, 4);
  const int64_t batch_groups = groups > 1 || random.Chance(0.7) ? 1 : random.Between(2, 3);
  const int64_t in = random.Pick<int64_t>({1, 1, 2, 3, 8}), batch = random.Between(1, 3);
  const int64_t out = groups * batch_groups * random.Pick<int64_t>({1, 2, 5, 8});
  Labelled input{{{'b', batch * batch_groups}, {'f', in * groups}}}, kernel{{{'i', in}, {'o', out}}},
      result{{{'b', batch}, {'f', out}}};
  std::vector<Side> sides;
  int64_t terms = in;
  for (int64_t d = 0; d < spatial; ++d) {
    const char label = static_cast<char>('0' + d);
    const int64_t n = random.Chance(0.03) ? 0 : random.Pick<int64_t>({1, 2, 3, 5, 8, 9, 17});
    sides.push_back(RandomSide(random, n, 0.15));
    terms *= sides.back().size;
    input.order.emplace_back(label, n);
    kernel.order.emplace_back(label, sides.back().size);
    result.order.emplace_back(label, sides.back().WindowsIn(n));
  }
  if (random.Chance(0.7)) random.Shuffle(input.order);
  if (random.Chance(0.7)) random.Shuffle(kernel.order);
  if (random.Chance(0.7)) random.Shuffle(result.order);
  if (Count(input.dims()) > 20'000 || Count(kernel.dims()) > 20'000 || Count(result.dims()) * terms > 300'000)
    return;
  const Value x = b.Exact(s.Of(type, input.dims()), terms), w = b.Exact(s.Of(type, kernel.dims()), terms);
  if (IsFloat(type)) b.program.has_contraction = true;
  std::string attributes =
      fmt::format("dim_labels={}_{}->{}", input.labels(), kernel.labels(), result.labels());
  if (spatial > 0) attributes = WindowText(sides, true) + ", " + attributes;
  if (groups > 1) attributes += fmt::format(", feature_group_count={}", groups);
  if (batch_groups > 1) attributes += fmt::format(", batch_group_count={}", batch_groups);
  s.Add(b.Carried(b.Op("convolution", {x, w}, type, result.dims(), attributes,
                       {.top = x.top * w.top * static_cast<double>(terms), .step = x.step + w.step})));
}

void DilatedWindows(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  const Value x = s.Of(type, s.SomeDims(random.Between(1, 3)));
  std::vector<Side> sides;
  Dims dims;
  for (const int64_t n : x.dims) {
    sides.push_back(RandomSide(random, n, 0.4));
    dims.push_back(sides.back().WindowsIn(n));
  }
  if (Count(dims) > 100'000) return;
  const std::string attributes = WindowText(sides, false);
  Value result = x;
  result.dims = dims;
  if (random.Chance(0.7)) {
    const char* opcode = random.Pick<const char*>({"maximum", "minimum"});
    s.Add(b.Op("reduce-window", {x, b.Constant(type, 1)}, type, dims,
               fmt::format("{}, to_apply={}", attributes, b.Combiner(opcode, type)), result));
    return;
  }
  if (b.program.is_wild) return;  // The larger one of a number and a NaN is unspecified.
  // Windows over an array and the positions of its elements.
  const Value places = b.Iota(kS32, x.dims, random.Below(x.rank()));
  const Value number{.type = type, .top = x.top, .step = x.step}, place{.type = kS32, .top = places.top};
  const std::string larger =
      b.Computation("larger", {number, place, number, place}, [&](Body& inner, const Values& v) -> Values {
        const Value first = inner.Compare(v[0], v[2], "GE");
        return {inner.Select(first, v[0], v[2]), inner.Select(first, v[1], v[3])};
      });
  Value result_places = places;
  result_places.dims = dims;
  s.AddAll(b.Several("reduce-window", {x, places, b.Constant(type, 0), b.Constant(kS32, -1)},
                     {result, result_places}, fmt::format("{}, to_apply={}", attributes, larger)));
}

}  // namespace hlo::fuzz
