#pragma once
// Elements as packed bits (semantics 1.5): types narrower than a byte lie side by side, the first element in
// the low-order bits of a byte. Other types, pred included, are the bytes that they are in memory.

#include <cstddef>
#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo {

// Bits of one element in a packed sequence.
inline int64_t PackedBits(ElementType type) { return IsSubByte(type) ? BitWidth(type) : 8 * ByteCount(type); }
// Bytes of a packed sequence of `count` elements; unused bits of the last one are zero.
inline int64_t PackedByteCount(ElementType type, int64_t count) {
  return IsSubByte(type) ? (count * BitWidth(type) + 7) / 8 : count * ByteCount(type);
}

void Pack(ElementType type, const std::byte* elements, int64_t count, std::byte* packed);
void Unpack(ElementType type, const std::byte* packed, int64_t count, std::byte* elements);

}  // namespace hlo
