// Tests discovery, execution, updating and reporting of cases with fake engines.

#include "hlo_run/conform.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"
#include "hlo_run/run.h"

namespace hlo::conform_test {
namespace {

class Conform : public testing::Test {
 protected:
  Conform() {
    std::string name = (std::filesystem::temp_directory_path() / "conform_test.XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Conform() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<CaseResult> Run(const std::string& path, const EvaluateFn& evaluate) const {
    const absl::StatusOr<std::vector<Case>> cases = FindCases({path});
    EXPECT_TRUE(cases.ok()) << cases.status();
    std::vector<CaseResult> results;
    if (!cases.ok()) return results;
    for (const Case& test : *cases) results.push_back(RunCase(test, evaluate));
    return results;
  }
  CaseResult RunOne(const std::string& text, const EvaluateFn& evaluate) const {
    const std::vector<CaseResult> results = Run(Write("one.hlo", text), evaluate);
    EXPECT_EQ(results.size(), 1u);
    return results.empty() ? CaseResult() : results[0];
  }

  std::string folder_;
};

// An engine that returns the first argument.
absl::StatusOr<Literal> First(const CheckedModule&, std::vector<Literal> arguments, Host*) {
  return arguments.at(0);
}
absl::StatusOr<Literal> Never(const CheckedModule&, std::vector<Literal>, Host*) {
  return absl::UnimplementedError("no engine");
}

constexpr char kCopy[] =
    "// A copy.\n"
    "// run\n"
    "ENTRY e {\n"
    "  a = f32[2] parameter(0)\n"
    "  ROOT r = f32[2] copy(a)\n"
    "}\n"
    "// in   {1, 2}\n"
    "// out  {1, 2.5}\n";

TEST_F(Conform, ValuesThatDifferAreReportedWithTheirIndex) {
  const CaseResult result = RunOne(kCopy, First);
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.name, "A copy.");
  EXPECT_EQ(result.line, 1);
  EXPECT_EQ(result.report,
            "output 0: 1 of 2 elements differ (exact)\n"
            "  at {1}: got 2, want 2.5 (2097152 ulp apart, abs 0.5, rel 0.2)\n"
            "  got   {1, 2}\n"
            "  want  {1, 2.5}\n");
}

TEST_F(Conform, ToleranceOfTheCaseCounts) {
  std::string text = kCopy;
  text.replace(text.find("// run"), 0, "// within abs 0 rel 0.25\n");
  EXPECT_EQ(RunOne(text, First).verdict, Verdict::kPassed);
}

TEST_F(Conform, UnimplementedModulesAreUnsupported) {
  const CaseResult result = RunOne(kCopy, Never);
  EXPECT_EQ(result.verdict, Verdict::kUnsupported);
  EXPECT_EQ(result.report, "no engine\n");
}

TEST_F(Conform, MalformedCasesAreErrors) {
  std::string text = kCopy;
  text.erase(text.find("// in "), 15);
  const CaseResult result = RunOne(text, First);
  EXPECT_EQ(result.verdict, Verdict::kError);
  EXPECT_EQ(result.report, "the entry computation has 1 parameter, but the case has 0 lines `// in`\n");
}

// An engine that sends what it receives from the host back to it.
absl::StatusOr<Literal> ForwardInfeed(const CheckedModule& module, std::vector<Literal>, Host* host) {
  const Instruction& infeed = *module.module().entry()->root()->operand(0);
  absl::StatusOr<Literal> value = host->Read(infeed, infeed.shape().element(0));
  if (!value.ok()) return value;
  const absl::Status given = host->Write(infeed, *value);
  if (!given.ok()) return given;
  return value;
}

TEST_F(Conform, TheHostSendsAndReceivesTheValuesOfTheCase) {
  const std::string module =
      "// From the host.\n"
      "// run\n"
      "ENTRY e {\n"
      "  t = token[] after-all()\n"
      "  i = (f32[2], token[]) infeed(t)\n"
      "  ROOT r = f32[2] get-tuple-element(i), index=0\n"
      "}\n"
      "// out  {1, 2}\n";
  EXPECT_EQ(RunOne(module + "// infeed {1, 2}\n// outfeed {1, 2}\n", ForwardInfeed).verdict,
            Verdict::kPassed);
  const CaseResult other = RunOne(module + "// infeed {1, 2}\n// outfeed {1, 3}\n", ForwardInfeed);
  EXPECT_EQ(other.verdict, Verdict::kFailed);
  EXPECT_NE(other.report.find("outfeed 0"), std::string::npos) << other.report;
  const CaseResult missing = RunOne(module + "// outfeed {1, 2}\n", ForwardInfeed);
  EXPECT_EQ(missing.report, "there are too few lines `// infeed`\n");
  const CaseResult more =
      RunOne(module + "// infeed {1, 2}\n// infeed {3, 4}\n// outfeed {1, 2}\n", ForwardInfeed);
  EXPECT_EQ(more.report, "the run leaves 1 of 2 lines `// infeed`\n");
  const CaseResult silent = RunOne(module + "// infeed {1, 2}\n", ForwardInfeed);
  EXPECT_EQ(silent.report, "the values have 1 array, but the case has 0 lines `// outfeed`\n");
}

TEST_F(Conform, ForeachMakesACaseOfEachWord) {
  std::string text = kCopy;
  text.replace(text.find("2.5"), 3, "2");
  for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "T");
  text.replace(text.find("// run"), 0, "// foreach T in f32 s32\n");
  const std::vector<CaseResult> results = Run(Write("each.hlo", text), First);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].name, "A copy. (T=f32)");
  EXPECT_EQ(results[1].name, "A copy. (T=s32)");
  for (const CaseResult& result : results) EXPECT_EQ(result.verdict, Verdict::kPassed) << result.report;
}

