// Tests GEMM fusion through both engines: the bits equal those of the unfused product and loop, for any
// number of threads.

#include "absl/strings/str_replace.h"
#include "base/parallel.h"
#include "engines.h"
#include "fmt/format.h"
#include "plan/make_plan.h"
#include "plan/passes.h"

namespace hlo::products_test {
namespace {

// A loop over a product's result d of dimensions DIMS; v has the last dimension, y has all of them.
struct Loop {
  const char* text;
  const char* result;  // Type of the result.
};
constexpr Loop kLoops[] = {
    {"b = T[DIMS] broadcast(v), dimensions={LAST}\n s = T[DIMS] add(d, b)\n z = T[] constant(0)\n"
     " zs = T[DIMS] broadcast(z), dimensions={}\n ROOT r = T[DIMS] maximum(s, zs)",
     "T"},
    {"s = T[DIMS] add(d, y)\n m = T[DIMS] multiply(s, d)\n ROOT r = bf16[DIMS] convert(m)", "bf16"},
    {"s = T[DIMS] subtract(d, y)\n g = pred[DIMS] compare(s, y), direction=GT\n"
     " ROOT r = (T[DIMS], pred[DIMS]) tuple(s, g)",
     "T"},
    {"i = s32[DIMS] iota(), iota_dimension=LAST\n t = T[DIMS] convert(i)\n s = T[DIMS] multiply(d, t)\n"
     " ROOT r = f32[DIMS] convert(s)",
     "f32"},
};

std::string WithLoop(const std::string& product, const Loop& loop, const char* type, const std::string& dims,
                     int last_size) {
  const auto last = std::count(dims.begin(), dims.end(), ',');
  return absl::StrReplaceAll(
      fmt::format("ENTRY e {{ {}\n v = T[{}] parameter(2)\n y = T[DIMS] parameter(3)\n {} }}", product,
                  last_size, loop.text),
      {{"T[", fmt::format("{}[", type)}, {"DIMS", dims}, {"LAST", fmt::format("{}", last)}});
}

const PlanOptions kFusesAllProducts = {.min_fused_product_bytes = 0};

// Returns the plan with GEMM fusion. Expects the same bits on three threads and without fusion.
std::string ExpectSameBits(const std::string& text, bool specials = false) {
  SCOPED_TRACE(text);
  const absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + text);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  const std::vector<Literal> arguments = test::ArgumentsOf(*module, {.specials = specials});
  std::vector<Literal> results;
  for (const auto& [threads, fuses] : {std::pair(1, true), std::pair(3, true), std::pair(3, false)}) {
    SetThreadCount(threads);
    PlanOptions options = kFusesAllProducts;
    if (!fuses)
      options.disabled_passes = {"contraction_folding", "loop_fusion", "sibling_fusion", "row_tiling",
                                 "gemm_fusion"};
    const absl::StatusOr<Literal> result = Execute(*module, arguments, Engine::kFast, {}, {}, options);
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) results.push_back(*result);
  }
  SetThreadCount(0);
  EXPECT_EQ(results.size(), 3);
  for (const Literal& other : results) test::ExpectClose(other, results[0], CompareRule::Exact());
  const absl::StatusOr<plan::Plan> plan =
      plan::MakePlan(*module, nullptr, plan::Target::kCpu, kFusesAllProducts);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan::ToString(*plan) : "";
}

bool HasJoined(const std::string& plan) { return plan.find("block by block") != std::string::npos; }

struct Dot {
  int batch, m, n, k;
};
// Full and partial blocks; few rows, few columns; several passes over the terms; batches of small matrices.
constexpr Dot kDots[] = {{1, 515, 2050, 7},  {1, 1027, 515, 300}, {1, 3, 50003, 9},  {1, 30007, 3, 9},
                         {70, 130, 131, 40}, {1, 2050, 130, 513}, {3, 300, 1200, 1}, {1, 600, 100, 0},
                         {1, 1, 700, 3},     {2, 17, 2, 31},      {1, 40, 50, 5000}, {0, 300, 400, 7}};

TEST(ProductsTest, DotsKeepTheirBits) {
  int joined = 0;
  for (const char* type : {"f32", "bf16", "f64", "s32"}) {
    for (const Dot& dot : kDots) {
      const std::string product = fmt::format(
          "p = {0}[{1},{2},{4}] parameter(0)\n q = {0}[{1},{4},{3}] parameter(1)\n d = {0}[{1},{2},{3}] "
          "dot(p, "
          "q), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
          "rhs_contracting_dims={{1}}",
          type, dot.batch, dot.m, dot.n, dot.k);
      for (const Loop& loop : kLoops) {
        joined += HasJoined(ExpectSameBits(
            WithLoop(product, loop, type, fmt::format("{},{},{}", dot.batch, dot.m, dot.n), dot.n),
            std::string_view(type) == "f32"));
      }
    }
  }
  EXPECT_GT(joined, 140);
}

