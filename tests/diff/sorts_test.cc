// sort and topk through both engines: the same permutation, whatever the comparator.

#include <tuple>

#include "engines.h"
#include "fmt/format.h"

namespace hlo {
namespace {

constexpr const char* kShapes[][2] = {{"1", "0"},     {"37", "0"},  {"3,700", "1"},
                                      {"700,3", "0"}, {"5,0", "1"}, {"9001", "0"}};

// `before` answers whether (a, i) comes before (b, j).
void ExpectSorted(const char* type, const char* second, const std::string& before, bool specials = true) {
  for (const auto& [dims, dimension] : kShapes) {
    test::ExpectEnginesAgree(
        fmt::format(
            "c {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n i = {1}[] parameter(2)\n"
            " j = {1}[] parameter(3)\n {2} }}\n"
            "ENTRY e {{ x = {0}[{3}] parameter(0)\n y = {1}[{3}] parameter(1)\n"
            " ROOT r = ({0}[{3}], {1}[{3}]) sort(x, y), dimensions={{{4}}}, is_stable=true, to_apply=c }}",
            type, second, before, dims, dimension),
        {.specials = specials});
  }
}

TEST(SortTest, ByOneKey) {
  for (const char* type : {"f32", "bf16", "f64", "s8", "u16", "s64", "pred"}) {
    ExpectSorted(type, "s32", "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER");
    ExpectSorted("f32", type, "ROOT r = pred[] compare(j, i), direction=LT, type=TOTALORDER");
  }
}

TEST(SortTest, ByAComparisonThatHasNoPlaceForNaN) {
  for (bool specials : {false, true}) {
    ExpectSorted("f32", "s32", "ROOT r = pred[] compare(a, b), direction=GT", specials);
    ExpectSorted("bf16", "c64", "ROOT r = pred[] compare(a, b), direction=LT", specials);
  }
}

TEST(SortTest, BySeveralKeys) {
  for (const auto& [first, second] :
       {std::pair("s8", "f32"), std::pair("f64", "s64"), std::pair("pred", "bf16")}) {
    for (const char* total : {"", ", type=TOTALORDER"}) {
      ExpectSorted(first, second,
                   fmt::format("l = pred[] compare(a, b), direction=LT{0}\n q = pred[] compare(a, b), "
                               "direction=EQ{0}\n m = pred[] compare(i, j), direction=GT{0}\n"
                               " n = pred[] and(q, m)\n ROOT r = pred[] or(l, n)",
                               total));
      ExpectSorted(first, second,
                   fmt::format("l = pred[] compare(i, j), direction=GT{0}\n q = pred[] compare(j, i), "
                               "direction=EQ{0}\n m = pred[] compare(b, a), direction=LT{0}\n"
                               " ROOT r = pred[] select(q, m, l)",
                               total));
    }
  }
}

// As compilers write the total order: bits, of which negative ones are turned over.
TEST(SortTest, ByBits) {
  for (const auto& [type, bits, most] :
       {std::tuple("f32", "s32", "2147483647"), std::tuple("bf16", "s16", "32767"),
        std::tuple("f64", "s64", "9223372036854775807")}) {
    ExpectSorted(
        type, "s8",
        fmt::format("m = {0}[] constant({1})\n z = {0}[] constant(0)\n p = {0}[] bitcast(a)\n"
                    " q = {0}[] bitcast(b)\n u = {0}[] xor(m, p)\n v = {0}[] xor(m, q)\n"
                    " s = pred[] compare(p, z), direction=LT\n t = pred[] compare(q, z), direction=LT\n"
                    " k = {0}[] select(s, u, p)\n l = {0}[] select(t, v, q)\n"
                    " ROOT r = pred[] compare(k, l), direction=LT",
                    bits, most));
  }
}

TEST(SortTest, ByAnythingElse) {
  // Not even an order.
  ExpectSorted("s32", "f32",
               "s = s32[] add(a, b)\n k = s32[] constant(7)\n m = s32[] remainder(s, k)\n"
               " z = s32[] constant(2)\n ROOT r = pred[] compare(m, z), direction=LT");
  ExpectSorted("f32", "bf16", "ROOT r = pred[] compare(a, b), direction=LE");
  ExpectSorted("c64", "s16",
               "x = f32[] abs(a)\n y = f32[] abs(b)\n p = pred[] compare(x, y), direction=LE\n"
               " q = pred[] compare(i, j), direction=LT\n ROOT r = pred[] xor(p, q)",
               false);
}

TEST(TopkTest, FirstOfEachLine) {
  for (const char* type : {"f32", "bf16", "f64", "s16", "u32", "f8e4m3fn"}) {
    for (const char* largest : {"true", "false"}) {
      for (const auto& [n, k] :
           {std::pair(1, 1), std::pair(40, 40), std::pair(1000, 7), std::pair(1000, 300), std::pair(5, 0)}) {
        test::ExpectEnginesAgree(
            fmt::format("ENTRY e {{ x = {0}[3,{1}] parameter(0)\n"
                        " ROOT r = ({0}[3,{2}], s32[3,{2}]) topk(x), k={2}, largest={3} }}",
                        type, n, k, largest),
            {.specials = true});
      }
    }
  }
}

// Operands that nothing else needs are sorted where they lie; results that nothing needs are left out.
TEST(SortTest, InPlace) {
  for (const char* type : {"s4", "u8", "bf16", "f32", "f64", "s64"}) {
    for (const char* sizes : {"1", "1031", "7,300", "40,5", "0,3"}) {
      for (const int dimension : {0, 1}) {
        if (dimension == 1 && std::string_view(sizes).find(',') == std::string_view::npos) continue;
        for (const char* order : {"direction=LT, type=TOTALORDER", "direction=GT, type=TOTALORDER"}) {
          if (*type != 'f' && *type != 'b' && std::string_view(order).starts_with("direction=LT")) continue;
          const std::string comparison = *type == 'f' || *type == 'b' ? order : "direction=GT";
          test::ExpectEnginesAgree(
              fmt::format(
                  "before {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n i = s32[] parameter(2)\n"
                  " j = s32[] parameter(3)\n ROOT c = pred[] compare(x, y), {3} }}\n"
                  "ENTRY e {{ a = {0}[{1}] parameter(0)\n n = {0}[{1}] add(a, a)\n"
                  " i = s32[{1}] iota(), iota_dimension={2}\n"
                  " s = ({0}[{1}], s32[{1}]) sort(n, i), dimensions={{{2}}}, to_apply=before\n"
                  " o = s32[{1}] get-tuple-element(s), index=1\n ROOT r = s32[{1}] negate(o) }}",
                  type, sizes, dimension, comparison),
              {.specials = true});
        }
      }
    }
  }
}

}  // namespace
}  // namespace hlo
