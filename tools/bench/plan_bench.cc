// Benchmarks planning and the checks of plans. For each file: microseconds of reading (parsing and checking
// shapes), planning, validating the plan, and verifying its bytecode, as the best of several runs in
// processor time of one thread; and both checks relative to planning and to the total.
//   plan_bench [--repeat=N] FILE...

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "fmt/format.h"
#include "hlo_run/check.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/validate/bytecode_verifier.h"
#include "plan/validate/plan_validator.h"
#include "processor_time.h"

namespace hlo {
namespace {

using bench::ProcessorSeconds;

double Fastest(int repeat, const std::function<void()>& run) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeat; ++i) {
    const double start = ProcessorSeconds();
    run();
    fastest = std::min(fastest, ProcessorSeconds() - start);
  }
  return fastest;
}

absl::StatusOr<CheckedModule> Read(const std::shared_ptr<const SourceText>& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(text, diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("it does not parse");
  return Check(std::move(module), diagnostics);
}

int Main(int argc, char** argv) {
  int repeat = 20;
  double logarithms = 0, sum_plan = 0, sum_validate = 0, sum_verify = 0;
  int count = 0;
  fmt::print("{:<55} {:>6} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}\n", "file", "steps", "read us", "plan us",
             "valid. us", "code us", "/plan", "/all");
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--repeat=")) {
      repeat = std::max(1, std::atoi(argument.c_str() + 9));
      continue;
    }
    const absl::StatusOr<ModuleFile> file = ReadModuleFile(argument);
    absl::StatusOr<CheckedModule> module = absl::InvalidArgumentError("it cannot be read");
    if (file.ok()) module = Read(file->text);
    PlanOptions options;
    options.validate = false;
    absl::StatusOr<plan::Plan> plan = absl::InvalidArgumentError("it is not a module");
    if (module.ok()) plan = plan::MakePlan(*module, nullptr, plan::Target::kCpu, options);
    if (!plan.ok() || !plan::ValidatePlan(*plan).ok()) {
      fmt::print("{}: no valid plan\n", argument);
      continue;
    }
    const double read = Fastest(repeat, [&] { (void)Read(file->text); });
    const double make =
        Fastest(repeat, [&] { (void)plan::MakePlan(*module, nullptr, plan::Target::kCpu, options); });
    const double validate = Fastest(repeat, [&] { (void)plan::ValidatePlan(*plan); });
    const double verify = Fastest(repeat, [&] { (void)plan::VerifyBytecode(*plan); });
    const double checks = validate + verify;
    fmt::print("{:<55} {:>6} {:>9.0f} {:>9.0f} {:>9.1f} {:>9.1f} {:>7.3f} {:>7.3f}\n",
               argument.substr(argument.find_last_of('/') + 1), plan->steps.size(), read * 1e6, make * 1e6,
               validate * 1e6, verify * 1e6, checks / make, checks / (read + make + checks));
    logarithms += std::log(checks / make);
    sum_plan += make;
    sum_validate += validate;
    sum_verify += verify;
    ++count;
  }
  if (count > 0)
    fmt::print("checks of planning: geometric mean {:.3f}, of the sums {:.3f} and {:.3f}\n",
               std::exp(logarithms / count), sum_validate / sum_plan, sum_verify / sum_plan);
  return count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Main(argc, argv); }
