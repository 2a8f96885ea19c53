// Tests sort and topk on the CPU and on the emulated GPU: the same permutation as the reference's for every
// comparator.

#include <tuple>

#include "base/parallel.h"
#include "fixtures.h"
#include "fmt/format.h"
#include "sort_programs.h"

namespace hlo::sorts_test {
namespace {

template <class Fixture>
struct SortTest : Fixture {
  static void ExpectSorted(const char* type, const char* second, const std::string& before,
                           bool specials = true) {
    ExpectSortedIn(test::kShortLines, type, second, before, specials);
    ExpectSortedIn(test::kLongLines, type, second, before, specials);
  }
  // Compares several keys. The emulator takes too long for long lines of them.
  static void ExpectSortedByKeys(const char* type, const char* second, const std::string& before) {
    ExpectSortedIn(test::kShortLines, type, second, before, true);
    if (!Fixture::kIsEmulated) ExpectSortedIn(test::kLongLines, type, second, before, true);
  }

 private:
  template <size_t kCount>
  static void ExpectSortedIn(const char* const (&shapes)[kCount][2], const char* type, const char* second,
                             const std::string& before, bool specials) {
    for (const auto& [dims, dimension] : shapes)
      Fixture::ExpectAgrees(test::Sort(dims, dimension, type, second, before), "sort",
                            {.specials = specials});
  }
};
TYPED_TEST_SUITE(SortTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(SortTest, ByOneKey) {
  for (const char* type : {"f32", "bf16", "f16", "f64", "s8", "s4", "u16", "s32", "s64", "pred"}) {
    this->ExpectSorted(type, "s32", "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER");
    this->ExpectSorted("f32", type, "ROOT r = pred[] compare(j, i), direction=LT, type=TOTALORDER");
  }
}

// NaN is unordered, so these comparisons are not strict weak orders.
TYPED_TEST(SortTest, ByPartialOrders) {
  for (bool specials : {false, true}) {
    this->ExpectSorted("f32", "s32", "ROOT r = pred[] compare(a, b), direction=GT", specials);
    this->ExpectSorted("bf16", "c64", "ROOT r = pred[] compare(a, b), direction=LT", specials);
  }
}

TYPED_TEST(SortTest, BySeveralKeys) {
  for (const auto& [first, second] :
       {std::pair("s8", "f32"), std::pair("f64", "s64"), std::pair("pred", "bf16")}) {
    for (const char* total : {"", ", type=TOTALORDER"}) {
      this->ExpectSortedByKeys(
          first, second,
          fmt::format("l = pred[] compare(a, b), direction=LT{0}\n q = pred[] compare(a, b), "
                      "direction=EQ{0}\n m = pred[] compare(i, j), direction=GT{0}\n"
                      " n = pred[] and(q, m)\n ROOT r = pred[] or(l, n)",
                      total));
      this->ExpectSortedByKeys(
          first, second,
          fmt::format("l = pred[] compare(i, j), direction=GT{0}\n q = pred[] compare(j, i), "
                      "direction=EQ{0}\n m = pred[] compare(b, a), direction=LT{0}\n"
                      " ROOT r = pred[] select(q, m, l)",
                      total));
    }
  }
}

// Comparators as JAX emits them: zeros of both signs are equal, and NaNs are equal and last.
TYPED_TEST(SortTest, WithCanonicalZerosAndNaNs) {
  const auto canonical = [](const char* type, const char* value, const char* result) {
    return fmt::format(
        "{1}z = {0}[] constant(0)\n{1}n = {0}[] constant(nan)\n"
        "{1}e = pred[] compare({2}, {1}z), direction=EQ\n{1}u = pred[] compare({2}, {2}), direction=NE\n"
        "{1}s = {0}[] select({1}e, {1}z, {2})\n{1} = {0}[] select({1}u, {1}n, {1}s)\n",
        type, result, value);
  };
  for (const char* type : {"f32", "bf16", "f64"}) {
    this->ExpectSortedByKeys(type, "s32",
                             canonical(type, "a", "k") + canonical(type, "b", "l") +
                                 "ROOT r = pred[] compare(k, l), direction=LT, type=TOTALORDER");
    this->ExpectSortedByKeys(
        type, "s32",
        canonical(type, "a", "k") + canonical(type, "b", "l") +
            "t = pred[] compare(k, l), direction=LT, type=TOTALORDER\n"
            "q = pred[] compare(k, l), direction=EQ\n m = pred[] compare(i, j), direction=GT\n"
            "w = pred[] and(q, m)\n ROOT r = pred[] or(t, w)");
  }
}

// Total order as compilers emit it: integer comparison of the bits, with the magnitude bits of negative
// values inverted.
TYPED_TEST(SortTest, ByBits) {
  for (const auto& [type, bits, most] :
       {std::tuple("f32", "s32", "2147483647"), std::tuple("bf16", "s16", "32767"),
        std::tuple("f64", "s64", "9223372036854775807")}) {
    this->ExpectSorted(
        type, "s8",
        fmt::format("m = {0}[] constant({1})\n z = {0}[] constant(0)\n p = {0}[] bitcast(a)\n"
                    " q = {0}[] bitcast(b)\n u = {0}[] xor(m, p)\n v = {0}[] xor(m, q)\n"
                    " s = pred[] compare(p, z), direction=LT\n t = pred[] compare(q, z), direction=LT\n"
                    " k = {0}[] select(s, u, p)\n l = {0}[] select(t, v, q)\n"
                    " ROOT r = pred[] compare(k, l), direction=LT",
                    bits, most));
  }
}

template <class Fixture>
struct TopkTest : Fixture {};
TYPED_TEST_SUITE(TopkTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(TopkTest, FirstOfEachLine) {
  for (const char* type : {"f32", "bf16", "f64", "s16", "u32"}) {
    for (const char* largest : {"true", "false"}) {
      for (const auto& [n, k] : {std::pair(1, 1), std::pair(40, 40), std::pair(1000, 7), std::pair(1000, 300),
                                 std::pair(2500, 300), std::pair(9000, 40), std::pair(5, 0)}) {
        this->ExpectAgrees(fmt::format("ENTRY e {{ x = {0}[3,{1}] parameter(0)\n"
                                       " ROOT r = ({0}[3,{2}], s32[3,{2}]) topk(x), k={2}, largest={3} }}",
                                       type, n, k, largest),
                           "topk", {.specials = true});
      }
    }
  }
}

void ExpectSortedOnCpu(const char* type, const char* second, const std::string& before,
                       bool specials = true) {
  SortTest<test::OnCpu>::ExpectSorted(type, second, before, specials);
}

TEST(TopkOnCpu, OfSmallFloats) {
  for (const char* largest : {"true", "false"}) {
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ x = f8e4m3fn[3,1000] parameter(0)\n"
                    " ROOT r = (f8e4m3fn[3,300], s32[3,300]) topk(x), k=300, largest={} }}",
                    largest),
        {.specials = true});
  }
}

TEST(SortOnCpu, ByOtherComparators) {
  // These comparators are not strict weak orderings.
  ExpectSortedOnCpu("s32", "f32",
                    "s = s32[] add(a, b)\n k = s32[] constant(7)\n m = s32[] remainder(s, k)\n"
                    " z = s32[] constant(2)\n ROOT r = pred[] compare(m, z), direction=LT");
  ExpectSortedOnCpu("f32", "bf16", "ROOT r = pred[] compare(a, b), direction=LE");
  ExpectSortedOnCpu("c64", "s16",
                    "x = f32[] abs(a)\n y = f32[] abs(b)\n p = pred[] compare(x, y), direction=LE\n"
                    " q = pred[] compare(i, j), direction=LT\n ROOT r = pred[] xor(p, q)",
                    false);
}

// Lines long enough to be split across threads, in lengths that the pieces divide or not.
void ExpectSplitLinesSorted(const char* type, const char* second, const std::string& before) {
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

TEST(SortOfSplitLines, ByKeys) {
  for (const char* type : {"f32", "s8", "bf16", "f64"})
    ExpectSplitLinesSorted(type, "s64", "ROOT r = pred[] compare(b, a), direction=LT, type=TOTALORDER");
  // Keys of more than 64 bits with many ties.
  ExpectSplitLinesSorted("pred", "f64",
                         "l = pred[] compare(a, b), direction=LT\n q = pred[] compare(a, b), direction=EQ\n"
                         " m = pred[] compare(i, j), direction=GT, type=TOTALORDER\n n = pred[] and(q, m)\n"
                         " ROOT r = pred[] or(l, n)");
}

// NaN is unordered, so merge positions cannot be found by binary search.
TEST(SortOfSplitLines, ByAComparator) {
  ExpectSplitLinesSorted("f32", "s16", "ROOT r = pred[] compare(a, b), direction=LT");
  ExpectSplitLinesSorted(
      "s8", "f32", "k = s8[] abs(a)\n l = s8[] negate(b)\n ROOT r = pred[] compare(k, l), direction=LT");
  ExpectSplitLinesSorted("s32", "bf16",
                         "s = s32[] add(a, b)\n k = s32[] constant(7)\n m = s32[] remainder(s, k)\n"
                         " z = s32[] constant(2)\n ROOT r = pred[] compare(m, z), direction=LT");
  // An order without a key: values with the same remainder are equal.
  ExpectSplitLinesSorted("u16", "f32",
                         "k = u16[] constant(7)\n m = u16[] remainder(a, k)\n n = u16[] remainder(b, k)\n"
                         " l = pred[] compare(m, n), direction=LT\n g = pred[] compare(m, n), direction=GE\n"
                         " f = pred[] not(g)\n ROOT r = pred[] and(l, f)");
}

// Operands at their last use are sorted in place; unused results are dropped.
TEST(SortOnCpu, InPlace) {
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
