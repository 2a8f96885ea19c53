// Loops with several carried arrays, scans, branches, calls.

#include <algorithm>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

Values Scalars(Body& b, const Value& first, int64_t rank) {
  Values starts = {first};
  while (static_cast<int64_t>(starts.size()) < rank) starts.push_back(b.Constant(first.type, 0));
  return starts;
}
Dims RowOf(const Value& x) {
  Dims row = x.dims;
  row[0] = 1;
  return row;
}

// Applies small idioms to the values that a loop carries.
Values WithSmallIdioms(Body& b, const Values& given, int64_t steps) {
  Scene inner{.body = b, .pool = given};
  for (int64_t i = 0; i < steps; ++i) SmallIdiom(inner);
  return inner.pool;
}

// Returns a value with rows that are read and written individually.
Value Buffer(Scene& s) {
  Dims dims = s.SomeDims(s.random().Between(1, 3));
  dims[0] = std::max<int64_t>(dims[0], 1);
  return s.Of(s.Type(), dims);
}

// Returns a data-dependent row number, sometimes out of bounds.
Value DataDependentRow(Body& b, const Value& counter, const Value& buffer) {
  if (b.random.Chance(0.4)) return counter;
  if (b.random.Chance(0.4))
    return b.Binary("remainder", b.Binary("multiply", counter, b.Constant(kS32, 7)),
                    b.Constant(kS32, static_cast<double>(buffer.dims[0])));
  if (Count(buffer.dims) == 0) return counter;
  const Value first = b.Fit(
      b.DynamicSlice(buffer, Scalars(b, counter, buffer.rank()), Dims(buffer.dims.size(), 1)), kS32, {});
  return b.Binary("add", b.Binary("remainder", first, b.Constant(kS32, 4)), counter);
}

}  // namespace

void RotatedLoop(Scene& s) {
  Random& random = s.random();
  const ElementType type = s.Type();
  const Dims dims = s.SomeDims(random.Between(0, 3));
  const int64_t count = random.Between(2, 4), turn = random.Below(count), trips = random.Below(6);
  Values inits = {s.body.Constant(kS32, 0)};
  for (int64_t i = 0; i < count; ++i) inits.push_back(s.Of(type, dims));
  const bool works = random.Chance(0.6);
  const Values after = s.body.While(inits, Below(trips), [&](Body& b, const Values& state) {
    Values next = {Next(b, state[0])};
    for (int64_t i = 0; i < count; ++i) next.push_back(state[1 + (i + turn) % count]);
    if (!works) return next;
    const Values extended = WithSmallIdioms(b, {state.begin() + 1, state.end()}, 1);
    const int64_t changed = 1 + b.random.Below(count);
    next[changed] = b.Fit(extended.back(), type, dims);
    return next;
  });
  s.AddAll({after.begin() + 1, after.end()});
}

void UpdatedLoop(Scene& s) {
  Random& random = s.random();
  const Value buffer = Buffer(s), other = s.Any();
  const int64_t trips = random.Between(0, std::min<int64_t>(buffer.dims[0] + 1, 9));
  const bool reads_before = random.Chance(0.5), reads_after = random.Chance(0.5),
             reads_all = random.Chance(0.3);
  const Value row_like{.type = buffer.type, .dims = RowOf(buffer)};
  const Values inits = {s.body.Constant(kS32, 0), buffer, s.Of(buffer.type, row_like.dims), other};
  const Values after = s.body.While(inits, Below(trips), [&](Body& b, const Values& state) -> Values {
    const Value row = DataDependentRow(b, state[0], state[1]);
    const Values starts = Scalars(b, row, buffer.rank());
    const Value before = b.DynamicSlice(state[1], starts, row_like.dims);
    Scene inner{.body = b, .pool = {state[2], before, state[3]}};
    SmallIdiom(inner);
    const Value update = b.Fit(inner.pool.back(), buffer.type, row_like.dims);
    const Value updated = b.DynamicUpdateSlice(state[1], update, starts);
    Value kept = state[2];
    if (reads_before) kept = b.Fit(before, buffer.type, row_like.dims);
    if (reads_after)
      kept = b.DynamicSlice(updated, Scalars(b, b.Constant(kS32, 0), buffer.rank()), row_like.dims);
    // Reads the whole old array after its update has been written.
    Value seen = state[3];
    if (reads_all) seen = b.Fit(state[1], other.type, other.dims);
    return {Next(b, state[0]), updated, kept, seen};
  });
  s.AddAll({after.begin() + 1, after.end()});
}

