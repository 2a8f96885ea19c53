// Tests sort and topk on the emulated GPU: the permutation equals the reference's.

#include <tuple>

#include "cuda_kernels.h"
#include "fmt/format.h"

namespace hlo::cuda_sort_test {
namespace {

constexpr const char* kShapes[][2] = {{"1", "0"},     {"37", "0"},  {"3,700", "1"}, {"70,3", "0"},
                                      {"5,2,6", "1"}, {"5,0", "1"}, {"255", "0"},   {"256", "0"},
                                      {"257", "0"},   {"2048", "0"}};
constexpr const char* kLong[][2] = {{"8192", "0"}, {"4097", "0"}, {"3,2053", "1"}, {"2100,5", "0"}};
constexpr const char* kLonger[][2] = {{"8193", "0"}, {"15000", "0"}, {"2,9000", "1"}, {"8200,2", "0"}};

// `before` compares (a, i) with (b, j).
void ExpectSorted(const char* dims, const char* dimension, const char* type, const char* second,
                  const std::string& before, bool specials, std::string_view name) {
  test::ExpectKernelAgrees(
      fmt::format(
          "c {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n i = {1}[] parameter(2)\n"
          " j = {1}[] parameter(3)\n {2} }}\n"
          "ENTRY e {{ x = {0}[{3}] parameter(0)\n y = {1}[{3}] parameter(1)\n"
          " ROOT r = ({0}[{3}], {1}[{3}]) sort(x, y), dimensions={{{4}}}, is_stable=true, to_apply=c }}",
          type, second, before, dims, dimension),
      name, {.specials = specials}, 1);
}
void ExpectSortedEverywhere(const char* type, const char* second, const std::string& before,
                            bool specials = true) {
  for (const auto& [dims, dimension] : kShapes)
    ExpectSorted(dims, dimension, type, second, before, specials, "sort");
}

void ExpectSortedInSmall(const char* type, const char* second, const std::string& before) {
  if (type != std::string_view("f64")) ExpectSorted("37", "0", type, second, before, true, "sort");
  ExpectSorted("3,70,2", "1", type, second, before, true, "sort");
}

TEST(CudaSort, ByOneKey) {
  for (const char* type : {"f32", "bf16", "f16", "f64", "s8", "s4", "u16", "s32", "s64", "pred"}) {
    ExpectSortedEverywhere(type, "s32", "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER");
    ExpectSortedEverywhere("f32", type, "ROOT r = pred[] compare(j, i), direction=LT, type=TOTALORDER");
  }
}

TEST(CudaSort, LongLines) {
  for (const char* type : {"f32", "s64"}) {
    const char* before = "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER";
    for (const auto& [dims, dimension] : kLong)
      ExpectSorted(dims, dimension, type, "s32", before, true, "sort in blocks");
    for (const auto& [dims, dimension] : kLonger)
      ExpectSorted(dims, dimension, type, "s32", before, true, "sort in sweeps");
  }
}

TEST(CudaSort, ByAComparisonThatHasNoPlaceForNaN) {
  for (bool specials : {false, true}) {
    ExpectSortedEverywhere("f32", "s32", "ROOT r = pred[] compare(a, b), direction=GT", specials);
    ExpectSortedEverywhere("bf16", "c64", "ROOT r = pred[] compare(a, b), direction=LT", specials);
    ExpectSorted("9001", "0", "f64", "c128", "ROOT r = pred[] compare(b, a), direction=LT", specials,
                 "sort in sweeps");
  }
}

TEST(CudaSort, BySeveralKeys) {
  for (const auto& [first, second] :
       {std::pair("s8", "f32"), std::pair("f64", "s64"), std::pair("pred", "bf16")}) {
    for (const char* total : {"", ", type=TOTALORDER"}) {
      ExpectSortedInSmall(first, second,
                          fmt::format("l = pred[] compare(a, b), direction=LT{0}\n q = pred[] compare(a, b), "
                                      "direction=EQ{0}\n m = pred[] compare(i, j), direction=GT{0}\n"
                                      " n = pred[] and(q, m)\n ROOT r = pred[] or(l, n)",
                                      total));
      ExpectSortedInSmall(first, second,
                          fmt::format("l = pred[] compare(i, j), direction=GT{0}\n q = pred[] compare(j, i), "
                                      "direction=EQ{0}\n m = pred[] compare(b, a), direction=LT{0}\n"
                                      " ROOT r = pred[] select(q, m, l)",
                                      total));
    }
  }
}

// Comparators as JAX emits them: zeros of both signs are equal, and NaNs are equal and last.
TEST(CudaSort, WithZerosAndNaNsMadeOne) {
  const auto canonical = [](const char* type, const char* value, const char* result) {
    return fmt::format(
        "{1}z = {0}[] constant(0)\n{1}n = {0}[] constant(nan)\n"
        "{1}e = pred[] compare({2}, {1}z), direction=EQ\n{1}u = pred[] compare({2}, {2}), direction=NE\n"
        "{1}s = {0}[] select({1}e, {1}z, {2})\n{1} = {0}[] select({1}u, {1}n, {1}s)\n",
        type, result, value);
  };
  for (const char* type : {"f32", "bf16", "f64"}) {
    ExpectSortedInSmall(type, "s32",
                        canonical(type, "a", "k") + canonical(type, "b", "l") +
                            "ROOT r = pred[] compare(k, l), direction=LT, type=TOTALORDER");
    ExpectSortedInSmall(
        type, "s32",
        canonical(type, "a", "k") + canonical(type, "b", "l") +
            "t = pred[] compare(k, l), direction=LT, type=TOTALORDER\n"
            "q = pred[] compare(k, l), direction=EQ\n m = pred[] compare(i, j), direction=GT\n"
            "w = pred[] and(q, m)\n ROOT r = pred[] or(t, w)");
  }
}

// Total order as compilers emit it: integer comparison of the bits, with the magnitude bits of negative
// values inverted.
TEST(CudaSort, ByBits) {
  for (const auto& [type, bits, most] :
       {std::tuple("f32", "s32", "2147483647"), std::tuple("bf16", "s16", "32767"),
        std::tuple("f64", "s64", "9223372036854775807")}) {
    ExpectSortedEverywhere(
        type, "s8",
        fmt::format("m = {0}[] constant({1})\n z = {0}[] constant(0)\n p = {0}[] bitcast(a)\n"
                    " q = {0}[] bitcast(b)\n u = {0}[] xor(m, p)\n v = {0}[] xor(m, q)\n"
                    " s = pred[] compare(p, z), direction=LT\n t = pred[] compare(q, z), direction=LT\n"
                    " k = {0}[] select(s, u, p)\n l = {0}[] select(t, v, q)\n"
                    " ROOT r = pred[] compare(k, l), direction=LT",
                    bits, most));
  }
}

TEST(CudaSort, LeavesOtherComparatorsAlone) {
  for (const char* before : {"ROOT r = pred[] compare(a, b), direction=LE",
                             "k = f32[] negate(a)\n ROOT r = pred[] compare(k, b), direction=LT",
                             "ROOT r = pred[] compare(a, i), direction=LT"}) {
    absl::StatusOr<CheckedModule> module = test::ReadModule(fmt::format(
        "HloModule t\nc {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = f32[] parameter(2)\n"
        " j = f32[] parameter(3)\n {} }}\nENTRY e {{ x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n"
        " ROOT r = (f32[8], f32[8]) sort(x, y), dimensions={{0}}, to_apply=c }}",
        before));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_FALSE(cuda::FindCudaKernel(*module->module().entry()->root(), test::Hopper()).has_value())
        << before;
  }
}

TEST(CudaTopk, FirstOfEachLine) {
  for (const char* type : {"f32", "bf16", "f64", "s16", "u32"}) {
    for (const char* largest : {"true", "false"}) {
      for (const auto& [n, k] : {std::pair(1, 1), std::pair(40, 40), std::pair(1000, 7), std::pair(2500, 300),
                                 std::pair(9000, 40), std::pair(5, 0)}) {
        test::ExpectKernelAgrees(
            fmt::format("ENTRY e {{ x = {0}[3,{1}] parameter(0)\n"
                        " ROOT r = ({0}[3,{2}], s32[3,{2}]) topk(x), k={2}, largest={3} }}",
                        type, n, k, largest),
            "topk", {.specials = true}, 1);
      }
    }
  }
}

TEST(CudaSort, GivesTheSameInEveryOrderOfThreads) {
  for (const char* dims : {"900", "5000"}) {
    test::ExpectKernelAgrees(
        fmt::format("c {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), "
                    "direction=LT }}\nENTRY e {{ x = f32[{0}] parameter(0)\n ROOT r = f32[{0}] sort(x), "
                    "dimensions={{0}}, to_apply=c }}",
                    dims),
        "sort", {.specials = true}, 4);
  }
}

}  // namespace
}  // namespace hlo::cuda_sort_test
