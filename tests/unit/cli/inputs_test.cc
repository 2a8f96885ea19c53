// Tests arguments: names, literals, files of all formats, conversions, ranges.

#include <string>
#include <vector>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace {

using namespace hlo::cli_test;

constexpr char kThree[] = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  y = (f32[2,2], pred[]) parameter(2)
  ROOT r = (f32[4], s32[], (f32[2,2], pred[])) tuple(x, n, y)
}
)";

constexpr char kNarrow[] = R"(ENTRY e {
  n = s32[3] parameter(0)
  x = f32[3] parameter(1)
  ROOT r = (s32[3], f32[3]) tuple(n, x)
}
)";

TEST_F(Cli, SomeInputsByNameAndTheRestAtRandom) {
  const std::string file = Write("m.hlo", kThree);
  const std::string all = Run(file + " --random 5 --format=json").out;
  const auto whole = nlohmann::json::parse(all)["outputs"];
  const Outcome run = Run(file + " --random 5 -i n=7 -i 2.1=true --format=json");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto some = nlohmann::json::parse(run.out)["outputs"];
  EXPECT_EQ(some["1"]["values"], 7);
  EXPECT_EQ(some["2.1"]["values"], true);
  // The other arguments equal those of the same seed without --input.
  EXPECT_EQ(some["0"], whole["0"]);
  EXPECT_EQ(some["2.0"], whole["2.0"]);
  const Outcome zeros = Run(file + " --fill zeros -i n=7");
  EXPECT_EQ(zeros.out,
            "( f32[4] {0, 0, 0, 0}, s32[] 7, ( f32[2,2] { { 0, 0 }, { 0, 0 } }, pred[] false ) )\n");
  const Outcome without = Run(file + " -i n=7");
  EXPECT_EQ(without.status, 2);
  EXPECT_HAS(without.err, "no value for parameter 0 'x' (f32[4])");
}

TEST_F(Cli, LiteralsNeedNoTypeIfItIsKnown) {
  const std::string file = Write("m.hlo", kThree);
  const Outcome run = Run(file + " -i '{1,-2,nan,4e2}' -i -2 -i '({{1,2},{3,4}}, true)'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out,
            "( f32[4] {1, -2, nan, 400}, s32[] -2, ( f32[2,2] { { 1, 2 }, { 3, 4 } }, pred[] true ) )\n");
  const Outcome named = Run(file + " -i 'y.0={{1,2},{3,4}}' -i y.1=false -i n=2 -i 'x={1,2,3,4}'");
  EXPECT_EQ(named.status, 0) << named.err;
  const Outcome ragged = Run(file + " --random 1 -i 'x={1,2,3}'");
  EXPECT_EQ(ragged.status, 2);
  EXPECT_HAS(ragged.err, "parameter 0 'x': --input:1:");
  const Outcome word = Run(file + " --random 1 -i n=seven");
  EXPECT_EQ(word.status, 2);
  EXPECT_HAS(word.err, "seven: the ending of the name must be .npy");
  const Outcome large = Run(file + " --random 1 -i n=3000000000");
  EXPECT_EQ(large.status, 2);
  EXPECT_HAS(large.err, "parameter 1 'n': --input:1:1");
}

