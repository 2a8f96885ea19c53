#pragma once
// Packed elements (semantics 1.5). Types narrower than a byte share bytes, with the first element in the
// low-order bits. Other types, including pred, are stored as in memory.

#include <cstddef>
#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo {

// Returns the bits of one element in a packed sequence.
inline int64_t PackedBits(ElementType type) { return IsSubByte(type) ? BitWidth(type) : 8 * ByteCount(type); }
// Returns the bytes of a packed sequence of `count` elements. Unused bits of the last byte are zero.
inline int64_t PackedByteCount(ElementType type, int64_t count) {
  return IsSubByte(type) ? (count * BitWidth(type) + 7) / 8 : count * ByteCount(type);
}

void Pack(ElementType type, const std::byte* elements, int64_t count, std::byte* packed);
void Unpack(ElementType type, const std::byte* packed, int64_t count, std::byte* elements);

}  // namespace hlo
