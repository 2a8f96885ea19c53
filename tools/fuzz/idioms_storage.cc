// Arrays in other forms of storage: layouts with tiles, packed types, lopsided shapes.

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

// Returns a layout with a random order of dimensions, often with tiles.
std::string RandomLayout(Random& random, const Dims& dims) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  const std::string tiles =
      random.Pick<std::string>({"", "", ":T(2,2)", ":T(8,128)", ":T(4)", ":T(2,4)(2,1)", ":T(1,4)"});
  return fmt::format("{{{}{}}}", fmt::join(order, ","), tiles);
}

Value WithLayout(const Value& x, const Dims& dims, const std::string& layout) {
  Value value = x;
  value.dims = dims;
  value.shape = ShapeText(x.type, dims) + layout;
  return value;
}

}  // namespace

void StoredLayouts(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  const ElementType type = s.Type();
  const Dims dims = s.SomeDims(random.Between(1, 4));
  const std::string layout = RandomLayout(random, dims);
  Value x = WithLayout(s.Of(type, dims), dims, layout);
  if (s.takes_parameters && random.Chance(0.4)) {
    x = b.Parameter("p", x);
    if (IsPred(type)) x.top = 1;
    if (IsIntegral(type)) x.top = std::numeric_limits<double>::infinity();
    if (IsFloat(ComponentType(type)) && !b.program.is_exact) x.step = kUnknownStep;
  } else {
    x = b.Shaped("copy", {x}, x);
  }
  // Equal layouts: the elements keep their places. A shape of equal size: the bytes are read in order.
  Value seen = WithLayout(x, dims, layout);
  if (random.Chance(0.5)) {
    Dims joined = dims;
    if (joined.size() > 1) {
      joined[0] *= joined[1];
      joined.erase(joined.begin() + 1);
    }
    seen = WithLayout(x, joined, RandomLayout(random, joined));
  }
  const int64_t bytes_known =
      layout.find('T') == std::string::npos && seen.shape.find('T') == std::string::npos;
  if (bytes_known || seen.shape == x.shape) {
    seen = b.Shaped("bitcast", {x}, seen);
    s.Add(b.Op("copy", {seen}, type, seen.dims, "", seen));
  }
  Value other = WithLayout(x, dims, RandomLayout(random, dims));
  other = b.Shaped("copy", {x}, other);
  Dims reversed(dims.rbegin(), dims.rend()), order;
  for (int64_t d = x.rank(); d-- > 0;) order.push_back(d);
  const Value turned =
      b.Shaped("transpose", {other}, WithLayout(other, reversed, RandomLayout(random, reversed)),
               "dimensions=" + Braces(order));
  s.Add(b.Op("reverse", {turned}, type, reversed, fmt::format("dimensions={{{}}}", random.Below(x.rank())),
             turned));
  if (s.takes_parameters && b.depth == 0) s.shaped.push_back(other);
}

// Reads integers as elements of other widths and back.
void Repacking(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  static const std::vector<ElementType> kTypes = {kS2,  kU2,  kS4,  kU4,  kS8,  kU8,  kS16,  kU16,
                                                  kS32, kU32, kS64, kU64, kF32, kF16, kBF16, kF64};
  Value x = s.Of(random.Pick<ElementType>({kS4, kU4, kS8, kU8, kS16, kU16, kS32, kU32, kS64, kU64}),
                 s.SomeDims(random.Between(1, 3)));
  for (int64_t i = random.Between(1, 4); i > 0; --i) {
    const ElementType type = random.Pick(kTypes);
    const int64_t from = BitWidth(x.type), to = BitWidth(type);
    Dims dims = x.dims;
    if (from > to) dims.push_back(from / to);
    if (to > from) {
      const int64_t ratio = to / from;
      if (Count(dims) % ratio != 0 || Count(dims) == 0) continue;
      if (dims.back() != ratio) x = b.Reshape(x, dims = {Count(dims) / ratio, ratio});
      dims.pop_back();
    }
    x = b.Op("bitcast-convert", {x}, type, dims, "", {.top = std::numeric_limits<double>::infinity()});
    // Floats of arbitrary bits are only moved: arithmetic does not keep the payload of a NaN.
    if (x.rank() > 0 && random.Chance(0.4)) x = b.Reverse(x, {random.Below(x.rank())});
    if (IsIntegral(type) && random.Chance(0.4)) x = b.Unary("not", x);
    if (IsIntegral(type) && random.Chance(0.3)) s.Add(x);
  }
  if (IsFloat(x.type)) {
    const ElementType same = BitWidth(x.type) == 64 ? kU64 : BitWidth(x.type) == 32 ? kU32 : kU16;
    x = b.Op("bitcast-convert", {x}, same, x.dims, "", {.top = std::numeric_limits<double>::infinity()});
  }
  s.Add(x);
}

// Arrays that are long in one dimension and of size 1, 2 or 0 in the others.
void Lopsided(Scene& s) {
  Body& b = s.body;
  Random& random = s.random();
  Dims dims(random.Between(1, 3), 1);
  const int64_t longest = b.depth > 0 ? 3000 : random.Pick<int64_t>({4999, 20'000, 65'536, 99'991});
  for (int64_t& n : dims) n = random.Chance(0.04) ? 0 : random.Between(1, 2);
  dims[random.Below(static_cast<int64_t>(dims.size()))] = longest;
  const ElementType type = s.Type();
  const Value x = s.Fresh(type, dims);
  Dims order(dims.size()), all;
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  Value v = b.Transpose(x, order);
  if (random.Chance(0.5)) v = b.Reverse(v, {random.Below(v.rank())});
  if (random.Chance(0.5))
    v = b.Select(b.Compare(b.Iota(kS32, v.dims, random.Below(v.rank())), b.Splat(kS32, v.dims, 1), "GE"), v,
                 b.Splat(type, v.dims, 1));
  if (random.Chance(0.5)) v = b.Concatenate({v, v}, random.Below(v.rank()));
  if (IsComplex(type))
    return s.Add(b.Slice(v, Dims(v.dims.size(), 0), Dims(v.dims.size(), Count(v.dims) > 0 ? 1 : 0)));
  const char* opcode = IsPred(type) ? "xor" : random.Pick<const char*>({"add", "maximum", "minimum"});
  for (const std::vector<int64_t>& some : std::vector<Dims>{{random.Below(v.rank())}, {}}) {
    if (some.empty() && Count(v.dims) > 0) {
      // A few elements of both ends.
      const int64_t d = std::max_element(v.dims.begin(), v.dims.end()) - v.dims.begin();
      Dims starts(v.dims.size(), 0), limits = v.dims;
      limits[d] = random.Between(1, std::min<int64_t>(v.dims[d], 70));
      Dims last = v.dims;
      starts[d] = v.dims[d] - limits[d];
      s.Add(b.Concatenate({b.Slice(v, Dims(v.dims.size(), 0), limits), b.Slice(v, starts, last)}, d));
    } else if (!some.empty()) {
      s.Add(b.Reduce(opcode, v, some));
    }
  }
}

}  // namespace hlo::fuzz
