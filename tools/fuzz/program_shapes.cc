// Data movement.

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "program.h"

namespace hlo::fuzz {

Value Body::Broadcast(const Value& x, const Dims& dims, const Dims& mapping) {
  return Op("broadcast", {x}, x.type, dims, "dimensions=" + Braces(mapping), x);
}
Value Body::Reshape(const Value& x, const Dims& dims) { return Op("reshape", {x}, x.type, dims, "", x); }

Value Body::Transpose(const Value& x, const Dims& permutation) {
  Dims dims;
  for (const int64_t d : permutation) dims.push_back(x.dims[d]);
  return Op("transpose", {x}, x.type, dims, "dimensions=" + Braces(permutation), x);
}

Value Body::Slice(const Value& x, const Dims& starts, const Dims& limits, const Dims& strides) {
  Dims dims;
  std::string ranges;
  for (size_t d = 0; d < starts.size(); ++d) {
    const int64_t stride = strides.empty() ? 1 : strides[d];
    dims.push_back(CeilDiv(limits[d] - starts[d], stride));
    ranges += fmt::format("{}[{}:{}{}]", d > 0 ? ", " : "", starts[d], limits[d],
                          stride == 1 ? "" : fmt::format(":{}", stride));
  }
  return Op("slice", {x}, x.type, dims, fmt::format("slice={{{}}}", ranges), x);
}

Value Body::Concatenate(const Values& pieces, int64_t dimension) {
  Value like = pieces[0];
  Dims dims = pieces[0].dims;
  dims[dimension] = 0;
  for (const Value& piece : pieces) {
    dims[dimension] += piece.dims[dimension];
    like.top = std::max(like.top, piece.top);
    like.step = std::min(like.step, piece.step);
  }
  return Op("concatenate", pieces, like.type, dims, fmt::format("dimensions={{{}}}", dimension), like);
}

Value Body::Pad(const Value& x, double number, const Dims& low, const Dims& high, const Dims& interior) {
  Dims dims;
  std::string text;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t inside = interior.empty() ? 0 : interior[d];
    dims.push_back(x.dims[d] + std::max<int64_t>(x.dims[d] - 1, 0) * inside + low[d] + high[d]);
    text += fmt::format("{}{}_{}", d > 0 ? "x" : "", low[d], high[d]);
    if (inside > 0) text += fmt::format("_{}", inside);
  }
  const Value padding = Constant(x.type, number);
  const Value like{.top = std::max(x.top, padding.top), .step = std::min(x.step, padding.step)};
  return Op("pad", {x, padding}, x.type, dims, "padding=" + text, like);
}

Value Body::UnaryWithLayout(std::string_view opcode, const Value& x, const Dims& dims,
                            const Dims& minor_to_major) {
  Value value = x;
  value.name = program.NewName(opcode);
  value.dims = dims;
  Line(fmt::format("{} = {}{} {}({})", value.name, ShapeText(x.type, dims), Braces(minor_to_major), opcode,
                   x.name));
  return value;
}

Value Body::Reverse(const Value& x, const Dims& dimensions) {
  return Op("reverse", {x}, x.type, x.dims, "dimensions=" + Braces(dimensions), x);
}

Value Body::DynamicSlice(const Value& x, const Values& starts, const Dims& sizes) {
  Values operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Op("dynamic-slice", operands, x.type, sizes, "dynamic_slice_sizes=" + Braces(sizes), x);
}
Value Body::DynamicUpdateSlice(const Value& x, const Value& update, const Values& starts) {
  Values operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  const Value like{.top = std::max(x.top, update.top), .step = std::min(x.step, update.step)};
  return Op("dynamic-update-slice", operands, x.type, x.dims, "", like);
}

namespace {

// Changes the size of one dimension: slices, pads, repeats, or concatenates a splat.
Value Resize(Body& body, const Value& x, int64_t dimension, int64_t size) {
  Random& random = body.random;
  const int64_t old = x.dims[dimension];
  Dims zeros(x.dims.size(), 0), limits = x.dims;
  if (old > size) {
    Dims starts = zeros, strides(x.dims.size(), 1);
    if (size > 0 && random.Chance(0.2)) {
      strides[dimension] = old / size;
      limits[dimension] = (size - 1) * strides[dimension] + 1;
    } else {
      starts[dimension] = random.Between(0, old - size);
      limits[dimension] = starts[dimension] + size;
    }
    return body.Slice(x, starts, limits, strides);
  }
  Dims dims = x.dims;
  dims[dimension] = size;
  if (old == 1 && random.Chance(0.7)) {
    Dims rest, mapping;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d == dimension) continue;
      rest.push_back(x.dims[d]);
      mapping.push_back(d);
    }
    return body.Broadcast(body.Reshape(x, rest), dims, mapping);
  }
  const int64_t low = random.Between(0, size - old);
  if (random.Chance(0.5)) {
    Dims before = zeros, after = zeros;
    before[dimension] = low;
    after[dimension] = size - old - low;
    return body.Pad(x, static_cast<double>(random.Between(0, 2)), before, after);
  }
  Values pieces;
  if (low > 0) {
    dims[dimension] = low;
    pieces.push_back(body.Splat(x.type, dims, static_cast<double>(random.Between(0, 2))));
  }
  pieces.push_back(x);
  if (low < size - old) {
    dims[dimension] = size - old - low;
    pieces.push_back(body.Splat(x.type, dims, 1));
  }
  return body.Concatenate(pieces, dimension);
}

}  // namespace

Value Body::Fit(const Value& x, ElementType type, const Dims& dims) {
  Value v = Convert(x, type);
  if (v.dims == dims) return v;
  if (v.rank() == 0) return Broadcast(v, dims, {});
  const auto rank = static_cast<int64_t>(dims.size());
  if (Count(v.dims) == Count(dims)) return Reshape(v, dims);
  if (rank == 0) {
    const Dims zeros(v.dims.size(), 0), ones(v.dims.size(), 1);
    if (Count(v.dims) == 0) return Constant(type, 1);
    return Reshape(Slice(v, zeros, ones), {});
  }
  if (v.rank() < rank) {
    Dims wider = v.dims;
    wider.insert(random.Chance(0.5) ? wider.begin() : wider.end(), rank - v.rank(), 1);
    v = Reshape(v, wider);
  } else if (v.rank() > rank) {
    Dims joined(v.dims.end() - (rank - 1), v.dims.end());
    joined.insert(joined.begin(), Count({v.dims.begin(), v.dims.end() - (rank - 1)}));
    v = Reshape(v, joined);
  }
  // Slices come first, so that intermediate values are not larger than both ends.
  for (const bool cuts : {true, false}) {
    for (int64_t d = 0; d < rank; ++d) {
      if (v.dims[d] != dims[d] && (v.dims[d] > dims[d]) == cuts) v = Resize(*this, v, d, dims[d]);
    }
  }
  return v;
}

}  // namespace hlo::fuzz
