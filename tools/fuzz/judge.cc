#include "judge.h"

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/parse.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/native/machine_code.h"
#include "plan/passes.h"
#include "sandbox.h"
#include "types/dispatch.h"

namespace hlo::fuzz {
namespace {

void Apply(const Config& config) {
  RecordConfig(config.name);
  SetThreadCount(config.threads);
  SetMinParallelNanoseconds(config.threads > 1 ? 0 : 20'000);
  cpu::SetLargestTile(config.tile);
  static const int64_t usual_delay = cpu::SetNativeCodeDelay(0);
  cpu::SetNativeCodeDelay(config.compiles_loops ? 0 : usual_delay);
  cpu::SetLargestNativeIsa(config.is_avx2_code ? cpu::NativeIsa::kAvx2 : cpu::NativeIsa::kAvx512);
  const absl::Status isa = ChooseIsa(config.isa.empty() ? IsaNames().front() : config.isa);
  HLO_CHECK(isa.ok());
}

absl::StatusOr<std::vector<Literal>> Copies(std::vector<Literal> values) {
  for (Literal& value : values) HLO_RETURN_IF_ERROR(value.MakeUnique());
  return values;
}

// Compares element by element; there must be as many tolerances as elements.
std::string CompareWithin(const Literal& got, const Literal& want, const std::vector<double>& tolerance) {
  const auto reals = [](const Literal& literal) {
    std::vector<std::complex<double>> numbers;
    DispatchType(literal.type(), [&]<ElementType kType>() {
      for (const Native<kType>& x : literal.span<Native<kType>>()) {
        if constexpr (requires { x.ToFloat(); })
          numbers.emplace_back(x.ToFloat());
        else if constexpr (requires { x.real(); })
          numbers.emplace_back(x.real(), x.imag());
        else
          numbers.emplace_back(static_cast<double>(x));
      }
    });
    return numbers;
  };
  const auto a = reals(got), b = reals(want);
  for (size_t i = 0; i < a.size(); ++i) {
    if (tolerance[i] < 0 || a[i] == b[i]) continue;
    const bool both_nan = std::isnan(std::abs(a[i])) && std::isnan(std::abs(b[i]));
    if (both_nan || std::abs(a[i] - b[i]) <= tolerance[i]) continue;
    return fmt::format("element {}: got {}{:+}i, want {}{:+}i within {}", i, a[i].real(), a[i].imag(),
                       b[i].real(), b[i].imag(), tolerance[i]);
  }
  return "";
}

// Runs one module in all configurations.
class Trial {
 public:
  Trial(const CheckedModule& module, const std::vector<Literal>& arguments, const Literal& want)
      : module_(module), arguments_(arguments), want_(want) {
    is_exact_ = IsExact(module.module(), &zeros_);
  }

  Verdict Run(const Config& config) {
    const auto differs = [&](std::string message, bool is_gross) {
      return Verdict{Judgement::kDiffers, config.name, std::move(message), is_gross};
    };
    Apply(config);
    const Device device = config.is_emulated ? Device{Device::Kind::kEmulatedGpu, config.schedule} : Device{};
    absl::StatusOr<Executable> executable = Executable::Make(module_, Engine::kFast, {}, device, config.plan);
    if (!executable.ok()) return differs(executable.status().ToString(), true);
    // The second run uses the state that the first one left.
    for (const char* time : {"", "second run: "}) {
      absl::StatusOr<std::vector<Literal>> given = config.donates ? Copies(arguments_) : arguments_;
      if (!given.ok()) return {Judgement::kSkipped, config.name, given.status().ToString()};
      const absl::StatusOr<Literal> got = executable->Run(*std::move(given));
      if (!got.ok() && absl::IsResourceExhausted(got.status()))
        return {Judgement::kSkipped, config.name, got.status().ToString()};
      if (!got.ok()) return differs(got.status().ToString(), true);
      bool is_gross = false;
      const std::string message = Compare(*got, &is_gross);
      if (!message.empty()) return differs(time + message, is_gross);
    }
    return {};
  }
  // Returns the reason for which some results were not compared; empty if all were.
  const std::string& unknown() const { return unknown_; }

 private:
  std::string Compare(const Literal& got, bool* is_gross) {
    const std::vector<LiteralLeaf> have = ArrayLeaves(got), want = ArrayLeaves(want_);
    if (have.size() != want.size()) return fmt::format("{} arrays instead of {}", have.size(), want.size());
    const CompareRule rule = is_exact_ && !zeros_ ? CompareRule::Exact() : CompareRule::Ulp(0);
    for (size_t i = 0; i < have.size(); ++i) {
      CompareReport report = CompareArrays(*have[i].value, *want[i].value, rule);
      report.key = want[i].key;
      if (report.ok()) continue;
      *is_gross = !report.worst || report.worst->special || report.worst->rel > 1e-2 || !report.worst->ulps;
      if (is_exact_ || !report.problem.empty()) return ToString(report);
      if (tolerance_.by_leaf.empty() && tolerance_.unknown.empty())
        tolerance_ = ToleranceOf(module_, arguments_, want_);
      if (!tolerance_.unknown.empty()) {
        unknown_ = tolerance_.unknown;
        continue;
      }
      const std::string message = CompareWithin(*have[i].value, *want[i].value, tolerance_.by_leaf[i]);
      if (!message.empty()) return fmt::format("output {}: {}", want[i].key, message);
    }
    return "";
  }

  const CheckedModule& module_;
  const std::vector<Literal>& arguments_;
  const Literal& want_;
  bool is_exact_ = false, zeros_ = false;
  Tolerance tolerance_;
  std::string unknown_;
};

}  // namespace

const std::vector<Config>& AllConfigs() {
  static const std::vector<Config> kConfigs = [] {
    std::vector<Config> configs = {
        {.name = "default"},
        {.name = "threads=1", .threads = 1},
        {.name = "threads=3", .threads = 3},
        {.name = "tile=1", .threads = 1, .tile = 1},
        {.name = "tile=7", .tile = 7},
        {.name = "tile=64", .tile = 64},
        {.name = "native-loops", .compiles_loops = true},
        {.name = "avx2-loops", .compiles_loops = true, .is_avx2_code = true},
        {.name = "native-loops,threads=3,tile=7", .threads = 3, .tile = 7, .compiles_loops = true},
        {.name = "product-loops", .plan = {.min_fused_product_bytes = 0}},
        {.name = "donated", .donates = true},
        {.name = "donated,threads=3,tile=7", .threads = 3, .tile = 7, .donates = true},
        {.name = "product-loops,threads=3", .threads = 3, .plan = {.min_fused_product_bytes = 0}},
        {.name = "emulated", .is_emulated = true},
        {.name = "emulated:3", .donates = true, .is_emulated = true, .schedule = 3},
        {.name = "no-fusion",
         .plan = {.disabled_passes = {"loop_fusion", "gemm_fusion", "contraction_folding"}}}};
    for (const plan::Pass& pass : plan::Passes()) {
      if (pass.is_required) continue;
      const std::string name(pass.name);
      configs.push_back({.name = "without " + name, .plan = {.disabled_passes = {name}}});
    }
    const std::vector<std::string> levels = IsaNames();
    for (size_t i = 1; i < levels.size(); ++i) {
      configs.push_back({.name = "isa=" + levels[i], .isa = levels[i]});
      configs.push_back({.name = fmt::format("isa={},threads=3,tile=7", levels[i]),
                         .threads = 3,
                         .tile = 7,
                         .isa = levels[i]});
    }
    return configs;
  }();
  return kConfigs;
}

std::optional<Config> FindConfig(std::string_view name) {
  for (const Config& config : AllConfigs()) {
    if (config.name == name) return config;
  }
  return std::nullopt;
}

std::vector<Config> SomeConfigs(Random& random, int64_t count) {
  std::vector<Config> configs = {AllConfigs()[0]};
  for (int64_t i = 0; i < count; ++i)
    configs.push_back(AllConfigs()[1 + random.Below(static_cast<int64_t>(AllConfigs().size()) - 1)]);
  return configs;
}

bool IsExact(const Module& module, bool* zeros) {
  *zeros = module.name().starts_with("exact_but_zeros");
  return module.name().starts_with("exact");
}

absl::StatusOr<CheckedModule> ReadModule(const std::string& text) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>("module.hlo", text);
  std::shared_ptr<Module> module = Parse(source, diagnostics, {.infer_shape = &InferMissingShape});
  if (module == nullptr) return diagnostics.ToStatus(*source);
  return Check(std::move(module), diagnostics);
}

namespace {

// The fast engine must refuse a module that the reference refuses.
Verdict ExpectRefusal(const CheckedModule& module, const std::vector<Literal>& arguments,
                      const std::vector<Config>& configs) {
  for (const Config& config : configs) {
    if (config.is_emulated) continue;
    Apply(config);
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, {}, config.plan);
    const absl::Status status = executable.ok() ? executable->Run(arguments).status() : executable.status();
    if (status.ok()) return {Judgement::kDiffers, config.name, "the reference refuses the module", true};
    if (absl::IsInternal(status)) return {Judgement::kDiffers, config.name, status.ToString(), true};
  }
  return {};
}

}  // namespace

