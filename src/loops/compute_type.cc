#include "loops/compute_type.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "types/dispatch.h"

namespace hlo::loops {

ComputeType ComputeTypeOf(ElementType type) {
  return DispatchType(type, []<ElementType kType>() {
    using T = Native<kType>;
    if constexpr (std::is_same_v<T, bool>)
      return ComputeType::kPred;
    else if constexpr (std::is_same_v<T, int8_t>)
      return ComputeType::kS8;
    else if constexpr (std::is_same_v<T, int16_t>)
      return ComputeType::kS16;
    else if constexpr (std::is_same_v<T, int32_t>)
      return ComputeType::kS32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return ComputeType::kS64;
    else if constexpr (std::is_same_v<T, uint8_t>)
      return ComputeType::kU8;
    else if constexpr (std::is_same_v<T, uint16_t>)
      return ComputeType::kU16;
    else if constexpr (std::is_same_v<T, uint32_t>)
      return ComputeType::kU32;
    else if constexpr (std::is_same_v<T, uint64_t>)
      return ComputeType::kU64;
    else if constexpr (std::is_same_v<T, double>)
      return ComputeType::kF64;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      return ComputeType::kC64;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return ComputeType::kC128;
    else
      return ComputeType::kF32;
  });
}

bool IsStoredAsComputed(ElementType type) { return !IsFloat(type) || BitWidth(type) >= 32; }

void LoadAsComputed(ElementType type, const void* element, void* compute_type) {
  DispatchType(type, [&]<ElementType kType>() {
    using T = Native<kType>;
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (requires { T::format(); }) {
      const float widened = value.ToFloat();
      std::memcpy(compute_type, &widened, sizeof widened);
    } else {
      std::memcpy(compute_type, &value, sizeof value);
    }
  });
}

int64_t ReadInteger(ElementType type, const void* data) {
  if (type == ElementType::kS32) {  // The most common type.
    int32_t value;
    std::memcpy(&value, data, sizeof value);
    return value;
  }
  return DispatchComputeType(ComputeTypeOf(type), [&]<class T>() -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, data, sizeof value);
      if constexpr (std::is_same_v<T, uint64_t>)
        return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
      else
        return static_cast<int64_t>(value);
    } else {
      HLO_CHECK(false);
      return 0;
    }
  });
}

ElementType BytesOf(ElementType type) {
  switch (ByteCount(type)) {
    case 1:
      return ElementType::kU8;
    case 2:
      return ElementType::kU16;
    case 4:
      return ElementType::kU32;
    case 8:
      return ElementType::kU64;
    default:
      return ElementType::kC128;
  }
}

}  // namespace hlo::loops
