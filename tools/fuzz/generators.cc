#include "generators.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "base/clock.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "idioms.h"
#include "mutations.h"
#include "sandbox.h"

namespace hlo::fuzz {
namespace {

// A generator stops after this many finds, which are probably the same bug.
constexpr int64_t kMaxFinds = 20;
constexpr double kShrinkSeconds = 25;
constexpr int64_t kMaxElements = 3000;  // Maximum number of elements that a case contains as text.

// Returns the configurations that the options name.
std::vector<Config> NamedConfigs(const GeneratorOptions& options) {
  std::vector<Config> configs;
  for (const std::string& name : options.configs) {
    if (const std::optional<Config> config = FindConfig(name)) configs.push_back(*config);
  }
  return configs;
}

std::vector<Config> ConfigsFor(uint64_t seed, const GeneratorOptions& options) {
  Random random(seed ^ 0x5eed);
  return options.configs.empty() ? SomeConfigs(random, 2) : NamedConfigs(options);
}

// Returns the configuration that the verdict names, or all if the process ended before any started.
std::vector<Config> ConfigOf(const Verdict& verdict) {
  const std::optional<Config> config = FindConfig(verdict.config);
  return config ? std::vector<Config>{*config} : AllConfigs();
}

std::string ValueLines(const std::string& text, uint64_t seed) {
  const absl::StatusOr<CheckedModule> module = ReadModule(text);
  if (!module.ok()) return "";
  absl::StatusOr<std::vector<Literal>> arguments = MakeArguments(module->module(), seed);
  if (!arguments.ok()) return "";
  const absl::StatusOr<Literal> result = Evaluate(*module, *arguments, {.max_seconds = 5});
  if (!result.ok()) return "";
  int64_t elements = 0;
  std::string lines;
  for (const Literal& argument : *arguments) {
    for (const LiteralLeaf& leaf : ArrayLeaves(argument)) elements += leaf.value->element_count();
    lines += fmt::format("// in   {}\n", ToString(argument));
  }
  for (const LiteralLeaf& leaf : ArrayLeaves(*result)) {
    elements += leaf.value->element_count();
    lines += fmt::format("// out  {}\n", ToString(*leaf.value));
  }
  return elements <= kMaxElements ? lines : "";
}

// Returns the part of a message that does not depend on the module.
std::string ReasonOf(const std::string& message) {
  const size_t colon = message.rfind("): ");
  return message.substr(colon == std::string::npos ? 0 : colon + 3, 90);
}

// Returns true if the module does not finish in much more time either; on a busy machine all modules are
// slow.
bool IsHanging(std::string_view generator, uint64_t seed, const Verdict& verdict,
               const GeneratorOptions& options) {
  const Verdict again = JudgeInSandbox(MakeModule(generator, seed, options), seed, ConfigOf(verdict), 90);
  return again.judgement == Judgement::kDiffers;
}

void Report(std::string_view generator, uint64_t seed, const Verdict& verdict,
            const GeneratorOptions& options, bool shrinks) {
  fmt::print("{} {}: {} differs: {}\n", generator, seed, verdict.config, verdict.message.substr(0, 400));
  Find find{MakeModule(generator, seed, options), seed, verdict};
  if (shrinks) {
    find = Shrink(find, kShrinkSeconds,
                  [&](const std::string& text) { return JudgeInSandbox(text, seed, ConfigOf(verdict), 10); });
  }
  fmt::print("  written to {}\n", WriteFind(options.finds, generator, seed, find));
  std::fflush(stdout);
}

}  // namespace

std::vector<std::string> GeneratorNames() { return {"idioms", "mutations", "types"}; }

bool IsGenerator(std::string_view name) {
  return absl::c_linear_search(GeneratorNames(), name) ||
         absl::c_any_of(AllIdioms(), [&](const Idiom& idiom) { return name == idiom.name; });
}

std::string MakeModule(std::string_view generator, uint64_t seed, const GeneratorOptions& options) {
  if (generator == "idioms") return RandomIdioms(seed);
  if (generator == "mutations") return RandomMutation(seed, ModulesIn(options.folders));
  if (generator == "types") return RandomTypes(seed);
  return OneIdiom(seed, generator);
}

RunCounts RunGenerator(std::string_view generator, const GeneratorOptions& options) {
  RunCounts counts;
  const double end = SteadySeconds() + options.seconds;
  uint64_t next = Random(options.seed).Next() >> 24;
  while (counts.modules < options.count && SteadySeconds() < end && counts.finds < kMaxFinds) {
    const int64_t batch = std::min<int64_t>(options.count - counts.modules, 100);
    next += RunTrials(
        next, batch, {.seconds_for_all = end - SteadySeconds()},
        [&](uint64_t seed) {
          const std::string text = MakeModule(generator, seed, options);
          if (text.empty()) return Verdict{Judgement::kSkipped, "", "no module"};
          Verdict verdict = Judge(text, seed, ConfigsFor(seed, options));
          const bool is_refused = generator == "types" && verdict.judgement == Judgement::kInvalid;
          return is_refused ? Verdict{Judgement::kSkipped, "", "refused"} : verdict;
        },
        [&](uint64_t seed, const Verdict& verdict) {
          ++counts.modules;
          if (verdict.judgement == Judgement::kSkipped) {
            ++counts.skipped;
            ++counts.reasons[ReasonOf(verdict.message)];
          }
          if (verdict.judgement == Judgement::kInvalid) {
            ++counts.invalid;
            fmt::print("{} {}: the module is invalid: {}\n", generator, seed, verdict.message);
          }
          if (verdict.judgement != Judgement::kDiffers || counts.finds >= kMaxFinds) return;
          if (verdict.message.starts_with("no end") && !IsHanging(generator, seed, verdict, options)) {
            ++counts.skipped;
            return;
          }
          ++counts.finds;
          Report(generator, seed, verdict, options, counts.finds <= 6);
        });
    if (options.stops_at_first && counts.finds > 0) break;
  }
  return counts;
}

namespace {

// Returns the text of a file and the seed in its comment.
Find ReadFind(const std::string& path) {
  Find find;
  std::ifstream file(path);
  std::getline(file, find.text, '\0');
  const size_t at = find.text.find("// seed ");
  find.seed = 1;
  if (at != std::string::npos) {
    const std::string digits =
        find.text.substr(at + 8, find.text.find_first_not_of("0123456789", at + 8) - at - 8);
    if (!absl::SimpleAtoi(digits, &find.seed)) find.seed = 1;
  }
  return find;
}

}  // namespace

Verdict Replay(const std::string& path, const GeneratorOptions& options) {
  const Find find = ReadFind(path);
  return JudgeInSandbox(find.text, find.seed, options.configs.empty() ? AllConfigs() : NamedConfigs(options),
                        120);
}

std::string ShrinkFile(const std::string& path, const GeneratorOptions& options) {
  Find find = ReadFind(path);
  find.verdict = JudgeInSandbox(find.text, find.seed, AllConfigs(), 120);
  if (find.verdict.judgement != Judgement::kDiffers) return "";
  const std::vector<Config> configs = ConfigOf(find.verdict);
  const Find shrunk = Shrink(find, 2 * kShrinkSeconds, [&](const std::string& text) {
    return JudgeInSandbox(text, find.seed, configs, 10);
  });
  return WriteFind(options.finds, std::filesystem::path(path).stem().string(), find.seed, shrunk);
}

std::string WriteFind(const std::string& folder, std::string_view generator, uint64_t module_seed,
                      const Find& find) {
  std::filesystem::create_directories(folder);
  const std::string path = fmt::format("{}/{}_{}.hlo", folder, generator, module_seed);
  std::ofstream file(path);
  std::string what = find.verdict.message;
  for (size_t at = what.find('\n'); at != std::string::npos; at = what.find('\n', at + 4))
    what.replace(at, 1, "\n// ");
  file << fmt::format("// {} {}: the fast engine differs from the reference in configuration {}.\n",
                      generator, module_seed, find.verdict.config);
  file << fmt::format("// seed {}\n// difference: {}\n", find.seed, what);
  file << "// The values below are the reference's: check them against another implementation.\n// run\n";
  // The reference itself may crash.
  std::string values;
  RunTrials(
      0, 1, {}, [&](uint64_t) { return Verdict{.message = ValueLines(find.text, find.seed)}; },
      [&](uint64_t, const Verdict& verdict) {
        if (verdict.judgement == Judgement::kAgrees) values = verdict.message;
      });
  file << find.text << values;
  return path;
}

}  // namespace hlo::fuzz
