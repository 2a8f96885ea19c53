// Tests that every opcode has a case file with its meaning and an erroneous use.

#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "hlo_run/opcode.h"

namespace hlo::op_cases_test {
namespace {

class EveryOp : public testing::TestWithParam<std::string> {};

TEST_P(EveryOp, HasACaseWithAnError) {
  const std::string path = "tests/cases/ops/" + GetParam() + ".hlo";
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; tests/README.md says how to write it";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\n// check\n"), std::string::npos) << path;
  EXPECT_TRUE(text.find(" error: ") != std::string::npos || text.find(" warning: ") != std::string::npos)
      << path;
  EXPECT_NE(text.find(" " + GetParam() + "("), std::string::npos) << path << " is about another operation";
}

std::vector<std::string> OpNames() {
  return {
#define HLO_OP(name, text, ...) text,
#include "hlo_run/opcodes.def"
  };
}
INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(OpNames()));

}  // namespace
}  // namespace hlo::op_cases_test
