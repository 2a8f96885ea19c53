// Values that share memory: overlapping updates in loops, loop state that is the same array twice, branches
// and calls that return their operands.

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

// Returns starts near the counter, whose windows overlap those of other iterations, or are clamped.
Values Starts(Body& b, const Value& counter, const Dims& dims) {
  Values starts;
  for (const int64_t n : dims) {
    switch (b.random.Below(5)) {
      case 0:
        starts.push_back(counter);
        break;
      case 1:
        starts.push_back(b.Binary("subtract", b.Constant(kS32, static_cast<double>(n - 1)), counter));
        break;
      case 2:
        starts.push_back(b.Binary("divide", counter, b.Constant(kS32, 2)));
        break;
      default:
        starts.push_back(
            b.Constant(kS32, static_cast<double>(b.random.Between(-1, std::min<int64_t>(n, 3)))));
    }
  }
  return starts;
}

Dims Part(Random& random, const Dims& dims) {
  Dims sizes;
  for (const int64_t n : dims)
    sizes.push_back(random.Chance(0.4) ? n
                                       : random.Between(std::min<int64_t>(1, n), std::min<int64_t>(n, 5)));
  return sizes;
}

// Returns a value that may be the given one, or is computed from it.
Value Slightly(Scene& s, const Value& x) {
  Body& b = s.body;
  Random& random = s.random();
  switch (random.Below(6)) {
    case 0:
      return b.Unary("copy", x);
    case 1:
      return x.rank() > 0 ? b.Reverse(x, {random.Below(x.rank())}) : x;
    case 2:
      return IsPred(x.type) || IsComplex(x.type) ? x : b.Binary("maximum", x, b.Splat(x.type, x.dims, 1));
    case 3:
      return b.Reshape(b.Reshape(x, {Count(x.dims)}), x.dims);
    default:
      return x;
  }
}

// Returns two values of one type and shape; often the same one.
Value Twin(Scene& s, const Value& x) { return s.random().Chance(0.5) ? x : s.Of(x.type, x.dims); }

}  // namespace

// A loop in which parts of an array are read and written at overlapping places, several times in an
// iteration.
void OverlappingUpdates(Scene& s) {
  Random& random = s.random();
  const Value array = s.Of(s.Type(), s.SomeDims(random.Between(1, 3)));
  if (Count(array.dims) > 6000) return;
  const Dims sizes = Part(random, array.dims);
  const Value part = s.Of(array.type, sizes);
  const int64_t updates = random.Between(1, 3), trips = random.Below(6);
  const Values after = s.body.While(
      {s.body.Constant(kS32, 0), array, part}, Below(trips), [&](Body& b, const Values& v) -> Values {
        Scene inner{.body = b, .pool = v};
        Value x = v[1], update = v[2];
        for (int64_t i = 0; i < updates; ++i) {
          const Value read = b.DynamicSlice(b.random.Chance(0.7) ? x : v[1], Starts(b, v[0], x.dims), sizes);
          if (b.random.Chance(0.7)) update = Slightly(inner, b.random.Chance(0.7) ? read : update);
          if (b.random.Chance(0.3) && !IsPred(x.type))
            update = b.Carried(b.Binary(b.random.Chance(0.5) ? "add" : "subtract", read, update));
          x = b.DynamicUpdateSlice(x, update, Starts(b, v[0], x.dims));
          if (b.random.Chance(0.2)) x = Slightly(inner, x);
        }
        return {Next(b, v[0]), x, b.random.Chance(0.5) ? update : v[2]};
      });
  s.AddAll({after.begin() + 1, after.end()});
}

