// Tests reductions through both engines.

#include <numeric>

#include "engines.h"
#include "fmt/format.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::reduce_test {
namespace {

constexpr const char* kTypes[] = {"pred", "s4",  "u8",  "s16", "u32",   "s64",
                                  "bf16", "f16", "f32", "f64", "f8e5m2"};

std::string Reduce(const char* type, const char* opcode, const char* from, const char* to, const char* dims) {
  return fmt::format(
      "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, y) }}\n"
      "ENTRY e {{ a = {0}[{2}] parameter(0)\n i = {0}[] parameter(1)\n"
      " ROOT r = {0}[{3}] reduce(a, i), dimensions={{{4}}}, to_apply=c }}",
      type, opcode, from, to, dims);
}

TEST(ReduceTest, LargestAndSmallestAreExact) {
  for (const char* type : kTypes) {
    for (const char* opcode : {"maximum", "minimum"}) {
      const test::Agreement exact{.specials = true};
      test::ExpectEnginesAgree(Reduce(type, opcode, "9,1", "9", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "5,0", "5", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "7,37", "7", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "3,2053", "3", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "11,517", "11", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "131,67", "67", "0"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "80000", "", "0"), exact);
      // Columns of every array of a batch: strips of rows that are not adjacent.
      test::ExpectEnginesAgree(Reduce(type, opcode, "3,7,300", "3,300", "1"), exact);
      test::ExpectEnginesAgree(Reduce(type, opcode, "2,9,4,260", "2,4,260", "1"), exact);
    }
  }
}

// The rows of a transposed array are columns in memory.
TEST(ReduceTest, ReductionsOfTransposedArraysAreExact) {
  for (const char* type : kTypes) {
    for (const auto& [dims, turned, result] :
         {std::tuple("40,50", "50,40", "50"), std::tuple("130,300", "300,130", "300")}) {
      const std::string text = fmt::format(
          "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] maximum(x, y) }}\n"
          "ENTRY e {{ a = {0}[{1}] parameter(0)\n i = {0}[] parameter(1)\n"
          " t = {0}[{2}] transpose(a), dimensions={{1,0}}\n"
          " ROOT r = {0}[{3}] reduce(t, i), dimensions={{1}}, to_apply=c }}",
          type, dims, turned, result);
      test::ExpectEnginesAgree(text, {.specials = true});
    }
  }
}

TEST(ReduceTest, IntegersWrapAndBitsCombine) {
  for (const char* type : {"s4", "u8", "s16", "u32", "s64"}) {
    for (const char* opcode : {"add", "multiply", "and", "or", "xor"}) {
      test::ExpectEnginesAgree(Reduce(type, opcode, "5,33", "5", "1"));
      test::ExpectEnginesAgree(Reduce(type, opcode, "3,1499", "3", "1"));
      test::ExpectEnginesAgree(Reduce(type, opcode, "200,31", "31", "0"));
    }
  }
}

// The vectors that a fold loads whole and in part depend on the length.
TEST(ReduceTest, IntegersOfAllLengths) {
  for (const char* type : {"pred", "s8", "s16", "s32", "u32", "s64", "u64"}) {
    for (const char* opcode : {"add", "multiply", "and", "or", "xor", "maximum", "minimum"}) {
      for (const int n : {1,  5,  6,  7,  8,  9,  15,  16,  17,  24,  31,  32, 33,
                          47, 48, 50, 63, 64, 65, 100, 127, 128, 129, 200, 321})
        test::ExpectEnginesAgree(Reduce(type, opcode, fmt::format("3,{}", n).c_str(), "3", "1"));
    }
  }
}

// Many short rows are reduced by columns, whose elements are apart, also from a row on that is known at run
// time.
TEST(ReduceTest, ManyShortRows) {
  for (const char* type : kTypes) {
    for (const int length : {2, 3, 5, 6, 7, 10, 17, 23}) {
      const std::string all = fmt::format("1501,{}", length);
      test::ExpectEnginesAgree(Reduce(type, "maximum", all.c_str(), "1501", "1"), {.specials = true});
      if (std::string_view(type) == "u32" || std::string_view(type) == "s64") {
        for (const char* opcode : {"add", "multiply", "xor"})
          test::ExpectEnginesAgree(Reduce(type, opcode, all.c_str(), "1501", "1"));
      }
      test::ExpectEnginesAgree(
          fmt::format(
              "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] minimum(x, y) }}\n"
              "ENTRY e {{ a = {0}[1504,{1}] parameter(0)\n i = {0}[] parameter(1)\n"
              " k = s32[] parameter(2)\n z = s32[] constant(0)\n"
              " b = {0}[1501,{1}] dynamic-slice(a, k, z), dynamic_slice_sizes={{1501,{1}}}\n"
              " ROOT r = {0}[1501] reduce(b, i), dimensions={{1}}, to_apply=c }}",
              type, length),
          {.specials = true, .index_range = 3});
    }
  }
}

// Tiles hold several short rows of computed, transposed, padded and gathered operands. Large results are
// computed in several tiles.
TEST(ReduceTest, ShortRowsOfComputedOperands) {
  const char* const operands[] = {
      " b = {0}[{1}] {2}(a, a)\n",
      " w = {0}[{3}] parameter(1)\n v = {0}[{1}] broadcast(w), dimensions={{0,2}}\n b = {0}[{1}] {2}(a, v)\n",
      " w = {0}[{1}] reverse(a), dimensions={{0,2}}\n b = {0}[{1}] {2}(w, a)\n",
      " s = {0}[{4}] parameter(1)\n z = {0}[] parameter(2)\n w = {0}[{1}] pad(s, z), padding=0_0x1_0x0_1\n"
      " b = {0}[{1}] {2}(a, w)\n",
      " k = s32[] parameter(1)\n z = s32[] constant(0)\n t = {0}[{5}] parameter(2)\n"
      " w = {0}[{1}] dynamic-slice(t, k, k, z), dynamic_slice_sizes={{{1}}}\n b = {0}[{1}] {2}(a, w)\n"};
  for (const auto& [x, y, z] : {std::tuple(3, 3, 9), std::tuple(5, 7, 4), std::tuple(40, 2, 33),
                                std::tuple(2, 9, 64), std::tuple(2, 3, 160), std::tuple(2, 3, 161),
                                std::tuple(300, 3, 6), std::tuple(9, 9, 1), std::tuple(33, 4, 31)}) {
    const auto dims = [](int a, int b, int c) { return fmt::format("{},{},{}", a, b, c); };
    for (const auto& [type, opcode] :
         {std::pair("pred", "or"), std::pair("s8", "add"), std::pair("u32", "multiply"),
          std::pair("s32", "maximum"), std::pair("f32", "minimum"), std::pair("bf16", "maximum")}) {
      for (const char* operand : operands) {
        const std::string body =
            fmt::format(fmt::runtime(operand), type, dims(x, y, z), opcode, fmt::format("{},{}", x, z),
                        dims(x, y - 1, z - 1), dims(x + 2, y + 1, z));
        for (const auto& [reduced, kept] :
             {std::pair("2", fmt::format("{},{}", x, y)), std::pair("0", fmt::format("{},{}", y, z)),
              std::pair("1", fmt::format("{},{}", x, z)), std::pair("0,1", fmt::format("{}", z)),
              std::pair("1,2", fmt::format("{}", x))}) {
          const std::string text = fmt::format(
              "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, y) }}\n"
              "ENTRY e {{ a = {0}[{2}] parameter(0)\n{3} i = {0}[] parameter({6})\n"
              " ROOT r = {0}[{4}] reduce(b, i), dimensions={{{5}}}, to_apply=c }}",
              type, opcode, dims(x, y, z), body, kept, reduced,
              1 + (body.find("parameter(1)") != std::string::npos) +
                  (body.find("parameter(2)") != std::string::npos));
          test::ExpectEnginesAgree(text, {.specials = true, .index_range = 3});
        }
      }
    }
  }
}

// The bound of n elements of magnitude 2: the roundings of partial sums and half a unit of the result.
TEST(ReduceTest, SumsAreWithinTheirBound) {
  for (const auto& [type, epsilon] : {std::pair("bf16", 0x1p-8), std::pair("f16", 0x1p-11),
                                      std::pair("f32", 0x1p-24), std::pair("f64", 0x1p-53)}) {
    for (int n : {1, 31, 129, 1000, 5003}) {
      const double accumulator = std::string_view(type) == "f64" ? 0x1p-53 : 0x1p-24;
      const test::Agreement close{.rule = CompareRule::Close(2.0 * n * n * accumulator, 2 * epsilon)};
      test::ExpectEnginesAgree(Reduce(type, "add", fmt::format("6,{}", n).c_str(), "6", "1"), close);
      test::ExpectEnginesAgree(Reduce(type, "add", fmt::format("{},5", n).c_str(), "5", "0"), close);
    }
  }
}

// Computes the maximum and its index; `first` breaks ties.
std::string ArgMax(const char* type, const char* dims, const char* kept, const char* first,
                   const char* compare, std::string_view indices) {
  return fmt::format(
      "c {{ x = {0}[] parameter(0)\n i = s32[] parameter(1)\n y = {0}[] parameter(2)\n j = s32[] "
      "parameter(3)\n"
      " better = pred[] compare(x, y), direction={4}\n odd = pred[] compare(x, x), direction=NE\n"
      " o = pred[] or(better, odd)\n equal = pred[] compare(x, y), direction=EQ\n"
      " first = pred[] compare(i, j), direction={3}\n tie = pred[] and(equal, first)\n p = pred[] or(o, "
      "tie)\n"
      " v = {0}[] select(o, x, y)\n k = s32[] select(p, i, j)\n ROOT r = ({0}[], s32[]) tuple(v, k) }}\n"
      "ENTRY e {{ a = {0}[{1}] parameter(0)\n{5} m = {0}[] parameter(1)\n"
      " z = s32[] constant(0)\n"
      " ROOT r = ({0}[{2}], s32[{2}]) reduce(a, n, m, z), dimensions={{1}}, to_apply=c }}",
      type, dims, kept, first, compare, indices);
}

TEST(ReduceTest, ArgMaxAndArgMin) {
  for (const char* type : {"f32", "bf16", "f64", "s32", "u8", "pred"}) {
    for (const char* first : {"LT", "GT"}) {
      for (const char* compare : {"GT", "LT", "GE"}) {
        for (const auto& [dims, kept] :
             {std::pair("5,4096", "5"), std::pair("3,97", "3"), std::pair("300,36", "300"),
              std::pair("2,1000,3", "2,3"), std::pair("1,20000", "1"), std::pair("4,1", "4"),
              std::pair("4,25", "4"), std::pair("1,25", "1"), std::pair("2,70001", "2")})
          test::ExpectEnginesAgree(ArgMax(type, dims, kept, first, compare,
                                          fmt::format(" n = s32[{}] iota(), iota_dimension=1\n", dims)),
                                   {.specials = true});
      }
    }
  }
}

TEST(ReduceTest, ArgMaxOverBroadcastIndices) {
  for (const char* indices : {" i = s32[97] iota(), iota_dimension=0\n"
                              " n = s32[3,97] broadcast(i), dimensions={1}\n",
                              " i = s32[5,97] iota(), iota_dimension=1\n"
                              " j = s32[5,3,97] broadcast(i), dimensions={0,2}\n"
                              " k = s32[1,3,97] slice(j), slice={[2:3], [0:3], [0:97]}\n"
                              " n = s32[3,97] reshape(k)\n",
                              " i = s32[3] iota(), iota_dimension=0\n"
                              " n = s32[3,97] broadcast(i), dimensions={0}\n"}) {
    for (const char* compare : {"GT", "LT"})
      test::ExpectEnginesAgree(ArgMax("f32", "3,97", "3", "LT", compare, indices), {.specials = true});
  }
}

// Results with a short minor dimension are reduced in two steps. Sums of small integers are exact.
TEST(ReduceTest, ShortColumns) {
  for (const auto& [dims, reduced, kept] :
       {std::tuple("2000,3", "0", "3"), std::tuple("8,16,16,3", "1,2", "8,3"),
        std::tuple("128,2,5", "0", "2,5"), std::tuple("97,3", "0", "3"),
        std::tuple("2,3,1024,15", "2,1", "2,15")}) {
    const auto text = [&, dims = dims, reduced = reduced, kept = kept](const char* type, const char* opcode) {
      return fmt::format(
          "op {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {4}(x, y) }}\n"
          "ENTRY e {{ n = s8[{1}] parameter(0)\n a = {0}[{1}] convert(n)\n b = {0}[] parameter(1)\n"
          " f = {0}[{1}] parameter(2)\n p = {0}[{2}] reduce(a, b), dimensions={{{3}}}, to_apply=op\n"
          " q = {0}[{2}] reduce(f, b), dimensions={{{3}}}, to_apply=op\n"
          " ROOT r = ({0}[{2}], {0}[{2}]) tuple(p, q) }}",
          type, dims, kept, reduced, opcode);
    };
    for (const char* type : {"f32", "f64", "s32", "u8", "bf16"}) {
      for (const char* opcode : {"maximum", "minimum"})
        test::ExpectEnginesAgree(text(type, opcode), {.specials = true});
    }
    for (const char* type : {"s32", "u64", "u8"}) {
      for (const char* opcode : {"add", "multiply"}) test::ExpectEnginesAgree(text(type, opcode));
    }
    test::ExpectEnginesAgree(text("f64", "add"), {.rule = CompareRule::Close(1e-10, 1e-10)});
    test::ExpectEnginesAgree(text("f32", "add"), {.rule = CompareRule::Close(1e-2, 1e-5)});
  }
}

// Ties between zeros of both signs, and combiners for which NaN is unordered.
TEST(ReduceTest, ArgMaxWithTiesAndNaN) {
  constexpr const char* kCombiners[] = {
      " g = pred[] compare(x, y), direction=GT\n odd = pred[] compare(x, x), direction=NE\n o = pred[] or(g, "
      "odd)\n"
      " equal = pred[] compare(x, y), direction=EQ\n less = pred[] compare(i, j), direction=LT\n"
      " tie = pred[] and(equal, less)\n p = pred[] or(o, tie)\n"
      " v = {0}[] select(o, x, y)\n k = s32[] select(p, i, j)\n",
      " g = pred[] compare(x, y), direction=GE\n v = {0}[] select(g, x, y)\n a = s32[] select(g, i, j)\n"
      " equal = pred[] compare(x, y), direction=EQ\n less = s32[] minimum(i, j)\n"
      " k = s32[] select(equal, less, a)\n",
      " g = pred[] compare(x, y), direction=LE\n v = {0}[] select(g, x, y)\n k = s32[] select(g, i, j)\n",
      " g = pred[] compare(x, y), direction=LT\n v = {0}[] select(g, x, y)\n k = s32[] select(g, i, j)\n",
      " g = pred[] compare(x, y), direction=GT\n equal = pred[] compare(x, y), direction=EQ\n"
      " less = pred[] compare(i, j), direction=LT\n tie = pred[] and(equal, less)\n p = pred[] or(g, tie)\n"
      " v = {0}[] select(p, x, y)\n k = s32[] select(p, i, j)\n"};
  for (const char* combiner : kCombiners) {
    for (const char* type : {"f32", "bf16", "s32"}) {
      for (const auto& [dims, kept] : {std::pair("5,4096", "5"), std::pair("300,36", "300"),
                                       std::pair("2,70001", "2"), std::pair("40,5", "40")}) {
        for (const bool specials : {false, true}) {
          const std::string code = fmt::format(fmt::runtime(combiner), type);
          test::ExpectEnginesAgree(
              fmt::format(
                  "c {{ x = {0}[] parameter(0)\n i = s32[] parameter(1)\n y = {0}[] parameter(2)\n"
                  " j = s32[] parameter(3)\n{3} ROOT r = ({0}[], s32[]) tuple(v, k) }}\n"
                  "ENTRY e {{ a = {0}[{1}] parameter(0)\n zero = {0}[] constant(0)\n"
                  " zeros = {0}[{1}] broadcast(zero), dimensions={{}}\n b = {0}[{1}] minimum(a, zeros)\n"
                  " n = s32[{1}] iota(), iota_dimension=1\n m = {0}[] parameter(1)\n"
                  " z = s32[] constant(0)\n"
                  " r = ({0}[{2}], s32[{2}]) reduce(b, n, m, z), dimensions={{1}}, to_apply=c\n"
                  " s = ({0}[{2}], s32[{2}]) reduce(a, n, m, z), dimensions={{1}}, to_apply=c\n"
                  " ROOT t = (({0}[{2}], s32[{2}]), ({0}[{2}], s32[{2}])) tuple(r, s) }}",
                  type, dims, kept, code),
              {.specials = specials});
        }
      }
    }
  }
}

// Combiners that must not be reassociated: last value wins, and subtraction.
TEST(ReduceTest, CombinersThatMustNotBeReassociated) {
  for (const char* combine : {"ROOT r = f32[] subtract(x, y)",
                              "b = pred[] compare(x, y), direction=LT\n ROOT r = f32[] select(b, y, x)",
                              "b = pred[] compare(x, y), direction=NE\n ROOT r = f32[] select(b, y, x)"}) {
    for (const auto& [dims, kept] : {std::pair("5,4096", "5"), std::pair("3,64", "3")}) {
      test::ExpectEnginesAgree(fmt::format("c {{ x = f32[] parameter(0)\n y = f32[] parameter(1)\n {} }}\n"
                                           "ENTRY e {{ a = f32[{}] parameter(0)\n i = f32[] parameter(1)\n"
                                           " ROOT r = f32[{}] reduce(a, i), dimensions={{1}}, to_apply=c }}",
                                           combine, dims, kept),
                               {.specials = true});
    }
  }
}

// Computes extremes and their rows for each column, from operands that are fused.
TEST(ReduceTest, ColumnsInNativeCode) {
  const int64_t delay = cpu::SetNativeCodeDelay(0);
  for (const char* type : {"f32", "bf16", "f64", "s32", "u8"}) {
    for (const auto& [rows, columns] : {std::pair(40, "64"), std::pair(3, "5,33"), std::pair(70, "1000")}) {
      for (const char* compare : {"GT", "LT"}) {
        const std::string dims = fmt::format("{},{}", rows, columns);
        const std::string kept_dims = std::string_view(columns) == "5,33" ? "1,2" : "1";
        std::string text = ArgMax(type, dims.c_str(), columns, "LT", compare,
                                  fmt::format(" n = s32[{0}] iota(), iota_dimension=0\n"
                                              " q = {2}[{1}] parameter(2)\n"
                                              " w = {2}[{0}] broadcast(q), dimensions={{{3}}}\n"
                                              " d = {2}[{0}] subtract(a, w)\n",
                                              dims, columns, type, kept_dims));
        text.replace(text.find("reduce(a"), 8, "reduce(d");
        text.replace(text.rfind("{1}"), 3, "{0}");
        test::ExpectEnginesAgree(text, {.specials = true});
      }
    }
  }
  cpu::SetNativeCodeDelay(delay);
}

// Short rows, whose elements are computed or in memory, are combined several at a time. The initial value is
// not neutral.
TEST(ReduceTest, GroupsOfShortRows) {
  const int64_t delay = cpu::SetNativeCodeDelay(0);
  struct Dims {
    const char *from, *to, *reduced;
  };
  constexpr Dims kDims[] = {
      {"64,2", "2", "0"},         {"60,3", "3", "0"},         {"49,5", "5", "0"},
      {"2,32,2", "2,2", "1"},     {"5,24,3", "5,3", "1"},     {"4,6,10,3", "3", "0,1,2"},
      {"3,30,2,4", "3,4", "1,2"}, {"3,30,2,4", "3,2,4", "1"}, {"71,16", "16", "0"}};
  for (const char* type : {"f32", "f64", "bf16", "f16", "s32", "u8", "s64", "pred"}) {
    const bool is_float = std::string_view(type).find('f') != std::string_view::npos;
    const std::vector<const char*> exact = is_float
                                               ? std::vector{"maximum", "minimum"}
                                               : std::vector{"add", "multiply", "maximum", "minimum", "or"};
    for (const char* opcode : exact) {
      for (const Dims& dims : kDims) {
        std::string text = Reduce(type, opcode, dims.from, dims.to, dims.reduced);
        test::ExpectEnginesAgree(text, {.specials = is_float});
        text.replace(text.find("reduce(a"), 8, "reduce(d");
        text.insert(text.rfind(" ROOT"), fmt::format(" b = {0}[{1}] parameter(2)\n d = {0}[{1}] {2}(a, b)\n",
                                                     type, dims.from, opcode));
        test::ExpectEnginesAgree(text, {.specials = is_float});
      }
    }
  }
  cpu::SetNativeCodeDelay(delay);
}

// Differences of alternating order show if rows are combined in order.
TEST(ReduceTest, FewColumnsAreOneLoop) {
  constexpr ElementType kF32 = ElementType::kF32;
  constexpr int64_t kRows = 20, kColumns = 48;
  loops::ReduceProgram source{{.rows = false, .reassociation = loops::Reassociation::kNone},
                              loops::LoopProgram({{kRows}}, {{kColumns}})};
  const loops::Value x =
      source.body.Load({.argument = 0, .type = kF32, .outer = {kColumns}, .inner = {1}, .starts = {}});
  const loops::Operation subtract = *loops::FindScalarOperation(Opcode::kSubtract, kF32);
  source.body.Yield(source.body.Apply(subtract, loops::ComputeType::kF32, {x, x}));
  source.body.Finish();
  constexpr loops::ComputeType kFloats[] = {loops::ComputeType::kF32, loops::ComputeType::kF32};
  source.combiner = loops::ScalarFunction(kFloats);
  const float two = 2;
  const loops::Value factor = source.combiner.Constant(loops::ComputeType::kF32, &two);
  const loops::Operation multiply = *loops::FindScalarOperation(Opcode::kMultiply, kF32);
  const loops::Value doubled = source.combiner.Apply(multiply, loops::ComputeType::kF32, {0, factor});
  source.combiner.Yield(source.combiner.Apply(subtract, loops::ComputeType::kF32, {1, doubled}));
  source.results.push_back({1, 2, kF32, kF32});
  const int64_t delay = cpu::SetNativeCodeDelay(0);
  cpu::ReduceProgram program(source);
  program.AllowNativeCode();
  std::vector<float> values(kRows * kColumns), results(kColumns);
  std::iota(values.begin(), values.end(), 0.0f);
  float init = 1;
  void* const arguments[] = {values.data(), &init, results.data()};
  ASSERT_NE(program.column_loop, nullptr);
  std::vector<float> accumulators(kColumns, init);
  EXPECT_TRUE(program.column_loop->Run(arguments, {accumulators.data()}));
  program.Run(arguments);
  cpu::SetNativeCodeDelay(delay);
  // Each row doubles and negates the initial value.
  EXPECT_EQ(results, std::vector<float>(kColumns, 1 << kRows));
  EXPECT_EQ(accumulators, results);
}

}  // namespace
}  // namespace hlo::reduce_test
