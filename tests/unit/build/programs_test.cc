// Tests every function of the builder: the module is valid, its printed text can be read back, and it equals
// the text that XLA has accepted. `build_test --update` rewrites the texts; check new texts with XLA's
// parser.

#include "programs.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"

namespace hlo::build {

bool update = false;  // Set by main.

namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/unit/build/programs";

absl::StatusOr<std::string> TextOf(const Program& program) {
  Builder b(program.name);
  const Op root = program.build(b);
  const absl::StatusOr<CheckedModule> module = b.Build(root);
  if (!module.ok()) return module.status();
  return Print(module->module());
}

class ProgramTest : public testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(, ProgramTest, testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ProgramTest, GivesTheTextThatXlaReads) {
  const absl::StatusOr<std::string> text = TextOf(GetParam());
  ASSERT_TRUE(text.ok()) << text.status();
  const fs::path file = kFolder / (GetParam().name + ".hlo");
  if (update) std::ofstream(file) << *text;
  std::stringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(*text, expected.str()) << "write them anew: build_test --update";
}

TEST_P(ProgramTest, ReadsBackAsItIs) {
  const absl::StatusOr<std::string> text = TextOf(GetParam());
  ASSERT_TRUE(text.ok()) << text.status();
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>(GetParam().name, *text);
  std::shared_ptr<const Module> module = Parse(source, diagnostics, {.strict = true});
  ASSERT_NE(module, nullptr) << Render(diagnostics, *source);
  EXPECT_EQ(Print(*module), *text);
  EXPECT_TRUE(Check(module, diagnostics).ok()) << Render(diagnostics, *source);
}

// True for opcodes that occur in dumps, but that the operation semantics do not build.
bool IsOnlyInDumps(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAddDependency:
    case Opcode::kBitcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
    case Opcode::kDomain:
    case Opcode::kFusion:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kShuffle:
      return true;
    default: {
      const bool is_transfer = opcode == Opcode::kSendDone || opcode == Opcode::kRecvDone;
      const std::string_view name = Name(opcode);
      return (name.ends_with("-start") || name.ends_with("-update") || name.ends_with("-done")) &&
             !is_transfer;
    }
  }
}

TEST(ProgramsTest, HoldEveryOpcodeThatTheOperationSemanticsBuild) {
  std::set<Opcode> built;
  for (const Program& program : Programs()) {
    Builder b(program.name);
    const absl::StatusOr<CheckedModule> module = b.Build(program.build(b));
    ASSERT_TRUE(module.ok()) << program.name << ": " << module.status();
    for (const Computation* c : module->module().computations()) {
      for (const Instruction* instruction : c->instructions()) built.insert(instruction->opcode());
    }
  }
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_NE(built.count(opcode) > 0, IsOnlyInDumps(opcode)) << Name(opcode);
  }
}

}  // namespace
}  // namespace hlo::build

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  hlo::build::update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
