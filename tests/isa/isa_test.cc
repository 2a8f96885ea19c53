// The instruction set that the program is compiled for, as users of the command see it.

#include "base/isa.h"

#include <string>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

class Isa : public Cli {
 protected:
  void TearDown() override {
    unsetenv("HLO_RUN_ISA");
    Cli::TearDown();
  }
  static void Choose(const std::string& name) { setenv("HLO_RUN_ISA", name.c_str(), 1); }
};

TEST_F(Isa, TheProgramNamesItsInstructionSet) {
  for (const std::string& name : {std::string(), std::string(IsaName())}) {
    Choose(name);
    const Outcome devices = Run("devices --format=json");
    ASSERT_EQ(devices.status, 0) << devices.err;
    EXPECT_EQ(nlohmann::json::parse(devices.out)["cpu"]["instruction_set"], IsaName());
    EXPECT_HAS(Run("devices").out, IsaName());
  }
}

TEST_F(Isa, AnUnknownNameIsAnError) {
  for (const std::string name : {"x86-64-v5", "avx2", "none"}) {
    Choose(name);
    for (const std::string command : {"devices", "--version", "ops"}) {
      const Outcome outcome = Run(command);
      EXPECT_EQ(outcome.status, 2) << command;
      EXPECT_EQ(outcome.out, "");
      EXPECT_HAS(outcome.err, "hlo-run: error: HLO_RUN_ISA=" + name);
      EXPECT_HAS(outcome.err, IsaName());
    }
  }
}

#if defined(HLO_TEST_QEMU)
class EmulatedIsa : public Isa {
 protected:
  Outcome RunOn(const std::string& processor, const std::string& arguments) {
    return RunShell(std::string(HLO_TEST_QEMU) + " -cpu " + processor + " " + HLO_RUN_BINARY + " " +
                    arguments + " >" + Path("stdout"));
  }
};

TEST_F(EmulatedIsa, NativeProgramsSayThatTheProcessorIsAnother) {
  if (IsaName() != "native") GTEST_SKIP() << "this build is portable";
  const Outcome outcome = RunOn("qemu64", "--version");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_HAS(outcome.err, "hlo-run: error: this program was compiled for another processor; this one lacks ");
  EXPECT_HAS(outcome.err, "avx");
  EXPECT_EQ(outcome.out, "");
}
#endif

}  // namespace
}  // namespace hlo::cli_test
