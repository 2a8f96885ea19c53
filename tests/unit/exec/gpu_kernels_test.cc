// Tests kernels with user-defined combiners against the reference: sizes around their block sizes, and
// several thread schedules.

#include <cmath>
#include <string>
#include <vector>

#include "as_reference.h"

namespace hlo::gpu_kernels_test {
namespace {

// Comparators of f32 keys with s32 payloads: an order, an inconsistent relation, and cycles.
const char* const kComparators[] = {
    "x = f32[] abs(a)\n  y = f32[] abs(b)\n  ROOT r = pred[] compare(x, y), direction=LT\n",
    "x = f32[] multiply(a, a)\n  y = f32[] multiply(b, a)\n  ROOT r = pred[] compare(x, y), direction=LT\n",
    "x = s32[] subtract(c, d)\n  n = s32[] constant(3)\n  y = s32[] remainder(x, n)\n  one = s32[] "
    "constant(1)\n"
    "  ROOT r = pred[] compare(y, one), direction=EQ\n"};

TEST(GpuKernels, SortByAnyComparator) {
  for (const char* comparator : kComparators) {
    for (const int64_t n : {1, 2, 15, 16, 17, 31, 33, 64, 100, 257}) {
      const std::string size = std::to_string(n);
      ExpectAsReference(
          "before { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
          "  d = s32[] parameter(3)\n  " +
              std::string(comparator) + "}\nENTRY e { k = f32[2," + size + "] parameter(0)\n  v = s32[2," +
              size + "] parameter(1)\n  ROOT r = (f32[2," + size + "], s32[2," + size +
              "]) sort(k, v), dimensions={1}, to_apply=before }\n",
          {Values(ElementType::kF32, {2, n}, 1, true), Values(ElementType::kS32, {2, n}, 2, false)});
    }
  }
}

TEST(GpuKernels, SortOfColumnsByAnyComparator) {
  ExpectAsReference(
      "before { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  x = f32[] abs(a)\n  y = f32[] abs(b)\n"
      "  ROOT r = pred[] compare(x, y), direction=GT }\nENTRY e { k = f32[70,3] parameter(0)\n"
      "  ROOT r = f32[70,3] sort(k), dimensions={0}, is_stable=true, to_apply=before }\n",
      {Values(ElementType::kF32, {70, 3}, 3, false)});
}

TEST(GpuKernels, WindowsOfSeveralArrays) {
  for (const int64_t n : {1, 5, 40, 131}) {
    const std::string
        size = std::to_string(n),
        text =
            "pick { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
            "  j = s32[] parameter(3)\n  p = pred[] compare(a, b), direction=GE\n  x = f32[] select(p, a, "
            "b)\n"
            "  y = s32[] select(p, i, j)\n  ROOT r = (f32[], s32[]) tuple(x, y) }\n"
            "ENTRY e { a = f32[" +
            size + ",6] parameter(0)\n  i = s32[" + size +
            ",6] parameter(1)\n"
            "  low = f32[] constant(-100)\n  none = s32[] constant(-1)\n  ROOT r = (f32[" +
            size + ",3], s32[" + size +
            ",3]) reduce-window(a, i, low, none), window={size=3x2 stride=1x2 pad=1_1x0_0}, to_apply=pick "
            "}\n";
    ExpectAsReference(
        text, {Values(ElementType::kF32, {n, 6}, 4, false), Values(ElementType::kS32, {n, 6}, 5, false)});
  }
}

TEST(GpuKernels, ScatterOfSeveralArrays) {
  for (const int64_t n : {1, 31, 130}) {
    const std::string
        size = std::to_string(n),
        text =
            "both { a = s32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
            "  d = f32[] parameter(3)\n  x = s32[] subtract(c, a)\n  y = f32[] maximum(b, d)\n"
            "  ROOT r = (s32[], f32[]) tuple(x, y) }\n"
            "ENTRY e { a = s32[23,3] parameter(0)\n  b = f32[23,3] parameter(1)\n  i = s32[" +
            size + ",1] parameter(2)\n  u = s32[" + size + ",3] parameter(3)\n  v = f32[" + size +
            ",3] parameter(4)\n"
            "  ROOT r = (s32[23,3], f32[23,3]) scatter(a, b, i, u, v), update_window_dims={1}, "
            "inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both }\n";
    ExpectAsReference(
        text, {Values(ElementType::kS32, {23, 3}, 6, false), Values(ElementType::kF32, {23, 3}, 7, false),
               Values(ElementType::kS32, {n, 1}, 8, false), Values(ElementType::kS32, {n, 3}, 9, false),
               Values(ElementType::kF32, {n, 3}, 10, false)});
  }
}

TEST(GpuKernels, ScansWithAnyCombiner) {
  for (const bool reversed : {false, true}) {
    for (const int64_t n : {1, 9, 140}) {
      const std::string size = std::to_string(n),
                        text = "step { x = s32[" + size + "] parameter(0)\n  c = s32[" + size +
                               "] parameter(1)\n"
                               "  d = s32[" +
                               size + "] parameter(2)\n  y = s32[" + size +
                               "] subtract(x, c)\n"
                               "  z = s32[" +
                               size + "] xor(d, y)\n  ROOT r = (s32[" + size + "], s32[" + size + "], s32[" +
                               size +
                               "]) tuple(z, y, z) }\n"
                               "ENTRY e { a = s32[7," +
                               size + "] parameter(0)\n  c = s32[" + size + "] parameter(1)\n  d = s32[" +
                               size + "] parameter(2)\n  ROOT r = (s32[7," + size + "], s32[" + size +
                               "], s32[" + size +
                               "]) scan(a, c, d), dimensions={0}, num_carries=2, is_reverse=" +
                               (reversed ? "true" : "false") + ", to_apply=step }\n";
      ExpectAsReference(
          text, {Values(ElementType::kS32, {7, n}, 11, false), Values(ElementType::kS32, {n}, 12, false),
                 Values(ElementType::kS32, {n}, 13, false)});
    }
  }
}

// More windowed dimensions and longer windows than the kernels of one operation support; coordinates that
// overflow.
TEST(GpuKernels, WideAndLongWindows) {
  const auto reduce_window = [](const std::string& base, const std::string& result, const std::string& window,
                                const std::string& type) {
    return "add { a = " + type + "[] parameter(0)\n  b = " + type + "[] parameter(1)\n  ROOT r = " + type +
           "[] add(a, b) }\nENTRY e { a = " + type + "[" + base + "] parameter(0)\n  i = " + type +
           "[] parameter(1)\n  ROOT r = " + type + "[" + result + "] reduce-window(a, i), window={" + window +
           "}, to_apply=add }\n";
  };
  const Literal init = Values(ElementType::kS32, {}, 21, false);
  ExpectAsReference(reduce_window("3,4,2,5,3,4", "3,3,2,3,2,3",
                                  "size=2x2x1x3x2x3 stride=1x1x1x2x1x1 pad=0_1x0_0x0_0x1_1x0_0x0_1", "s32"),
                    {Values(ElementType::kS32, {3, 4, 2, 5, 3, 4}, 20, false), init});
  ExpectAsReference(
      reduce_window("2,3,2,3,2", "3,5,2,2,2",
                    "size=2x1x2x2x1 pad=1_1x0_0x1_0x0_0x0_0 lhs_dilate=1x2x1x1x1 rhs_dilate=1x1x1x1x1",
                    "s32"),
      {Values(ElementType::kS32, {2, 3, 2, 3, 2}, 22, false), init});
  ExpectAsReference(reduce_window("70000", "3", "size=69998", "s32"),
                    {Values(ElementType::kS32, {70000}, 23, false), init});
  ExpectAsReference(reduce_window("6", "4", "size=1000000000000 pad=999999999998_-1", "s32"),
                    {Values(ElementType::kS32, {6}, 24, false), init});
  ExpectAsReference(
      "select { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT r = pred[] compare(a, b), direction=GE }\n"
      "scatter { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b) }\n"
      "ENTRY e { a = s32[4,3,5,3,6] parameter(0)\n  s = s32[2,2,3,2,3] parameter(1)\n"
      "  i = s32[] parameter(2)\n  ROOT r = s32[4,3,5,3,6] select-and-scatter(a, s, i), "
      "window={size=2x2x3x2x2 stride=2x1x2x1x2 pad=0_0x0_0x1_1x0_0x0_0}, select=select, scatter=scatter }\n",
      {Values(ElementType::kS32, {4, 3, 5, 3, 6}, 25, false),
       Values(ElementType::kS32, {2, 2, 3, 2, 3}, 26, false), init});
}

// Successive random numbers and states from the seed and the counter of the run.
TEST(GpuKernels, RandomNumbers) {
  for (const char* type : {"f32", "f64", "f16", "bf16", "f8e4m3fn", "s8", "u4", "s32", "u64", "s64"}) {
    const bool is_float = type[0] == 'f' || type[0] == 'b';
    const std::string scalar = std::string(type) + "[]", array = std::string(type) + "[7,100]";
    ExpectAsReference("ENTRY e { a = " + scalar + " constant(1)\n  b = " + scalar +
                          " constant(6)\n  r = " + array +
                          " rng(a, b), distribution=rng_uniform\n"
                          "  s = u64[2] rng-get-and-update-state(), delta=-3\n  q = " +
                          array + " rng(a, b), distribution=" + (is_float ? "rng_normal" : "rng_uniform") +
                          "\n  t = u64[2] rng-get-and-update-state(), delta=1\n  ROOT u = (" + array +
                          ", u64[2], " + array + ", u64[2]) tuple(r, s, q, t) }\n",
                      {});
  }
  // Half of the values would round to the upper bound.
  ExpectAsReference(
      "ENTRY e { a = f32[] constant(16777214)\n  b = f32[] constant(16777215)\n"
      "  ROOT r = f32[300] rng(a, b), distribution=rng_uniform }\n",
      {});
}

TEST(GpuKernels, BitcastsThroughLayouts) {
  ExpectAsReference("ENTRY e { a = f32[6,10]{0,1} parameter(0)\n  ROOT r = f32[4,3,5]{1,2,0} bitcast(a) }\n",
                    {Values(ElementType::kF32, {6, 10}, 14, false)});
  ExpectAsReference("ENTRY e { a = s32[6,10] parameter(0)\n  ROOT r = u8[6,10,4] bitcast-convert(a) }\n",
                    {Values(ElementType::kS32, {6, 10}, 15, false)});
}

// Casts from words to sub-byte elements, between sub-byte elements, and back.
TEST(GpuKernels, BitcastsOfNarrowElements) {
  for (const char* chain :
       {"s4[6,10,8] bitcast-convert(a)", "u4[6,10,8] bitcast-convert(a)", "s2[6,10,16] bitcast-convert(a)",
        "u1[6,10,32] bitcast-convert(a)", "f4e2m1fn[6,10,8] bitcast-convert(a)"}) {
    const std::string narrow = chain, type = narrow.substr(0, narrow.find(' '));
    ExpectAsReference("ENTRY e { a = s32[6,10] parameter(0)\n  b = " + narrow +
                          "\n  c = s32[6,10] bitcast-convert(b)\n  ROOT r = (" + type +
                          ", s32[6,10]) tuple(b, c) }\n",
                      {Values(ElementType::kS32, {6, 10}, 17, false)});
  }
  ExpectAsReference(
      "ENTRY e { a = s32[3,5] parameter(0)\n  b = s4[3,5,8] bitcast-convert(a)\n"
      "  c = s2[3,5,8,2] bitcast-convert(b)\n  d = u4[3,5,8] bitcast-convert(c)\n"
      "  f = u32[3,5] bitcast-convert(d)\n  ROOT r = (s2[3,5,8,2], u4[3,5,8], u32[3,5]) tuple(c, d, f) "
      "}\n",
      {Values(ElementType::kS32, {3, 5}, 18, false)});
  // Both sides have layouts.
  ExpectAsReference(
      "ENTRY e { a = s32[6,10] parameter(0)\n  b = s4[6,10,8] bitcast-convert(a)\n"
      "  c = s4[6,80]{0,1} reshape(b)\n  ROOT r = u8[15,16]{0,1} bitcast(c) }\n",
      {Values(ElementType::kS32, {6, 10}, 19, false)});
}

TEST(GpuKernels, RaggedDots) {
  const auto sizes = [](std::vector<int32_t> values) {
    Literal literal =
        *Literal::Create(Shape::Array(ElementType::kS32, {static_cast<int64_t>(values.size())}));
    std::copy(values.begin(), values.end(), literal.mutable_span<int32_t>().begin());
    return literal;
  };
  for (const std::vector<int32_t>& groups : {std::vector<int32_t>{4, 0, 9}, {20, 5, 1}, {3, 3, 3}}) {
    ExpectAsReference(
        "ENTRY e { a = s32[17,6] parameter(0)\n  b = s32[3,6,5] parameter(1)\n  g = s32[3] parameter(2)\n"
        "  ROOT r = s32[17,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} }\n",
        {Values(ElementType::kS32, {17, 6}, 16, false), Values(ElementType::kS32, {3, 6, 5}, 17, false),
         sizes(groups)});
    ExpectAsReference(
        "ENTRY e { a = s32[6,17] parameter(0)\n  b = s32[17,5] parameter(1)\n  g = s32[3] parameter(2)\n"
        "  ROOT r = s32[3,6,5] ragged-dot(a, b, g), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}, lhs_ragged_dims={1} }\n",
        {Values(ElementType::kS32, {6, 17}, 18, false), Values(ElementType::kS32, {17, 5}, 19, false),
         sizes(groups)});
  }
}

}  // namespace
}  // namespace hlo::gpu_kernels_test
