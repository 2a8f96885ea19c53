#pragma once
/// \file
/// Defines the element types of arrays, their widths and their classes. element_types.def has one row per
/// type.

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace hlo {

/// The element types, in the order of element_types.def.
enum class ElementType : uint8_t {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) k##name,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
};

inline constexpr int kElementTypeCount = 0
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) +1
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
    ;

/// The classes of element types.
enum class TypeClass : uint8_t { kPred, kSigned, kUnsigned, kFloat, kComplex };

/// The row of an element type in element_types.def.
struct ElementTypeInfo {
  std::string_view name;
  int16_t bits;        ///< Nominal width.
  int16_t byte_count;  ///< Size of an element in memory.
  TypeClass type_class;
  int16_t proto_number;  ///< The value of PrimitiveType in protos.
};

const ElementTypeInfo& Info(ElementType type);                       ///< Returns the row of the type.
std::optional<ElementType> ParseElementType(std::string_view name);  ///< nullopt for an unknown name.
std::optional<ElementType> ElementTypeFromProto(int64_t number);     ///< nullopt for an unknown number.

inline std::string_view Name(ElementType type) { return Info(type).name; }
inline int64_t BitWidth(ElementType type) { return Info(type).bits; }
inline int64_t ByteCount(ElementType type) { return Info(type).byte_count; }
inline bool IsPred(ElementType type) { return type == ElementType::kPred; }
inline bool IsSigned(ElementType type) { return Info(type).type_class == TypeClass::kSigned; }
inline bool IsUnsigned(ElementType type) { return Info(type).type_class == TypeClass::kUnsigned; }
/// True for signed and unsigned integers; pred is not integral.
inline bool IsIntegral(ElementType type) { return IsSigned(type) || IsUnsigned(type); }
inline bool IsFloat(ElementType type) { return Info(type).type_class == TypeClass::kFloat; }
inline bool IsComplex(ElementType type) { return Info(type).type_class == TypeClass::kComplex; }
/// True for types that packed storage keeps in less than a byte: s1 s2 s4 u1 u2 u4 f4e2m1fn, but not pred and
/// the 6-bit floats.
inline bool IsSubByte(ElementType type) { return !IsPred(type) && BitWidth(type) < 8 && BitWidth(type) != 6; }
/// Returns the type of the real part: f32 for c64, f64 for c128, and the type itself for all others.
ElementType ComponentType(ElementType type);
/// Returns c64 for f32, c128 for f64 and nullopt for all others.
std::optional<ElementType> ComplexOf(ElementType component);

}  // namespace hlo
#pragma GCC visibility pop