constexpr char kWrong[] =
    "// First.\n"
    "// check\n"
    "ENTRY e {\n"
    "  a = f32[2] parameter(0)\n"
    "  ROOT r = f32[3] copy(a)\n"
    "}\n"
    "// -----\n"
    "// Second.\n"
    "// check\n"
    "ENTRY e {\n"
    "  a = f32[2] parameter(0)\n"
    "  ROOT r = f32[3] copy(a)\n"
    "//         ^~~~~~ error: something else\n"
    "}\n";

TEST_F(Conform, DiagnosticsMustBeDrawn) {
  const std::string path = Write("wrong.hlo", kWrong);
  const std::vector<CaseResult> results = Run(path, First);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].verdict, Verdict::kFailed);
  EXPECT_EQ(results[0].report.find("line 5: reported, but not expected:\n  //         ^~~~~~ error: "), 0u)
      << results[0].report;
  EXPECT_EQ(results[1].verdict, Verdict::kFailed);
  EXPECT_EQ(results[1].report.find(
                "line 13: expected, but not reported:\n  //         ^~~~~~ error: something else"),
            0u)
      << results[1].report;
}

TEST_F(Conform, UpdatedDiagnosticsPass) {
  const std::string path = Write("wrong.hlo", kWrong);
  const absl::StatusOr<int64_t> changed = UpdateCaseFile(path);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(*changed, 2);
  for (const CaseResult& result : Run(path, First))
    EXPECT_EQ(result.verdict, Verdict::kPassed) << result.report;
  EXPECT_EQ(*UpdateCaseFile(path), 0);
  EXPECT_NE(Content(path).find("\n//         ^~~~~~ error: "), std::string::npos);
}

TEST_F(Conform, UpdateChangesValuesOnlyOnRequest) {
  const std::string path = Write("value.hlo", kCopy);
  EXPECT_EQ(*UpdateCaseFile(path), 0);
  EXPECT_EQ(*UpdateCaseFile(path, {.values = true, .evaluate = First}), 1);
  EXPECT_EQ(Run(path, First)[0].verdict, Verdict::kPassed);
}

TEST_F(Conform, UpdateKeepsPrintsCurrent) {
  const std::string path = Write(
      "print.hlo", "// Short.\n// print short\nHloModule m\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n");
  EXPECT_EQ(Run(path, First)[0].verdict, Verdict::kFailed);
  EXPECT_EQ(*UpdateCaseFile(path), 1);
  const std::vector<CaseResult> results = Run(path, First);
  EXPECT_EQ(results[0].verdict, Verdict::kPassed) << results[0].report;
  EXPECT_NE(Content(path).find("// prints\n// HloModule m"), std::string::npos) << Content(path);
}

TEST_F(Conform, LocationsUnderTheSlashesAreDrawnByColumn) {
  const std::string path = Write("column.hlo",
                                 "// Nothing calls it.\n// check\nf {\n  ROOT x = f32[] parameter(0)\n}\n"
                                 "ENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n");
  ASSERT_TRUE(UpdateCaseFile(path).ok());
  EXPECT_EQ(Run(path, First)[0].verdict, Verdict::kPassed);
}

TEST_F(Conform, FoldersAreSearchedAndPlainModulesSkipped) {
  Write("a/one.hlo", kCopy);
  const std::string plain = Write("b/plain.hlo", "ENTRY e { ROOT a = f32[] parameter(0) }\n");
  EXPECT_EQ(Run(folder_, First).size(), 1u);
  EXPECT_EQ(FindCases({plain}).status().message(),
            plain + ": holds no case: expected a line `// run`, `// check` or `// print` in it");
  EXPECT_FALSE(FindCases({folder_ + "/none"}).ok());
}

TEST_F(Conform, ReportsEscapeQuotedText) {
  const std::vector<CaseResult> results = {{"p.hlo", 3, "a < b & \"c\"", Verdict::kFailed, "x\n\x01", 0.5},
                                           {"p.hlo", 9, "d", Verdict::kUnsupported, "no e", 0.25}};
  EXPECT_EQ(ToString(Summarize(results)), "2 cases: 0 passed, 1 failed, 1 unsupported in 0.8 s");
  EXPECT_EQ(
      ConformJUnit(results),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "  <testsuite name=\"p.hlo\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.750000\">\n"
      "    <testcase classname=\"p.hlo\" name=\"a &lt; b &amp; &quot;c&quot;\" line=\"3\" time=\"0.500000\">"
      "<failure message=\"x&#10;?\"/></testcase>\n"
      "    <testcase classname=\"p.hlo\" name=\"d\" line=\"9\" time=\"0.250000\"><skipped message=\"no "
      "e\"/></testcase>\n"
      "  </testsuite>\n"
      "</testsuites>\n");
  EXPECT_NE(ConformJson(results).find("\"verdict\": \"unsupported\""), std::string::npos);
}

}  // namespace
}  // namespace hlo::conform_test
