// Sorts by several keys, gathers and scatters of windows at any place, rounding, selections, variadic
// reductions.

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

ElementType OrderedType(Random& random) {
  return random.Pick<ElementType>(
      {kF32, kS32, kS32, kU32, kS8, kU8, kS16, kU64, kS64, kBF16, kF64, kS4, kU4, kPred});
}

// A computation that returns one of its two operands, or combines them so that the order does not matter.
std::string AnyCombiner(Body& b, ElementType type, bool may_replace) {
  if (may_replace && b.random.Chance(0.4))
    return b.Computation("replace", {{.type = type}, {.type = type}},
                         [](Body&, const Values& v) -> Values { return {v[1]}; });
  return b.Combiner(IsPred(type) ? b.random.Pick<const char*>({"or", "and", "xor"})
                    : IsIntegral(type) && b.random.Chance(0.5)
                        ? b.random.Pick<const char*>({"add", "xor", "multiply"})
                        : b.random.Pick<const char*>({"maximum", "minimum"}),
                    type);
}

Dims Sorted(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

// The places of a gather or a scatter: which dimensions have indices, which are removed from the windows,
// and where the positions are in the other array.
struct Places {
  Dims indexed, removed;
  Dims sizes;    // Of the window, in all dimensions.
  Dims windows;  // The dimensions of the other array that are the window's.
  Dims other;    // The other array.
  Value indices;
  int64_t vector_dimension = 0;

  Places(Scene& s, const Dims& dims) {
    Random& random = s.random();
    const auto rank = static_cast<int64_t>(dims.size());
    Dims order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    random.Shuffle(order);
    indexed.assign(order.begin(), order.begin() + random.Between(1, rank));
    for (const int64_t d : indexed) {
      if (random.Chance(0.6) && dims[d] > 0) removed.push_back(d);
    }
    for (int64_t d = 0; d < rank; ++d) {
      const bool is_removed = std::find(removed.begin(), removed.end(), d) != removed.end();
      sizes.push_back(is_removed           ? 1
                      : random.Chance(0.5) ? dims[d]
                                           : random.Between(0, std::min<int64_t>(dims[d], 4)));
    }
    const int64_t count = random.Pick<int64_t>({0, 1, 2, 5, 17, 40});
    vector_dimension = random.Below(2);
    const auto n = static_cast<int64_t>(indexed.size());
    const int64_t largest = *std::max_element(dims.begin(), dims.end());
    indices = s.Indices(s.IndexType(), vector_dimension == 0 ? Dims{n, count} : Dims{count, n}, largest);
    const bool positions_first = random.Chance(0.5);
    if (positions_first) other.push_back(count);
    for (int64_t d = 0; d < rank; ++d) {
      if (std::find(removed.begin(), removed.end(), d) != removed.end()) continue;
      windows.push_back(static_cast<int64_t>(other.size()));
      other.push_back(sizes[d]);
    }
    if (!positions_first) other.push_back(count);
  }
};

}  // namespace

