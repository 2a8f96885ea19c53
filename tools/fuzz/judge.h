#pragma once
// Runs a module with the reference and with the fast engine in several configurations, and compares.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/execute.h"
#include "hlo_run/literal.h"
#include "random.h"

namespace hlo::fuzz {

// A way for the fast engine to work, none of which may change a result.
struct Config {
  std::string name;
  int threads = 0;  // 0: one for each core, where they are worth it.
  int64_t tile = 1024;
  PlanOptions plan;
  bool donates = false;  // The arguments' memory may be written to.
  bool is_emulated = false;
  int schedule = 0;  // The order of the emulated GPU's threads.
};
const std::vector<Config>& AllConfigs();
// The default and some others.
std::vector<Config> SomeConfigs(Random& random, int64_t count);
// The configuration of this name; nullopt where there is none.
std::optional<Config> FindConfig(std::string_view name);

enum class Judgement : uint8_t {
  kAgrees,
  kDiffers,  // A wrong value or status; a crash or a hang where Judge runs in a sandbox.
  kSkipped,  // The reference cannot evaluate it, or rounding makes its result unknown.
  kInvalid,  // The module does not parse or does not pass the checker.
};
struct Verdict {
  Judgement judgement = Judgement::kAgrees;
  std::string config;     // In which it differs.
  std::string message;    // What differs, or why nothing was compared.
  bool is_gross = false;  // No rounding explains the difference.
};

absl::StatusOr<CheckedModule> ReadModule(const std::string& text);
// Values for the parameters; the same for a parameter of the same name and shape in another module.
absl::StatusOr<std::vector<Literal>> MakeArguments(const Module& module, uint64_t seed);
Verdict Judge(const std::string& text, uint64_t seed, const std::vector<Config>& configs);

// Returns true if all results must have the reference's bits; sets `zeros` if signs of zeros may differ.
bool IsExact(const Module& module, bool* zeros);

// The tolerance of each element of a result: the spread of the results when each instruction is perturbed by
// its a-priori error bound. It is negative where rounding decides the value.
struct Tolerance {
  std::vector<std::vector<double>> by_leaf;
  std::string unknown;  // Why there is none.
};
Tolerance ToleranceOf(const CheckedModule& module, const std::vector<Literal>& arguments,
                      const Literal& result);
// The module with each inexact instruction's result moved by its error bound, up or down.
absl::StatusOr<std::string> Perturbed(const Module& module, uint64_t salt);

}  // namespace hlo::fuzz
