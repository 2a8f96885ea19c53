#include "hlo_run/element_type.h"

#include <array>
#include <complex>

#include "types/small_float.h"

namespace hlo {
namespace {

constexpr std::array<ElementTypeInfo, kElementTypeCount> kInfo = {{
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) \
  {text, bits, sizeof(storage), TypeClass::type_class, number},
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
}};

}  // namespace

const ElementTypeInfo& Info(ElementType type) { return kInfo[static_cast<size_t>(type)]; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  // The parser calls this for every word; most are rejected by their first letter or length.
  if (name.size() < 2 || name.size() > 13) return std::nullopt;
  const char first = name[0];
  if (first != 'f' && first != 's' && first != 'u' && first != 'b' && first != 'p' && first != 'c')
    return std::nullopt;
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

std::optional<ElementType> ElementTypeFromProto(int64_t number) {
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].proto_number == number) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

ElementType ComponentType(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

std::optional<ElementType> ComplexOf(ElementType component) {
  if (component == ElementType::kF32) return ElementType::kC64;
  if (component == ElementType::kF64) return ElementType::kC128;
  return std::nullopt;
}

}  // namespace hlo
