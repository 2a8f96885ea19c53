// Tests `hlo-run graph`; tools/docs/graph_pictures.py opens its page in a browser.

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

constexpr char kModule[] = R"(HloModule m
fused {
  p = f32[2,2] parameter(0)
  ROOT s = f32[2,2] sqrt(p)
}
ENTRY e {
  x = f32[2,2] parameter(0), metadata={op_name="</script>"}
  f = f32[2,2] fusion(x), kind=kLoop, calls=fused
  ROOT r = f32[2,2] add(f, x)
}
)";

TEST_F(Cli, GraphWritesDot) {
  const Outcome dot = Run("graph " + Write("m.hlo", kModule));
  EXPECT_EQ(dot.status, 0) << dot.err;
  EXPECT_HAS(dot.out, "digraph \"m\" {");
  EXPECT_HAS(dot.out, "\"e/f\" -> \"e/r\";");
  EXPECT_HAS(dot.out, "\"fused/s\" -> \"e/f\" [style=dashed];");
}

TEST_F(Cli, ThePageHoldsTheModuleAndItsValues) {
  const Outcome page =
      Run("graph " + Write("m.hlo", kModule) + " --input 'f32[2,2]{{1,4},{-1,9}}' -o " + Path("m.html"));
  ASSERT_EQ(page.status, 0) << page.err;
  const std::string text = ReadFile(Path("m.html"));
  EXPECT_EQ(text.find("http"), std::string::npos);
  const size_t begin = text.find("const DATA = ") + 13;
  const std::string data = text.substr(begin, text.find(";</script>", begin) - begin);
  EXPECT_EQ(data.find("</script>"), std::string::npos);
  const Json json = Json::parse(data);
  ASSERT_EQ(json["nodes"].size(), 5u);
  EXPECT_EQ(json["op_names"][0], "</script>");
  // sqrt of the input: 1, 2, NaN, 3.
  const Json& root = json["values"]["1"];
  EXPECT_EQ(root["nan"], 1);
  EXPECT_EQ(root["max"], 3);
  EXPECT_EQ(root["mean"], 2);
  EXPECT_EQ(root["rows"], 2);
  // Bytes 0, 127, 255 for NaN, 254.
  EXPECT_EQ(root["slices"][0], "AH///g==");
}

}  // namespace
}  // namespace hlo::cli_test
