// The main function of programs that hold the tests of several sources.
//   diff_tests --source=dots_test.cc [flags of GoogleTest]     runs the tests of one source alone
//   HLO_TEST_ON_GPU=1 gpu_tests                                runs them on the first GPU

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/isa.h"
#include "device/gpu.h"
#include "gtest/gtest.h"
#include "on_gpu.h"

namespace {

constexpr std::string_view kFlag = "--source=";

// Visits (name, source) of each test.
template <class Visit>
void VisitTests(Visit&& visit) {
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *program.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      visit(std::string(suite.name()) + "." + test.name(),
            std::filesystem::path(test.file()).filename().string());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const absl::Status isa = hlo::IsaStatus(); !isa.ok()) {
    std::fprintf(stderr, "skipped: %s\n", std::string(isa.message()).c_str());
    return 77;  // CTest reports the test as skipped.
  }
  if (hlo::test::OnGpu()) {
    if (const auto gpus = hlo::device::ListGpus(); !gpus.ok()) {
      std::fprintf(stderr, "skipped: %s\n", std::string(gpus.status().message()).c_str());
      return 77;
    }
  }
  if (argc < 2) return RUN_ALL_TESTS();
  const std::string_view argument = argv[1];
  if (argc > 2 || argument.substr(0, kFlag.size()) != kFlag) {
    std::fprintf(stderr, "%s: expected %sFILE, but got '%s'\n", argv[0], kFlag.data(), argv[argc - 1]);
    return 2;
  }
  std::string filter;
  VisitTests([&](const std::string& name, const std::string& source) {
    if (source == argument.substr(kFlag.size())) filter += name + ":";
  });
  if (filter.empty()) {
    std::fprintf(stderr, "%s: no test is in %s\n", argv[0], argument.substr(kFlag.size()).data());
    return 1;
  }
  testing::GTEST_FLAG(filter) = filter;
  return RUN_ALL_TESTS();
}