TEST_F(Cli, EveryFormatIsReadBack) {
  const std::string file = Write("m.hlo", R"(ENTRY e {
  a = bf16[3] parameter(0)
  b = s4[2,2]{0,1} parameter(1)
  c = c64[] parameter(2)
  d = pred[2] parameter(3)
  ROOT r = (bf16[3], s4[2,2]{0,1}, c64[], pred[2]) tuple(a, b, c, d)
}
)");
  const std::string values = " -i '{1,-inf,nan}' -i '{{-8,7},{1,-2}}' -i 'c64[] (1.5,-2)' -i '{true,false}'";
  const std::string expected = Run(file + values).out;
  ASSERT_NE(expected, "");
  for (const std::string ending : {".npz", ".safetensors", ".json", ".txt", ".pb", ".pbtxt"}) {
    const std::string output = Path("all" + ending);
    const Outcome written = Run(file + values + " -o " + output);
    ASSERT_EQ(written.status, 0) << written.err;
    const Outcome read = Run(file + " -i " + output);
    EXPECT_EQ(read.status, 0) << read.err;
    EXPECT_EQ(read.out, expected) << ending;
    // The files that `inputs` writes can be read back.
    ASSERT_EQ(Run("inputs " + file + " --random 3 -o " + output).status, 0);
    EXPECT_EQ(Run(file + " -i " + output).out, Run(file + " --random 3").out) << ending;
  }
  const std::string one = Write("one.hlo", "ENTRY e { ROOT x = f32[2,3]{0,1} parameter(0) }");
  for (const std::string ending :
       {".npy", ".npz", ".safetensors", ".json", ".txt", ".pb", ".pbtxt", ".bin"}) {
    const std::string output = Path("one" + ending);
    ASSERT_EQ(Run(one + " -i '{{1,2,3},{4,5,6}}' -o " + output).status, 0);
    EXPECT_EQ(Run(one + " -i x=" + output).out, "f32[2,3] { { 1, 2, 3 }, { 4, 5, 6 } }\n") << ending;
  }
}

TEST_F(Cli, JsonArgumentsMayOmitTypeAndShape) {
  const std::string file = Write("m.hlo", kThree);
  const std::string input =
      Write("in.json", R"({"x": [1, 2, "inf", 4], "n": 3, "2.0": [[1,2],[3,4]], "y.1": true})");
  EXPECT_EQ(Run(file + " -i " + input).out,
            "( f32[4] {1, 2, inf, 4}, s32[] 3, ( f32[2,2] { { 1, 2 }, { 3, 4 } }, pred[] true ) )\n");
  const auto error = [&](const std::string& json) {
    const Outcome run = Run(file + " --random 1 -i " + Write("wrong.json", json));
    EXPECT_EQ(run.status, 2) << json;
    return run.err;
  };
  EXPECT_HAS(error("{\"x\":\n [1, 2,, 3]}"), "wrong.json:2:8: is not JSON");
  EXPECT_HAS(error(R"({"x": [1, 2, 3]})"), "key 'x': found f32[3], expected f32[4]");
  EXPECT_HAS(error(R"({"2.0": [[1, 2], [3]]})"), "key '2.0': the item at {1} is a list of 1, expected 2");
  EXPECT_HAS(error(R"({"x": [1, 2, {}, 3]})"), "key 'x': the item at {2} is not a number");
  EXPECT_HAS(error(R"({"x": {"type": "f99", "values": 1}})"), "its type 'f99' is not one of HLO's");
  EXPECT_HAS(error(R"({"x": {"type": "f64", "shape": [4], "values": [1,2,3,4]}})"),
             "found f64[4], expected f32[4] (--convert allows other types)");
  EXPECT_HAS(error(R"({"z": 1})"), "has no parameter 'z'");
  EXPECT_HAS(error(R"({"n": 1.5})"), "key 'n': ");
  EXPECT_HAS(error(R"({"n": 1e400})"), "wrong.json: has a number outside the range of f64");
}

TEST_F(Cli, LiteralMessagesWithErrorsAreRejected) {
  const std::string file = Write("m.hlo", "ENTRY e { ROOT x = f32[2] parameter(0) }");
  const auto error = [&](const std::string& text) {
    const Outcome run = Run(file + " -i " + Write("wrong.pbtxt", text));
    EXPECT_EQ(run.status, 2) << text;
    return run.err;
  };
  const std::string shape = "shape { element_type: F32 dimensions: 2 }";
  EXPECT_HAS(error(shape), "wrong.pbtxt: a value of f32[2] has no elements");
  EXPECT_HAS(error("shape { element_type: TUPLE tuple_shapes { element_type: F32 dimensions: 2 } }"),
             "a value of (f32[2]) has no elements");
  const std::string typo = error(shape + "\nf32s: [1, x]");
  EXPECT_HAS(typo, "wrong.pbtxt: is not a LiteralProto; first error: 2:11: ");
  EXPECT_EQ(typo.find("libprotobuf"), std::string::npos) << typo;
}

