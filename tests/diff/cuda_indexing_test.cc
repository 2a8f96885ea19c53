// Tests gather and scatter on the emulated GPU: sizes at the limits of blocks, and unique targets.

#include "cuda_kernels.h"
#include "fmt/format.h"

namespace hlo::cuda_indexing_test {
namespace {

TEST(CudaGather, SizesAroundThreadBlocks) {
  for (int count : {255, 256, 1023, 1024, 1025}) {
    test::ExpectKernelAgrees(
        fmt::format("ENTRY e {{ a = f32[90] parameter(0)\n i = s32[{0},1] parameter(1)\n ROOT r = f32[{0}] "
                    "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                    "index_vector_dim=1, slice_sizes={{1}} }}",
                    count),
        "gather of 4 bytes", {.index_range = 95}, 1);
  }
}

TEST(CudaScatter, UniqueTargets) {
  for (const char* combiner : {"add(x, y)", "copy(y)"}) {
    for (const char* type : {"f32", "bf16", "s8"}) {
      test::ExpectKernelAgrees(
          fmt::format(
              "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1} }}\n"
              "ENTRY e {{ a = {0}[20,7] parameter(0)\n i = s32[5,1] "
              "constant({{{{3}},{{25}},{{19}},{{-1}},{{0}}}})\n"
              " u = {0}[5,7] parameter(1)\n ROOT r = {0}[20,7] scatter(a, i, u), update_window_dims={{1}}, "
              "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, "
              "unique_indices=true, to_apply=c }}",
              type, combiner),
          "scatter of unique targets");
    }
  }
}

TEST(CudaScatter, FewAndManyPositions) {
  for (int count : {0, 1, 1024, 1025, 4096, 5000}) {
    test::ExpectKernelAgrees(
        fmt::format(
            "c {{ x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] add(x, y) }}\n"
            "ENTRY e {{ a = f32[50] parameter(0)\n i = s32[{0},1] parameter(1)\n u = f32[{0}] parameter(2)\n"
            " ROOT r = f32[50] scatter(a, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, "
            "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c }}",
            count),
        count <= 1024 ? "scatter of few windows" : "scatter by sorting", {.index_range = 55},
        count <= 1025 ? 4 : 1);
  }
}

}  // namespace
}  // namespace hlo::cuda_indexing_test
