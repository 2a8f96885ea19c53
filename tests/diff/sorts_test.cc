// Tests sort and topk through both engines: the same permutation for every comparator.

#include <tuple>

#include "base/parallel.h"
#include "engines.h"
#include "fmt/format.h"

namespace hlo::sorts_test {
namespace {

constexpr const char* kShapes[][2] = {{"1", "0"},     {"37", "0"},  {"3,700", "1"},
                                      {"700,3", "0"}, {"5,0", "1"}, {"9001", "0"}};

// `before` compares (a, i) with (b, j).
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

// Total order as compilers emit it: integer comparison of the bits, with the magnitude bits of negative
// values inverted.
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
  // These comparators are not strict weak orderings.
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

// Lines long enough to be split across threads, in lengths that the pieces divide or not.
void ExpectSharedLinesSorted(const char* type, const char* second, const std::string& before) {
  for (const auto& [dims, dimension] : {std::pair("65535", 0), std::pair("65536", 0), std::pair("65537", 0),
                                        std::pair("81920", 0), std::pair("66000,2", 0)}) {
    const std::string text = fmt::format(
        "HloModule t\nc {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n i = {1}[] parameter(2)\n"
        " j = {1}[] parameter(3)\n p = s32[] parameter(4)\n o = s32[] parameter(5)\n {2} }}\n"
        "ENTRY e {{ x = {0}[{3}] parameter(0)\n y = {1}[{3}] parameter(1)\n"
        " n = s32[{3}] iota(), iota_dimension={4}\n ROOT r = ({0}[{3}], {1}[{3}], s32[{3}]) sort(x, y, n), "
        "dimensions={{{4}}}, is_stable=true, to_apply=c }}",
        type, second, before, dims, dimension);
    SCOPED_TRACE(text);
    const absl::StatusOr<CheckedModule> module = test::ReadModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    const std::vector<Literal> arguments = test::ArgumentsOf(*module, {.specials = true});
    const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(threads);
      SetThreadCount(threads);
      const absl::StatusOr<Literal> got = Execute(*module, arguments, Engine::kFast),
                                    in_place = Execute(*module, test::Copies(arguments), Engine::kFast);
      SetThreadCount(0);
      ASSERT_TRUE(got.ok() && in_place.ok()) << got.status() << in_place.status();
      test::ExpectClose(*got, *want, {});
      test::ExpectClose(*in_place, *want, {});
    }
  }
}

TEST(SharedLinesTest, ByKeys) {
  for (const char* type : {"f32", "s8", "bf16", "f64"})
    ExpectSharedLinesSorted(type, "s64", "ROOT r = pred[] compare(b, a), direction=LT, type=TOTALORDER");
  // Keys of more than 64 bits with many ties.
  ExpectSharedLinesSorted("pred", "f64",
                          "l = pred[] compare(a, b), direction=LT\n q = pred[] compare(a, b), direction=EQ\n"
                          " m = pred[] compare(i, j), direction=GT, type=TOTALORDER\n n = pred[] and(q, m)\n"
                          " ROOT r = pred[] or(l, n)");
}

// NaN is unordered, so merge positions cannot be found by binary search.
TEST(SharedLinesTest, ByAComparator) {
  ExpectSharedLinesSorted("f32", "s16", "ROOT r = pred[] compare(a, b), direction=LT");
  ExpectSharedLinesSorted(
      "s8", "f32", "k = s8[] abs(a)\n l = s8[] negate(b)\n ROOT r = pred[] compare(k, l), direction=LT");
  ExpectSharedLinesSorted("s32", "bf16",
                          "s = s32[] add(a, b)\n k = s32[] constant(7)\n m = s32[] remainder(s, k)\n"
                          " z = s32[] constant(2)\n ROOT r = pred[] compare(m, z), direction=LT");
  // An order without a key: values with the same remainder are equal.
  ExpectSharedLinesSorted("u16", "f32",
                          "k = u16[] constant(7)\n m = u16[] remainder(a, k)\n n = u16[] remainder(b, k)\n"
                          " l = pred[] compare(m, n), direction=LT\n g = pred[] compare(m, n), direction=GE\n"
                          " f = pred[] not(g)\n ROOT r = pred[] and(l, f)");
}

// Operands at their last use are sorted in place; unused results are dropped.
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
}  // namespace hlo::sorts_test