TEST_F(Cli, PathsMayContainEqualsSignsAndNamesDashes) {
  const std::string file = Write("m.hlo", "ENTRY e { ROOT x = f32[2] parameter(0) }");
  fs::create_directory(Path("lr=0.1"));
  ASSERT_EQ(Run(file + " -i '{1,2}' -o " + Path("lr=0.1/x.npy")).status, 0);
  EXPECT_EQ(Run(file + " -i " + Path("lr=0.1/x.npy")).out, "f32[2] {1, 2}\n");
  EXPECT_EQ(Run(file + " -i x=" + Path("lr=0.1/x.npy")).out, "f32[2] {1, 2}\n");
  const Outcome unknown = Run(file + " -i z=" + Path("lr=0.1/x.npy"));
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "has no parameter 'z' (did you mean 'x'?)");
  Write("-dash.hlo", "ENTRY e { ROOT c = f32[] constant(3) }");
  EXPECT_EQ(RunIn(folder_, "-- -dash.hlo").out, "f32[] 3\n");
  EXPECT_EQ(RunIn(folder_, "run --strict -- -dash.hlo").out, "f32[] 3\n");
}

TEST_F(Cli, ConvertAllowsOtherTypesThatRepresentTheValues) {
  const std::string file = Write("m.hlo", kNarrow);
  const std::string wide = " -i 's64[3] {1,-2,3}' -i 'f64[3] {0.1, inf, 1e-300}'";
  const Outcome refused = Run(file + wide);
  EXPECT_EQ(refused.status, 2);
  EXPECT_HAS(refused.err,
             "parameter 0 'n': --input: found s64[3], expected s32[3] (--convert allows other types)");
  const Outcome run = Run(file + wide + " --convert");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "( s32[3] {1, -2, 3}, f32[3] {0.1, inf, 0} )\n");
  const auto error = [&](const std::string& inputs) {
    const Outcome wrong = Run(file + " --random 1 --convert " + inputs);
    EXPECT_EQ(wrong.status, 2) << inputs;
    return wrong.err;
  };
  EXPECT_HAS(error("-i 'n=s64[3] {1,2,3000000000}'"),
             "cannot be converted from s64 to s32: the element at {2} is 3000000000");
  EXPECT_HAS(error("-i 'n=f32[3] {1,2.5,3}'"), "from f32 to s32: the element at {1} is 2.5");
  EXPECT_HAS(error("-i 'n=f64[3] {1,2147483648,3}'"), "the element at {1} is 2147483648");
  EXPECT_HAS(error("-i 'x=f64[3] {1,2,1e300}'"), "from f64 to f32: the element at {2} is 1e+300");
  EXPECT_HAS(error("-i 'x=c64[3] {(1,0),(2,1),(3,0)}'"), "the element at {1} is (2, 1)");
  EXPECT_EQ(Run(file + " --convert -i 'n=f64[3] {-2147483648,2147483647,-0.0}' -i 'x=pred[3] {1,0,1}'").out,
            "( s32[3] {-2147483648, 2147483647, 0}, f32[3] {1, 0, 1} )\n");
  // Files are converted like literals.
  const std::string source = Write("s.hlo", "ENTRY e { ROOT c = s64[3] constant({5,6,7}) }");
  for (const std::string ending : {".npy", ".npz", ".safetensors", ".json", ".pb"}) {
    const std::string input = Path("wide" + ending);
    ASSERT_EQ(Run(source + " -o " + input).status, 0);
    const Outcome unasked = Run(file + " --random 1 -i n=" + input);
    EXPECT_EQ(unasked.status, 2) << ending;
    EXPECT_HAS(unasked.err, "--convert");
    EXPECT_HAS(Run(file + " --random 1 --convert -i n=" + input).out, "s32[3] {5, 6, 7}") << ending;
  }
}

