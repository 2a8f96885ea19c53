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

TEST_P(ProgramTest, PrintsTextThatXlaAccepts) {
  const absl::StatusOr<std::string> text = TextOf(GetParam());
  ASSERT_TRUE(text.ok()) << text.status();
  const fs::path file = kFolder / (GetParam().name + ".hlo");
  if (update) std::ofstream(file) << *text;
  std::stringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(*text, expected.str()) << "write them anew: build_test --update";
}

TEST_P(ProgramTest, IsReadBackUnchanged) {
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

// True if the function gives an instruction of the opcode for operands of some type.
template <class F>
bool Builds(Opcode opcode, F function) {
  for (const char* shape : {"f32[4]", "s32[4]", "c64[4]"}) {
    Builder b("scalar");
    const Op x = b.Parameter(0, shape, "x"), y = b.Parameter(1, shape, "y");
    const absl::StatusOr<CheckedModule> module = b.Build(function(x, y));
    if (module.ok() && module->module().entry()->root()->opcode() == opcode) return true;
  }
  return false;
}

TEST(ProgramsTest, EveryScalarOpcodeHasAFunction) {
#define HLO_CALL_1(function) function(x)
#define HLO_CALL_2(function) function(x, y)
#define HLO_CALL_3(function) function(x, y, y)
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  EXPECT_TRUE(Builds(Opcode::k##name, [](const Op& x, [[maybe_unused]] const Op& y) {           \
    return HLO_CALL_##operands(builder);                                                        \
  })) << text;
#include "hlo_run/opcodes.def"
}

TEST(ProgramsTest, CoverEveryOpcodeOfTheOperationSemantics) {
  std::set<Opcode> built = {
#define HLO_SCALAR_OP(name, ...) Opcode::k##name,
#include "hlo_run/opcodes.def"
  };
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