Verdict Judge(const std::string& text, uint64_t seed, const std::vector<Config>& configs) {
  const absl::StatusOr<CheckedModule> module = ReadModule(text);
  if (!module.ok()) return {Judgement::kInvalid, "", module.status().ToString()};
  const auto skipped = [](const absl::Status& status) {
    return Verdict{Judgement::kSkipped, "", status.ToString()};
  };
  const absl::StatusOr<std::vector<Literal>> arguments = MakeArguments(module->module(), seed);
  if (!arguments.ok()) return skipped(arguments.status());
  const double start = SteadySeconds();
  const absl::StatusOr<Literal> want =
      Evaluate(*module, *arguments, {.max_steps = 200'000, .max_seconds = 2});
  if (!want.ok() && absl::IsInternal(want.status()))
    return {Judgement::kDiffers, "reference", want.status().ToString(), true};
  if (!want.ok() && (absl::IsUnimplemented(want.status()) || absl::IsInvalidArgument(want.status()))) {
    Verdict verdict = ExpectRefusal(*module, *arguments, configs);
    if (verdict.judgement != Judgement::kAgrees) return verdict;
  }
  if (!want.ok()) return skipped(want.status());
  const bool is_quick = SteadySeconds() - start < 0.02;
  Trial trial(*module, *arguments, *want);
  for (const Config& config : configs) {
    if (config.is_emulated && !is_quick) continue;
    const Verdict verdict = trial.Run(config);
    if (verdict.judgement != Judgement::kAgrees) return verdict;
  }
  if (!trial.unknown().empty()) return {Judgement::kSkipped, "", trial.unknown()};
  return {};
}

}  // namespace hlo::fuzz
