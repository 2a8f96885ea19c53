// Tests that no kernel is selected for an instruction for which the condition of its row in kernels.def is
// false.

#include "plan/select/kernel_table.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "conform/case_text.h"
#include "device/gpu.h"
#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/module_file.h"
#include "hlo_run/parse.h"
#include "plan/gpu/select_kernel.h"
#include "plan/select/library_kernels.h"

namespace hlo::kernel_table_test {
namespace {

// Returns the texts of the modules in a file: of a case file, or a file of modules.
std::vector<std::shared_ptr<const SourceText>> TextsIn(const std::string& path, bool has_cases) {
  std::vector<std::shared_ptr<const SourceText>> texts;
  if (!has_cases) {
    const absl::StatusOr<ModuleFiles> files = ModuleFiles::Read(path);
    for (size_t i = 0; files.ok() && i < files->size(); ++i) texts.push_back(files->Get(i).text);
    return texts;
  }
  std::ifstream file(path);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  for (const conform::Block& block : conform::SplitBlocks(content)) {
    const absl::StatusOr<std::vector<conform::Instance>> instances = conform::Instances(block);
    for (size_t i = 0; instances.ok() && i < instances->size(); ++i)
      texts.push_back(std::make_shared<SourceText>(path, "HloModule t\n" + (*instances)[i].text));
  }
  return texts;
}

class KernelTable : public testing::Test {
 protected:
  KernelTable() {
    for (const plan::KernelRow& row : plan::KernelTable()) rows_.emplace(row.opcode, row);
  }

  void TestModule(const std::shared_ptr<const SourceText>& text) {
    Diagnostics diagnostics;
    std::shared_ptr<Module> parsed = Parse(text, diagnostics);
    if (parsed == nullptr) return;
    const absl::StatusOr<CheckedModule> module = Check(std::move(parsed), diagnostics);
    if (!module.ok()) return;
    for (const Computation* computation : module->module().computations()) {
      for (const Instruction* instruction : computation->instructions()) TestInstruction(*instruction);
    }
  }

  std::map<Opcode, plan::KernelRow> rows_;
  std::map<Opcode, int> selected_;  // The instructions with kernels.

 private:
  void TestInstruction(const Instruction& instruction) {
    const bool has_kernel = plan::FindLibraryKernel(instruction).run != nullptr ||
                            plan::FindGpuKernel(instruction, gpu_->properties()).has_value();
    if (!has_kernel) return;
    const auto row = rows_.find(instruction.opcode());
    ASSERT_NE(row, rows_.end()) << Name(instruction.opcode());
    ++selected_[instruction.opcode()];
    EXPECT_TRUE(row->second.holds(instruction)) << row->second.condition << ": " << instruction.name();
  }

  std::shared_ptr<device::Gpu> gpu_ = device::MakeEmulatedGpu();
};

TEST_F(KernelTable, ConditionsHoldForInstructionsWithKernels) {
  for (const char* folder : {"golden", "tests/cases/ops", "tests/cases/semantics"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".hlo") continue;
      SCOPED_TRACE(entry.path());
      for (const auto& text : TextsIn(entry.path(), std::string_view(folder) != "golden")) TestModule(text);
    }
  }
  for (const auto& [opcode, row] : rows_) EXPECT_GT(selected_[opcode], 0) << Name(opcode) << " has no case";
}

}  // namespace
}  // namespace hlo::kernel_table_test