// Operands that are computed while they are packed: from small integers by row, from a transposed access, by
// index; and a loop over the result.
std::string WithComputedOperands(const char* type, const Dot& dot, bool transposed) {
  const std::string lhs = fmt::format("{},{},{}", dot.batch, dot.m, dot.k),
                    rhs = transposed ? fmt::format("{},{},{}", dot.batch, dot.n, dot.k)
                                     : fmt::format("{},{},{}", dot.batch, dot.k, dot.n);
  return absl::StrReplaceAll(
      fmt::format("ENTRY e {{ x = s8[LHS] parameter(0)\n y = T[RHS] parameter(1)\n c = T[{4}] parameter(2)\n"
                  " b = T[{1},{3},{2}] parameter(3)\n xc = T[LHS] convert(x)\n"
                  " cb = T[LHS] broadcast(c), dimensions={{2}}\n xs = T[LHS] multiply(xc, cb)\n"
                  " i = s32[RHS] iota(), iota_dimension=2\n ic = T[RHS] convert(i)\n ys = T[RHS] add(y, ic)\n"
                  " d = T[{1},{2},{3}] dot(xs, ys), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
                  "lhs_contracting_dims={{2}}, rhs_contracting_dims={{{5}}}\n"
                  " bt = T[{1},{2},{3}] transpose(b), dimensions={{0,2,1}}\n"
                  " ROOT r = T[{1},{2},{3}] subtract(d, bt) }}",
                  type, dot.batch, dot.m, dot.n, dot.k, transposed ? 2 : 1),
      {{"T[", fmt::format("{}[", type)}, {"LHS", lhs}, {"RHS", rhs}});
}

TEST(ProductsTest, ComputedOperandsKeepTheBits) {
  constexpr Dot kComputed[] = {{1, 1, 1030, 2070},  {1, 3, 700, 9000},  {1, 515, 600, 300}, {1, 900, 2, 700},
                               {1, 1300, 700, 300}, {3, 70, 530, 290},  {2, 4, 300, 520},   {1, 40, 50, 5000},
                               {1, 200, 300, 3},    {1, 300, 1300, 513}};
  int lhs = 0, rhs = 0;
  for (const char* type : {"f32", "bf16", "f64", "s32"}) {
    for (const Dot& dot : kComputed) {
      for (const bool transposed : {false, true}) {
        const std::string plan = ExpectSameBits(WithComputedOperands(type, dot, transposed), true);
        lhs += plan.find("-> lhs") != std::string::npos;
        rhs += plan.find("-> rhs") != std::string::npos;
      }
    }
  }
  EXPECT_GT(lhs, 40);
  EXPECT_GT(rhs, 40);
}

// A matrix of small integers, which depend on the parameter p: sums of their products are exact in any order.
std::string SmallIntegers(const char* name, const char* type, const char* dims) {
  return absl::StrReplaceAll(
      "NAMEi = s32[DIMS] iota(), iota_dimension=0\n NAMEj = s32[DIMS] iota(), "
      "iota_dimension=1\n NAMEp = s32[DIMS] broadcast(p), dimensions={}\n"
      " NAMEm = s32[DIMS] multiply(NAMEi, NAMEj)\n NAMEs = s32[DIMS] add(NAMEm, NAMEp)\n"
      " NAMEk = s32[DIMS] broadcast(seven), dimensions={}\n NAMEr = s32[DIMS] remainder(NAMEs, NAMEk)\n"
      " NAME = TYPE[DIMS] convert(NAMEr)\n ",
      {{"NAME", name}, {"TYPE", type}, {"DIMS", dims}});
}