TEST_F(Cli, ArraysMayBeSmallerThanABoundedDimension) {
  const std::string file =
      Write("m.hlo", "ENTRY e { a = s8[2,<=5] parameter(0) ROOT r = s8[2,<=5] add(a, a) }");
  const std::string expected = "s8[2,<=5](2,3) { { 2, 4, 6 }, { 8, 10, 12 } }\n";
  for (const std::string& input :
       std::vector<std::string>{"'{{1,2,3},{4,5,6}}'", "'s8[2,3] {{1,2,3},{4,5,6}}'",
                                "'s8[2,<=4](2,3) {{1,2,3},{4,5,6}}'", Write("x.json", "[[1,2,3],[4,5,6]]")}) {
    const Outcome run = Run(file + " -i " + input);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, expected) << input;
  }
  EXPECT_EQ(Run(file + " --convert -i 'f64[2,3] {{1,2,3},{4,5,6}}'").out, expected);
  const Outcome large = Run(file + " -i 's8[2,6] {{1,2,3,4,5,6},{1,2,3,4,5,6}}'");
  EXPECT_EQ(large.status, 2);
  EXPECT_HAS(large.err, "found s8[2,6], expected s8[2,<=5]");
}

TEST_F(Cli, SeveralModulesShareInputsOfFittingShapes) {
  Write("1.hlo", "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }");
  Write("2.hlo", "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] add(x, x) }");
  Write("3.hlo", "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] add(x, x) }");
  const Outcome run =
      Run(Path("1.hlo") + " " + Path("2.hlo") + " " + Path("3.hlo") + " -i 'f32[2] {1,2}' --format=json");
  EXPECT_EQ(run.status, 2);
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["outputs"]["0"]["values"], nlohmann::json::parse("[-1, -2]"));
  EXPECT_EQ(rows[1]["outputs"]["0"]["values"], nlohmann::json::parse("[2, 4]"));
  EXPECT_EQ(rows[2]["status"], "invalid");
}

std::vector<double> Values(const std::string& line, const std::string& key) {
  return nlohmann::json::parse(line)["outputs"][key]["values"].get<std::vector<double>>();
}

TEST_F(Cli, RangesAndDistributionsShapeRandomArguments) {
  const std::string file = Write("m.hlo", R"(ENTRY e {
  x = f32[1000] parameter(0)
  n = s8[1000] parameter(1)
  ROOT r = (f32[1000], s8[1000]) tuple(x, n)
}
)");
  const auto run = [&](const std::string& flags) {
    const Outcome outcome = Run(file + " --format=json --random 1 " + flags);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  const auto count = [](const std::vector<double>& values, double low, double high) {
    int64_t inside = 0;
    for (double value : values) inside += value >= low && value <= high;
    return inside;
  };
  const std::string uniform = run("--range 3:5");
  EXPECT_EQ(count(Values(uniform, "0"), 3, 5), 1000);
  EXPECT_NEAR(count(Values(uniform, "0"), 3, 4), 500, 80);
  EXPECT_EQ(count(Values(uniform, "1"), 3, 5), 1000);
  EXPECT_NEAR(count(Values(uniform, "1"), 5, 5), 333, 80) << "both ends are included";
  const std::string normal = run("--range 0:12 --distribution x=normal");
  EXPECT_EQ(count(Values(normal, "0"), 0, 12), 1000);
  EXPECT_NEAR(count(Values(normal, "0"), 5, 7), 683, 80);
  EXPECT_NEAR(count(Values(normal, "1"), 5, 7), 231, 80) << "uniform";
  const std::string log = run("--range x=1:1024 --distribution log-uniform");
  EXPECT_EQ(count(Values(log, "0"), 1, 1024), 1000);
  EXPECT_NEAR(count(Values(log, "0"), 1, 32), 480, 90);
  EXPECT_EQ(count(Values(run("--range n=-3:-2"), "1"), -3, -2), 1000);
  EXPECT_EQ(run("--range 3:5"), uniform) << "the same seed gives the same values";

  const auto error = [&](const std::string& flags) {
    const Outcome wrong = Run(file + " " + flags);
    EXPECT_EQ(wrong.status, 2) << flags;
    return wrong.err;
  };
  EXPECT_HAS(error("--range 5"), "'5' is not a range LO:HI of two numbers");
  EXPECT_HAS(error("--range 5:3"), "the range '5:3' is empty");
  EXPECT_HAS(error("--range 200:300"), "parameter 1 'n': no s8 is in the range 200:300");
  EXPECT_HAS(error("--range m=0:1"), "has no parameter 'm'; did you mean");
  EXPECT_HAS(error("--distribution cauchy"), "'cauchy' is not one of uniform, normal");
  EXPECT_HAS(error("--distribution log-uniform --range -1:1"), "a log-uniform range must be positive");
}

