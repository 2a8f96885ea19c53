// Elementwise chains, masks, and data movement.

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;
constexpr const char* kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

const char* Direction(Random& random) { return kDirections[random.Below(6)]; }

// Returns an elementary function of a value within its domain.
Value FunctionOf(Scene& s, const Value& x) {
  const std::vector<Function>& functions = UnaryFunctions();
  const Function& f = functions[s.random().Below(static_cast<int64_t>(functions.size()))];
  Value value = s.body.Unary(f.opcode, s.body.Clamp(x, f.low, f.high));
  value.top = f.top;
  return value;
}

// Returns an elementwise operation that the type supports.
Value Elementwise(Scene& s, const Value& x) {
  Body& b = s.body;
  Random& random = s.random();
  if (IsPred(x.type)) {
    if (random.Chance(0.3)) return b.Unary("not", x);
    return b.Binary(random.Pick<const char*>({"and", "or", "xor"}), x, s.Of(kPred, x.dims));
  }
  if (IsComplex(x.type)) {
    if (random.Chance(0.3)) return b.Unary("negate", x);
    return b.Binary(random.Pick<const char*>({"add", "subtract"}), x, s.Of(x.type, x.dims));
  }
  if (IsIntegral(x.type)) {
    if (random.Chance(0.1) && IsSigned(x.type)) return b.Unary(random.Chance(0.5) ? "abs" : "sign", x);
    if (random.Chance(0.3))
      return b.Unary(random.Pick<const char*>({"not", "negate", "popcnt", "count-leading-zeros"}), x);
    return b.Binary(random.Pick<const char*>({"add", "subtract", "multiply", "maximum", "minimum", "and",
                                              "or", "xor", "divide", "remainder", "shift-left",
                                              "shift-right-arithmetic", "shift-right-logical"}),
                    x, s.Of(x.type, x.dims));
  }
  if (!b.program.is_exact && random.Chance(0.3)) return FunctionOf(s, x);
  if (random.Chance(0.3))
    return b.Unary(
        random.Pick<const char*>({"negate", "abs", "floor", "ceil", "sign", "round-nearest-even", "copy"}),
        x);
  return b.Binary(
      random.Pick<const char*>({"add", "subtract", "multiply", "maximum", "minimum", "add", "multiply"}), x,
      s.Of(x.type, x.dims));
}

// Returns a predicate over values of some type.
Value Predicate(Scene& s, const Dims& dims) {
  if (s.random().Chance(0.2)) return s.Of(kPred, dims);
  const ElementType type = s.Number();
  const Value x = s.Of(type, dims);
  const Value y = s.random().Chance(0.5) ? s.body.Splat(type, dims, 1) : s.Of(type, dims);
  return s.body.Compare(x, y, Direction(s.random()));
}

}  // namespace

void Chain(Scene& s) {
  Value v = s.Any();
  for (int64_t i = s.random().Between(2, 7); i > 0; --i) {
    v = Elementwise(s, v);
    if (s.random().Chance(0.2)) s.Add(v);
  }
  s.Add(v);
}

void Masks(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Dims dims = s.random().Chance(0.5) ? s.SomeDims(random.Between(1, 3)) : s.Any().dims;
  Value p = Predicate(s, dims);
  for (int64_t i = random.Below(3); i > 0; --i)
    p = b.Binary(random.Pick<const char*>({"and", "or", "xor"}), p, Predicate(s, dims));
  const ElementType type = s.Type();
  const Value x = s.Of(type, dims);
  Value y = random.Chance(0.5) ? b.Splat(type, dims, static_cast<double>(random.Below(2))) : s.Of(type, dims);
  Value chosen = b.Select(p, x, y);
  if (random.Chance(0.4)) chosen = b.Select(Predicate(s, dims), chosen, x);
  if (random.Chance(0.4) && !IsComplex(type) && !IsPred(type))
    chosen = b.Binary("multiply", chosen, b.Convert(p, type));
  if (random.Chance(0.2)) {
    // Uses one predicate for the whole array.
    const Value scalar = b.Reduce(random.Chance(0.5) ? "and" : "or", p, [&] {
      Dims all(dims.size());
      std::iota(all.begin(), all.end(), 0);
      return all;
    }());
    chosen = b.Select(b.Broadcast(scalar, dims, {}), chosen, y);
  }
  s.Add(p);
  s.Add(chosen);
}

void Concatenations(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Type();
  const Dims dims = s.SomeDims(random.Between(1, 3));
  const int64_t dimension = random.Below(static_cast<int64_t>(dims.size()));
  Values pieces;
  for (int64_t i = random.Between(2, 4); i > 0; --i) {
    Dims piece = dims;
    if (random.Chance(0.4)) piece[dimension] = s.SomeDims(1)[0] % 40 + 1;
    switch (random.Below(4)) {
      case 0:
        pieces.push_back(b.Splat(type, piece, static_cast<double>(random.Below(3))));
        break;
      case 1: {
        Dims rest = piece, mapping;
        rest.erase(rest.begin() + dimension);
        for (int64_t d = 0; d < static_cast<int64_t>(piece.size()); ++d) {
          if (d != dimension) mapping.push_back(d);
        }
        pieces.push_back(b.Broadcast(s.Of(type, rest), piece, mapping));
        break;
      }
      default:
        pieces.push_back(s.Of(type, piece));
    }
  }
  const Value joined = b.Concatenate(pieces, dimension);
  s.Add(joined);
  Value v = random.Chance(0.7) ? Elementwise(s, joined) : joined;
  if (random.Chance(0.5) && !IsComplex(type)) {
    Dims some;
    for (int64_t d = 0; d < v.rank(); ++d) {
      if (random.Chance(0.5)) some.push_back(d);
    }
    v = b.Reduce(IsPred(type) ? "or" : random.Pick<const char*>({"add", "maximum", "minimum"}), v, some);
  }
  s.Add(v);
}

