#include "types/packing.h"

#include <cstring>

#include "types/wide.h"

namespace hlo {
namespace {

// Returns the in-memory byte of an element with these low-order bits.
std::byte Unpacked(ElementType type, uint8_t bits) {
  if (IsSigned(type)) return static_cast<std::byte>(SignExtend(bits, BitWidth(type)));
  return static_cast<std::byte>(ZeroExtend(bits, BitWidth(type)));
}

}  // namespace

void Pack(ElementType type, const std::byte* elements, int64_t count, std::byte* packed) {
  if (!IsSubByte(type)) {
    std::memcpy(packed, elements, count * ByteCount(type));
    return;
  }
  const int64_t bits = BitWidth(type);
  std::memset(packed, 0, PackedByteCount(type, count));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t code = ZeroExtend(static_cast<uint8_t>(elements[i]), bits);
    packed[i * bits / 8] |= static_cast<std::byte>(code << (i * bits % 8));
  }
}

void Unpack(ElementType type, const std::byte* packed, int64_t count, std::byte* elements) {
  if (IsPred(type)) {
    for (int64_t i = 0; i < count; ++i) elements[i] = std::byte{packed[i] != std::byte{0}};
  } else if (!IsSubByte(type)) {
    std::memcpy(elements, packed, count * ByteCount(type));
    if (BitWidth(type) < 8) {  // The 6-bit floats.
      for (int64_t i = 0; i < count; ++i) elements[i] = Unpacked(type, static_cast<uint8_t>(elements[i]));
    }
  } else {
    const int64_t bits = BitWidth(type);
    for (int64_t i = 0; i < count; ++i) {
      elements[i] = Unpacked(type, static_cast<uint8_t>(packed[i * bits / 8]) >> (i * bits % 8));
    }
  }
}

}  // namespace hlo
