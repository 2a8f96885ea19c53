// Tests mixed element types: mixed_types.txt lists for many opcodes which types XLA accepts. The checker
// accepts them too, and --strict rejects all others. Combinations accepted with a warning must have the same
// meaning on all engines.

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"

namespace hlo::mixed_types_test {
namespace {

// Types of operands A and B ("" if there is no B) and of the result.
struct Types {
  std::string a, b, r;
  auto operator<=>(const Types&) const = default;
};

struct Block {
  std::string module;  // Module text with A, B and R as types.
  std::vector<Types> all;
  std::set<Types> accepted;
};

bool HasB(const std::string& module) { return module.find(" B[") != std::string::npos; }

std::vector<Types> Combinations(const std::string& module) {
  const std::vector<std::string> types = {"pred", "s8",   "s32", "u32", "f8e5m2",
                                          "f16",  "bf16", "f32", "f64", "c64"},
                                 few = {"pred", "s32", "f16", "bf16", "f32", "c64"};
  const bool two = HasB(module);
  std::vector<Types> all;
  for (const std::string& a : two ? few : types) {
    for (const std::string& b : two ? few : std::vector<std::string>{""}) {
      for (const std::string& r : two ? few : types) all.push_back({a, b, r});
    }
  }
  return all;
}

std::vector<Block> ReadBlocks() {
  std::ifstream file(HLO_RUN_SOURCE_DIR "/tests/unit/exec/mixed_types.txt");
  std::vector<Block> blocks(1);
  for (std::string line; std::getline(file, line);) {
    if (line == "// -----") {
      blocks.emplace_back();
    } else if (!line.starts_with("// ")) {
      blocks.back().module += line + "\n";
    } else if (const size_t arrow = line.find(" -> "); arrow != std::string::npos) {
      const std::vector<std::string> operands = absl::StrSplit(line.substr(3, arrow - 3), ' ');
      const std::vector<std::string> results = absl::StrSplit(line.substr(arrow + 4), ' ');
      for (const std::string& r : results)
        blocks.back().accepted.insert({operands[0], operands.size() > 1 ? operands[1] : "", r});
    }
  }
  for (Block& block : blocks) block.all = Combinations(block.module);
  return blocks;
}

std::string Instance(const std::string& module, const Types& types) {
  std::string text = "HloModule m\n";
  for (size_t i = 0; i < module.size(); ++i) {
    const bool is_type = i + 1 < module.size() && module[i + 1] == '[' && (i == 0 || module[i - 1] == ' ');
    if (is_type && module[i] == 'A')
      text += types.a;
    else if (is_type && module[i] == 'B')
      text += types.b;
    else if (is_type && module[i] == 'R')
      text += types.r;
    else
      text += module[i];
  }
  return text;
}

absl::StatusOr<CheckedModule> Load(const std::string& text, const CheckOptions& options) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("does not parse");
  return Check(std::move(module), diagnostics, options);
}

// True for types that XLA's verifier accepts, but the conversion for its CPU compiler changes: convolutions
// of several types, orderings of complex numbers, complex to pred, and bitcasts of pred.
bool IsChangedByCpuConversion(const std::string& module, const Types& types) {
  const auto has = [&](const char* text) { return module.find(text) != std::string::npos; };
  if (has("bitcast-convert(")) return types.a == "pred" || types.r == "pred";
  return has(" convolution(") || (types.a == "c64" && (has(" compare(") || has(" convert(")));
}

TEST(MixedTypes, AreAcceptedAsByXla) {
  const std::vector<Block> blocks = ReadBlocks();
  ASSERT_GT(blocks.size(), 30u);
  for (const Block& block : blocks) {
    ASSERT_FALSE(block.accepted.empty()) << block.module;
    for (const Types& types : block.all) {
      const std::string text = Instance(block.module, types);
      const bool accepted_by_xla = block.accepted.contains(types);
      const bool is_valid = Load(text, CheckOptions::Strict()).ok();
      EXPECT_TRUE(is_valid == accepted_by_xla || (is_valid && IsChangedByCpuConversion(block.module, types)))
          << text;
      EXPECT_TRUE(!accepted_by_xla || Load(text, {}).ok()) << text;
    }
  }
}

TEST(MixedTypes, HaveTheSameMeaningOnAllEngines) {
  int64_t ran = 0;
  for (const Block& block : ReadBlocks()) {
    for (const Types& types : block.all) {
      const std::string text = Instance(block.module, types);
      const absl::StatusOr<CheckedModule> module = Load(text, {});
      if (!module.ok()) continue;
      const std::vector<Literal> arguments = *MakeInputs(module->module(), InputFill::kUniform, 3);
      const absl::StatusOr<Literal> wanted = Execute(*module, arguments, Engine::kReference);
      for (const Device& device : {Device{}, Device{Device::Kind::kEmulatedGpu, 0}}) {
        const absl::StatusOr<Literal> got = Execute(*module, arguments, Engine::kFast, {}, device);
        ASSERT_EQ(got.ok(), wanted.ok()) << got.status() << wanted.status() << text;
        if (!got.ok()) continue;
        ++ran;
        // Transcendental functions and reordered sums may differ in the last bits, small sums by more.
        const CompareReport report = CompareArrays(*got, *wanted, CompareRule::Ulp(4));
        EXPECT_TRUE(report.ok() || CompareArrays(*got, *wanted, CompareRule::Close(1e-6, 1e-6)).ok())
            << ToString(report) << text;
      }
    }
  }
  EXPECT_GT(ran, 1000);
}

}  // namespace
}  // namespace hlo::mixed_types_test
