// gather and scatter through both engines.

#include "engines.h"
#include "fmt/format.h"

namespace hlo {
namespace {

constexpr const char* kTypes[] = {"u8", "bf16", "f32", "f64", "c128", "s4"};

void ExpectGather(const char* body) {
  for (const char* type : kTypes)
    test::ExpectEnginesAgree(fmt::format(fmt::runtime(body), type), {.specials = true, .index_range = 23});
}

TEST(GatherTest, RowsElementsColumnsAndBlocks) {
  // Rows of a table.
  ExpectGather(
      "ENTRY e {{ a = {0}[20,37] parameter(0)\n i = s32[1031,1] parameter(1)\n ROOT r = {0}[1031,37] "
      "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=1, "
      "slice_sizes={{1,37}} }}");
  // Indices without a dimension of vectors.
  ExpectGather(
      "ENTRY e {{ a = {0}[20,3] parameter(0)\n i = s32[7,5] parameter(1)\n ROOT r = {0}[7,5,3] "
      "gather(a, i), offset_dims={{2}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=2, "
      "slice_sizes={{1,3}} }}");
  // Elements.
  ExpectGather(
      "ENTRY e {{ a = {0}[20,17] parameter(0)\n i = s32[600,2] parameter(1)\n ROOT r = {0}[600] "
      "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{1,0}}, "
      "index_vector_dim=1, slice_sizes={{1,1}} }}");
  // Columns: the slices lie apart.
  ExpectGather(
      "ENTRY e {{ a = {0}[31,20] parameter(0)\n i = s32[530] parameter(1)\n ROOT r = {0}[31,530] "
      "gather(a, i), offset_dims={{0}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, "
      "index_vector_dim=1, "
      "slice_sizes={{31,1}} }}");
  // Blocks, with the vectors along the first dimension of the indices.
  ExpectGather(
      "ENTRY e {{ a = {0}[20,30,5] parameter(0)\n i = s32[2,11] parameter(1)\n ROOT r = {0}[4,11,7,5] "
      "gather(a, i), offset_dims={{0,2,3}}, collapsed_slice_dims={{}}, start_index_map={{0,1}}, "
      "index_vector_dim=0, slice_sizes={{4,7,5}} }}");
  // Along with a batch.
  ExpectGather(
      "ENTRY e {{ a = {0}[6,20] parameter(0)\n i = s32[6,9,1] parameter(1)\n ROOT r = {0}[6,9] "
      "gather(a, i), offset_dims={{}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, "
      "operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, index_vector_dim=2, "
      "slice_sizes={{1,1}} }}");
  ExpectGather(
      "ENTRY e {{ a = {0}[20,3] parameter(0)\n i = s32[0,1] parameter(1)\n ROOT r = {0}[0,3] "
      "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=1, "
      "slice_sizes={{1,3}} }}");
}

TEST(GatherTest, IndicesOfAnyIntegerType) {
  for (const char* index : {"s8", "u8", "s16", "u32", "s64", "u64"}) {
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ a = f32[90,3] parameter(0)\n i = {}[50,1] parameter(1)\n ROOT r = f32[50,3] "
                    "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                    "index_vector_dim=1, slice_sizes={{1,3}} }}",
                    index));
  }
}

// {1}: what happens to an element x and an update y of type {0}.
void ExpectScatter(const char* body, std::initializer_list<const char*> types, const char* combiner) {
  for (const char* type : types) {
    const std::string to_apply =
        fmt::format("c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n {1} }}\n", type,
                    fmt::format(fmt::runtime(combiner), type));
    test::ExpectEnginesAgree(to_apply + fmt::format(fmt::runtime(body), type),
                             {.specials = true, .index_range = 23});
  }
}

constexpr const char* kRows =
    "ENTRY e {{ a = {0}[20,37] parameter(0)\n i = s32[131,1] parameter(1)\n u = {0}[131,37] parameter(2)\n"
    " ROOT r = {0}[20,37] scatter(a, i, u), update_window_dims={{1}}, inserted_window_dims={{0}}, "
    "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c }}";
constexpr const char* kElements =
    "ENTRY e {{ a = {0}[20,19] parameter(0)\n i = s32[1500,2] parameter(1)\n u = {0}[1500] parameter(2)\n"
    " ROOT r = {0}[20,19] scatter(a, i, u), update_window_dims={{}}, inserted_window_dims={{0,1}}, "
    "scatter_dims_to_operand_dims={{1,0}}, index_vector_dim=1, to_apply=c }}";
