// Matrix products, reductions, and building blocks of neural networks.

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

Dims Leading(const Value& x) {
  Dims mapping(x.dims.size() - 1);
  std::iota(mapping.begin(), mapping.end(), 0);
  return mapping;
}
Value AlongRows(Body& b, const Value& rows, const Value& like) {
  return b.Broadcast(rows, like.dims, Leading(like));
}
Value LastReduced(Body& b, std::string_view opcode, const Value& x) {
  return b.Reduce(opcode, x, {x.rank() - 1});
}

// Returns activations of rank 2 to 3.
Value Activations(Scene& s) { return s.Of(s.FloatType(), s.SomeDims(s.random().Between(2, 3))); }

}  // namespace

void DotChain(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = random.Chance(0.85) ? s.FloatType() : random.Pick<ElementType>({kS32, kS8, kS64});
  Dims dims = s.SomeDims(random.Between(2, 3));
  Value x = s.Of(type, dims);
  for (int64_t i = random.Between(1, 2); i > 0; --i) {
    if (random.Chance(0.3)) {
      Dims turned(x.dims.size());
      std::iota(turned.begin(), turned.end(), 0);
      std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
      x = b.Transpose(x, turned);
    }
    Dims weights = x.dims;
    weights[weights.size() - 2] = x.dims.back();
    weights.back() = std::min<int64_t>(s.Size(), 128);
    if (Count(weights) > 60000 || Count(x.dims) * weights.back() > 4000000) break;
    x = b.Dot(x, s.Of(type, weights));
    s.Add(x);
    Dims last = {x.dims.back()};
    if (random.Chance(0.5)) x = b.Binary("add", x, b.Broadcast(s.Of(type, last), x.dims, {x.rank() - 1}));
    if (random.Chance(0.4)) x = b.Binary("maximum", x, b.Splat(type, x.dims, 0));
    if (random.Chance(0.3)) {
      Dims flat = {x.dims[0] * x.dims[1]};
      flat.insert(flat.end(), x.dims.begin() + 2, x.dims.end());
      s.Add(b.Reshape(x, flat));
    }
  }
  s.Add(x);
}

void ReductionChain(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = s.Of(s.Number(), s.SomeDims(random.Between(1, 4)));
  Dims some;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (random.Chance(0.5)) some.push_back(d);
  }
  const Value rest = b.Reduce(random.Pick<const char*>({"add", "add", "maximum", "minimum"}), x, some);
  s.Add(rest);
  if (random.Chance(0.6)) {
    Dims mapping;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (std::find(some.begin(), some.end(), d) == some.end()) mapping.push_back(d);
    }
    const Value shifted = b.Binary("subtract", x, b.Broadcast(rest, x.dims, mapping));
    s.Add(shifted);
    s.Add(b.Reduce("add", shifted, some));
  }
}

void SeveralReductions(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  const Value x = s.Of(type, s.SomeDims(random.Between(1, 3)));
  const Value y = s.Of(type, x.dims);
  const int64_t d = random.Below(x.rank());
  if (random.Chance(0.5)) {
    const Value product = b.Binary("multiply", x, y);
    s.Add(b.Reduce("add", x, {d}));
    s.Add(b.Reduce("add", product, {d}));
    s.Add(b.Reduce("maximum", random.Chance(0.5) ? product : y, {random.Below(x.rank())}));
    return;
  }
  const Value a = b.Exact(x, x.dims[d]);
  Dims kept = x.dims;
  kept.erase(kept.begin() + d);
  const std::string combiner = b.Computation(
      "both", {{.type = type}, {.type = type}, {.type = type}, {.type = type}},
      [](Body& c, const Values& v) -> Values {
        return {c.Op("add", {v[0], v[2]}, v[0].type, {}, "", v[0]), c.Binary("maximum", v[1], v[3])};
      });
  if (IsFloat(type)) b.program.has_contraction = true;
  const Value tuple = b.PairOf("reduce", {a, y, b.Constant(type, 0), b.Constant(type, 0)}, type, type, kept,
                               fmt::format("dimensions={{{}}}, to_apply={}", d, combiner));
  Value sum = a;
  sum.top *= static_cast<double>(std::max<int64_t>(x.dims[d], 1));
  sum.dims = kept;
  Value most = y;
  most.dims = kept;
  for (const Value& v : b.Elements(tuple, {sum, most})) s.Add(v);
}

