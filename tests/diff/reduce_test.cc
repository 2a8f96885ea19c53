// Reductions through both engines.

#include "engines.h"
#include "fmt/format.h"

namespace hlo {
namespace {

constexpr const char* kTypes[] = {"pred", "s4",  "u8",  "s16", "u32",   "s64",
                                  "bf16", "f16", "f32", "f64", "f8e5m2"};

std::string Reduce(const char* type, const char* opcode, const char* from, const char* to, const char* dims) {
  return fmt::format(
      "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, y) }}\n"
      "ENTRY e {{ a = {0}[{2}] parameter(0)\n i = {0}[] parameter(1)\n"
      " ROOT r = {0}[{3}] reduce(a, i), dimensions={{{4}}}, to_apply=c }}",
      type, opcode, from, to, dims);
}

TEST(ReduceTest, LargestAndSmallestAreExact) {
  for (const char* type : kTypes) {
    for (const char* opcode : {"maximum", "minimum"}) {
      const test::Agreement exact{.specials = true};
      test::ExpectEnginesAgree(Reduce(type, opcode, "9,1", "9", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "5,0", "5", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "7,37", "7", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "3,2053", "3", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "131,67", "67", "0"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "80000", "", "0"), exact);
    }
  }
}

TEST(ReduceTest, IntegersWrapAndBitsCombine) {
  for (const char* type : {"s4", "u8", "s16", "u32", "s64"}) {
    for (const char* opcode : {"add", "multiply", "and", "or", "xor"}) {
      test::ExpectEnginesAgree(Reduce(type, opcode, "5,33", "5", "1"));
      test::ExpectEnginesAgree(Reduce(type, opcode, "3,1499", "3", "1"));
      test::ExpectEnginesAgree(Reduce(type, opcode, "200,31", "31", "0"));
    }
  }
}

// n elements of magnitude 2 at most: the partial sums' roundings, and half a unit of the result's own.
TEST(ReduceTest, SumsAreWithinTheirBound) {
  for (const auto& [type, epsilon] : {std::pair("bf16", 0x1p-8), std::pair("f16", 0x1p-11),
                                      std::pair("f32", 0x1p-24), std::pair("f64", 0x1p-53)}) {
    for (int n : {1, 31, 129, 1000, 5003}) {
      const double accumulator = std::string_view(type) == "f64" ? 0x1p-53 : 0x1p-24;
      const test::Agreement close{.rule = CompareRule::Close(2.0 * n * n * accumulator, 2 * epsilon)};
      test::ExpectEnginesAgree(Reduce(type, "add", fmt::format("6,{}", n).c_str(), "6", "1"), close);
      test::ExpectEnginesAgree(Reduce(type, "add", fmt::format("{},5", n).c_str(), "5", "0"), close);
    }
  }
}

}  // namespace
}  // namespace hlo