void ReshapeChain(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  Value v = s.Any();
  for (int64_t i = random.Between(2, 5); i > 0; --i) {
    switch (random.Below(5)) {
      case 0:
      case 1: {
        Dims permutation(v.dims.size());
        std::iota(permutation.begin(), permutation.end(), 0);
        random.Shuffle(permutation);
        v = b.Transpose(v, permutation);
        break;
      }
      case 2: {
        // Merges two dimensions, or splits one.
        Dims dims = v.dims;
        if (dims.size() > 1 && random.Chance(0.5)) {
          const int64_t d = random.Below(static_cast<int64_t>(dims.size()) - 1);
          dims[d] *= dims[d + 1];
          dims.erase(dims.begin() + d + 1);
        } else if (!dims.empty() && dims.size() < 5) {
          const int64_t d = random.Below(static_cast<int64_t>(dims.size()));
          const int64_t part = dims[d] % 4 == 0 ? 4 : dims[d] % 3 == 0 ? 3 : 1;
          dims[d] /= part;
          dims.insert(dims.begin() + d + static_cast<int64_t>(random.Below(2)), part);
        }
        if (Count(dims) == Count(v.dims)) v = b.Reshape(v, dims);
        break;
      }
      case 3:
        v = Elementwise(s, v);
        break;
      default:
        if (v.rank() > 0) v = b.Reverse(v, {random.Below(v.rank())});
    }
  }
  s.Add(v);
}

void Paddings(Scene& s) {
  Random& random = s.random();
  const Value x = s.Any();
  if (x.rank() == 0) return;
  Dims low, high, inside;
  for (int64_t d = 0; d < x.rank(); ++d) {
    low.push_back(random.Between(-std::min<int64_t>(1, x.dims[d] / 2), 3));
    high.push_back(random.Between(-std::min<int64_t>(1, x.dims[d] / 2), 3));
    inside.push_back(random.Chance(0.2) && x.dims[d] < 300 ? 1 : 0);
  }
  Value v = s.body.Pad(x, static_cast<double>(random.Below(2)), low, high, inside);
  if (random.Chance(0.6)) v = Elementwise(s, v);
  s.Add(v);
}

void MixedTypes(Scene& s) {
  Value v = s.Any();
  for (int64_t i = s.random().Between(1, 4); i > 0; --i) {
    v = s.body.Convert(v, s.Type());
    if (s.random().Chance(0.7)) v = Elementwise(s, v);
    if (s.random().Chance(0.3)) s.Add(v);
  }
  s.Add(v);
}

void Slices(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = s.Any();
  if (x.rank() == 0 || Count(x.dims) == 0) return;
  // A stencil along one dimension.
  const int64_t d = random.Below(x.rank()), n = x.dims[d],
                reach = std::min<int64_t>(n - 1, random.Between(1, 3));
  Values parts;
  for (int64_t i = 0; i <= reach; ++i) {
    Dims starts(x.dims.size(), 0), limits = x.dims;
    starts[d] = i;
    limits[d] = n - reach + i;
    parts.push_back(b.Slice(x, starts, limits));
  }
  Value sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    sum = IsPred(x.type) ? b.Binary("xor", sum, parts[i])
                         : b.Binary(i % 2 == 1 ? "subtract" : "add", sum, parts[i]);
  s.Add(sum);
  if (random.Chance(0.5)) s.Add(b.Concatenate({parts.back(), parts[0]}, d));
  if (random.Chance(0.4)) {
    Values starts;
    Dims sizes;
    for (int64_t k = 0; k < x.rank(); ++k) {
      starts.push_back(s.Indices(kS32, {}, x.dims[k]));
      sizes.push_back(random.Between(std::min<int64_t>(1, x.dims[k]), x.dims[k]));
    }
    s.Add(b.DynamicSlice(x, starts, sizes));
  }
}

void Layouts(Scene& s) {
  Body& b = s.body;
  const Value x = s.Any();
  if (x.rank() < 2) return;
  Dims order(x.dims.size());
  std::iota(order.begin(), order.end(), 0);
  s.random().Shuffle(order);
  // The shape of a value with a layout contains the layout, which Op() does not support.
  const Value copy = b.UnaryWithLayout("copy", x, x.dims, order);
  const Value sum = IsPred(x.type) ? b.Unary("not", copy) : b.Binary("add", copy, x);
  // A bitcast to the default layout exposes the bytes: its dimensions are in the order of the layout.
  Dims physical;
  for (auto d = order.rbegin(); d != order.rend(); ++d) physical.push_back(x.dims[*d]);
  s.Add(b.Op("bitcast", {copy}, x.type, physical, "", x));
  s.Add(sum);
  if (s.random().Chance(0.5)) s.Add(b.UnaryWithLayout("copy", sum, x.dims, order));
}

}  // namespace hlo::fuzz
