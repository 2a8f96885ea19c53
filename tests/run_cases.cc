// Runs case files and golden folders, each case as a test of its own:
//   run_cases [--engine=fast] [--device=gpu|emulated[:SCHEDULE]] [--mode=MODE] [--fallbacks=FILE]
//   [--update | --update-values] [--gtest_filter=...] path...
// Modes change how the fast engine works and nothing that it computes: tile=N, threads=N, no-fusion,
// no-in-place, native-code, avx2-code, check-passes.
// --fallbacks compares the file with the list of what the CPU computed in place of the GPU; with --update it
// is written.
// --update rewrites the diagnostics and prints that the files expect; review the difference.

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/isa.h"
#include "base/parallel.h"
#include "base/status.h"
#include "device/gpu.h"
#include "gtest/gtest.h"
#include "hlo_run/conform.h"
#include "hlo_run/execute.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/native/machine_code.h"
#include "plan/make_plan.h"
#include "plan/passes.h"

namespace hlo {
namespace {

constexpr EvaluateOptions kOptions{.max_seconds = 120};

}  // namespace

Engine engine = Engine::kReference;
Device where;
PlanOptions plan_options;
int64_t modules_checked = 0, modules_not_checked = 0;  // In the mode check-passes.

namespace {

// The instructions that the CPU computed in place of the GPU: opcode and reason, or the reason for a whole
// module.
std::set<std::string> fallbacks;

// Adds the fallbacks of a run.
void RecordFallbacks(const Executable& executable) {
  if (!executable.fallback_reason().empty())
    fallbacks.insert("module: " + std::string(executable.fallback_reason()));
  for (const Fallback& fallback : executable.fallbacks()) {
    std::string name(Name(fallback.instruction->opcode()));
    if (fallback.instruction->opcode() == Opcode::kCustomCall)
      name += " " + std::string(fallback.instruction->Get<attr::custom_call_target>());
    fallbacks.insert(name + ": " + fallback.reason);
  }
}

absl::StatusOr<Literal> OnEngine(const CheckedModule& module, std::vector<Literal> arguments, Host* host) {
  EvaluateOptions options = kOptions;
  options.host = host;
  if (plan_options.check_passes) {
    const absl::Status checked = plan::MakePlan(module, nullptr, plan::Target::kCpu, plan_options).status();
    if (absl::IsInternal(checked)) return checked;
    ++(checked.ok() ? modules_checked : modules_not_checked);
    return Execute(module, std::move(arguments), engine, options, where);
  }
  if (where.kind == Device::Kind::kCpu)
    return Execute(module, std::move(arguments), engine, options, where, plan_options);
  options.max_seconds = 0;  // A deadline would keep loops on the host.
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, engine, options, where, plan_options));
  absl::StatusOr<Literal> result = executable.Run(std::move(arguments), options);
  RecordFallbacks(executable);
  return result;
}

absl::StatusOr<std::vector<Literal>> OnDevices(const CheckedModule& module,
                                               std::vector<std::vector<Literal>> arguments,
                                               bool emulate_xla_cpu) {
  // The checker of passes evaluates one device.
  PlanOptions options = plan_options;
  options.check_passes = false;
  modules_not_checked += plan_options.check_passes ? 1 : 0;
  EvaluateOptions evaluate_options = kOptions;
  const bool on_gpu = where.kind != Device::Kind::kCpu;
  if (on_gpu) evaluate_options.max_seconds = 0;
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine, evaluate_options, where, options));
  if (executable.engine() != engine && !on_gpu)
    return absl::UnimplementedError(std::string(executable.fallback_reason()));
  absl::StatusOr<std::vector<Literal>> results =
      executable.RunDevices(std::move(arguments), evaluate_options, {.emulate_xla_cpu = emulate_xla_cpu});
  if (on_gpu) RecordFallbacks(executable);
  return results;
}

bool FallbacksAre(const std::string& path, bool update) {
  std::string text, expected;
  for (const std::string& line : fallbacks) text += line + "\n";
  std::ifstream file(path);
  std::getline(file, expected, '\0');
  if (text == expected) return true;
  if (update) {
    std::ofstream(path) << text;
    std::printf("%s: rewritten\n", path.c_str());
    return true;
  }
  std::fprintf(stderr, "%s: the CPU computed in place of the GPU:\n%s", path.c_str(), text.c_str());
  return false;
}

class CaseTest : public testing::Test {
 public:
  explicit CaseTest(const Case& test) : test_(test) {}
  void TestBody() override {
    const CaseResult result = RunCase(test_, CaseEvaluator{OnEngine, OnDevices});
    const std::string place = result.line > 0 ? result.path + ":" + std::to_string(result.line) : result.path;
    if (result.verdict == Verdict::kUnsupported) GTEST_SKIP() << place << ": " << result.report;
    if (result.verdict != Verdict::kPassed) {
      ADD_FAILURE() << place << ": " << result.name << "\n" << Name(result.verdict) << ": " << result.report;
    }
  }

 private:
  const Case& test_;
};

// GoogleTest's filters give '-', ':' and '*' a meaning.
std::string TestName(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  return name;
}

