// Tests sorts on the emulated GPU: radix sorts, comparators without a kernel, and orders of threads.

#include "cuda_kernels.h"
#include "fmt/format.h"
#include "sort_programs.h"

namespace hlo::cuda_sort_test {
namespace {

constexpr const char* kLong[][2] = {{"8192", "0"}, {"4097", "0"}, {"3,2053", "1"}, {"2100,5", "0"}};
constexpr const char* kLonger[][2] = {{"8193", "0"}, {"15000", "0"}, {"2,9000", "1"}, {"8200,2", "0"}};

TEST(CudaSort, LongLines) {
  for (const char* type : {"f32", "s64"}) {
    const char* before = "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER";
    for (const auto& [dims, dimension] : kLong)
      test::ExpectKernelAgrees(test::Sort(dims, dimension, type, "s32", before), "sort in blocks",
                               {.specials = true}, 1);
    for (const auto& [dims, dimension] : kLonger)
      test::ExpectKernelAgrees(test::Sort(dims, dimension, type, "s32", before), "sort in sweeps",
                               {.specials = true}, 1);
  }
  for (const bool specials : {false, true}) {
    test::ExpectKernelAgrees(
        test::Sort("9001", "0", "f64", "c128", "ROOT r = pred[] compare(b, a), direction=LT"),
        "sort in sweeps", {.specials = specials}, 1);
  }
}

TEST(CudaSort, RejectsOtherComparators) {
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

TEST(CudaSort, DoesNotDependOnTheOrderOfThreads) {
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
