#pragma once
// Elements as unsigned radix sort keys.

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr uint32_t kRadixBits = 8, kDigits = 1u << kRadixBits;

// A one-to-one map between the bits of elements and unsigned keys in their order. Elements that compare equal
// although their bits differ have different keys but the same digits, so that the sort keeps their order.
template <class Key>
struct RadixKey {
  Key sign = 0;                                     // The sign bit of signed types.
  Key negative = 0;                                 // Floats: bits that are inverted in negative values.
  Key inverted = 0;                                 // Bits that are inverted in descending order.
  Key minus_zero = 0, zero = 0;                     // Keys of zeros that are equal.
  Key least = 0, span = static_cast<Key>(~Key{0});  // Keys outside least .. least + span are equal NaNs.
  Key nan = 0;                                      // The key whose digits are used for these NaNs.
  Key ordered_least = 0, ordered_span = static_cast<Key>(~Key{0});  // Keys outside are unordered NaNs.

  HLO_DEVICE Key Encode(Key bits) const {
    const Key turned = (bits & sign) != 0 ? negative : Key{0};
    return static_cast<Key>(bits ^ sign ^ turned ^ inverted);
  }
  HLO_DEVICE Key Decode(Key key) const {
    key = static_cast<Key>(key ^ inverted);
    const Key turned = (key & sign) == 0 ? negative : Key{0};
    return static_cast<Key>(key ^ sign ^ turned);
  }
  HLO_DEVICE bool IsUnordered(Key key) const { return static_cast<Key>(key - ordered_least) > ordered_span; }
  HLO_DEVICE Key Canonical(Key key) const {
    if (key == minus_zero) key = zero;
    return static_cast<Key>(key - least) > span ? nan : key;
  }
  template <bool kCanonical>
  HLO_DEVICE uint32_t Digit(Key key, uint32_t shift) const {
    if constexpr (kCanonical) key = Canonical(key);
    return static_cast<uint32_t>(key >> shift) & (kDigits - 1);
  }
};

}  // namespace hlo::cuda
