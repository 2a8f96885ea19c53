// Tests gather and scatter through both engines.

#include "engines.h"
#include "fmt/format.h"
#include "indexing_programs.h"

namespace hlo::indexing_test {
namespace {

constexpr const char* kTypes[] = {"u8", "bf16", "f32", "f64", "c128", "s4"};

void ExpectGather(const char* body) {
  for (const char* type : kTypes)
    test::ExpectEnginesAgree(fmt::format(fmt::runtime(body), type), {.specials = true, .index_range = 23});
}

TEST(GatherTest, RowsElementsColumnsAndBlocks) {
  for (const char* body : test::kGathers) ExpectGather(body);
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

// `combiner` combines an element x with an update y of type {0}.
void ExpectScatter(const char* body, std::initializer_list<const char*> types, const char* combiner) {
  for (const char* type : types) {
    const std::string to_apply =
        fmt::format("c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n {1} }}\n", type,
                    fmt::format(fmt::runtime(combiner), type));
    test::ExpectEnginesAgree(to_apply + fmt::format(fmt::runtime(body), type),
                             {.specials = true, .index_range = 23});
  }
}

TEST(ScatterTest, EveryCombinerInTheReferencesOrder) {
  for (const char* body : test::kScatters) {
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
}  // namespace hlo::indexing_test
