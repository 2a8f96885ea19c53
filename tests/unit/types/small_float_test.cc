// Tests small floats against ml_dtypes: every code of the narrow types, every tie and its neighbours; f16 and
// bf16 against a search over all their values.

#include "types/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "hlo_run/element_type.h"
#include "types/dispatch.h"

namespace hlo::small_float_test {
namespace {

FloatFormat FormatOf(std::string_view name) {
  return DispatchType(*ParseElementType(name), []<ElementType kType>() -> FloatFormat {
    if constexpr (requires { Native<kType>::format(); }) return Native<kType>::format();
    return {};
  });
}

void ExpectDecodes(std::string_view name, const std::vector<double>& values) {
  const FloatFormat format = FormatOf(name);
  for (size_t code = 0; code < values.size(); ++code) {
    const double got = DecodeSmallFloat(format, static_cast<uint32_t>(code));
    if (std::isnan(values[code])) {
      EXPECT_TRUE(std::isnan(got)) << name << " code " << code;
    } else {
      EXPECT_EQ(got, values[code]) << name << " code " << code;
      EXPECT_EQ(std::signbit(got), std::signbit(values[code])) << name << " code " << code;
      EXPECT_EQ(EncodeSmallFloat(format, got), code) << name;
    }
  }
}

struct Rounding {
  double value;
  uint32_t code;
};
void ExpectEncodes(std::string_view name, const std::vector<Rounding>& roundings) {
  for (const Rounding& r : roundings)
    EXPECT_EQ(EncodeSmallFloat(FormatOf(name), r.value), r.code) << name << " of " << r.value;
}

TEST(SmallFloat, AgreesWithMlDtypes) {
#define HLO_DECODE(name, ...) ExpectDecodes(name, __VA_ARGS__);
#define HLO_ENCODE(name, ...) ExpectEncodes(name, __VA_ARGS__);
#include "small_float_tables.inc"
#undef HLO_DECODE
#undef HLO_ENCODE
}

TEST(SmallFloat, ScaleRoundsHalvesUpAndHasNoZero) {
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 0.0), 0xffu);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, -1.0), 0xffu);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 1.5), 128u);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 3.0), 129u);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 0x1.8p127), 0xffu);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 0x1p-130), 0u);
  EXPECT_EQ(EncodeSmallFloat(kF8E8M0FNUFormat, 0x1.1p-127), 1u);
}

// Expects that every finite value of a 16-bit type, and the numbers around each tie, round to nearest even.
template <class T>
void ExpectRoundsToNearestEven() {
  const uint32_t infinity = T::format().max_code() + 1;
  for (uint32_t code = 0; code < infinity; ++code) {
    const float low = T::FromBits(static_cast<uint16_t>(code)).ToFloat();
    ASSERT_EQ(low, static_cast<float>(DecodeSmallFloat(T::format(), code)));
    ASSERT_EQ(T::FromFloat(low).bits, code);
    ASSERT_EQ(T::FromFloat(-low).bits, code | 0x8000u);
    const float high = code + 1 == infinity
                           ? low + (low - T::FromBits(static_cast<uint16_t>(code - 1)).ToFloat())
                           : T::FromBits(static_cast<uint16_t>(code + 1)).ToFloat();
    const float tie = low + (high - low) / 2;
    if (std::isinf(tie)) continue;
    ASSERT_EQ(T::FromFloat(tie).bits, code + (code & 1)) << code;
    ASSERT_EQ(T::FromFloat(std::nextafterf(tie, 0)).bits, code);
    ASSERT_EQ(T::FromFloat(std::nextafterf(tie, std::numeric_limits<float>::infinity())).bits, code + 1);
  }
  EXPECT_EQ(T::FromFloat(std::numeric_limits<float>::infinity()).bits, infinity);
  EXPECT_TRUE(std::isnan(T::FromFloat(std::numeric_limits<float>::quiet_NaN()).ToFloat()));
}

TEST(SmallFloat, HalfRoundsToNearestEven) { ExpectRoundsToNearestEven<float16>(); }
TEST(SmallFloat, BrainFloatRoundsToNearestEven) { ExpectRoundsToNearestEven<bfloat16>(); }

TEST(SmallFloat, DoublesRoundTo16BitsThroughFloat) {
  EXPECT_EQ(bfloat16::FromDouble(1 + 0x1p-8 + 0x1p-30).bits, 0x3f80);
  EXPECT_EQ(float16::FromDouble(1 + 0x1p-11 + 0x1p-40).bits, 0x3c00);
  EXPECT_EQ(float8_e4m3fn::FromDouble(1 + 0x1p-4 + 0x1p-40).bits, 0x39);
}

}  // namespace
}  // namespace hlo::small_float_test