void SortedByKeys(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  Dims dims = s.SomeDims(random.Between(1, 3));
  const int64_t count = random.Between(1, 4), dimension = random.Below(static_cast<int64_t>(dims.size()));
  // The emulated GPU takes long for many lines.
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d != dimension) dims[d] = std::min<int64_t>(dims[d], 5);
  }
  Values operands, parameters;
  for (int64_t i = 0; i < count; ++i) {
    const ElementType type = OrderedType(random);
    Value x = s.Of(type, dims);
    if (IsFloat(type)) {
      // Neither NaN nor negative zeros, for which an order by comparison is not defined; and ties.
      const Value zero = b.Splat(type, dims, 0);
      x = b.Select(b.Compare(x, x, "EQ"), b.Binary("add", b.Clamp(x, -2, 2), zero), zero);
    } else if (!IsPred(type) && BitWidth(type) >= 8) {
      x = b.Binary("remainder", x, b.Splat(type, dims, static_cast<double>(random.Between(2, 5))));
    }
    operands.push_back(x);
    parameters.insert(parameters.end(), 2, Value{.type = type, .top = x.top, .step = x.step});
  }
  std::vector<int64_t> keys(count);
  std::iota(keys.begin(), keys.end(), 0);
  random.Shuffle(keys);
  keys.resize(random.Between(1, count));
  const std::string order = b.Computation("order", parameters, [&](Body& c, const Values& v) -> Values {
    Value less;
    for (size_t i = keys.size(); i-- > 0;) {
      Value x = v[2 * keys[i]], y = v[2 * keys[i] + 1];
      // Keys that are computed: absolute values, or bits.
      if (IsSigned(x.type) && !IsComplex(x.type) && c.random.Chance(0.2) && BitWidth(x.type) >= 8) {
        x = c.Unary("abs", x);
        y = c.Unary("abs", y);
      } else if (IsIntegral(x.type) && c.random.Chance(0.2) && BitWidth(x.type) >= 8) {
        x = c.Binary("xor", x, c.Constant(x.type, 3));
        y = c.Binary("xor", y, c.Constant(y.type, 3));
      }
      const Value now =
          c.random.Chance(0.3) ? c.Compare(y, x, "LT") : c.Compare(x, y, c.random.Chance(0.5) ? "LT" : "GT");
      less = less.name.empty()      ? now
             : c.random.Chance(0.5) ? c.Select(c.Compare(x, y, "EQ"), less, now)
                                    : c.Binary("or", now, c.Binary("and", c.Compare(x, y, "EQ"), less));
    }
    return {less};
  });
  const std::string attributes =
      fmt::format("dimensions={{{}}}, is_stable=true, to_apply={}", dimension, order);
  if (count == 1) return s.Add(b.Op("sort", operands, operands[0].type, dims, attributes, operands[0]));
  s.AddAll(b.Several("sort", operands, operands, attributes));
}

