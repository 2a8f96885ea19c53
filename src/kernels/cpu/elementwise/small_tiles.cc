#include "kernels/cpu/elementwise/small_tiles.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/cpu/elementwise/copy_rows.h"
#include "kernels/cpu/elementwise/gather_clamped.h"
#include "kernels/cpu/simd/padded_load.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

// The parameter of RowsTile has three fields of this many bits.
constexpr int kFieldBits = 20;
constexpr int64_t kMaxField = (int64_t{1} << kFieldBits) - 1;

TileRows UnpackRows(int64_t parameter) {
  return {parameter & kMaxField, parameter >> kFieldBits & kMaxField, parameter >> 2 * kFieldBits};
}

template <class T>
void RowsLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const TileRows rows = UnpackRows(parameter);
  const T* from = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  const int64_t whole = n / rows.length, rest = n % rows.length;
  ReadRows({whole, rows.length, rows.row_stride, rows.stride}, sizeof(T), from, to);
  ReadRows({1, rest, 0, rows.stride}, sizeof(T), from + whole * rows.row_stride, to + (n - rest));
}

TileFn RowsLoopOf(int64_t width) {
  switch (width) {
    case 1:
      return &RowsLoop<uint8_t>;
    case 2:
      return &RowsLoop<uint16_t>;
    case 4:
      return &RowsLoop<uint32_t>;
    case 8:
      return &RowsLoop<uint64_t>;
    default:
      return nullptr;
  }
}

// The parameter of ArgMinMaxTile and TakeTile is twice the count, plus a flag.
constexpr int64_t Pack(int64_t count, bool flag) { return count << 1 | (flag ? 1 : 0); }

// Returns the lane of the first element of a comparison's result that is true, or the number of lanes.
template <class T, class Mask>
[[gnu::always_inline]] inline int FirstLane(Mask mask) {
#if defined(HLO_AVX512_VECTORS)
  const unsigned bits = sizeof(T) == 4 ? unsigned{_mm512_movepi32_mask(BitsOf<__m512i>(mask))}
                                       : unsigned{_mm512_movepi64_mask(BitsOf<__m512i>(mask))};
  return bits == 0 ? kLanes<T> : std::countr_zero(bits);
#else
  int lane = 0;
  while (lane < kLanes<T> && mask[lane] == 0) ++lane;
  return lane;
#endif
}

template <class T, bool kLargest>
int64_t IndexOfExtreme(int64_t n, const T* a) {
  using Word = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using V = Vector<T>;
  using Mask = Vector<Word>;
  constexpr int kCount = kLanes<T>;
  const V first = Broadcast(a[0]);
  // Returns the vector at a position, with copies of the first element beyond the last one.
  const auto at = [&](int64_t i) -> V {
    return i + kCount <= n ? LoadVector(a + i) : LoadFirstOr(a + i, static_cast<int>(n - i), first);
  };
  const auto is_better = [](auto x, auto y) { return kLargest ? x > y : x < y; };
  V extreme = first;
  Mask is_nan = first != first;
  for (int64_t i = 0; i < n; i += kCount) {
    const V v = at(i);
    extreme = is_better(v, extreme) ? v : extreme;
    is_nan |= v != v;
  }
  T lanes[kCount];
  std::memcpy(lanes, &extreme, sizeof lanes);
  for (int half = kCount / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k)
      lanes[k] = is_better(lanes[k], lanes[half + k]) ? lanes[k] : lanes[half + k];
  }
  extreme = Broadcast(lanes[0]);
  const bool has_nan = FirstLane<T>(is_nan) < kCount;
  for (int64_t i = 0;; i += kCount) {
    const V v = at(i);
    const int found = FirstLane<T>(has_nan ? Mask(v != v) : Mask(v == extreme));
    if (found < kCount) return i + found;
  }
}

template <bool kLargest>
int64_t IndexOfExtreme(int64_t n, const bool* a) {
  const void* found = std::memchr(a, kLargest ? 1 : 0, static_cast<size_t>(n));
  return found == nullptr ? 0 : static_cast<const bool*>(found) - a;
}

template <class T, class Position>
void ArgMinMaxLoop(int64_t /*n*/, void* out, const void* const* in, int64_t parameter) {
  const T* a = static_cast<const T*>(in[0]);
  const int64_t n = parameter >> 1;
  const bool is_largest = (parameter & 1) != 0;
  int64_t found = 0;
  if constexpr (std::is_same_v<T, bool>)
    found = is_largest ? IndexOfExtreme<true>(n, a) : IndexOfExtreme<false>(n, a);
  else
    found = is_largest ? IndexOfExtreme<T, true>(n, a) : IndexOfExtreme<T, false>(n, a);
  *static_cast<Position*>(out) = static_cast<Position>(found);
}