void History(Scene& s) {
  Random& random = s.random();
  Body& b = s.body;
  const Value buffer = Buffer(s);
  if (buffer.dims[0] < 2) return;
  Dims starts(buffer.dims.size(), 0);
  starts[0] = 1;
  if (b.depth > 0 || random.Chance(0.2)) {
    const Value row = s.Of(buffer.type, RowOf(buffer));
    s.Add(b.Concatenate({b.Slice(buffer, starts, buffer.dims), row}, 0));
    return;
  }
  const Value row = s.Of(buffer.type, RowOf(buffer));
  const bool shifts = random.Chance(0.6);
  const Values after =
      b.While({b.Constant(kS32, 0), buffer, row}, Below(random.Below(5)),
              [&](Body& body, const Values& state) -> Values {
                const Values extended = WithSmallIdioms(body, {state[1], state[2]}, 1);
                const Value next = body.Fit(extended.back(), buffer.type, row.dims);
                const Value history =
                    shifts ? body.Concatenate({body.Slice(state[1], starts, buffer.dims), next}, 0)
                           : body.DynamicUpdateSlice(state[1], next, Scalars(body, state[0], buffer.rank()));
                return {Next(body, state[0]), history, next};
              });
  s.AddAll({after.begin() + 1, after.end()});
}

void EarlyExit(Scene& s) {
  Random& random = s.random();
  const ElementType type = random.Pick<ElementType>({kS32, kF32, kF64, kS64});
  const Dims dims = s.SomeDims(random.Between(0, 2));
  const int64_t trips = random.Between(1, 8), limit = random.Between(0, 6);
  const Values after = s.body.While(
      {s.body.Constant(kS32, 0), s.Of(type, dims), s.Of(s.Type(), dims)},
      [&](Body& b, const Values& state) -> Values {
        Dims all;
        for (int64_t d = 0; d < state[1].rank(); ++d) all.push_back(d);
        const Value most = b.Reduce("maximum", state[1], all);
        const Value is_small = b.Compare(most, b.Constant(type, static_cast<double>(limit)), "LT");
        return {b.Binary("and", b.Compare(state[0], b.Constant(kS32, static_cast<double>(trips)), "LT"),
                         is_small)};
      },
      [&](Body& b, const Values& state) -> Values {
        const Value sum = b.Binary("add", state[1], b.Splat(type, dims, 1));
        const Values extended = WithSmallIdioms(b, {state[2], sum}, 1);
        return {Next(b, state[0]), sum, b.Fit(extended.back(), state[2].type, dims)};
      });
  s.AddAll(after);
}

void NestedLoop(Scene& s) {
  Random& random = s.random();
  const Value buffer = Buffer(s);
  const int64_t outer = random.Between(1, 3), inner = random.Below(4);
  const ElementType type = s.Type();
  const Dims dims = s.SomeDims(1);
  const Values after =
      s.body.While({s.body.Constant(kS32, 0), buffer, s.Of(type, dims)}, Below(outer),
                   [&](Body& b, const Values& state) -> Values {
                     const Values inside = b.While(
                         {b.Constant(kS32, 0), state[1], state[2], state[0]}, Below(inner),
                         [&](Body& c, const Values& v) -> Values {
                           const Value sum = c.Binary("add", v[0], v[3]);
                           const Values starts = Scalars(c, DataDependentRow(c, sum, v[1]), buffer.rank());
                           const Value row = c.DynamicSlice(v[1], starts, RowOf(buffer));
                           const Values extended = WithSmallIdioms(c, {v[2], row}, 1);
                           const Value updated = c.DynamicUpdateSlice(
                               v[1], c.Fit(extended.back(), buffer.type, RowOf(buffer)), starts);
                           return {Next(c, v[0]), updated, c.Fit(row, type, dims), v[3]};
                         });
                     return {Next(b, state[0]), inside[1], b.random.Chance(0.5) ? inside[2] : state[2]};
                   });
  s.AddAll({after.begin() + 1, after.end()});
}