TEST_F(Cli, RangesKeepIndicesInBounds) {
  const std::string file = Write("m.hlo", R"(ENTRY e {
  x = f32[10] parameter(0)
  i = s32[] parameter(1)
  s = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
  ROOT r = (f32[2], s32[]) tuple(s, i)
}
)");
  const Outcome run = Run(file + " --random 1 --range i=6:1000 --format=json");
  ASSERT_EQ(run.status, 0) << run.err;
  const int64_t index = nlohmann::json::parse(run.out)["outputs"]["1"]["values"];
  EXPECT_GE(index, 6);
  EXPECT_LE(index, 9);
  const Outcome none = Run(file + " --random 1 --range i=100:1000");
  EXPECT_EQ(none.status, 2);
  EXPECT_HAS(none.err, "parameter 1 'i': no s32 index between 0 and");
}

TEST_F(Cli, RandomNumbersOfTheModuleHaveASeedForEachFile) {
  const std::string text = R"(ENTRY e {
  l = f32[] constant(0)  h = f32[] constant(1)
  ROOT r = f32[4] rng(l, h), distribution=rng_uniform
}
)";
  const std::string a = Write("a.hlo", text), b = Write("b.hlo", text);
  const std::string one = Run(a + " --rng-seed 1").out, two = Run(a + " --rng-seed 2").out;
  EXPECT_NE(one, two);
  EXPECT_EQ(Run(a + " --rng-seed 1 --engine=reference").out, one);
  EXPECT_EQ(Run(a + " --rng-seed 1 --rng-seed " + a + "=2").out, two);
  EXPECT_EQ(Run(b + " --rng-seed 1 --rng-seed " + a + "=2").out, one);
  const Outcome wrong = Run(a + " --rng-seed many");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "'many' is not a whole number");
}

TEST_F(Cli, JsonOfOtherSizesIsReportedWithThem) {
  const std::string file = Write("add.hlo", kAdd);
  const auto error = [&](const std::string& json) {
    const Outcome run = Run(file + " -i " + Write("a.json", json));
    EXPECT_EQ(run.status, 2) << json;
    return run.err;
  };
  EXPECT_HAS(error(R"({"a": [1, 2], "b": 1})"), "key 'b': found f32[], expected f32[2]");
  EXPECT_HAS(error(R"({"a": [], "b": [1, 2]})"), "key 'a': found f32[0], expected f32[2]");
  EXPECT_HAS(error(R"({"a": [1, 2], "b": [1, 2], "a": [3, 4]})"), "a.json: has the key 'a' twice");
  const std::string empty =
      Write("empty.hlo", "ENTRY e { a = f32[0,3] parameter(0) ROOT r = f32[0,3] negate(a) }");
  EXPECT_EQ(Run(empty + " -i " + Write("e.json", "[]")).out, "f32[0,3] {  }\n");
}

}  // namespace
