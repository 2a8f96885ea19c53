// Arrays with dynamic dimensions.

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

// Returns the value with dynamic dimensions, whose bounds are the sizes.
Value WithDynamic(const Value& x, const std::vector<bool>& is_dynamic) {
  Value value = x;
  std::vector<std::string> sizes;
  bool is_static = true;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    sizes.push_back(fmt::format("{}{}", is_dynamic[d] ? "<=" : "", x.dims[d]));
    is_static = is_static && !is_dynamic[d];
  }
  value.shape = is_static ? "" : fmt::format("{}[{}]", Name(x.type), fmt::join(sizes, ","));
  return value;
}

// Returns a size that is mostly within the bound; a size of 0 is common.
Value ActualSize(Scene& s, int64_t bound) {
  Body& b = s.body;
  if (!s.takes_parameters || s.random().Chance(0.6))
    return b.Constant(kS32, static_cast<double>(s.random().Between(0, bound)));
  const Value drawn = s.Indices(kS32, {}, bound);
  return b.Op("clamp", {b.Constant(kS32, 0), drawn, b.Constant(kS32, static_cast<double>(bound))}, kS32, {},
              "", {.top = static_cast<double>(bound)});
}

// An array with one dynamic dimension.
struct DynamicValue {
  Value value;
  int64_t dimension;

  std::vector<bool> flags() const {
    std::vector<bool> flags(value.dims.size(), false);
    flags[dimension] = true;
    return flags;
  }
};

const char* ExactOpcode(Random& random, ElementType type) {
  if (IsPred(type)) return random.Pick<const char*>({"and", "or", "xor"});
  return random.Pick<const char*>({"maximum", "minimum"});
}

Value DynamicResult(Body& b, std::string_view opcode, const Values& operands, const DynamicValue& x,
                    std::string_view attributes = "") {
  return b.Shaped(opcode, operands, WithDynamic(x.value, x.flags()), attributes);
}

DynamicValue Combined(Scene& s, DynamicValue x) {
  const ElementType type = x.value.type;
  const Value other = s.random().Chance(0.5) ? x.value : s.Of(type, x.value.dims);
  x.value = DynamicResult(s.body, ExactOpcode(s.random(), type), {x.value, other}, x);
  return x;
}

DynamicValue Transposed(Scene& s, DynamicValue x) {
  const Values operands = {x.value};
  Dims order(x.value.dims.size()), dims;
  std::iota(order.begin(), order.end(), 0);
  s.random().Shuffle(order);
  for (const int64_t k : order) dims.push_back(x.value.dims[k]);
  x.value.dims = dims;
  x.dimension = std::find(order.begin(), order.end(), x.dimension) - order.begin();
  x.value = DynamicResult(s.body, "transpose", operands, x, "dimensions=" + Braces(order));
  return x;
}

DynamicValue Reversed(Scene& s, DynamicValue x) {
  x.value = DynamicResult(s.body, "reverse", {x.value}, x, fmt::format("dimensions={{{}}}", x.dimension));
  return x;
}

DynamicValue Padded(Scene& s, DynamicValue x) {
  Random& random = s.random();
  const Values operands = {x.value, s.body.Constant(x.value.type, 1)};
  std::vector<std::string> padding;
  for (int64_t& n : x.value.dims) {
    const int64_t low = random.Between(0, 2), high = random.Between(0, 2), inside = random.Below(2);
    padding.push_back(fmt::format("{}_{}_{}", low, high, inside));
    n += std::max<int64_t>(n - 1, 0) * inside + low + high;
  }
  x.value.top = std::max(x.value.top, 1.0);
  x.value = DynamicResult(s.body, "pad", operands, x, fmt::format("padding={}", fmt::join(padding, "x")));
  return x;
}

// The actual elements of the pieces become adjacent.
DynamicValue Concatenated(Scene& s, DynamicValue x) {
  Random& random = s.random();
  const Value other = random.Chance(0.5) ? x.value : s.Of(x.value.type, x.value.dims);
  Values operands = {x.value, other};
  if (random.Chance(0.5)) std::swap(operands[0], operands[1]);
  x.value.dims[x.dimension] *= 2;
  x.value.top = std::max(x.value.top, other.top);
  x.value.step = std::min(x.value.step, other.step);
  x.value = DynamicResult(s.body, "concatenate", operands, x, fmt::format("dimensions={{{}}}", x.dimension));
  return x;
}

DynamicValue SortedActual(Scene& s, DynamicValue x) {
  if (IsComplex(x.value.type) || s.body.program.is_wild || Count(x.value.dims) > 100) return x;
  x.value =
      DynamicResult(s.body, "sort", {x.value}, x,
                    fmt::format("dimensions={{{}}}, is_stable=true, to_apply={}",
                                s.random().Below(x.value.rank()), s.body.Comparator(x.value.type, "LT")));
  return x;
}

DynamicValue Sliced(Scene& s, DynamicValue x) {
  const Values operands = {x.value};
  int64_t& size = x.value.dims[x.dimension];
  const int64_t limit = s.random().Between(0, size), stride = s.random().Between(1, 2);
  if (CeilDiv(limit, stride) < 2) return x;  // A slice of one element is static.
  std::vector<std::string> ranges;
  for (int64_t k = 0; k < x.value.rank(); ++k) {
    ranges.push_back(k == x.dimension ? fmt::format("[0:{}:{}]", limit, stride)
                                      : fmt::format("[0:{}]", x.value.dims[k]));
  }
  size = CeilDiv(limit, stride);
  x.value = DynamicResult(s.body, "slice", operands, x, fmt::format("slice={{{}}}", fmt::join(ranges, ", ")));
  return x;
}

