#pragma once
// The sources of random modules, and what happens to the modules that fail.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shrink.h"

namespace hlo::fuzz {

struct MachineOptions {
  uint64_t seed = 1;
  double seconds = 60;
  int64_t count = int64_t{1} << 40;  // Modules at most.
  std::vector<std::string> folders;  // With modules for taps.
  std::string finds = "fuzz-finds";  // Where shrunk modules go.
  std::vector<std::string> configs;  // Only these; by default a few at random for each module.
  bool stops_at_first = false;
};
struct Tally {
  int64_t modules = 0, finds = 0, skipped = 0, invalid = 0;
  std::map<std::string, int64_t> reasons;  // Why modules were not compared.
};

// The names of the machines.
std::vector<std::string> MachineNames();
// The module that a machine makes of a seed; empty where the machine has none for it.
std::string MakeModule(std::string_view machine, uint64_t seed, const MachineOptions& options);
// Tries modules until the time is over, and prints, shrinks and writes what fails.
Tally RunMachine(std::string_view machine, const MachineOptions& options);
// Runs a file in all configurations; its arguments are those of the seed in its comment `// seed N`.
Verdict Replay(const std::string& path);
// Shrinks a file that fails, and writes the result to the folder of finds. Returns its path; empty where it
// passes.
std::string ShrinkFile(const std::string& path, const MachineOptions& options);
// Writes a find as a case file, with the reference's values where there are few. Returns its path.
std::string WriteFind(const std::string& folder, std::string_view machine, uint64_t module_seed,
                      const Find& find);

}  // namespace hlo::fuzz