void StackedScan(Scene& s) {
  Random& random = s.random();
  const int64_t length = random.Between(1, 9);
  Dims row = s.SomeDims(random.Between(0, 2));
  Dims stack = row;
  stack.insert(stack.begin(), length);
  if (Count(stack) > 40000) return;
  const ElementType type = s.Type(), out_type = s.Type();
  const bool is_reverse = random.Chance(0.3);
  Dims one = stack;
  one[0] = 1;
  const Value xs = s.Of(type, stack), carry = s.Of(s.Type(), row), ys = s.body.Splat(out_type, stack, 0);
  const Values after = s.body.While(
      {s.body.Constant(kS32, 0), carry, xs, ys}, Below(length), [&](Body& b, const Values& state) -> Values {
        Value i = state[0];
        if (is_reverse) i = b.Binary("subtract", b.Constant(kS32, static_cast<double>(length - 1)), i);
        const Values starts = Scalars(b, i, static_cast<int64_t>(stack.size()));
        const Value x = b.Reshape(b.DynamicSlice(state[2], starts, one), row);
        const Values extended = WithSmallIdioms(b, {state[1], x}, b.random.Between(1, 2));
        const Value y = b.Reshape(b.Fit(extended.back(), out_type, row), one);
        return {Next(b, state[0]), b.Fit(extended[extended.size() / 2], carry.type, row), state[2],
                b.DynamicUpdateSlice(state[3], b.Carried(y), starts)};
      });
  s.Add(after[1]);
  s.Add(after[3]);
}

void Branches(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = Buffer(s), other = s.Any();
  const ElementType type = s.Type();
  const int64_t rows = random.Between(1, x.dims[0]);
  Dims dims = x.dims;
  dims[0] = rows;
  const int64_t count = random.Between(2, 4);
  const bool is_pred = count == 2 && random.Chance(0.6);
  Value index = is_pred ? s.Of(kPred, {}) : s.Indices(kS32, {}, count);
  std::vector<Values> operands;
  std::vector<BodyFn> branches;
  for (int64_t i = 0; i < count; ++i) {
    operands.push_back({b.Carried(x), b.Carried(other)});
    branches.push_back([&, i](Body& inner, const Values& given) -> Values {
      Dims starts(x.dims.size(), 0), limits = x.dims;
      starts[0] = inner.random.Between(0, x.dims[0] - rows);
      limits[0] = starts[0] + rows;
      Value slice = inner.Slice(given[0], starts, limits);
      if (i > 0 && inner.random.Chance(0.5)) slice = inner.Splat(x.type, dims, 1);
      Value more = inner.Fit(given[1], type, dims);
      if (inner.random.Chance(0.5))
        more = inner.Fit(WithSmallIdioms(inner, {given[0], given[1]}, 1).back(), type, dims);
      return {slice, more, given[0]};
    });
  }
  s.AddAll(b.Conditional(index, operands, branches));
}

void Wrapped(Scene& s) {
  Random& random = s.random();
  Values operands;
  for (int64_t i = random.Between(1, 3); i > 0; --i) operands.push_back(s.body.Carried(s.Any()));
  s.AddAll(s.body.Call(random.Chance(0.5) ? "fusion" : "call", operands, [&](Body& b, const Values& given) {
    Values extended = WithSmallIdioms(b, given, b.random.Between(1, 3));
    Values results = {extended.back()};
    if (b.random.Chance(0.5))
      results.push_back(extended[b.random.Below(static_cast<int64_t>(extended.size()))]);
    return results;
  }));
}

}  // namespace hlo::fuzz
