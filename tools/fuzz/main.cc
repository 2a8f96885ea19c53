// Differential fuzzing of the fast engine and of the emulated GPU against the reference; the entry point is
// tools/fuzz/run.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "generators.h"

namespace {

constexpr const char* kUsage = R"(usage:
  hlo-fuzz [--seconds=S] [--seed=N] [--count=N] [--generator=NAME]... [--folder=DIR]... [--config=NAME]...
           [--finds=DIR] [--first]
      tries random modules; shrunk modules that fail go to DIR (fuzz-finds)
  hlo-fuzz --show GENERATOR SEED  prints a module
  hlo-fuzz --show FILE            prints the file with the errors that its instructions may have
  hlo-fuzz --shrink FILE...       shrinks files that fail, into the folder of finds
  hlo-fuzz --replay FILE...       runs files in all configurations, or in those of --config=NAME
generators: idioms, mutations (of the modules in the folders), types (changed at random), or the name of one idiom
)";

int Replay(const std::vector<std::string>& files, const hlo::fuzz::GeneratorOptions& options) {
  int failed = 0;
  for (const std::string& file : files) {
    const hlo::fuzz::Verdict verdict = hlo::fuzz::Replay(file, options);
    if (verdict.judgement == hlo::fuzz::Judgement::kAgrees) continue;
    fmt::print("{}: {} {}\n", file, verdict.config, verdict.message);
    failed = 1;
  }
  fmt::print("{} files replayed\n", files.size());
  return failed;
}

// Prints the perturbed variant of a file, which determines the tolerance of its results.
int ShowPerturbed(const std::string& path) {
  const auto text = hlo::SourceText::Read(path);
  if (!text.ok()) return 2;
  const auto module = hlo::fuzz::ReadModule(std::string((*text)->content()));
  if (!module.ok()) return 2;
  const auto perturbed = hlo::fuzz::Perturbed(module->module(), 1);
  fmt::print("{}\n", perturbed.ok() ? *perturbed : perturbed.status().ToString());
  return 0;
}

int Run(std::vector<std::string> generators, hlo::fuzz::GeneratorOptions options) {
  if (generators.empty()) generators = hlo::fuzz::GeneratorNames();
  const double seconds = options.seconds / static_cast<double>(generators.size());
  bool failed = false;
  for (const std::string& generator : generators) {
    // Idioms find the most bugs; the checker rejects most type changes.
    const double share = generators.size() == 1  ? 1
                         : generator == "idioms" ? 1.5
                         : generator == "types"  ? 0.5
                                                 : 1;
    options.seconds = share * seconds;
    const hlo::fuzz::RunCounts counts = hlo::fuzz::RunGenerator(generator, options);
    fmt::print("{}: {} modules, {} finds, {} not comparable, {} invalid\n", generator, counts.modules,
               counts.finds, counts.skipped, counts.invalid);
    for (const auto& [reason, count] : counts.reasons) {
      if (count * 20 >= counts.skipped) fmt::print("  not comparable: {} {}\n", count, reason);
    }
    std::fflush(stdout);
    failed |= counts.finds > 0 || counts.invalid > 0 || counts.modules == 0;
  }
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  hlo::fuzz::GeneratorOptions options;
  std::vector<std::string> generators, files;
  bool replays = false, shows = false, shrinks = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (key == "--replay")
      replays = true;
    else if (key == "--shrink")
      shrinks = true;
    else if (key == "--show")
      shows = true;
    else if (key == "--first")
      options.stops_at_first = true;
    else if (key == "--generator")
      generators.push_back(value);
    else if (key == "--folder")
      options.folders.push_back(value);
    else if (key == "--config")
      options.configs.push_back(value);
    else if (key == "--finds")
      options.finds = value;
    else if (key == "--seed" && absl::SimpleAtoi(value, &options.seed))
      continue;
    else if (key == "--count" && absl::SimpleAtoi(value, &options.count))
      options.seconds = 1e9;
    else if (key == "--seconds" && absl::SimpleAtod(value, &options.seconds))
      continue;
    else if (!argument.starts_with("--"))
      files.push_back(argument);
    else
      return std::fputs(kUsage, stderr), 2;
  }
  for (const std::string& name : options.configs) {
    if (!hlo::fuzz::FindConfig(name).has_value()) {
      fmt::print(stderr, "hlo-fuzz: there is no configuration '{}'\n", name);
      return 2;
    }
  }
  for (const std::string& name : generators) {
    if (!hlo::fuzz::IsGenerator(name)) {
      fmt::print(stderr, "hlo-fuzz: there is no generator and no idiom '{}'\n", name);
      return 2;
    }
  }
  if (replays) return Replay(files, options);
  if (shrinks) {
    bool all_fail = true;
    for (const std::string& file : files) {
      const std::string shrunk = hlo::fuzz::ShrinkFile(file, options);
      fmt::print("{}: {}\n", file, shrunk.empty() ? "cannot be read, or does not fail" : shrunk);
      all_fail &= !shrunk.empty();
    }
    return all_fail ? 0 : 1;
  }
  if (shows && files.size() == 1) return ShowPerturbed(files[0]);
  if (!shows) return Run(generators, options);
  if (files.size() != 2) return std::fputs(kUsage, stderr), 2;
  uint64_t seed = 0;
  if (!absl::SimpleAtoi(files[1], &seed)) return std::fputs(kUsage, stderr), 2;
  std::fputs(hlo::fuzz::MakeModule(files[0], seed, options).c_str(), stdout);
  return 0;
}
