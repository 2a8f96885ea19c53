// Tests cumulative reductions on the emulated GPU.

#include "cuda_kernels.h"
#include "fmt/format.h"
#include "window_programs.h"

namespace hlo::cuda_windows_test {
namespace {

using test::ReduceWindow;

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

}  // namespace
}  // namespace hlo::cuda_windows_test