void WindowScatter(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Dims dims = s.SomeDims(random.Between(1, 4));
  const Places places(s, dims);
  if (Count(places.other) > 20'000) return;
  const ElementType type =
      random.Pick<ElementType>({kF32, kBF16, kF64, kS32, kS8, kU8, kU64, kS64, kS16, kPred, kS4});
  const Value x = s.Of(type, dims), updates = s.Of(type, places.other);
  // Updates that replace are in the order of the indices.
  s.Add(b.Op("scatter", {x, places.indices, updates}, type, dims,
             fmt::format("update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, "
                         "index_vector_dim={}, to_apply={}",
                         Braces(places.windows), Braces(Sorted(places.removed)), Braces(places.indexed),
                         places.vector_dimension, AnyCombiner(b, type, true)),
             {.top = IsFloat(type) ? std::max(x.top, updates.top) : std::numeric_limits<double>::infinity(),
              .step = std::min(x.step, updates.step)}));
}

void WindowGather(Scene& s) {
  Body& b = s.body;
  const Value x = s.Any();
  if (x.rank() == 0 || Count(x.dims) == 0) return;
  const Places places(s, x.dims);
  if (Count(places.other) > 20'000) return;
  s.Add(b.Op("gather", {x, places.indices}, x.type, places.other,
             fmt::format("offset_dims={}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim={}, "
                         "slice_sizes={}",
                         Braces(places.windows), Braces(Sorted(places.removed)), Braces(places.indexed),
                         places.vector_dimension, Braces(places.sizes)),
             x));
}

void Rounded(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  Value x = s.Of(random.Pick<ElementType>({kF32, kF32, kF64, kF16, kBF16}), s.SomeDims(random.Between(0, 3)));
  for (int64_t i = random.Between(1, 3); i > 0; --i) {
    if (random.Chance(0.5))
      x = b.Binary(random.Chance(0.5) ? "add" : "multiply", x, b.Splat(x.type, x.dims, 0.3125));
    Value like = x;
    like.top = 2 * x.top + 1;
    // A small exponent range turns large numbers into infinities.
    const int64_t exponent = random.Pick<int64_t>({8, 8, 5, 11, 6});
    if (exponent < 8 && like.top > 100) x = b.Clamp(x, -4, 4), like = x, like.top = 8;
    like.step = kUnknownStep;
    x = b.Op("reduce-precision", {x}, x.type, x.dims,
             fmt::format("exponent_bits={}, mantissa_bits={}", exponent,
                         random.Pick<int64_t>({0, 1, 3, 7, 10, 23, 52})),
             like);
    if (random.Chance(0.4)) s.Add(x);
  }
  s.Add(b.program.is_exact ? b.Carried(x) : x);
}

void Selections(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Type();
  const Dims dims = s.SomeDims(random.Between(0, 3));
  Value v = s.Of(type, dims);
  Values masks;
  for (int64_t i = random.Between(2, 8); i > 0; --i) {
    Value p;
    if (!masks.empty() && random.Chance(0.3)) {
      p = random.Pick(masks);
    } else if (random.Chance(0.2)) {
      p = b.Compare(s.Of(kS32, {}), b.Constant(kS32, 1), "GE");  // A scalar chooses a whole array.
      if (random.Chance(0.5)) p = b.Broadcast(p, dims, {});
    } else {
      const ElementType compared = s.Number();
      p = b.Compare(s.Of(compared, dims), b.Splat(compared, dims, 1), random.Chance(0.5) ? "LT" : "NE");
    }
    if (p.dims == dims && random.Chance(0.3)) p = b.Unary("not", p);
    masks.push_back(p);
    const Value other =
        random.Chance(0.4) ? b.Splat(type, dims, static_cast<double>(random.Below(2))) : s.Of(type, dims);
    Value next = random.Chance(0.5) ? b.Select(p, v, other) : b.Select(p, other, v);
    next.dims = dims;
    v = next;
  }
  s.Add(v);
}

// Adds a reduction of two to four arrays of different types, whose combiner exchanges values between them.
void SeveralFolds(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Dims dims = s.SomeDims(random.Between(1, 3));
  const int64_t count = random.Between(2, 4);
  Dims reduced, kept;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (random.Chance(0.6))
      reduced.push_back(d);
    else
      kept.push_back(dims[d]);
  }
  Values operands, inits, scalars, results;
  for (int64_t i = 0; i < count; ++i) {
    const ElementType type = random.Pick<ElementType>({kS32, kS32, kF32, kBF16, kS8, kU64, kF64, kS16, kU8});
    Value x = s.Of(type, dims);
    if (b.program.is_wild && IsFloat(type)) x = b.Splat(type, dims, 1);
    operands.push_back(x);
    inits.push_back(b.Constant(type, static_cast<double>(random.Below(3))));
    Value scalar{.type = type, .top = std::max(x.top, 2.0), .step = x.step};
    scalars.push_back(scalar);
    scalar.dims = kept;
    results.push_back(scalar);
  }
  Values parameters = scalars;
  parameters.insert(parameters.end(), scalars.begin(), scalars.end());
  const std::string fold = b.Computation("fold", parameters, [&](Body& c, const Values& v) -> Values {
    // The first array decides which elements of the others are kept; the first extremum wins.
    const Value first = c.Compare(v[0], v[count], c.random.Chance(0.5) ? "GE" : "LE");
    Values next;
    for (int64_t i = 0; i < count; ++i) {
      const Value &x = v[i], &y = v[count + i];
      if (i == 0 || c.random.Chance(0.4))
        next.push_back(c.Select(first, x, y));
      else if (IsIntegral(x.type) && c.random.Chance(0.6))
        next.push_back(
            c.Op(c.random.Pick<const char*>({"add", "xor", "multiply"}), {x, y}, x.type, {}, "", x));
      else
        next.push_back(c.Binary(c.random.Chance(0.5) ? "maximum" : "minimum", x, y));
    }
    return next;
  });
  for (Value& result : results) {
    if (IsIntegral(result.type)) result.top = std::numeric_limits<double>::infinity();
  }
  Values all = operands;
  all.insert(all.end(), inits.begin(), inits.end());
  s.AddAll(
      b.Several("reduce", all, results, fmt::format("dimensions={}, to_apply={}", Braces(reduced), fold)));
}

}  // namespace hlo::fuzz