void Softmax(Scene& s) {
  Body& b = s.body;
  const Value x = Activations(s);
  if (x.dims.back() == 0) return;
  const Value shifted = b.Binary("subtract", x, AlongRows(b, LastReduced(b, "maximum", x), x));
  // Exact programs use squares and maxima instead of exponentials and quotients.
  const bool is_exact = b.program.is_exact;
  const Value weights = is_exact ? b.Binary("multiply", b.Exact(shifted, 1), b.Exact(shifted, 1))
                                 : b.Unary("exponential", b.Clamp(shifted, -8, 0));
  const Value sums = AlongRows(b, LastReduced(b, "add", weights), x);
  const Value result = b.Binary(is_exact ? "subtract" : "divide", weights, sums);
  s.Add(result);
  if (s.random().Chance(0.6)) s.Add(b.Binary("add", result, x));
}

void LayerNorm(Scene& s) {
  Body& b = s.body;
  const Value x = Activations(s);
  if (x.dims.back() == 0) return;
  const ElementType type = x.type;
  const auto n = static_cast<double>(x.dims.back());
  const bool is_exact = b.program.is_exact;
  Value sum = LastReduced(b, "add", x);
  if (!is_exact) sum = b.Binary("divide", sum, b.Splat(type, sum.dims, n));
  const Value centred = b.Exact(b.Binary("subtract", x, AlongRows(b, sum, x)), x.dims.back());
  Value variance = LastReduced(b, "add", b.Binary("multiply", centred, centred));
  Value scaled;
  if (is_exact) {
    scaled = b.Binary("multiply", centred, AlongRows(b, b.Clamp(variance, 0, 3), x));
  } else {
    variance = b.Binary("divide", variance, b.Splat(type, sum.dims, n));
    scaled =
        b.Binary("multiply", centred,
                 AlongRows(b, b.Unary("rsqrt", b.Binary("add", variance, b.Splat(type, sum.dims, 1))), x));
  }
  const Dims last = {x.dims.back()};
  const Value gain = b.Broadcast(s.Of(type, last), x.dims, {x.rank() - 1});
  const Value bias = b.Broadcast(s.Of(type, last), x.dims, {x.rank() - 1});
  const Value result = b.Binary("add", b.Binary("multiply", scaled, gain), bias);
  s.Add(result);
  if (s.random().Chance(0.6)) s.Add(b.Binary("add", x, result));
}

void TokensAndPositions(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.FloatType();
  const Dims patches = s.SomeDims(3);
  Dims token = patches, all = patches;
  token[1] = 1;
  all[1] += 1;
  const Value x = s.Of(type, patches);
  const Value first =
      random.Chance(0.4) ? b.Splat(type, token, 0) : b.Broadcast(s.Of(type, {patches[2]}), token, {2});
  Value v;
  if (random.Chance(0.5)) {
    v = b.Concatenate({first, x}, 1);
  } else {
    const Value zero = b.Constant(kS32, 0), one = b.Constant(kS32, 1);
    v = b.DynamicUpdateSlice(b.Splat(type, all, 0), x, {zero, one, zero});
    v = b.DynamicUpdateSlice(v, first, {zero, zero, zero});
  }
  v = b.Binary("add", v, b.Broadcast(s.Of(type, {all[1], all[2]}), all, {1, 2}));
  s.Add(v);
  if (random.Chance(0.5)) {
    const Value row = s.Of(type, {1, all[2]});
    const Value table = b.DynamicUpdateSlice(s.Of(type, {all[1], all[2]}), row,
                                             {s.Indices(kS32, {}, all[1]), b.Constant(kS32, 0)});
    s.Add(b.Binary("multiply", v, b.Broadcast(table, all, {1, 2})));
  }
}

