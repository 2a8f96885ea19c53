#include "kernels/cuda/sort/sort_keys.h"

namespace hlo::cuda {

KeySource SourceOf(const SortKey& key, ElementType type) {
  KeySource source;
  source.byte_count = static_cast<uint32_t>(ByteCount(type));
  source.bits = 8 * source.byte_count;
  source.mask = ~uint64_t{0} >> (64 - source.bits);
  source.is_float = IsFloat(type);
  if (source.is_float || IsSigned(type)) source.sign = uint64_t{1} << (source.bits - 1);
  source.infinity = type == ElementType::kF16    ? 0x7c00
                    : type == ElementType::kBF16 ? 0x7f80
                    : type == ElementType::kF32  ? 0x7f800000
                                                 : 0x7ff0000000000000;
  source.descending = key.descending;
  source.total = key.total;
  source.equal_total = key.equal_total;
  source.zeros_equal = key.zeros_equal;
  source.nans_equal = key.nans_equal;
  return source;
}

}  // namespace hlo::cuda