// A loop that carries the same array several times, exchanges its arrays, or returns one of them twice.
void AliasedState(Scene& s) {
  Random& random = s.random();
  const Value x = s.Of(s.Type(), s.SomeDims(random.Between(0, 2)));
  if (Count(x.dims) > 6000) return;
  const int64_t count = random.Between(2, 4), trips = random.Below(5);
  Values inits = {s.body.Constant(kS32, 0)};
  for (int64_t i = 0; i < count; ++i) inits.push_back(Twin(s, x));
  const Values after = s.body.While(inits, Below(trips), [&](Body& b, const Values& v) -> Values {
    Scene inner{.body = b, .pool = v};
    Values next = {Next(b, v[0])};
    for (int64_t i = 1; i <= count; ++i) {
      const Value& from = v[b.random.Between(1, count)];
      if (b.random.Chance(0.3) && x.rank() > 0) {
        const Dims sizes = Part(b.random, x.dims);
        const Value read = b.DynamicSlice(v[b.random.Between(1, count)], Starts(b, v[0], x.dims), sizes);
        next.push_back(b.DynamicUpdateSlice(from, read, Starts(b, v[0], x.dims)));
      } else {
        next.push_back(b.random.Chance(0.2) && i > 1 ? next.back() : Slightly(inner, from));
      }
    }
    return next;
  });
  s.AddAll({after.begin() + 1, after.end()});
  if (random.Chance(0.4)) s.Add(x);  // The initial value is used after the loop.
}

// Branches that update an operand, return it, or return one array twice; the operands are used afterwards,
// too.
void SharedBranches(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const Value x = b.Carried(s.Of(s.Type(), s.SomeDims(random.Between(1, 3))));
  if (Count(x.dims) > 6000) return;
  const Value y = b.Carried(Twin(s, x));
  const int64_t count = random.Between(2, 3);
  const BodyFn branch = [&](Body& c, const Values& v) -> Values {
    Scene inner{.body = c, .pool = v};
    Values results;
    for (int64_t i = 0; i < 2; ++i) {
      const Value& from = v[c.random.Below(2)];
      if (c.random.Chance(0.4)) {
        const Dims sizes = Part(c.random, x.dims);
        const Value start = c.Constant(kS32, static_cast<double>(c.random.Below(3)));
        const Value read = c.DynamicSlice(v[c.random.Below(2)], Starts(c, start, x.dims), sizes);
        results.push_back(c.DynamicUpdateSlice(from, read, Starts(c, start, x.dims)));
      } else {
        results.push_back(Slightly(inner, from));
      }
    }
    if (c.random.Chance(0.2)) results[1] = results[0];
    return results;
  };
  const Value index = count == 2 && random.Chance(0.5) ? b.Compare(s.Of(kS32, {}), b.Constant(kS32, 1), "LT")
                                                       : s.Indices(kS32, {}, count);
  const std::vector<Values> operands(IsPred(index.type) ? 2 : count, Values{x, y});
  const std::vector<BodyFn> branches(operands.size(), branch);
  s.AddAll(b.Conditional(index, operands, branches));
  if (random.Chance(0.5)) s.Add(y);
}

// Calls within calls and fusions, which return their operands in another order, or one of them twice.
void NestedCalls(Scene& s) {
  Random& random = s.random();
  const Value x = s.Any(), y = s.Any();
  const std::function<BodyFn(int64_t)> body = [&](int64_t levels) -> BodyFn {
    return [&, levels](Body& b, const Values& v) -> Values {
      Scene inner{.body = b, .pool = v};
      Values results;
      if (levels > 0) {
        const Values given = b.random.Chance(0.5) ? v : Values{v[1], v[0]};
        results = b.Call(b.random.Chance(0.4) ? "fusion" : "call", given, body(levels - 1));
      } else {
        SmallIdiom(inner);
        results = {inner.pool.back(), v[b.random.Below(static_cast<int64_t>(v.size()))]};
      }
      if (b.random.Chance(0.4)) results[1] = Slightly(inner, results[0]);
      if (b.random.Chance(0.3)) std::swap(results[0], results[1]);
      return results;
    };
  };
  s.AddAll(s.body.Call(random.Chance(0.4) ? "fusion" : "call", {x, y}, body(random.Below(3))));
}

}  // namespace hlo::fuzz