void Attention(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.FloatType();
  const int64_t heads = random.Between(1, 3), length = std::min<int64_t>(s.Size(), 33),
                width = std::min<int64_t>(s.Size(), 33);
  if (length == 0) return;
  const Dims dims = {length, heads * width};
  const auto split = [&](const Value& x) {
    return b.Transpose(b.Reshape(x, {length, heads, width}), {1, 0, 2});
  };
  const Value q = split(s.Of(type, dims)), k = split(s.Of(type, dims)), v = split(s.Of(type, dims));
  Value scores = b.Dot(q, b.Transpose(k, {0, 2, 1}));
  if (random.Chance(0.7)) {
    const Value rows = b.Iota(kS32, scores.dims, 1), columns = b.Iota(kS32, scores.dims, 2);
    scores = b.Select(b.Compare(rows, columns, "GE"), scores, b.Splat(type, scores.dims, -4));
  }
  Value weights;
  const Value shifted = b.Binary("subtract", scores, AlongRows(b, LastReduced(b, "maximum", scores), scores));
  if (b.program.is_exact) {
    weights = b.Clamp(shifted, -3, 0);
  } else {
    weights = b.Unary("exponential", b.Clamp(shifted, -8, 0));
    weights = b.Binary("divide", weights, AlongRows(b, LastReduced(b, "add", weights), scores));
  }
  const Value mixed = b.Reshape(b.Transpose(b.Dot(weights, v), {1, 0, 2}), dims);
  s.Add(mixed);
  if (random.Chance(0.4)) s.Add(weights);
}

void Convolution(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.FloatType();
  const int64_t batch = random.Between(1, 2), in = random.Pick<int64_t>({1, 2, 3, 8, 16}),
                out = random.Pick<int64_t>({1, 3, 8, 17});
  const int64_t size = random.Pick<int64_t>({4, 7, 16, 17, 31}), window = random.Between(1, 3),
                stride = random.Between(1, 2);
  const int64_t pad = random.Below(window), result = (size + 2 * pad - window) / stride + 1;
  const bool is_depthwise = in > 1 && random.Chance(0.3);
  const int64_t terms = window * window * (is_depthwise ? 1 : in);
  const Value x = b.Exact(s.Of(type, {batch, size, size, in}), terms);
  const Dims kernel = {window, window, is_depthwise ? 1 : in, is_depthwise ? in : out};
  const Value w = b.Exact(s.Of(type, kernel), terms);
  b.program.has_contraction = true;
  const Value sum =
      b.Op("convolution", {x, w}, type, {batch, result, result, kernel[3]},
           fmt::format("window={{size={0}x{0} stride={1}x{1} pad={2}_{2}x{2}_{2}}}, "
                       "dim_labels=b01f_01io->b01f{3}",
                       window, stride, pad, is_depthwise ? fmt::format(", feature_group_count={}", in) : ""),
           {.top = x.top * w.top * static_cast<double>(terms), .step = x.step + w.step});
  s.Add(b.Carried(sum));
  const Value bias = b.Broadcast(s.Of(type, {kernel[3]}), sum.dims, {3});
  s.Add(b.Binary("maximum", b.Binary("add", sum, bias), b.Splat(type, sum.dims, 0)));
}

void Windows(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  Value x = s.Of(type, s.SomeDims(2));
  const char* opcode = random.Pick<const char*>({"add", "maximum", "minimum"});
  const bool is_sum = std::string_view(opcode) == "add";
  std::string text[3];
  Dims dims;
  int64_t terms = 1;
  for (int64_t d = 0; d < 2; ++d) {
    const int64_t size = std::min<int64_t>(random.Between(1, 4), std::max<int64_t>(x.dims[d], 1)),
                  stride = random.Between(1, 2);
    const int64_t low = random.Below(size), high = random.Below(size), room = x.dims[d] + low + high - size;
    if (room < 0) return;
    terms *= size;
    dims.push_back(room / stride + 1);
    const char* by = d > 0 ? "x" : "";
    text[0] += fmt::format("{}{}", by, size);
    text[1] += fmt::format("{}{}", by, stride);
    text[2] += fmt::format("{}{}_{}", by, low, high);
  }
  if (is_sum) x = b.ExactInType(x, terms);
  if (is_sum && IsFloat(type)) b.program.has_contraction = true;
  Value like = x;
  like.top *= static_cast<double>(is_sum ? terms : 1);
  s.Add(b.Op("reduce-window", {x, b.Constant(type, 0)}, type, dims,
             fmt::format("window={{size={} stride={} pad={}}}, to_apply={}", text[0], text[1], text[2],
                         b.Combiner(opcode, type)),
             like));
}

}  // namespace hlo::fuzz
