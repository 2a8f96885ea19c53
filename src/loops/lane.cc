#include "loops/lane.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "types/dispatch.h"

namespace hlo::loops {

Lane LaneOf(ElementType type) {
  return DispatchType(type, []<ElementType kType>() {
    using T = Native<kType>;
    if constexpr (std::is_same_v<T, bool>)
      return Lane::kPred;
    else if constexpr (std::is_same_v<T, int8_t>)
      return Lane::kS8;
    else if constexpr (std::is_same_v<T, int16_t>)
      return Lane::kS16;
    else if constexpr (std::is_same_v<T, int32_t>)
      return Lane::kS32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return Lane::kS64;
    else if constexpr (std::is_same_v<T, uint8_t>)
      return Lane::kU8;
    else if constexpr (std::is_same_v<T, uint16_t>)
      return Lane::kU16;
    else if constexpr (std::is_same_v<T, uint32_t>)
      return Lane::kU32;
    else if constexpr (std::is_same_v<T, uint64_t>)
      return Lane::kU64;
    else if constexpr (std::is_same_v<T, double>)
      return Lane::kF64;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      return Lane::kC64;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return Lane::kC128;
    else
      return Lane::kF32;
  });
}

bool IsStoredAsLane(ElementType type) { return !IsFloat(type) || BitWidth(type) >= 32; }

void LoadLane(ElementType type, const void* element, void* lane) {
  DispatchType(type, [&]<ElementType kType>() {
    using T = Native<kType>;
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (requires { T::format(); }) {
      const float widened = value.ToFloat();
      std::memcpy(lane, &widened, sizeof widened);
    } else {
      std::memcpy(lane, &value, sizeof value);
    }
  });
}

int64_t ReadInteger(ElementType type, const void* data) {
  if (type == ElementType::kS32) {  // The most common type.
    int32_t value;
    std::memcpy(&value, data, sizeof value);
    return value;
  }
  return DispatchLane(LaneOf(type), [&]<class T>() -> int64_t {
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
