// Tests gather and scatter on the CPU and on the emulated GPU.

#include "fixtures.h"
#include "fmt/format.h"
#include "indexing_programs.h"

namespace hlo::indexing_test {
namespace {

template <class Fixture>
struct GatherTest : Fixture {};
TYPED_TEST_SUITE(GatherTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(GatherTest, RowsElementsColumnsAndBlocks) {
  for (const char* body : test::kGathers) {
    for (const char* type : {"u8", "bf16", "f32", "f64", "c128", "s4"}) {
      this->ExpectAgrees(fmt::format(fmt::runtime(body), type), "gather",
                         {.specials = true, .index_range = 23});
    }
  }
}

TYPED_TEST(GatherTest, IndicesOfAnyIntegerType) {
  for (const char* index : {"s8", "u8", "s16", "u32", "s64", "u64", "u4"}) {
    for (const int columns : {1, 3, 4}) {
      this->ExpectAgrees(
          fmt::format("ENTRY e {{ a = f32[90,{1}] parameter(0)\n i = {0}[50,1] parameter(1)\n ROOT r = "
                      "f32[50,{1}] gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
                      "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{1}}} }}",
                      index, columns),
          columns == 4 ? "gather of 16 bytes" : "gather", {.index_range = 95});
    }
  }
}

template <class Fixture>
struct ScatterTest : Fixture {
  // `combiner` combines an element x with an update y of type {0}.
  static void ExpectScatter(const char* body, std::initializer_list<const char*> types,
                            const char* combiner) {
    for (const char* type : types) {
      const std::string to_apply =
          fmt::format("c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n {1} }}\n", type,
                      fmt::format(fmt::runtime(combiner), type));
      Fixture::ExpectAgrees(to_apply + fmt::format(fmt::runtime(body), type), "scatter",
                            {.specials = true, .index_range = 23});
    }
  }
};
TYPED_TEST_SUITE(ScatterTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(ScatterTest, EveryCombinerInTheReferencesOrder) {
  for (const char* body : test::kScatters) {
    this->ExpectScatter(body, {"u8", "bf16", "f32", "c128", "s4", "pred", "f8e5m2"},
                        "ROOT r = {0}[] copy(y)");
    this->ExpectScatter(body, {"u8", "s64", "bf16", "f16", "f32", "c64", "c128", "pred"},
                        "ROOT r = {0}[] add(x, y)");
    this->ExpectScatter(body, {"s16", "u32", "f16", "f64"}, "ROOT r = {0}[] maximum(x, y)");
    this->ExpectScatter(body, {"s8", "f32"}, "ROOT r = {0}[] minimum(y, x)");
    this->ExpectScatter(body, {"s32", "bf16", "f64"}, "ROOT r = {0}[] multiply(x, y)");
    this->ExpectScatter(
        body, {"bf16"},
        "v = f32[] convert(x)\n w = f32[] convert(y)\n s = f32[] add(v, w)\n ROOT r = {0}[] convert(s)");
  }
}

TEST(ScatterOnCpu, ByOtherCombiners) {
  for (const char* body : test::kScatters) {
    ScatterTest<test::OnCpu>::ExpectScatter(body, {"s4", "f8e5m2"}, "ROOT r = {0}[] add(x, y)");
    ScatterTest<test::OnCpu>::ExpectScatter(body, {"s32", "bf16", "f64"},
                                            "s = {0}[] subtract(y, x)\n ROOT r = {0}[] multiply(s, y)");
  }
}

TEST(ScatterOnCpu, SeveralArraysAtOnce) {
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

TEST(ScatterOnCpu, InPlaceInALoop) {
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
