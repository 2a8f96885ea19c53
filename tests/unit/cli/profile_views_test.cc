// Tests the roofline, chain, folded stacks, CSV and comparison of `hlo-run profile`.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

// Two independent products, of which %long is followed by two more.
constexpr char kProducts[] = R"(HloModule m
ENTRY e {
  x = f32[192,192] parameter(0)
  short = f32[192,192] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={1}, metadata={op_name="jit(f)/a/dot gen\neral"}
  long = f32[192,192] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/b"}
  more = f32[192,192] dot(long, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(f)/b"}
  most = f32[192,192] dot(more, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(f)/b"}
  ROOT t = (f32[192,192], f32[192,192]) tuple(short, most)
}
)";

Json RowOf(const Json& rows, const std::string& instruction) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Json& each) { return each["instruction"] == instruction; });
  return row == rows.end() ? Json() : *row;
}

TEST_F(Cli, ProfileHasViews) {
  const std::string profile =
      "profile " + Write("m.hlo", kProducts) + " --random 1 --engine=reference --repeat 1";
  const Outcome outcome = Run(profile + " --format=json --roofline --chain --folded " + Path("folded") +
                              " --csv " + Path("rows.csv"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  // Other load may delay a step, so the measured times decide which of the two chains is longer.
  const auto seconds = [&](const std::string& name) {
    return RowOf(json["steps"], name)["seconds"].get<double>();
  };
  const bool three = seconds("long") + seconds("more") + seconds("most") > seconds("short");
  const auto chain = json["chain"].get<std::vector<std::string>>();
  for (const char* name : {"long", "more", "most"}) EXPECT_EQ(absl::c_linear_search(chain, name), three);
  EXPECT_EQ(absl::c_linear_search(chain, "short"), !three);
  EXPECT_GT(json["roofline"]["peak_flops_per_s"], 1e8);
  // 2 * 192 FLOPs an element for 12 bytes. Other load may slow down the measurement of the peak, so the
  // fraction has no fixed limit.
  const Json roofline = RowOf(json["roofline"]["steps"], "long"), step = RowOf(json["steps"], "long");
  ASSERT_TRUE(roofline.is_object() && step.is_object());
  EXPECT_NEAR(roofline["flops_per_byte"], 32, 1e-9);
  const double peak = json["roofline"]["peak_flops_per_s"], bandwidth = json["roofline"]["peak_bytes_per_s"];
  EXPECT_NEAR(roofline["fraction"],
              step["flops"].get<double>() / step["seconds"].get<double>() / std::min(peak, 32 * bandwidth),
              1e-6);
  EXPECT_HAS(ReadFile(Path("folded")), "jit(f);a;dot_gen_eral;short ");
  EXPECT_HAS(ReadFile(Path("folded")), "jit(f);b;more ");
  EXPECT_EQ(ReadFile(Path("rows.csv")).find("instruction,opcode,kernel,runs,seconds,flops,bytes,op_name\n"),
            0u);
  EXPECT_HAS(ReadFile(Path("rows.csv")), "\"jit(f)/a/dot gen\neral\"\n");
}

// The fast engine replaces the reduction by two others, and the product by a loop.
TEST_F(Cli, ProfileNamesInstructionsThatAreReplaced) {
  const std::string module = Write("m.hlo", R"(HloModule m
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  x = f32[4000,3] parameter(0)
  zero = f32[] constant(0)
  narrow = f32[3] reduce(x, zero), dimensions={0}, to_apply=sum
  dots = f32[4000] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT t = (f32[3], f32[4000]) tuple(narrow, dots)
}
)");
  const Outcome outcome = Run("profile " + module + " --random 1 --repeat 1 --format=json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json steps = Json::parse(outcome.out)["steps"];
  EXPECT_EQ(steps.size(), 2) << steps;
  EXPECT_EQ(RowOf(steps, "narrow")["runs"], 2);
  EXPECT_EQ(RowOf(steps, "dots")["opcode"], "dot");
}

TEST_F(Cli, ProfilesAreCompared) {
  const std::string profile = "profile " + Write("m.hlo", kProducts) + " --random 1 --repeat 1";
  const std::string before =
      Write("before.json", R"({"steps": [{"instruction": "more", "kernel": "old", "seconds": 5},
    {"instruction": "gone", "kernel": "old", "seconds": 2}]})");
  const Outcome outcome = Run(profile + " --against " + before);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_HAS(outcome.out, " 7000.0000 ");
  EXPECT_LT(outcome.out.find("more old"), outcome.out.find("gone old"));
  EXPECT_HAS(outcome.out, "   new  ");
  const Json changes = Json::parse(Run(profile + " --format=json --against " + before).out)["changes"];
  EXPECT_EQ(changes[0]["step"], "all steps");
  EXPECT_EQ(changes[1]["step"], "more old");
  EXPECT_EQ(changes[1]["before_s"], 5);
  for (const char* bad : {"[]", R"({"steps": [1]})", R"({"steps": [{"seconds": "x"}]})"}) {
    const Outcome refused = Run(profile + " --against " + Write("bad.json", bad));
    EXPECT_EQ(refused.status, 2);
    EXPECT_HAS(refused.err, "bad.json: error: the file is not an output of `hlo-run profile --format=json`");
    EXPECT_EQ(refused.out, "");
  }
}

}  // namespace
}  // namespace hlo::cli_test
