// Opcodes that the other idioms do not use.

#include <algorithm>
#include <limits>
#include <numeric>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

}  // namespace

void MapCode(Scene& s) {
  Body& b = s.body;
  const Value x = s.Any();
  if (IsComplex(x.type)) return;
  const Value y = s.Of(x.type, x.dims);
  const Value scalar{.type = x.type, .top = std::max(x.top, y.top), .step = std::min(x.step, y.step)};
  Value result = x;
  const std::string code =
      b.Computation("code", {scalar, scalar}, [&](Body& inner, const Values& given) -> Values {
        Scene scene{.body = inner, .pool = given};
        Chain(scene);
        result = inner.Fit(scene.pool.back(), x.type, {});
        return {result};
      });
  Dims all(x.dims.size());
  std::iota(all.begin(), all.end(), 0);
  s.Add(b.Op("map", {x, y}, x.type, x.dims, fmt::format("dimensions={}, to_apply={}", Braces(all), code),
             result));
}

void RandomBits(Scene& s) {
  Body& b = s.body;
  const bool is_philox = s.random().Chance(0.5);
  const ElementType type = s.random().Pick<ElementType>({kU32, kU32, kU64, kU16, kU8});
  const Value state = s.Fresh(kU64, {2});
  const Value bits{.type = type, .dims = s.SomeDims(s.random().Between(1, 2)), .top = 0x1p64};
  const Values made = b.Several("rng-bit-generator", {state}, {state, bits},
                                fmt::format("algorithm={}", is_philox ? "rng_philox" : "rng_three_fry"));
  s.AddAll(made);
  const Value low = b.Binary("and", made[1], b.Splat(type, bits.dims, 7));
  Value small = low;
  small.top = 7;
  s.Add(b.Convert(small, kF32));
}

void TopkOpcode(Scene& s) {
  Body& b = s.body;
  Dims dims = s.SomeDims(s.random().Between(1, 2));
  if (dims.back() == 0) return;
  Value x = s.Of(s.random().Pick<ElementType>({kF32, kBF16, kS32}), dims);
  if (IsFloat(x.type)) {
    const Value zero = b.Splat(x.type, x.dims, 0);
    x = b.Select(b.Compare(x, x, "EQ"), b.Binary("add", x, zero), zero);
  }
  const int64_t k = s.random().Between(1, std::min<int64_t>(dims.back(), 40));
  dims.back() = k;
  Value best = x;
  best.dims = dims;
  const Value places{.type = kS32, .dims = dims, .top = 1e4};
  s.AddAll(b.Several("topk", {x}, {best, places},
                     fmt::format("k={}, largest={}", k, s.random().Chance(0.7) ? "true" : "false")));
}

void ScanOpcode(Scene& s) {
  Body& b = s.body;
  const ElementType type = s.random().Pick<ElementType>({kF32, kBF16, kS32, kS8, kF64});
  const Value x = s.Of(type, s.SomeDims(s.random().Between(1, 3)));
  const int64_t d = s.random().Below(x.rank());
  Dims rest = x.dims;
  rest.erase(rest.begin() + d);
  const Value init = s.Of(type, rest);
  const char* opcode = IsFloat(type) ? "maximum" : s.random().Pick<const char*>({"add", "xor", "minimum"});
  const std::string code =
      b.Computation("step", {{.type = type, .dims = rest}, {.type = type, .dims = rest}},
                    [&](Body& inner, const Values& v) -> Values {
                      const Value next = inner.Op(opcode, {v[0], v[1]}, type, rest, "", v[0]);
                      return {next, inner.random.Chance(0.7) ? next : v[0]};
                    });
  Value whole = x, last = x;
  whole.top = last.top = IsFloat(type) ? std::max(x.top, init.top) : std::numeric_limits<double>::infinity();
  whole.step = last.step = std::min(x.step, init.step);
  last.dims = rest;
  s.AddAll(b.Several("scan", {x, init}, {whole, last},
                     fmt::format("dimensions={{{}}}, num_carries=1, to_apply={}{}", d, code,
                                 s.random().Chance(0.3) ? ", is_reverse=true" : "")));
}

