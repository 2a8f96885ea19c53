// Tests gather and scatter on the emulated GPU against the reference, for several thread schedules.

#include "cuda_kernels.h"
#include "fmt/format.h"
#include "indexing_programs.h"

namespace hlo::cuda_indexing_test {
namespace {

TEST(CudaGather, RowsElementsColumnsAndBlocks) {
  for (const char* body : test::kGathers) {
    for (const char* type : {"u8", "bf16", "f32", "f64", "c128", "s4"}) {
      test::ExpectKernelAgrees(fmt::format(fmt::runtime(body), type), "gather",
                               {.specials = true, .index_range = 23}, 1);
    }
  }
}

TEST(CudaGather, IndicesOfAnyIntegerType) {
  for (const char* index : {"s8", "u8", "s16", "u32", "s64", "u64", "u4"}) {
    test::ExpectKernelAgrees(
        fmt::format("ENTRY e {{ a = f32[90,4] parameter(0)\n i = {}[50,1] parameter(1)\n ROOT r = f32[50,4] "
                    "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                    "index_vector_dim=1, slice_sizes={{1,4}} }}",
                    index),
        "gather of 16 bytes", {.index_range = 95});
  }
}

TEST(CudaGather, OfAsManyWordsAsBlocksHave) {
  for (int count : {255, 256, 1023, 1024, 1025}) {
    test::ExpectKernelAgrees(
        fmt::format("ENTRY e {{ a = f32[90] parameter(0)\n i = s32[{0},1] parameter(1)\n ROOT r = f32[{0}] "
                    "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                    "index_vector_dim=1, slice_sizes={{1}} }}",
                    count),
        "gather of 4 bytes", {.index_range = 95}, 1);
  }
}

void ExpectScatter(const char* body, std::initializer_list<const char*> types, const char* combiner) {
  for (const char* type : types) {
    const std::string to_apply =
        fmt::format("c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n {1} }}\n", type,
                    fmt::format(fmt::runtime(combiner), type));
    test::ExpectKernelAgrees(to_apply + fmt::format(fmt::runtime(body), type), "scatter",
                             {.specials = true, .index_range = 23}, 1);
  }
}

TEST(CudaScatter, EveryCombinerInTheReferencesOrder) {
  for (const char* body : test::kScatters) {
    ExpectScatter(body, {"u8", "bf16", "f32", "c128", "s4", "pred", "f8e5m2"}, "ROOT r = {0}[] copy(y)");
    ExpectScatter(body, {"u8", "s64", "bf16", "f16", "f32", "c64", "c128", "pred"},
                  "ROOT r = {0}[] add(x, y)");
    ExpectScatter(body, {"s16", "u32", "f16", "f64"}, "ROOT r = {0}[] maximum(x, y)");
    ExpectScatter(body, {"s8", "f32"}, "ROOT r = {0}[] minimum(y, x)");
    ExpectScatter(body, {"s32", "bf16", "f64"}, "ROOT r = {0}[] multiply(x, y)");
    ExpectScatter(
        body, {"bf16"},
        "v = f32[] convert(x)\n w = f32[] convert(y)\n s = f32[] add(v, w)\n ROOT r = {0}[] convert(s)");
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