// Dots read the operands of widening conversions, before and after transposes, and narrow their results.
TEST(ProductsTest, ConversionsOfOperandsAreFolded) {
  constexpr struct {
    const char *lhs, *rhs, *wide;
    bool folds, narrows_result;
  } kTypes[] = {{"bf16", "bf16", "f32", true, true}, {"f16", "f16", "f32", true, true},
                {"s8", "s8", "s32", true, true},     {"bf16", "f16", "f32", true, true},
                {"f16", "f32", "f32", true, true},   {"s8", "f16", "f32", true, false},
                {"f32", "s8", "f32", true, true},    {"u8", "f32", "f32", false, false},
                {"f32", "f32", "f64", false, false}, {"s16", "s16", "s32", false, false}};
  for (const auto& types : kTypes) {
    for (const bool narrows : {false, true}) {
      const std::string product = fmt::format(
          "x = s32[] parameter(0)\n seven = s32[] constant(7)\n zero = s32[] constant(0)\n"
          " p = s32[] maximum(x, zero)\n {} {} a = {}[48,70] transpose(at), dimensions={{1,0}}\n"
          " aw = {}[48,70] convert(a)\n btw = {}[50,70] convert(bt)\n"
          " b = {}[70,50] transpose(btw), dimensions={{1,0}}\n"
          " d = {}[48,50] dot(aw, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
          SmallIntegers("at", types.lhs, "70,48"), SmallIntegers("bt", types.rhs, "50,70"), types.lhs,
          types.wide, types.wide, types.wide, types.wide);
      const std::string result =
          narrows ? fmt::format(
                        " n = {0}[48,50] convert(d)\n ROOT t = {0}[50,48] transpose(n), "
                        "dimensions={{1,0}}",
                        types.lhs)
                  : fmt::format(" ROOT t = {}[50,48] transpose(d), dimensions={{1,0}}", types.wide);
      const std::string plan = ExpectSameBits(fmt::format("ENTRY e {{ {} {} }}", product, result));
      const bool widens = plan.find("'aw'") != std::string::npos || plan.find("'btw'") != std::string::npos;
      EXPECT_EQ(!widens, types.folds) << plan;
      EXPECT_EQ(plan.find("dot 't'") != std::string::npos, types.narrows_result || !narrows) << plan;
    }
  }
}

// So do convolutions.
TEST(ProductsTest, ConversionsOfOperandsOfConvolutionsAreFolded) {
  constexpr struct {
    const char *input, *kernel, *wide;
    bool folds;
  } kTypes[] = {{"bf16", "bf16", "f32", true},
                {"f16", "f16", "f32", false},
                {"s8", "s8", "s32", true},
                {"bf16", "f16", "f32", false},
                {"f32", "f32", "f64", false}};
  for (const auto& types : kTypes) {
    for (const int groups : {1, 24}) {
      const std::string text = fmt::format(
          "ENTRY e {{ x = s32[] parameter(0)\n seven = s32[] constant(7)\n zero = s32[] constant(0)\n"
          " p = s32[] maximum(x, zero)\n {} {} a = {}[2,9,7,24] reshape(am)\n aw = {}[2,9,7,24] convert(a)\n"
          " k = {}[3,3,{},48] reshape(km)\n kw = {}[3,3,{},48] convert(k)\n"
          " ROOT d = {}[2,9,7,48] convolution(aw, kw), window={{size=3x3 pad=1_1x1_1}}, "
          "dim_labels=b01f_01io->b01f, feature_group_count={} }}",
          SmallIntegers("am", types.input, "63,48"),
          SmallIntegers("km", types.kernel, fmt::format("{},48", 9 * 24 / groups).c_str()), types.input,
          types.wide, types.kernel, 24 / groups, types.wide, 24 / groups, types.wide, groups);
      const std::string plan = ExpectSameBits(text);
      const bool widens = plan.find("'aw'") != std::string::npos || plan.find("'kw'") != std::string::npos;
      EXPECT_EQ(!widens, types.folds) << plan;
    }
  }
}

// Dimension labels and the shapes of input, kernel and result.
struct Convolution {
  const char *labels, *input, *kernel, *result;
  int last;
  const char* attributes = "";
};
constexpr Convolution kConvolutions[] = {
    {"b01f_01io->b01f", "3,61,67,13", "3,3,13,40", "3,61,67,40", 40},
    {"b01f_01io->b01f", "1,31,33,32", "3,3,32,300", "1,31,33,300", 300},
    {"bf01_oi01->bf01", "2,16,61,67", "40,16,3,3", "2,40,61,67", 67},
    {"bf01_oi01->bf01", "40,24,9,9", "96,24,3,3", "40,96,9,9", 9},
    {"b01f_01io->b01f", "3,61,67,64", "3,3,32,64", "3,61,67,64", 64, ", feature_group_count=2"},
    {"bf01_oi01->bf01", "3,64,61,67", "64,32,3,3", "3,64,61,67", 67, ", feature_group_count=2"},
    {"b01f_01io->b01f", "3,61,67,64", "3,3,1,64", "3,61,67,64", 64, ", feature_group_count=64"},
};