template <class T, class Position>
void TakeLoop(int64_t /*n*/, void* out, const void* const* in, int64_t parameter) {
  const T* a = static_cast<const T*>(in[0]);
  auto at = static_cast<int64_t>(*static_cast<const Position*>(in[1]));
  if ((parameter & 1) != 0 && a[at] == 0) {
    at = (parameter >> 1) - 1;
    while (a[at] != 0) --at;
  }
  *static_cast<T*>(out) = a[at];
}

template <class T, class Position>
void GatherLoop(int64_t n, void* out, const void* const* in, int64_t most) {
  GatherClamped(static_cast<const T*>(in[0]), static_cast<const Position*>(in[1]), n, most,
                static_cast<T*>(out));
}

void BitsLoop(int64_t n, void* out, const void* const* /*in*/, int64_t parameter) {
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = (parameter >> i & 1) != 0;
}

// Calls f<T, Position>() for pred and for types of four and eight bytes.
template <class F>
TileFn DispatchArgMinMax(ComputeType compute_type, ComputeType position, F&& f) {
  return DispatchComputeType(compute_type, [&]<class T>() {
    return DispatchComputeType(position, [&]<class Position>() -> TileFn {
      if constexpr (std::is_arithmetic_v<T> && (std::is_same_v<T, bool> || sizeof(T) >= 4) &&
                    std::is_integral_v<Position> && sizeof(Position) >= 4)
        return f.template operator()<T, Position>();
      else
        return nullptr;
    });
  });
}

}  // namespace

int64_t TileRows::Extent(int64_t count) const {
  const int64_t rows = (count - 1) / length, last = std::min(length, count) - 1;
  return rows * row_stride + last * stride + 1;
}

TileCall RowsTile(int64_t width, const TileRows& rows) {
  const auto fits = [](int64_t value) { return value >= 0 && value <= kMaxField; };
  if (!fits(rows.length) || !fits(rows.row_stride) || !fits(rows.stride)) return {};
  return {RowsLoopOf(width), rows.length | rows.row_stride << kFieldBits | rows.stride << 2 * kFieldBits};
}

std::optional<RowsOfTile> FindRowsOfTile(const TileCall& call) {
  for (const int64_t width : {1, 2, 4, 8}) {
    if (call.function == RowsLoopOf(width)) return RowsOfTile{UnpackRows(call.parameter), width};
  }
  return std::nullopt;
}

TileCall GatherTile(int64_t width, ElementType position, int64_t most) {
  TileFn function = nullptr;
  DispatchWidth(width, [&]<class T>() {
    DispatchComputeType(ComputeTypeOf(position), [&]<class Position>() {
      if constexpr (std::is_integral_v<Position> && sizeof(Position) >= 4 && sizeof(T) <= 8)
        function = &GatherLoop<T, Position>;
    });
  });
  return {function, most};
}

TileCall BitsTile(uint64_t bits) { return {&BitsLoop, static_cast<int64_t>(bits)}; }

bool IsConstantTile(TileFn function) {
  static const auto& all = *[] {
    auto* functions = new std::vector<TileFn>{&BitsLoop};
    for (const ElementType type : {ElementType::kPred, ElementType::kS8, ElementType::kU8, ElementType::kS16,
                                   ElementType::kU16, ElementType::kS32, ElementType::kU32, ElementType::kS64,
                                   ElementType::kU64, ElementType::kF32, ElementType::kF64})
      functions->push_back(IotaTile(ComputeTypeOf(type), 0, 0).function);
    return functions;
  }();
  return std::find(all.begin(), all.end(), function) != all.end();
}

TileCall ArgMinMaxTile(ComputeType compute_type, ComputeType position, bool is_largest, int64_t count) {
  const TileFn function = DispatchArgMinMax(
      compute_type, position, []<class T, class Position>() { return &ArgMinMaxLoop<T, Position>; });
  return {function, Pack(count, is_largest)};
}

TileCall TakeTile(ComputeType compute_type, ComputeType position, bool is_last_zero, int64_t count) {
  const TileFn function = DispatchArgMinMax(compute_type, position,
                                            []<class T, class Position>() { return &TakeLoop<T, Position>; });
  return {function, Pack(count, is_last_zero)};
}

}  // namespace hlo::cpu