constexpr const char* kColumns =
    "ENTRY e {{ a = {0}[31,20] parameter(0)\n i = s32[57] parameter(1)\n u = {0}[31,57] parameter(2)\n"
    " ROOT r = {0}[31,20] scatter(a, i, u), update_window_dims={{0}}, inserted_window_dims={{1}}, "
    "scatter_dims_to_operand_dims={{1}}, index_vector_dim=1, to_apply=c }}";
constexpr const char* kBlocks =
    "ENTRY e {{ a = {0}[24,26,5] parameter(0)\n i = s32[2,11] parameter(1)\n u = {0}[4,11,7,5] parameter(2)\n"
    " ROOT r = {0}[24,26,5] scatter(a, i, u), update_window_dims={{0,2,3}}, inserted_window_dims={{}}, "
    "scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=0, to_apply=c }}";
constexpr const char* kBatches =
    "ENTRY e {{ a = {0}[6,20] parameter(0)\n i = s32[6,9,1] parameter(1)\n u = {0}[6,9] parameter(2)\n"
    " ROOT r = {0}[6,20] scatter(a, i, u), update_window_dims={{}}, inserted_window_dims={{1}}, "
    "input_batching_dims={{0}}, scatter_indices_batching_dims={{0}}, scatter_dims_to_operand_dims={{1}}, "
    "index_vector_dim=2, to_apply=c }}";

TEST(ScatterTest, EveryCombinerInTheReferencesOrder) {
  for (const char* body : {kRows, kElements, kColumns, kBlocks, kBatches}) {
    ExpectScatter(body, {"u8", "bf16", "f32", "c128", "s4", "pred"}, "ROOT r = {0}[] copy(y)");
    ExpectScatter(body, {"u8", "bf16", "f32", "c128", "s4", "f8e5m2"}, "ROOT r = {0}[] add(x, y)");
    ExpectScatter(body, {"s16", "f16", "f64"}, "ROOT r = {0}[] maximum(x, y)");
    ExpectScatter(body, {"s32", "bf16", "f64"}, "s = {0}[] subtract(y, x)\n ROOT r = {0}[] multiply(s, y)");
  }
}

TEST(ScatterTest, SeveralArraysAtOnce) {
  test::ExpectEnginesAgree(
      "c { x = f32[] parameter(0)\n i = s64[] parameter(1)\n y = f32[] parameter(2)\n j = s64[] "
      "parameter(3)\n"
      " b = pred[] compare(x, y), direction=GE\n v = f32[] select(b, x, y)\n k = s64[] select(b, i, j)\n"
      " ROOT r = (f32[], s64[]) tuple(v, k) }\n"
      "ENTRY e { a = f32[20] parameter(0)\n n = s64[20] parameter(1)\n i = s32[300,1] parameter(2)\n"
      " u = f32[300] parameter(3)\n m = s64[300] parameter(4)\n"
      " ROOT r = (f32[20], s64[20]) scatter(a, n, i, u, m), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c }",
      {.index_range = 22});
}

TEST(ScatterTest, InPlaceInALoop) {
  test::ExpectEnginesAgree(
      "c { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] add(x, y) }\n"
      "n { p = (s32[], f32[20,3], s32[4,1], f32[4,3]) parameter(0)\n i = s32[] get-tuple-element(p), "
      "index=0\n"
      " k = s32[] constant(5)\n ROOT r = pred[] compare(i, k), direction=LT }\n"
      "b { p = (s32[], f32[20,3], s32[4,1], f32[4,3]) parameter(0)\n i = s32[] get-tuple-element(p), "
      "index=0\n"
      " a = f32[20,3] get-tuple-element(p), index=1\n at = s32[4,1] get-tuple-element(p), index=2\n"
      " u = f32[4,3] get-tuple-element(p), index=3\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
      " s = f32[20,3] scatter(a, at, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c\n"
      " ROOT r = (s32[], f32[20,3], s32[4,1], f32[4,3]) tuple(j, s, at, u) }\n"
      "ENTRY e { z = s32[] constant(0)\n a = f32[20,3] parameter(0)\n at = s32[4,1] parameter(1)\n"
      " u = f32[4,3] parameter(2)\n t = (s32[], f32[20,3], s32[4,1], f32[4,3]) tuple(z, a, at, u)\n"
      " w = (s32[], f32[20,3], s32[4,1], f32[4,3]) while(t), condition=n, body=b\n"
      " s = f32[20,3] get-tuple-element(w), index=1\n ROOT r = (f32[20,3], f32[20,3]) tuple(s, a) }",
      {.index_range = 20});
}

}  // namespace
}  // namespace hlo
