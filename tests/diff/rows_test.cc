// Tests reductions along rows fused with surrounding loops, and chains of operations, through both engines.
// The bits must not depend on the number of threads or on row blocking.

#include "absl/strings/str_replace.h"
#include "base/parallel.h"
#include "engines.h"
#include "exec/executor.h"
#include "fmt/format.h"
#include "plan/make_plan.h"

namespace hlo::rows_test {
namespace {

std::string Combiner(const char* name, const char* type, const char* opcode) {
  return fmt::format("{0} {{ x = {1}[] parameter(0)\n y = {1}[] parameter(1)\n ROOT r = {1}[] {2}(x, y) }}\n",
                     name, type, opcode);
}

std::string Softmax(const char* type, int rows, int columns) {
  return Combiner("max", type, "maximum") + Combiner("add", type, "add") +
         fmt::format(
             "ENTRY e {{ x = {0}[{1},{2}] parameter(0)\n ninf = {0}[] constant(-inf)\n"
             " m = {0}[{1}] reduce(x, ninf), dimensions={{1}}, to_apply=max\n"
             " mb = {0}[{1},{2}] broadcast(m), dimensions={{0}}\n d = {0}[{1},{2}] subtract(x, mb)\n"
             " e = {0}[{1},{2}] exponential(d)\n zero = {0}[] constant(0)\n"
             " s = {0}[{1}] reduce(e, zero), dimensions={{1}}, to_apply=add\n"
             " sb = {0}[{1},{2}] broadcast(s), dimensions={{0}}\n ROOT r = {0}[{1},{2}] divide(e, sb) }}",
             type, rows, columns);
}

// Normalises each row by its mean and variance; statistics are in f32.
std::string Normalised(const char* type, int rows, int columns) {
  return Combiner("add", "f32", "add") +
         fmt::format(
             "ENTRY e {{ x = {0}[{1},{2}] parameter(0)\n w = f32[{1},{2}] convert(x)\n zero = f32[] "
             "constant(0)\n"
             " s = f32[{1}] reduce(w, zero), dimensions={{1}}, to_apply=add\n n = f32[] constant({2})\n"
             " ns = f32[{1}] broadcast(n), dimensions={{}}\n m = f32[{1}] divide(s, ns)\n"
             " mt = {0}[{1}] convert(m)\n mb = {0}[{1},{2}] broadcast(mt), dimensions={{0}}\n"
             " d = {0}[{1},{2}] subtract(x, mb)\n q = {0}[{1},{2}] multiply(d, d)\n qw = f32[{1},{2}] "
             "convert(q)\n"
             " v = f32[{1}] reduce(qw, zero), dimensions={{1}}, to_apply=add\n one = f32[] constant(1)\n"
             " ones = f32[{1}] broadcast(one), dimensions={{}}\n v1 = f32[{1}] add(v, ones)\n"
             " r = f32[{1}] sqrt(v1)\n rt = {0}[{1}] convert(r)\n rb = {0}[{1},{2}] broadcast(rt), "
             "dimensions={{0}}\n"
             " o = {0}[{1},{2}] divide(d, rb)\n"
             " ROOT z = ({0}[{1},{2}], f32[{1}], {0}[{1},{2}]) tuple(d, v, o) }}",
             type, rows, columns);
}

struct Size {
  int rows, columns;
};
constexpr Size kSizes[] = {{0, 5},     {3, 1},     {7, 64},    {17, 63},   {31, 127},  {16, 2053},
                           {97, 1024}, {2053, 17}, {512, 130}, {40, 4099}, {1, 70000}, {20, 30011}};

TEST(RowsTest, SoftmaxIsCloseToTheReference) {
  for (const auto& [type, epsilon] : {std::pair("f32", 0x1p-24), std::pair("bf16", 0x1p-8),
                                      std::pair("f16", 0x1p-11), std::pair("f64", 0x1p-53)}) {
    for (const Size size : kSizes) {
      // A few roundings, functions of 4 ULP, and sums of n terms.
      const double relative = 40 * epsilon + (std::string_view(type) == "f64" ? 1 : size.columns) * 0x1p-24;
      test::ExpectEnginesAgree(Softmax(type, size.rows, size.columns),
                               {.rule = CompareRule::Close(relative, relative)});
    }
  }
}

TEST(RowsTest, SpecialsPassThroughRows) {
  for (const char* type : {"f32", "bf16"}) {
    for (const Size size : {Size{33, 1024}, Size{700, 65}})
      test::ExpectEnginesAgree(Softmax(type, size.rows, size.columns),
                               {.rule = CompareRule::Close(0.3, 0.3), .specials = true});
  }
}

std::vector<std::byte> BytesOf(const Literal& value) {
  std::vector<std::byte> bytes;
  for (const LiteralLeaf& leaf : ArrayLeaves(value)) {
    const auto* data = static_cast<const std::byte*>(leaf.value->data());
    bytes.insert(bytes.end(), data, data + leaf.value->byte_count());
  }
  return bytes;
}

// Disables row blocking: each part runs over all rows at once.
plan::Plan Unblocked(plan::Plan plan) {
  for (plan::Step& step : plan.steps) {
    if (auto* rows = std::get_if<plan::RowsStep>(&step.what)) rows->program.block = rows->program.rows;
  }
  return plan;
}

TEST(RowsTest, BitsDependNeitherOnThreadsNorOnBlocks) {
  int blocked = 0;
  for (const char* type : {"f32", "bf16", "f64"}) {
    for (const Size size : kSizes) {
      for (const std::string& text :
           {Softmax(type, size.rows, size.columns), Normalised(type, size.rows, size.columns)}) {
        SCOPED_TRACE(text);
        absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + text);
        ASSERT_TRUE(module.ok()) << module.status();
        const Shape& shape = module->module().entry()->parameters()[0]->shape();
        std::vector<Literal> arguments = {test::RandomArray(shape.type(), {size.rows, size.columns}, 3)};
        std::vector<std::vector<std::byte>> results;
        for (const int threads : {1, 3}) {
          SetThreadCount(threads);
          const absl::StatusOr<Literal> result = Execute(*module, arguments, Engine::kFast);
          ASSERT_TRUE(result.ok()) << result.status();
          results.push_back(BytesOf(*result));
        }
        SetThreadCount(0);
        EXPECT_EQ(results[0], results[1]);
        absl::StatusOr<plan::Plan> plan = plan::MakePlan(*module);
        ASSERT_TRUE(plan.ok()) << plan.status();
        blocked += plan::ToString(*plan).find("\n  rows ") != std::string::npos;
        const plan::Plan whole = Unblocked(*std::move(plan));
        exec::Executor executor(*module, whole);
        const absl::StatusOr<Literal> result = executor.Run(arguments, {});
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(results[0], BytesOf(*result));
      }
    }
  }
  EXPECT_GT(blocked, 20);
}

// Arithmetic, comparisons and selections on 32-bit types are exact for any remainder of the vector length.
TEST(ChainsTest, AreExact) {
  const char* const floats[] = {
      "s = T[N] add(a, b)\n p = T[N] multiply(s, a)\n d = T[N] divide(p, b)\n ROOT r = T[N] subtract(d, s)",
      "g = pred[N] compare(a, b), direction=GT\n e = pred[N] compare(a, c), direction=EQ\n o = pred[N] or(g, "
      "e)\n"
      " n = pred[N] not(o)\n s = T[N] select(n, a, c)\n m = T[N] maximum(s, b)\n ROOT r = (T[N], pred[N]) "
      "tuple(m, n)",
      "n = T[N] negate(a)\n m = T[N] minimum(n, b)\n q = T[N] multiply(m, m)\n r = T[N] sqrt(q)\n z = T[N] "
      "abs(c)\n"
      " y = T[N] maximum(z, m)\n ROOT t = (T[N], T[N]) tuple(r, y)",
      "s = T[N] add(a, b)\n t = T[N] add(s, c)\n u = T[N] multiply(t, s)\n ROOT r = (T[N], T[N], T[N]) "
      "tuple(s, t, u)"};
  const char* const integers[] = {
      "s = T[N] shift-left(a, b)\n x = T[N] xor(s, a)\n l = T[N] shift-right-logical(x, c)\n p = T[N] "
      "multiply(l, a)\n"
      " ROOT r = T[N] subtract(b, p)",
      "l = pred[N] compare(a, b), direction=LE\n n = pred[N] compare(a, c), direction=NE\n x = pred[N] "
      "xor(l, n)\n"
      " d = pred[N] and(x, l)\n s = T[N] select(d, b, a)\n m = T[N] not(s)\n c1 = T[N] negate(c)\n ROOT r = "
      "T[N] or(m, c1)"};
  const auto run = [](std::string body, const char* type, int n, const test::Agreement& exact) {
    body = absl::StrReplaceAll(
        body, {{"T[N]", fmt::format("{}[{}]", type, n)}, {"pred[N]", fmt::format("pred[{}]", n)}});
    test::ExpectEnginesAgree(fmt::format("ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{1}] parameter(1)\n"
                                         " c = {0}[{1}] parameter(2)\n {2} }}",
                                         type, n, body),
                             exact);
  };
  for (const int n : {0, 1, 63, 65, 97, 128, 1021, 1024, 70001}) {
    for (const char* type : {"f32", "bf16"}) {
      for (const char* body : floats) run(body, type, n, {.specials = true});
    }
    for (const char* type : {"s32", "u32"}) {
      for (const char* body : integers) run(body, type, n, {});
    }
  }
}

// Tests chains of bf16, whose lanes have another order in registers, with f32, predicates and integers.
TEST(ChainsTest, MixTypes) {
  for (const int n : {1, 31, 64, 128, 1021, 1024, 70001}) {
    for (const bool keeps_floats : {false, true}) {
      const std::string text = fmt::format(
          "ENTRY e {{ a = bf16[{0}] parameter(0)\n b = bf16[{0}] parameter(1)\n c = f32[{0}] parameter(2)\n"
          " p = pred[{0}] parameter(3)\n wa = f32[{0}] convert(a)\n wb = f32[{0}] convert(b)\n"
          " m = f32[{0}] multiply(wa, c)\n s = f32[{0}] subtract(m, wb)\n u = f32[{0}] select(p, s, wa)\n"
          " d = f32[{0}] divide(wb, u)\n h = bf16[{0}] convert(d)\n i = s32[{0}] iota(), iota_dimension=0\n"
          " k = s32[] constant(77)\n kb = s32[{0}] broadcast(k), dimensions={{}}\n"
          " q = pred[{0}] compare(i, kb), direction=LT\n t = bf16[{0}] select(q, h, a)\n"
          " ROOT r = {1} }}",
          n,
          keeps_floats ? fmt::format("(bf16[{0}], f32[{0}], pred[{0}]) tuple(t, d, q)", n)
                       : fmt::format("bf16[{}] add(t, b)", n));
      test::ExpectEnginesAgree(text, {.specials = true});
    }
  }
}

// Tests chains that read arrays, scalars, and one scalar per row.
TEST(ChainsTest, ReadScalarsOfRows) {
  for (const char* type : {"f32", "bf16"}) {
    for (const char* dims : {"3,130", "257,129", "2,5,128"}) {
      const std::string text = fmt::format(
          "ENTRY e {{ x = {0}[{1}] parameter(0)\n s = {0}[{2}] parameter(1)\n k = {0}[] parameter(2)\n"
          " b = {0}[{1}] broadcast(s), dimensions={{0}}\n kb = {0}[{1}] broadcast(k), dimensions={{}}\n"
          " i = s32[{1}] iota(), iota_dimension=0\n j = s32[{1}] iota(), iota_dimension=1\n"
          " l = pred[{1}] compare(i, j), direction=LT\n d = {0}[{1}] subtract(x, b)\n p = {0}[{1}] "
          "multiply(d, kb)\n"
          " ROOT r = {0}[{1}] select(l, p, b) }}",
          type, dims, std::string_view(dims).substr(0, std::string_view(dims).find(',')));
      test::ExpectEnginesAgree(text, {.specials = true});
    }
  }
}

// Tests rows that are read through pads and gathers.
TEST(RowsTest, RowsReadThroughDataMovement) {
  for (const auto& [rows, columns] : {std::pair(200, 300), std::pair(1500, 40), std::pair(32, 2053)}) {
    const std::string text = fmt::format(
        "ENTRY e {{ x = f32[{0},{2}] parameter(0)\n t = f32[50,{1}] parameter(1)\n i = s32[{0},1] "
        "parameter(2)\n"
        " z = f32[] parameter(3)\n p = f32[{0},{1}] pad(x, z), padding=0_0x4_6\n"
        " g = f32[{0},{1}] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
        "start_index_map={{0}}, "
        "index_vector_dim=1, slice_sizes={{1,{1}}}\n"
        " q = f32[{0},{1}] add(p, g)\n n = f32[] constant(-inf)\n"
        " m = f32[{0}] reduce(q, n), dimensions={{1}}, to_apply=max\n"
        " mb = f32[{0},{1}] broadcast(m), dimensions={{0}}\n d = f32[{0},{1}] subtract(p, mb)\n"
        " o = f32[{0}] reduce(p, n), dimensions={{1}}, to_apply=max\n"
        " ob = f32[{0},{1}] broadcast(o), dimensions={{0}}\n s = f32[{0},{1}] subtract(d, ob)\n"
        " ROOT r = (f32[{0},{1}], f32[{0}]) tuple(s, o) }}",
        rows, columns, columns - 10);
    test::ExpectEnginesAgree(Combiner("max", "f32", "maximum") + text, {.specials = true, .index_range = 60});
  }
}

}  // namespace
}  // namespace hlo::rows_test
