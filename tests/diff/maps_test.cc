// Tests map, stochastic-convert and bitcasts of types: bit-equal.

#include "engines.h"
#include "fmt/format.h"

namespace hlo::maps_test {
namespace {

constexpr const char* kSizes[] = {"", "0", "1", "13", "1031", "7,300"};

TEST(MapTest, SeveralOperations) {
  for (const char* type : {"s4", "u8", "s32", "f8e5m2", "bf16", "f32", "f64", "c64"}) {
    for (const char* sizes : kSizes) {
      test::ExpectEnginesAgree(
          fmt::format(
              "twice {{ t = {0}[] parameter(0)\n ROOT u = {0}[] add(t, t) }}\n"
              "code {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n one = {0}[] constant({2})\n"
              " z = {0}[] add(x, one)\n w = {0}[] call(z), to_apply=twice\n"
              " ROOT v = {0}[] multiply(w, y) }}\n"
              "ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{1}] parameter(1)\n n = {0}[{1}] negate(b)\n"
              " m = {0}[{1}] map(a, n), to_apply=code\n ROOT r = {0}[{1}] subtract(m, a) }}",
              type, sizes, std::string_view(type) == "c64" ? "(1, 0)" : "1"),
          {.specials = true});
    }
  }
}

TEST(MapTest, ComputationsThatOnlySelect) {
  test::ExpectEnginesAgree(
      "code { x = f32[] parameter(0)\n ROOT y = f32[] parameter(1) }\n"
      "ENTRY e { a = f32[5] parameter(0)\n b = f32[5] parameter(1)\n ROOT r = f32[5] map(a, b), "
      "to_apply=code }",
      {.specials = true});
  test::ExpectEnginesAgree(
      "code { x = f32[] parameter(0)\n ROOT y = f32[] constant(3) }\n"
      "ENTRY e { a = f32[5] parameter(0)\n ROOT r = f32[5] map(a), to_apply=code }",
      {.has_kernel = false});
}

TEST(StochasticConvertTest, EveryWidth) {
  for (const char* from : {"bf16", "f16", "f8e4m3fn", "f32", "f64"}) {
    for (const char* random : {"u8", "u16", "u32", "u64"}) {
      for (const char* to : {"s8", "s16", "s32"}) {
        const std::string text = fmt::format(
            "ENTRY e {{ a = {}[1031] parameter(0)\n u = {}[1031] parameter(1)\n"
            " ROOT r = {}[1031] stochastic-convert(a, u) }}",
            from, random, to);
        if (!test::ReadModule("HloModule t\n" + text).ok()) continue;  // The widths are incompatible.
        test::ExpectEnginesAgree(text, {.specials = true});
      }
    }
  }
}

struct Bitcast {
  const char *from, *from_sizes, *to, *to_sizes;
};
constexpr Bitcast kBitcasts[] = {
    {"f8e4m3fn", "19", "u8", "19"},  {"u8", "19", "f8e5m2", "19"}, {"f16", "19", "s16", "19"},
    {"bf16", "19", "f16", "19"},     {"s4", "19", "u4", "19"},     {"u2", "19", "s2", "19"},
    {"u32", "3,2", "u64", "3"},      {"f64", "7", "f32", "7,2"},   {"s8", "0,4", "f32", "0"},
    {"f32", "1031", "u8", "1031,4"}, {"u16", "", "f16", ""},
};

TEST(BitcastTest, BitsStay) {
  for (const Bitcast& c : kBitcasts) {
    const std::string text =
        fmt::format("ENTRY e {{ a = {}[{}] parameter(0)\n ROOT r = {}[{}] bitcast-convert(a) }}", c.from,
                    c.from_sizes, c.to, c.to_sizes);
    if (!test::ReadModule("HloModule t\n" + text).ok()) {
      ADD_FAILURE() << text;
      continue;
    }
    test::ExpectEnginesAgree(text, {.specials = true});
  }
}

TEST(BitcastTest, ComputedByALoop) {
  test::ExpectEnginesAgree(
      "ENTRY e { a = u32[6,2] parameter(0)\n n = u32[6,2] not(a)\n w = u64[6] bitcast-convert(n)\n"
      " s = u64[6] multiply(w, w)\n ROOT r = f64[6] bitcast-convert(s) }");
}

}  // namespace
}  // namespace hlo::maps_test
