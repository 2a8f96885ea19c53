// Mutation test of the plan validator: it must accept every original plan and reject every mutant with a
// different result.
//   HLO_TEST_MODULES=DIR   mutates the plans of these modules (golden by default)
//   HLO_TEST_MUTANTS=N     total number of mutants

#include "plan_mutations.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "device/gpu.h"
#include "exec/executor.h"
#include "exec/gpu_executor.h"
#include "gtest/gtest.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"
#include "hlo_run/module_file.h"
#include "hlo_run/parse.h"
#include "plan/make_plan.h"
#include "plan/validate/plan_validator.h"
#include "spmd/device_grid.h"

namespace hlo::plan_mutations_test {
namespace {

// Returns the modules of the .hlo files in a folder.
std::vector<ModuleFile> ModulesIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ModuleFile> modules;
  for (const std::string& path : paths) {
    const absl::StatusOr<ModuleFiles> file = ModuleFiles::Read(path);
    for (size_t i = 0; file.ok() && i < file->size(); ++i) modules.push_back(file->Get(i));
  }
  return modules;
}

absl::StatusOr<CheckedModule> Load(const ModuleFile& file) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(file.text, diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("parse");
  return Check(std::move(module), diagnostics);
}

// Runs a plan on newly generated arguments, because donated ones may be overwritten.
absl::StatusOr<Literal> RunPlan(const CheckedModule& module, const plan::Plan& plan, plan::Target target) {
  absl::StatusOr<std::vector<Literal>> arguments = MakeInputs(module.module(), InputFill::kUniform, 7);
  if (!arguments.ok()) return arguments.status();
  EvaluateOptions options;
  options.max_seconds = 5;
  // The emulator is slow, so longer programs are skipped.
  options.max_steps = target == plan::Target::kCpu ? 1'000'000 : 300;
  if (target == plan::Target::kCpu) return exec::Executor(module, plan).Run(*std::move(arguments), options);
  std::shared_ptr<device::Gpu> gpu = device::MakeEmulatedGpu();
  plan::GpuPlan gpu_plan = plan::MakeGpuPlan(plan, gpu->properties());
  return exec::GpuExecutor(module, plan, std::move(gpu), std::move(gpu_plan), nullptr)
      .Run(*std::move(arguments), options, {});
}

bool IsSame(const Literal& got, const Literal& want) {
  const std::vector<LiteralLeaf> a = ArrayLeaves(got), b = ArrayLeaves(want);
  for (size_t k = 0; k < a.size(); ++k) {
    if (!CompareArrays(*a[k].value, *b[k].value, CompareRule::Exact()).ok()) return false;
  }
  return a.size() == b.size();
}

struct Count {
  int64_t tried = 0, rejected = 0;
};

void RunMutants(plan::Target target, int64_t mutants) {
  const char *folder = std::getenv("HLO_TEST_MODULES"), *wanted = std::getenv("HLO_TEST_MUTANTS");
  if (wanted != nullptr) mutants = std::atoll(wanted);
  const std::vector<ModuleFile> files = ModulesIn(folder != nullptr ? folder : "golden");
  ASSERT_FALSE(files.empty());
  const int64_t kinds = static_cast<int64_t>(test::MutationNames().size());
  std::vector<Count> counts(kinds);
  std::mt19937_64 random(1);
  int64_t plans = 0, tried = 0, wrong = 0;
  for (size_t f = 0; f < files.size() && tried < mutants; ++f) {
    const absl::StatusOr<CheckedModule> module = Load(files[f]);
    if (!module.ok() || module->module().entry()->instructions().empty()) continue;
    if (spmd::HasSeveralDevices(module->module())) continue;  // An executor runs one device.
    PlanOptions options;
    options.disabled_passes = {"bytecode"};  // The bytecode would still run the original steps.
    absl::StatusOr<plan::Plan> made = plan::MakePlan(*module, nullptr, target, options);
    if (absl::IsUnimplemented(made.status())) continue;
    ASSERT_TRUE(made.ok()) << module->module().name() << made.status();
    plan::Plan& plan = *made;
    const absl::StatusOr<Literal> expected = RunPlan(*module, plan, target);
    if (!expected.ok() || plan.steps.size() < 2) continue;
    ++plans;
    const std::vector<plan::Step> steps = plan.steps;
    const std::vector<plan::Buffer> buffers = plan.buffers;
    const std::vector<plan::Slot> results = plan.results;
    const int64_t share = 1 + std::max(mutants / 600, 3 * mutants / static_cast<int64_t>(files.size()));
    for (int64_t i = 0; i < share; ++i) {
      const auto kind = static_cast<int>(random() % kinds);
      if (!test::Mutate(kind, random, plan)) continue;
      ++tried;
      ++counts[kind].tried;
      if (!plan::ValidatePlan(plan).ok()) {
        ++counts[kind].rejected;
      } else {
        const absl::StatusOr<Literal> got = RunPlan(*module, plan, target);
        if (!got.ok() || !IsSame(*got, *expected)) {
          ++wrong;
          ADD_FAILURE() << module->module().name() << ": accepted although " << test::MutationNames()[kind]
                        << " (" << got.status() << ")";
          if (wrong > 20) GTEST_FAIL();
        }
      }
      plan.steps = steps;
      plan.buffers = buffers;
      plan.results = results;
      ASSERT_TRUE(plan::ValidatePlan(plan).ok());
    }
  }
  EXPECT_GE(tried, mutants * 9 / 10);
  fmt::print("{} plans, {} mutants, {} wrong ones accepted\n", plans, tried, wrong);
  for (int64_t kind = 0; kind < kinds; ++kind)
    fmt::print("{:<30} {:>6} tried, {:>6} rejected\n", test::MutationNames()[kind], counts[kind].tried,
               counts[kind].rejected);
}

TEST(PlanMutations, AreRejectedIfTheyChangeAResult) { RunMutants(plan::Target::kCpu, 10'000); }
TEST(PlanMutations, OnAGpuAreRejectedIfTheyChangeAResult) { RunMutants(plan::Target::kGpu, 2'000); }

}  // namespace
}  // namespace hlo::plan_mutations_test
