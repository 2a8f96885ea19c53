#include "kernels/cpu/elementwise/tile_ops.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/vectorize.h"
#include "kernels/cpu/elementwise/copy_apart.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/small_float_codes.h"
#include "kernels/cpu/simd/widen.h"
#include "types/dispatch.h"

namespace hlo::cpu {

namespace {

// --- Comparison ------------------------------------------------------------------------------------------

template <class Direction>
struct InTotalOrder {
  template <scalar::Float T>
  bool operator()(T a, T b) const {
    return Direction()(scalar::TotalOrderKey(a), scalar::TotalOrderKey(b));
  }
};

template <class Direction>
TileFn Comparison(ComputeType compute_type, bool total) {
  return DispatchComputeType(compute_type, [&]<class T>() -> TileFn {
    if constexpr (std::is_floating_point_v<T>) {
      if (total) return LoopOf<InTotalOrder<Direction>, T>();
    }
    return LoopOf<Direction, T>();
  });
}

// Selects with bit masks, which vectorises.
template <class T>
void SelectLoop(int64_t n, void* out, const void* const* in, int64_t) {
  const auto* p = static_cast<const uint8_t*>(in[0]);
  const T *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
  T* o = static_cast<T*>(out);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, Bytes16>) {
      const T x = a[i], y = b[i];
      o[i] = p[i] != 0 ? x : y;
    } else {
      const T mask = static_cast<T>(T{0} - static_cast<T>(p[i]));
      o[i] = static_cast<T>((a[i] & mask) | (b[i] & static_cast<T>(~mask)));
    }
  }
}

// --- Rounding, loading, storing --------------------------------------------------------------------------

template <class T>
void CutLoop(int64_t n, void* out, const void* const* in, int64_t bits) {
  const T* a = static_cast<const T*>(in[0]);
  T* o = static_cast<T*>(out);
  const int shift = static_cast<int>(8 - bits);
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<T>(static_cast<T>(a[i] << shift) >> shift);
}

template <ElementType kType>
void LoadLoop(int64_t n, void* out, const void* const* in, int64_t) {
  WidenBlockOf<float>(kType)(in[0], n, 1, 1, n, static_cast<float*>(out), n);
}

template <ElementType kType>
void StoreLoop(int64_t n, void* out, const void* const* in, int64_t) {
  NarrowRowOf<float>(kType)(static_cast<const float*>(in[0]), n, out);
}

template <ElementType kType>
void RoundLoop(int64_t n, void* out, const void* const* in, int64_t) {
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  if constexpr (kType == ElementType::kBF16) {
    for (int64_t i = 0; i < n; ++i) o[i] = RoundToBF16(a[i]);
  } else {
    constexpr int64_t kPart = 256;
    Native<kType> codes[kPart];
    for (int64_t i = 0; i < n; i += kPart) {
      const int64_t length = std::min(kPart, n - i);
      NarrowRowOf<float>(kType)(a + i, length, codes);
      WidenBlockOf<float>(kType)(codes, length, 1, 1, length, o + i, length);
    }
  }
}

// Stores values that are exact in bf16.
void StoreExactBF16(int64_t n, void* out, const void* const* in, int64_t) {
  const auto* a = static_cast<const uint32_t*>(in[0]);
  auto* o = static_cast<uint16_t*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<uint16_t>(a[i] >> 16);
}

template <class T>
void ReducePrecisionLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const T* a = static_cast<const T*>(in[0]);
  T* o = static_cast<T*>(out);
  const auto exponent_bits = static_cast<int>(parameter >> 8),
             mantissa_bits = static_cast<int>(parameter & 0xff);
  for (int64_t i = 0; i < n; ++i) o[i] = scalar::ReducePrecision(a[i], exponent_bits, mantissa_bits);
}

// Repeats an element. A separate function saves few registers, which would take longer than a few elements.
template <class T>
[[gnu::noinline]] void Fill(int64_t n, const void* in, void* out) {
  const T value = *static_cast<const T*>(in);
  T* o = static_cast<T*>(out);
  int64_t i = 0;
  if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>) {
    const Vector<T> values = Broadcast(value);
    for (; i + kLanes<T> <= n; i += kLanes<T>) StoreVector(o + i, values);
    StoreFirst(o + i, values, static_cast<int>(n - i));
  } else {
    std::fill_n(o, n, value);
  }
}

template <class T>
void CopyStridedAs(int64_t n, void* out, int64_t out_stride, const void* in, int64_t in_stride) {
  const T* a = static_cast<const T*>(in);
  T* o = static_cast<T*>(out);
  if (in_stride == 0) {
    const T value = *a;
    for (int64_t i = 0; i < n; ++i) o[i * out_stride] = value;
  } else if (in_stride == -1 && out_stride == 1) {
    CopyReversed(n, a, o);
  } else if (out_stride == 1) {
    int64_t i = CopyByVectors<T, false>(n, a, in_stride, o);
    a += in_stride * i;
    // The compiler does not unroll the loop, whose speed would depend on its alignment.
    for (; i + 4 <= n; i += 4, a += 4 * in_stride) {
      const T second = a[in_stride], third = a[2 * in_stride], fourth = a[3 * in_stride];
      o[i] = *a;
      o[i + 1] = second;
      o[i + 2] = third;
      o[i + 3] = fourth;
    }
    for (; i < n; ++i, a += in_stride) o[i] = *a;
  } else {
    const int64_t first = in_stride == 1 ? CopyByVectors<T, true>(n, a, out_stride, o) : 0;
    for (int64_t i = first; i < n; ++i) o[i * out_stride] = a[i * in_stride];
  }
}

