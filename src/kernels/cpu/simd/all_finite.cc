#include "kernels/cpu/simd/all_finite.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// Returns true if any of these bit patterns has all exponent bits set.
template <class Bits>
bool AnyTopExponent(const Bits* bits, int64_t count, Bits exponent) {
  constexpr int64_t kChunk = 1 << 16;
  std::atomic<bool> found = false;
  ParallelFor(CeilDiv(count, kChunk), static_cast<double>(count) * 0.1, [&](int64_t chunk) {
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    const Bits* const from = bits;  // Captures by reference would prevent vectorisation.
    const Bits mask = exponent;
    Bits any = 0;
    for (int64_t i = chunk * kChunk; i < end; ++i) any |= static_cast<Bits>((from[i] & mask) == mask);
    if (any != 0) found = true;
  });
  return found;
}

}  // namespace

bool IsFinite(const void* data, ElementType type, int64_t count) {
  if (IsComplex(type)) count *= 2;
  switch (ComponentType(type)) {
    case ElementType::kF64:
      return !AnyTopExponent<uint64_t>(static_cast<const uint64_t*>(data), count, uint64_t{0x7ff} << 52);
    case ElementType::kF32:
      return !AnyTopExponent<uint32_t>(static_cast<const uint32_t*>(data), count, uint32_t{0xff} << 23);
    case ElementType::kBF16:
      return !AnyTopExponent<uint16_t>(static_cast<const uint16_t*>(data), count, 0x7f80);
    case ElementType::kF16:
      return !AnyTopExponent<uint16_t>(static_cast<const uint16_t*>(data), count, 0x7c00);
    default:
      break;
  }
  if (!IsFloat(type)) return true;
  return DispatchType(type, [&]<ElementType kType>() {
    using N = Native<kType>;
    if constexpr (requires(N x) { x.ToFloat(); }) {
      const N* values = static_cast<const N*>(data);
      return std::all_of(values, values + count, [](N x) { return std::isfinite(x.ToFloat()); });
    } else {
      return true;
    }
  });
}

}  // namespace hlo::cpu