std::string Text(const Convolution& c, const Loop& loop, const char* type) {
  const std::string product = fmt::format(
      "p = {0}[{1}] parameter(0)\n q = {0}[{2}] parameter(1)\n d = {0}[{3}] convolution(p, q), "
      "window={{size=3x3 pad=1_1x1_1}}, dim_labels={4}{5}",
      type, c.input, c.kernel, c.result, c.labels, c.attributes);
  return WithLoop(product, loop, type, c.result, c.last);
}

TEST(ProductsTest, ConvolutionsKeepTheirBits) {
  int joined = 0;
  for (const char* type : {"f32", "bf16", "s32"}) {
    for (const Convolution& convolution : kConvolutions) {
      for (const Loop& loop : kLoops) joined += HasJoined(ExpectSameBits(Text(convolution, loop, type)));
    }
  }
  EXPECT_GT(joined, 40);
}

// Convolutions with 1x1 windows are matrix products, whose operands may be computed too.
TEST(ProductsTest, PointwiseConvolutionsKeepTheirBits) {
  constexpr struct {
    const char *labels, *input, *kernel, *result;
  } kPointwise[] = {{"b01f_01io->b01f", "2,7,9,700", "1,1,700,300", "2,7,9,300"},
                    {"b01f_oi01->b01f", "2,7,9,700", "300,700,1,1", "2,7,9,300"},
                    {"0b1f_i0o1->0b1f", "1,3,5,300", "300,1,1100,1", "1,3,5,1100"}};
  int lhs = 0, rhs = 0;
  for (const char* type : {"f32", "bf16", "s32"}) {
    for (const auto& c : kPointwise) {
      const std::string plan = ExpectSameBits(absl::StrReplaceAll(
          fmt::format("ENTRY e {{ x = s8[IN] parameter(0)\n y = s8[KERNEL] parameter(1)\n"
                      " s = T[] parameter(2)\n xc = T[IN] convert(x)\n"
                      " sx = T[IN] broadcast(s), dimensions={{}}\n xs = T[IN] add(xc, sx)\n"
                      " yc = T[KERNEL] convert(y)\n sy = T[KERNEL] broadcast(s), dimensions={{}}\n"
                      " ys = T[KERNEL] multiply(yc, sy)\n"
                      " d = T[{}] convolution(xs, ys), window={{size=1x1}}, dim_labels={}\n"
                      " ROOT r = T[{}] negate(d) }}",
                      c.result, c.labels, c.result),
          {{"T[", fmt::format("{}[", type)}, {"IN", c.input}, {"KERNEL", c.kernel}}));
      lhs += plan.find("-> lhs") != std::string::npos;
      rhs += plan.find("-> rhs") != std::string::npos;
    }
  }
  EXPECT_GE(lhs, 4);
  EXPECT_GE(rhs, 4);
}

// Convolutions whose kernel has infinities are not matrix products; the loop then runs after the whole
// result.
TEST(ProductsTest, SpecialValuesInKernelsKeepTheirBits) {
  for (const int c : {0, 1, 2}) {
    for (const Loop& loop : kLoops)
      EXPECT_TRUE(HasJoined(ExpectSameBits(Text(kConvolutions[c], loop, "f32"), true)));
  }
}

TEST(ProductsTest, AreCloseToTheReference) {
  const Convolution small = {"b01f_01io->b01f", "2,64,64,4", "3,3,4,33", "2,64,64,33", 33};
  const std::string dot =
      "p = f32[270,20] parameter(0)\n q = f32[20,1030] parameter(1)\n d = f32[270,1030] dot(p, q), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  // The products have about 40 terms of up to 100.
  const test::Agreement agreement = {.rule = CompareRule::Close(1e-2, 1e-2), .plan = kFusesAllProducts};
  for (const int l : {0, 1, 3}) {
    test::ExpectEnginesAgree(Text(small, kLoops[l], "f32"), agreement);
    test::ExpectEnginesAgree(WithComputedOperands("f32", {1, 20, 300, 300}, l > 0),
                             {.rule = CompareRule::Close(2000, 1e-2), .plan = kFusesAllProducts});
    test::ExpectEnginesAgree(WithLoop(dot, kLoops[l], "f32", "270,1030", 1030), agreement);
  }
}

}  // namespace
}  // namespace hlo::products_test