void SplatBits(int64_t n, void* out, const void* const* in, int64_t width) {
  CopyStrided(n, width, out, 1, in[0], 0);
}

}  // namespace

void CopyBits(int64_t n, void* out, const void* const* in, int64_t width) {
  std::memmove(out, in[0], n * width);
}

TileCall CopyTile(ComputeType compute_type) { return {&CopyBits, ComputeTypeBytes(compute_type)}; }
TileCall SplatTile(ComputeType compute_type) { return {&SplatBits, ComputeTypeBytes(compute_type)}; }

TileCall FindTileOp(Opcode opcode, ElementType from) {
  const ComputeType compute_type = ComputeTypeOf(from);
  const int64_t bits = BitWidth(from);
  if (const TileFn f = VectorDivisionOf(opcode, compute_type)) return {f, bits};
  if (const TileFn f = VectorExtremeOf(opcode, compute_type)) return {f, bits};
  if (const TileFn f = IntegerTileOp(opcode, compute_type)) return {f, bits};
  if (const TileFn f = FloatTileOp(opcode, compute_type)) return {f, bits};
  if (const TileFn f = ComplexBlockOp(opcode, compute_type)) return {f, bits};
  return {ComplexTileOp(opcode, compute_type), bits};
}

TileCall FindTileCompare(ComparisonDirection direction, bool total_order, ElementType from) {
  const ComputeType compute_type = ComputeTypeOf(from);
  const auto comparison = [&]() -> TileFn {
    switch (direction) {
      case ComparisonDirection::kEq:
        return Comparison<scalar::Eq>(compute_type, total_order);
      case ComparisonDirection::kNe:
        return Comparison<scalar::Ne>(compute_type, total_order);
      case ComparisonDirection::kGe:
        return Comparison<scalar::Ge>(compute_type, total_order);
      case ComparisonDirection::kGt:
        return Comparison<scalar::Gt>(compute_type, total_order);
      case ComparisonDirection::kLe:
        return Comparison<scalar::Le>(compute_type, total_order);
      case ComparisonDirection::kLt:
        return Comparison<scalar::Lt>(compute_type, total_order);
    }
    return nullptr;
  };
  return {comparison()};
}

TileCall FindTileSelect(ElementType type) {
  TileFn function = nullptr;
  DispatchWidth(ComputeTypeBytes(ComputeTypeOf(type)), [&]<class T>() { function = &SelectLoop<T>; });
  return {function};
}

TileCall RoundTile(ElementType type) {
  const int64_t bits = BitWidth(type);
  if (IsIntegral(type) && bits < 8) return {IsSigned(type) ? &CutLoop<int8_t> : &CutLoop<uint8_t>, bits};
  return {OfSmallFloat(type, []<ElementType kType>() -> TileFn { return &RoundLoop<kType>; })};
}

TileCall LoadTile(ElementType type) {
  return {OfSmallFloat(type, []<ElementType kType>() -> TileFn { return &LoadLoop<kType>; })};
}

TileCall StoreRoundedTile(ElementType type) {
  if (type == ElementType::kBF16) return {&StoreExactBF16};
  return StoreTile(type);
}

TileCall StoreTile(ElementType type) {
  return {OfSmallFloat(type, []<ElementType kType>() -> TileFn { return &StoreLoop<kType>; })};
}

TileCall FindTileCall(const loops::Operation& operation) {
  using Kind = loops::Operation::Kind;
  switch (operation.kind) {
    case Kind::kNone:
      return {};
    case Kind::kScalar:
      return FindTileOp(operation.opcode, operation.from);
    case Kind::kRoundedScalar:
      return FindRoundedTileOp(operation.opcode, operation.from);
    case Kind::kCompare:
      return FindTileCompare(operation.direction, operation.total_order, operation.from);
    case Kind::kSelect:
      return FindTileSelect(operation.from);
    case Kind::kConvert:
      return FindTileConvert(operation.from, operation.to);
    case Kind::kBits:
      return FindTileBits(operation.from, operation.to);
    case Kind::kReducePrecision:
      return {ComputeTypeOf(operation.from) == ComputeType::kF32 ? &ReducePrecisionLoop<float>
                                                                 : &ReducePrecisionLoop<double>,
              operation.exponent_bits << 8 | operation.mantissa_bits};
    case Kind::kRound:
      return RoundTile(operation.to);
    case Kind::kStochastic:
      return FindTileStochasticConvert(operation.from, operation.to, operation.random_bits);
  }
  return {};
}

void CopyStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride) {
  if (in_stride == 1 && out_stride == 1) {
    std::memmove(out, in, n * width);
    return;
  }
  if (in_stride == 0 && out_stride == 1) return DispatchWidth(width, [&]<class T>() { Fill<T>(n, in, out); });
  DispatchWidth(width, [&]<class T>() { CopyStridedAs<T>(n, out, out_stride, in, in_stride); });
}

void GatherStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride,
                   const uint32_t* positions) {
  DispatchWidth(width, [&]<class T>() {
    const T* a = static_cast<const T*>(in);
    T* o = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) o[i * out_stride] = a[positions[i] * in_stride];
  });
}

}  // namespace hlo::cpu
