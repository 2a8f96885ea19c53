#pragma once
// The generators of random modules, and the processing of failing modules.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shrink.h"

namespace hlo::fuzz {

struct GeneratorOptions {
  uint64_t seed = 1;
  double seconds = 60;
  int64_t count = int64_t{1} << 40;  // Maximum number of modules.
  std::vector<std::string> folders;  // Folders of modules for mutations.
  std::string finds = "fuzz-finds";  // Folder for shrunk modules.
  std::vector<std::string> configs;  // Configurations to use; by default a random selection per module.
  bool stops_at_first = false;
};
struct RunCounts {
  int64_t modules = 0, finds = 0, skipped = 0, invalid = 0;
  std::map<std::string, int64_t> reasons;  // Reasons for not comparing modules.
};

// Returns the names of the generators.
std::vector<std::string> GeneratorNames();
// Returns true for these names and for the names of idioms.
bool IsGenerator(std::string_view name);
// Returns the module of a generator for a seed; empty if there is none.
std::string MakeModule(std::string_view generator, uint64_t seed, const GeneratorOptions& options);
// Tests modules until the time is over; prints, shrinks and writes failing ones.
RunCounts RunGenerator(std::string_view generator, const GeneratorOptions& options);
// Runs a file in the configurations of the options, by default in all; the arguments use the seed in its
// comment `// seed N`.
Verdict Replay(const std::string& path, const GeneratorOptions& options);
// Shrinks a failing file and writes the result to the folder of finds. Returns its path; empty if the file
// passes.
std::string ShrinkFile(const std::string& path, const GeneratorOptions& options);
// Writes a find as a case file, with the reference's values if there are few. Returns its path.
std::string WriteFind(const std::string& folder, std::string_view generator, uint64_t module_seed,
                      const Find& find);

}  // namespace hlo::fuzz
