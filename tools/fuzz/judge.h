#pragma once
// Runs a module with the reference and with the fast engine in several configurations, and compares the
// results.

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

// A configuration of the fast engine; none may change a result.
struct Config {
  std::string name;
  int threads = 0;  // 0: one per core, for sufficiently large work.
  int64_t tile = 1024;
  PlanOptions plan;
  bool donates = false;  // The arguments may be overwritten.
  bool is_emulated = false;
  int schedule = 0;             // The thread schedule of the emulated GPU.
  std::string isa;              // The instruction set level of the kernels; the processor's best if empty.
  bool compiles_loops = false;  // All loops are compiled to native code, not only those that run for long.
  bool is_avx2_code = false;    // Native code uses AVX2, also on machines with AVX-512.
};
const std::vector<Config>& AllConfigs();
// Returns the default configuration and some others.
std::vector<Config> SomeConfigs(Random& random, int64_t count);
// Returns the configuration of this name; nullopt if there is none.
std::optional<Config> FindConfig(std::string_view name);

enum class Judgement : uint8_t {
  kAgrees,
  kDiffers,  // A wrong value or status; a crash or a hang if Judge runs in a sandbox.
  kSkipped,  // The reference cannot evaluate it, or its result depends on rounding.
  kInvalid,  // The module does not parse or is invalid.
};
struct Verdict {
  Judgement judgement = Judgement::kAgrees;
  std::string config;     // The configuration that differs.
  std::string message;    // Description of the difference, or the reason for not comparing.
  bool is_gross = false;  // Rounding cannot explain the difference.
};

absl::StatusOr<CheckedModule> ReadModule(const std::string& text);
// Returns values for the parameters; they depend only on name, shape and seed of a parameter.
absl::StatusOr<std::vector<Literal>> MakeArguments(const Module& module, uint64_t seed);
Verdict Judge(const std::string& text, uint64_t seed, const std::vector<Config>& configs);

// Returns true if all results must have the reference's bits; sets `zeros` if signs of zeros may differ.
bool IsExact(const Module& module, bool* zeros);

// The tolerance of each element of a result: the spread of the results if each instruction is perturbed by
// its a-priori error bound. Negative if the value depends on rounding.
struct Tolerance {
  std::vector<std::vector<double>> by_leaf;
  std::string unknown;  // The reason for which there is none.
};
Tolerance ToleranceOf(const CheckedModule& module, const std::vector<Literal>& arguments,
                      const Literal& result);
// Returns the module with each inexact instruction's result perturbed by its error bound times `scale`, up or
// down.
absl::StatusOr<std::string> Perturbed(const Module& module, uint64_t salt, double scale = 1);

}  // namespace hlo::fuzz