DynamicValue Selected(Scene& s, DynamicValue x) {
  Body& b = s.body;
  const std::string dimensions = fmt::format("dimensions={{{}}}", x.dimension);
  const Value chosen = b.Compare(s.Of(kS32, x.value.dims), b.Splat(kS32, x.value.dims, 0), "GT");
  const Value size = b.Shaped("get-dimension-size", {x.value}, {.type = kS32}, dimensions);
  const Value mask =
      b.Shaped("set-dimension-size", {chosen, size}, WithDynamic(chosen, x.flags()), dimensions);
  x.value = DynamicResult(b, "select", {mask, x.value, x.value}, x);
  return x;
}

DynamicValue Broadcasted(Scene& s, DynamicValue x) {
  const Values operands = {x.value};
  const int64_t n = s.random().Between(1, 3), at = s.random().Below(x.value.rank() + 1);
  Dims mapping;
  for (int64_t k = 0; k < x.value.rank(); ++k) mapping.push_back(k < at ? k : k + 1);
  x.value.dims.insert(x.value.dims.begin() + at, n);
  if (x.dimension >= at) ++x.dimension;
  x.value = DynamicResult(s.body, "broadcast", operands, x, "dimensions=" + Braces(mapping));
  return x;
}

// Applies an operation that keeps the array dynamic.
DynamicValue DynamicStep(Scene& s, const DynamicValue& x) {
  constexpr DynamicValue (*kSteps[])(Scene&, DynamicValue) = {&Combined, &Transposed,   &Reversed,
                                                              &Padded,   &Concatenated, &SortedActual,
                                                              &Sliced,   &Selected,     &Broadcasted};
  return kSteps[s.random().Below(std::size(kSteps))](s, x);
}

// Adds static values that depend on all actual elements, and the array itself.
void AddDynamic(Scene& s, const DynamicValue& x) {
  Body& b = s.body;
  const std::string dimensions = fmt::format("dimensions={{{}}}", x.dimension);
  s.Add(b.Shaped("get-dimension-size", {x.value}, {.type = kS32, .top = 1e6}, dimensions));
  Value reduced = x.value;
  reduced.shape.clear();
  reduced.dims.erase(reduced.dims.begin() + x.dimension);
  if (!IsComplex(x.value.type))
    s.Add(b.Shaped("reduce", {x.value, b.Constant(x.value.type, 1)}, reduced,
                   fmt::format("{}, to_apply={}", dimensions,
                               b.Combiner(ExactOpcode(s.random(), x.value.type), x.value.type))));
  if (b.depth == 0 && s.takes_parameters) s.shaped.push_back(x.value);
}

DynamicValue FreshDynamic(Scene& s) {
  Body& b = s.body;
  Dims dims = s.SomeDims(s.random().Between(1, 3));
  while (Count(dims) > 4000) *std::max_element(dims.begin(), dims.end()) /= 2;
  DynamicValue x{s.Of(s.Type(), dims), s.random().Below(static_cast<int64_t>(dims.size()))};
  x.value = b.Shaped("set-dimension-size", {x.value, ActualSize(s, dims[x.dimension])},
                     WithDynamic(x.value, x.flags()), fmt::format("dimensions={{{}}}", x.dimension));
  return x;
}

}  // namespace

void DynamicSizes(Scene& s) {
  DynamicValue x = FreshDynamic(s);
  for (int64_t i = s.random().Between(0, 4); i > 0 && Count(x.value.dims) < 20'000; --i) {
    x = DynamicStep(s, x);
    if (s.random().Chance(0.2)) AddDynamic(s, x);
  }
  AddDynamic(s, x);
}

// A loop that carries a dynamic array, whose size changes in each iteration.
void DynamicLoop(Scene& s) {
  Random& random = s.random();
  const DynamicValue x = FreshDynamic(s);
  const int64_t bound = x.value.dims[x.dimension], step = random.Between(-2, 2);
  const std::string dimensions = fmt::format("dimensions={{{}}}", x.dimension);
  const int64_t trips = random.Below(5);
  DynamicValue carried = x;
  carried.value.shape.clear();
  carried.value = s.body.Carried(carried.value);
  if (carried.value.name != x.value.name) return;  // Rounding would make it static.
  carried.value.shape = x.value.shape;
  const Values after = s.body.While(
      {s.body.Constant(kS32, 0), carried.value},
      [&](Body& b, const Values& v) -> Values {
        return {b.Compare(v[0], b.Constant(kS32, static_cast<double>(trips)), "LT")};
      },
      [&](Body& b, const Values& v) -> Values {
        Value next = v[1];
        const Value size = b.Shaped("get-dimension-size", {next}, {.type = kS32}, dimensions);
        const Value sum = b.Binary("add", size, b.Constant(kS32, static_cast<double>(step)));
        const Value clamped =
            b.Op("clamp", {b.Constant(kS32, 0), sum, b.Constant(kS32, static_cast<double>(bound))}, kS32, {},
                 "", {});
        if (random.Chance(0.5)) next = b.Shaped(ExactOpcode(random, next.type), {next, next}, next);
        if (random.Chance(0.5)) next = b.Shaped("reverse", {next}, next, dimensions);
        // A size that shrinks leaves the elements; one that grows shows elements that were not set.
        if (step <= 0) next = b.Shaped("set-dimension-size", {next, clamped}, next, dimensions);
        return {b.Binary("add", v[0], b.Constant(kS32, 1)), next};
      });
  AddDynamic(s, {after[1], x.dimension});
}

}  // namespace hlo::fuzz