void Register(const std::vector<Case>& cases) {
  std::map<std::string, std::set<std::string>> taken;
  for (const Case& test : cases) {
    const std::filesystem::path path(test.path);
    const std::string suite = TestName(test.is_golden() ? path.parent_path().string() : path.string());
    std::string name = TestName(test.is_golden() ? path.filename().string() : test.name);
    for (int again = 2; !taken[suite].insert(name).second; ++again) name += "_" + std::to_string(again);
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, test.path.c_str(),
                          static_cast<int>(test.line), [&test]() -> CaseTest* { return new CaseTest(test); });
  }
}

int Update(const std::vector<Case>& cases, bool values) {
  std::set<std::string> files;
  for (const Case& test : cases) {
    if (!test.is_golden()) files.insert(test.path);
  }
  int status = 0;
  for (const std::string& file : files) {
    const absl::StatusOr<int64_t> changed = UpdateCaseFile(file, {.values = values, .evaluate = OnEngine});
    if (!changed.ok()) {
      std::fprintf(stderr, "%s: %s\n", file.c_str(), changed.status().ToString().c_str());
      status = 1;
    } else if (*changed > 0) {
      std::printf("%s: %lld cases rewritten\n", file.c_str(), static_cast<long long>(*changed));
    }
  }
  return status;
}

// False where there is no such mode.
bool SetMode(std::string_view mode) {
  const auto number_after = [&](std::string_view name, int* number) {
    if (!mode.starts_with(name)) return false;
    mode.remove_prefix(name.size());
    return std::from_chars(mode.data(), mode.data() + mode.size(), *number).ec == std::errc() && *number > 0;
  };
  int number = 0;
  if (number_after("tile=", &number)) {
    cpu::SetLargestTile(number);
  } else if (number_after("threads=", &number)) {
    SetThreadCount(number);
    SetMinParallelNanoseconds(0);
  } else if (mode == "no-fusion") {
    for (const char* pass :
         {"contraction_folding", "loop_fusion", "sibling_fusion", "row_tiling", "gemm_fusion"})
      plan_options.disabled_passes.emplace_back(pass);
  } else if (mode == "no-in-place") {
    plan_options.disabled_passes.emplace_back("in_place_aliasing");
  } else if (mode == "native-code" || mode == "avx2-code") {
    cpu::SetNativeCodeDelay(0);
    if (mode == "avx2-code") cpu::SetLargestNativeIsa(cpu::NativeIsa::kAvx2);
  } else if (mode == "check-passes") {
    plan_options.check_passes = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const absl::Status isa = hlo::IsaStatus(); !isa.ok()) {
    std::fprintf(stderr, "skipped: %s\n", std::string(isa.message()).c_str());
    return 77;
  }
  bool update = false, values = false;
  std::string fallbacks_file;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--update")
      update = true;
    else if (argument == "--update-values")
      update = values = true;
    else if (argument.starts_with("--fallbacks="))
      fallbacks_file = argument.substr(12);
    else if (argument.starts_with("--engine="))
      hlo::engine = argument == "--engine=fast" ? hlo::Engine::kFast : hlo::Engine::kReference;
    else if (argument == "--device=gpu")
      hlo::where = {hlo::Device::Kind::kGpu};
    else if (argument.starts_with("--device=emulated"))
      hlo::where = {hlo::Device::Kind::kEmulatedGpu, argument.back() - (argument.back() == 'd' ? 'd' : '0')};
    else if (argument == "--trust-plan")
      hlo::plan_options.validate = false;
    else if (argument.starts_with("--disable-pass=")) {
      hlo::plan_options.disabled_passes.push_back(argument.substr(15));
      const auto passes = hlo::plan::EnabledPasses(hlo::plan_options);
      if (passes.ok()) continue;
      std::fprintf(stderr, "%s\n", passes.status().ToString().c_str());
      return 2;
    } else if (argument.starts_with("--mode=")) {
      if (hlo::SetMode(argument.substr(7))) continue;
      std::fprintf(stderr,
                   "%s: the modes are tile=N, threads=N, no-fusion, no-in-place, native-code, avx2-code and "
                   "check-passes\n",
                   argument.c_str());
      return 2;
    } else
      paths.push_back(argument);
  }
  if (hlo::where.kind == hlo::Device::Kind::kGpu) {
    if (const auto gpus = hlo::device::ListGpus(); !gpus.ok()) {
      std::fprintf(stderr, "skipped: %s\n", gpus.status().ToString().c_str());
      return 77;  // CTest reports the test as skipped.
    }
  }
  const absl::StatusOr<std::vector<hlo::Case>> cases = hlo::FindCases(paths);
  if (!cases.ok() || cases->empty()) {
    std::fprintf(stderr, "%s\n", cases.ok() ? "no cases found" : cases.status().ToString().c_str());
    return 2;
  }
  if (update && fallbacks_file.empty()) return hlo::Update(*cases, values);
  hlo::Register(*cases);
  const int failed = RUN_ALL_TESTS();
  if (hlo::plan_options.check_passes)
    std::printf(
        "the passes of %lld modules were checked; %lld modules have no plan, or take no random arguments\n",
        static_cast<long long>(hlo::modules_checked), static_cast<long long>(hlo::modules_not_checked));
  return fallbacks_file.empty() || hlo::FallbacksAre(fallbacks_file, update) ? failed : 1;
}
