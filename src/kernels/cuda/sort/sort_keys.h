#pragma once
// Makes the descriptions of sort keys for kernels.

#include "kernels/cuda/sort/match_sort_keys.h"
#include "kernels/cuda/sort/radix_key.h"
#include "kernels/cuda/sort/sort_keys_body.h"

namespace hlo::cuda {

KeySource SourceOf(const SortKey& key, ElementType type);

// The one-to-one keys of a source's elements. Key has the bits of the elements, or more.
template <class Key>
RadixKey<Key> RadixKeyOf(const KeySource& source) {
  RadixKey<Key> code;
  code.sign = static_cast<Key>(source.sign);
  code.inverted = static_cast<Key>(source.descending ? source.mask : 0);
  if (!source.is_float) return code;
  code.negative = static_cast<Key>(source.mask & ~source.sign);
  const auto infinity = static_cast<Key>(source.infinity);
  const Key last = code.Encode(infinity), first = code.Encode(static_cast<Key>(infinity | code.sign));
  const Key least = last < first ? last : first;
  const auto span = static_cast<Key>(last < first ? first - last : last - first);
  if (source.zeros_equal) {
    code.minus_zero = code.Encode(code.sign);
    code.zero = code.Encode(Key{0});
  }
  if (source.nans_equal) {
    code.least = least;
    code.span = span;
    code.nan = code.Encode(static_cast<Key>(infinity + 1));
  }
  if (!(source.total && source.equal_total)) {
    code.ordered_least = least;
    code.ordered_span = span;
  }
  return code;
}

}  // namespace hlo::cuda
