// Tests reduce-window and select-and-scatter on the emulated GPU.

#include "cuda_kernels.h"
#include "fmt/format.h"
#include "window_programs.h"

namespace hlo::cuda_windows_test {
namespace {

using test::ReduceWindow;

TEST(CudaReduceWindow, WalksInTheReferencesOrder) {
  for (const test::WindowCase& c : test::kWalked) {
    for (const char* type : {"u8", "s32", "bf16", "f32", "f64", "c64"})
      test::ExpectKernelAgrees(ReduceWindow(type, "add", c), "reduce-window", {}, 1);
    for (const char* type : {"s16", "f16", "f32"})
      test::ExpectKernelAgrees(ReduceWindow(type, "maximum", c), "reduce-window", {.specials = true}, 1);
  }
}

TEST(CudaReduceWindow, IsExactWhereOrderDoesNotMatter) {
  for (const test::WindowCase& c : test::kSlid) {
    for (const char* type : {"u8", "s32", "u64", "s16"})
      test::ExpectKernelAgrees(ReduceWindow(type, "add", c), "", {}, 1);
    for (const char* type : {"s16", "bf16", "f32", "f64"})
      test::ExpectKernelAgrees(ReduceWindow(type, "minimum", c), "", {.specials = true}, 1);
    test::ExpectKernelAgrees(ReduceWindow("u32", "multiply", c), "", {}, 1);
    test::ExpectKernelAgrees(ReduceWindow("u8", "and", c), "", {}, 1);
  }
}

// The bound is that of sums of at most 150 elements of magnitude 2.
TEST(CudaReduceWindow, SumsInAnotherOrderAreWithinTheirBound) {
  for (const test::WindowCase& c : test::kSlid) {
    test::ExpectKernelAgrees(ReduceWindow("f32", "add", c), "",
                             {.rule = CompareRule::Close(150.0 * 150 * 2 * 0x1p-24, 0)}, 1);
    test::ExpectKernelAgrees(ReduceWindow("c128", "add", c), "",
                             {.rule = CompareRule::Close(150.0 * 150 * 2 * 0x1p-53, 0)}, 1);
  }
}

// Line lengths at and around multiples of the chunk size.
TEST(CudaCumulative, InChunks) {
  for (int n : {1, 2, 64, 65, 300, 2048, 2049}) {
    for (const bool reversed : {false, true}) {
      const std::string row = std::to_string(n), line = fmt::format("3,{}", n),
                        column = fmt::format("2,{},3", n);
      const std::string pad = reversed ? fmt::format("0_{}", n - 1) : fmt::format("{}_0", n - 1);
      const std::string one = fmt::format("size={} pad={}", n, pad),
                        rows = fmt::format("size=1x{} pad=0_0x{}", n, pad),
                        columns = fmt::format("size=1x{}x1 pad=0_0x{}x0_0", n, pad);
      for (const char* type : {"u8", "s64"}) {
        test::ExpectKernelAgrees(ReduceWindow(type, "add", {row.c_str(), row.c_str(), one.c_str()}), "", {},
                                 1);
        test::ExpectKernelAgrees(ReduceWindow(type, "maximum", {line.c_str(), line.c_str(), rows.c_str()}),
                                 "", {}, 1);
      }
      for (const char* type : {"bf16", "f32"}) {
        test::ExpectKernelAgrees(
            ReduceWindow(type, "maximum", {column.c_str(), column.c_str(), columns.c_str()}), "",
            {.specials = true}, 1);
      }
      test::ExpectKernelAgrees(ReduceWindow("f64", "add", {line.c_str(), line.c_str(), rows.c_str()}), "",
                               {.rule = CompareRule::Close(2049.0 * 2049 * 2 * 0x1p-53, 0)}, n < 100 ? 4 : 1);
    }
  }
}

TEST(CudaSelectAndScatter, EveryDirection) {
  for (const char* direction : {"GE", "GT", "LE", "LT"}) {
    for (const char* type : {"f32", "f64", "bf16", "s32", "u8", "pred"}) {
      const auto text = [&](const char* operand, const char* source, const char* window) {
        return fmt::format(
            "s {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n"
            " ROOT r = pred[] compare(x, y), direction={1} }}\n"
            "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {5}(x, y) }}\n"
            "ENTRY e {{ a = {0}[{2}] parameter(0)\n u = {0}[{3}] parameter(1)\n i = {0}[] parameter(2)\n"
            " ROOT r = {0}[{2}] select-and-scatter(a, u, i), window={{{4}}}, select=s, scatter=c }}",
            type, direction, operand, source, window, type == std::string("pred") ? "or" : "add");
      };
      for (const auto& [operand, source, window] :
           {std::tuple("2,9,11,5", "2,4,5,5", "size=1x3x3x1 stride=1x2x2x1"),
            std::tuple("3,2,8,8", "3,2,4,4", "size=1x1x2x2 stride=1x1x2x2"),
            std::tuple("8,9", "4,9", "size=3x3 stride=2x1 pad=1_0x1_1"),
            std::tuple("11", "4", "size=3 stride=2 rhs_dilate=2"),
            std::tuple("257", "257", "size=5 pad=2_2")})
        test::ExpectKernelAgrees(text(operand, source, window), "select-and-scatter", {.specials = true}, 1);
    }
  }
}

}  // namespace
}  // namespace hlo::cuda_windows_test