// Adds the gradient of max pooling.
void PoolingGradient(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = random.Pick<ElementType>({kF32, kF32, kF64, kS32});
  const Value x = s.Of(type, s.SomeDims(2));
  std::string text[2];
  Dims dims;
  int64_t terms = 1;
  for (int64_t d = 0; d < 2; ++d) {
    const int64_t size = std::min<int64_t>(random.Between(1, 3), x.dims[d]), stride = random.Between(1, 3);
    if (size == 0) return;
    terms *= size;
    dims.push_back((x.dims[d] - size) / stride + 1);
    text[0] += fmt::format("{}{}", d > 0 ? "x" : "", size);
    text[1] += fmt::format("{}{}", d > 0 ? "x" : "", stride);
  }
  if (b.program.is_wild) return;  // The maximum of a window with NaN is unspecified.
  const Value source = b.ExactInType(s.Of(type, dims), terms);
  if (IsFloat(type)) b.program.has_contraction = true;
  Value like = source;
  like.top *= static_cast<double>(terms);
  s.Add(b.Op("select-and-scatter", {x, source, b.Constant(type, 0)}, type, x.dims,
             fmt::format("window={{size={} stride={}}}, select={}, scatter={}", text[0], text[1],
                         b.Comparator(type, "GE"), b.Combiner("add", type)),
             like));
}

// Adds a scatter of rows into several arrays, whose combiner exchanges nothing between them.
void SeveralScatters(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Dims dims = s.SomeDims(random.Between(1, 3));
  const int64_t rows = random.Pick<int64_t>({0, 1, 2, 5, 17});
  const int64_t count = random.Between(1, 3);
  Values operands, updates, results, scalars;
  Dims update_dims = dims;
  update_dims[0] = rows;
  for (int64_t k = 0; k < count; ++k) {
    const ElementType type = s.Number();
    operands.push_back(s.Of(type, dims));
    updates.push_back(s.Of(type, update_dims));
    results.push_back(operands.back());
    results.back().top = std::max(operands.back().top, updates.back().top);
    results.back().step = std::min(operands.back().step, updates.back().step);
    scalars.push_back({.type = type, .top = results.back().top, .step = results.back().step});
  }
  Values parameters = scalars;
  parameters.insert(parameters.end(), scalars.begin(), scalars.end());
  const std::string combine =
      b.Computation("combine", parameters, [&](Body& inner, const Values& v) -> Values {
        Values combined;
        for (int64_t k = 0; k < count; ++k) {
          const Value &old = v[static_cast<size_t>(k)], &update = v[static_cast<size_t>(count + k)];
          const char* opcode = random.Pick<const char*>({"maximum", "minimum", ""});
          combined.push_back(*opcode == 0 ? update : inner.Binary(opcode, old, update));
        }
        return combined;
      });
  const Value indices = s.Indices(s.IndexType(), {rows, 1}, dims[0]);
  Dims window;
  for (int64_t d = 1; d < static_cast<int64_t>(dims.size()); ++d) window.push_back(d);
  const std::string attributes = fmt::format(
      "update_window_dims={}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
      "index_vector_dim=1, to_apply={}",
      Braces(window), combine);
  Values all = operands;
  all.push_back(indices);
  all.insert(all.end(), updates.begin(), updates.end());
  if (count == 1) return s.Add(b.Op("scatter", all, results[0].type, dims, attributes, results[0]));
  s.AddAll(b.Several("scatter", all, results, attributes));
}

// Adds an asynchronous call of a computation on two arrays.
void AsyncCall(Scene& s) {
  Body& b = s.body;
  const Value x = s.Any();
  if (IsComplex(x.type)) return;
  const Value y = s.Of(x.type, x.dims);
  Value result = x;
  const std::string code = b.Computation("asynchronous", {x, y}, [&](Body& inner, const Values& v) -> Values {
    Scene scene{.body = inner, .pool = v};
    Chain(scene);
    result = inner.Carried(inner.Fit(scene.pool.back(), x.type, x.dims));
    return {result};
  });
  s.Add(b.Async(code, {x, y}, result));
}

}  // namespace hlo::fuzz
