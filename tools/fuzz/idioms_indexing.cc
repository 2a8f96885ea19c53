// Extrema with their positions, sorts, cumulative and segment sums, gathers and scatters.

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

// Returns few distinct values, which gives ties; no NaN, whose sign is unspecified, and no negative zero.
Value WithTies(Scene& s, const Value& x) {
  if (IsFloat(x.type) && s.body.program.is_wild) {
    const Value zero = s.body.Splat(x.type, x.dims, 0);
    return s.body.Select(s.body.Compare(x, x, "EQ"), s.body.Binary("add", x, zero), zero);
  }
  if (!IsIntegral(x.type) || BitWidth(x.type) < 4) return x;
  return s.body.Binary("remainder", x, s.body.Splat(x.type, x.dims, 3));
}

// Adds a variadic instruction over an array of values and an array of indices.
Values Pair(Body& b, std::string_view opcode, const Values& operands, const Value& x, const Value& i,
            const std::string& attributes, const Dims& dims) {
  const Value tuple = b.PairOf(opcode, operands, x.type, i.type, dims, attributes);
  return b.Elements(tuple, {{.type = x.type, .dims = dims, .top = x.top, .step = x.step},
                            {.type = i.type, .dims = dims, .top = i.top}});
}

int64_t LastOf(const Value& x) { return x.rank() - 1; }

}  // namespace

void ArgExtremes(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number(), index = random.Chance(0.8) ? kS32 : kS64;
  const Value x = WithTies(s, s.Of(type, s.SomeDims(random.Between(1, 3))));
  const int64_t d = random.Below(x.rank());
  const bool is_max = random.Chance(0.5), first_wins = random.Chance(0.8);
  const std::string combiner =
      b.Computation("best", {{.type = type}, {.type = index}, {.type = type}, {.type = index}},
                    [&](Body& c, const Values& v) -> Values {
                      const Value better = c.Compare(v[0], v[2], is_max ? "GT" : "LT");
                      const Value is_nan = c.Compare(v[0], v[0], "NE");
                      const Value wins = c.Binary("or", better, is_nan);
                      const Value tie = c.Binary("and", c.Compare(v[0], v[2], "EQ"),
                                                 c.Compare(v[1], v[3], first_wins ? "LT" : "GT"));
                      return {c.Select(wins, v[0], v[2]), c.Select(c.Binary("or", wins, tie), v[1], v[3])};
                    });
  Dims kept = x.dims;
  kept.erase(kept.begin() + d);
  // No element equals the initial value; the smallest value of the type could occur.
  const bool can_start_low = IsFloat(type);
  const Value init = b.Constant(type, can_start_low      ? (is_max ? -1000 : 1000)
                                      : IsUnsigned(type) ? (is_max ? 0 : 100)
                                                         : (is_max ? -100 : 100));
  const Value places = b.Iota(index, x.dims, d);
  const Values best = Pair(b, "reduce", {x, places, init, b.Constant(index, 0)}, x, places,
                           fmt::format("dimensions={{{}}}, to_apply={}", d, combiner), kept);
  s.Add(best[0]);
  s.Add(best[1]);
}

void Sorted(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  const Value x = WithTies(s, s.Of(type, s.SomeDims(random.Between(1, 3))));
  const int64_t d = random.Below(x.rank());
  const char* direction = random.Chance(0.6) ? "LT" : "GT";
  if (random.Chance(0.4)) {
    s.Add(b.Op(
        "sort", {x}, type, x.dims,
        fmt::format("dimensions={{{}}}, is_stable=true, to_apply={}", d, b.Comparator(type, direction)), x));
    return;
  }
  const Value places = b.Iota(kS32, x.dims, d);
  const Values sorted = Pair(b, "sort", {x, places}, x, places,
                             fmt::format("dimensions={{{}}}, is_stable=true, to_apply={}", d,
                                         b.Comparator(type, direction, {places})),
                             x.dims);
  s.Add(sorted[0]);
  s.Add(sorted[1]);
}

void TopK(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = random.Pick<ElementType>({kF32, kF32, kBF16, kS32});
  Dims dims = s.SomeDims(random.Between(1, 2));
  if (dims.back() == 0) return;
  const Value x = WithTies(s, s.Of(type, dims));
  const int64_t k = random.Between(1, std::min<int64_t>(dims.back(), 40));
  Dims kept = dims;
  kept.back() = k;
  const Value places = b.Iota(kS32, dims, LastOf(x));
  const Values sorted = Pair(b, "sort", {x, places}, x, places,
                             fmt::format("dimensions={{{}}}, is_stable=true, to_apply={}", LastOf(x),
                                         b.Comparator(type, "GT", {places})),
                             dims);
  const Dims zeros(dims.size(), 0);
  s.Add(b.Slice(sorted[0], zeros, kept));
  s.Add(b.Slice(sorted[1], zeros, kept));
}

void Cumulative(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  Value x = s.Of(type, s.SomeDims(random.Between(1, 2)));
  const int64_t d = random.Below(x.rank()), n = x.dims[d];
  if (n == 0 || n > 300) return;
  const char* opcode = random.Pick<const char*>({"add", "add", "maximum", "minimum"});
  if (random.Chance(0.5)) {
    // Hillis-Steele scan: log n steps of a shifted addition.
    x = b.ExactInType(x, n);
    for (int64_t shift = 1; shift < n; shift *= 2) {
      Dims low(x.dims.size(), 0), high = low;
      low[d] = shift;
      high[d] = -shift;
      x = b.Binary(opcode, x, b.Pad(x, 0, low, high));
    }
    s.Add(x);
    return;
  }
  const bool is_sum = std::string_view(opcode) == "add";
  if (is_sum) x = b.ExactInType(x, n);
  Dims window(x.dims.size(), 1);
  window[d] = n;
  std::string size, padding;
  const bool is_reverse = random.Chance(0.2);
  for (int64_t k = 0; k < x.rank(); ++k) {
    size += fmt::format("{}{}", k > 0 ? "x" : "", window[k]);
    padding += fmt::format("{}{}_{}", k > 0 ? "x" : "", is_reverse ? 0 : window[k] - 1,
                           is_reverse ? window[k] - 1 : 0);
  }
  if (is_sum && IsFloat(type)) b.program.has_contraction = true;
  Value like = x;
  if (is_sum) like.top = x.top * static_cast<double>(n);
  s.Add(b.Op("reduce-window", {x, b.Constant(type, 0)}, type, x.dims,
             fmt::format("window={{size={} pad={}}}, to_apply={}", size, padding, b.Combiner(opcode, type)),
             like));
}

void SegmentSums(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Number();
  const int64_t segments = s.Size(), n = s.Size();
  Dims row = s.SomeDims(random.Below(2));
  Dims from = row, into = row;
  from.insert(from.begin(), n);
  into.insert(into.begin(), segments);
  if (Count(from) > 30000 || Count(into) > 30000) return;
  const char* opcode = random.Pick<const char*>({"add", "add", "maximum", "minimum"});
  const bool is_sum = std::string_view(opcode) == "add";
  const Value updates = is_sum ? b.ExactInType(s.Of(type, from), n + 1) : s.Of(type, from);
  Value initial = random.Chance(0.6) ? b.Splat(type, into, 0) : s.Of(type, into);
  if (is_sum) initial = b.ExactInType(initial, n + 1);
  const Value ids = s.Indices(s.IndexType(), {n, 1}, segments);
  Dims windows(row.size());
  std::iota(windows.begin(), windows.end(), 1);
  if (is_sum && IsFloat(type)) b.program.has_contraction = true;
  Value like = updates;
  like.top = std::max(like.top, initial.top);
  if (is_sum) like.top *= static_cast<double>(n + 1);
  s.Add(b.Op(
      "scatter", {initial, ids, updates}, type, into,
      fmt::format("update_window_dims={}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                  "index_vector_dim=1, to_apply={}",
                  Braces(windows), b.Combiner(opcode, type)),
      like));
}

void GatherRows(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  Value x = s.Any();
  if (x.rank() == 0 || Count(x.dims) == 0) return;
  const int64_t d = random.Below(x.rank()), n = std::min<int64_t>(s.Size(), 40);
  Dims sizes = x.dims, dims = x.dims, offsets;
  const bool collapses = random.Chance(0.7);
  sizes[d] = collapses ? 1 : random.Between(1, x.dims[d]);
  dims[d] = sizes[d];
  if (collapses) dims.erase(dims.begin() + d);
  for (size_t k = 0; k < dims.size(); ++k) offsets.push_back(static_cast<int64_t>(k) + 1);
  dims.insert(dims.begin(), n);
  if (Count(dims) > 60000) return;
  const Value indices = s.Indices(s.IndexType(), {n, 1}, x.dims[d]);
  s.Add(b.Op(
      "gather", {x, indices}, x.type, dims,
      fmt::format("offset_dims={}, collapsed_slice_dims={{{}}}, start_index_map={{{}}}, index_vector_dim=1, "
                  "slice_sizes={}",
                  Braces(offsets), collapses ? fmt::format("{}", d) : "", d, Braces(sizes)),
      x));
}

// Elements or rows at points whose coordinates are separate arrays. The positions may be merged into one
// dimension before the gather, as XLA does, and split again after it.
void GatherPoints(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = s.Any();
  if (x.rank() < 2 || Count(x.dims) == 0) return;
  const Dims positions = s.SomeDims(2);
  Dims piece = positions, all = positions;
  piece.push_back(1);
  all.push_back(2);
  const ElementType type = s.IndexType();
  Values pieces;
  for (int64_t d = 0; d < 2; ++d) {
    const Value index = s.Indices(type, random.Chance(0.5) ? positions : piece, x.dims[d]);
    pieces.push_back(b.Reshape(index, piece));
  }
  Value indices = b.Concatenate(pieces, 2);
  const bool merges = random.Chance(0.7);
  Dims dims = merges ? Dims{Count(positions)} : positions, sizes = x.dims, windows;
  if (merges) indices = b.Reshape(indices, {dims[0], 2});
  sizes[0] = sizes[1] = 1;
  const bool collapses = random.Chance(0.5);
  for (int64_t d = collapses ? 2 : 0; d < x.rank(); ++d) {
    windows.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(sizes[d]);
  }
  if (Count(dims) > 60000) return;
  const Value points =
      b.Op("gather", {x, indices}, x.type, dims,
           fmt::format("offset_dims={}, collapsed_slice_dims={}, start_index_map={{0,1}}, "
                       "index_vector_dim={}, slice_sizes={}",
                       Braces(windows), collapses ? "{0,1}" : "{}", merges ? 1 : 2, Braces(sizes)),
           x);
  Dims split = positions;
  split.insert(split.end(), x.dims.begin() + 2, x.dims.end());
  s.Add(random.Chance(0.8) ? b.Reshape(points, split) : points);
}

void ScatterRows(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = s.Any();
  if (x.rank() == 0) return;
  // Either each row is written at most once, or the result is independent of the order: the computation
  // returns the update, or combines commutatively.
  const int64_t n = random.Between(1, 6);
  Dims row = x.dims;
  row.erase(row.begin());
  Dims from = row;
  from.insert(from.begin(), n);
  Dims windows(row.size());
  std::iota(windows.begin(), windows.end(), 1);
  const bool replaces = random.Chance(0.5);
  Value indices = s.Indices(kS32, {n, 1}, x.dims[0]);
  if (replaces) indices = b.Iota(kS32, {n, 1}, 0);
  if (replaces && random.Chance(0.5))
    indices =
        b.Binary("add", indices, b.Splat(kS32, {n, 1}, static_cast<double>(random.Between(-1, x.dims[0]))));
  const std::string combiner = replaces
                                   ? b.Computation("replace", {{.type = x.type}, {.type = x.type}},
                                                   [](Body&, const Values& v) -> Values { return {v[1]}; })
                                   : b.Combiner(IsPred(x.type)      ? "or"
                                                : IsComplex(x.type) ? "add"
                                                                    : "maximum",
                                                x.type);
  if (IsComplex(x.type) && !replaces) return;
  const Value updates = s.Of(x.type, from);
  s.Add(b.Op(
      "scatter", {x, indices, updates}, x.type, x.dims,
      fmt::format("update_window_dims={}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                  "index_vector_dim=1, unique_indices={}, to_apply={}",
                  Braces(windows), replaces ? "true" : "false", combiner),
      {.top = std::max(x.top, updates.top), .step = std::min(x.step, updates.step)}));
}

}  // namespace hlo::fuzz
