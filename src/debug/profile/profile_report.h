#pragma once
// Views of a profile: roofline, longest dependency chain, folded stacks, CSV, and comparison with an earlier
// one.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/module.h"
#include "nlohmann/json.hpp"
#include "observe/profile.h"

namespace hlo::debug {

// The rates that the machine reaches in kernels of the fast engine.
struct MachinePeaks {
  double flops_per_second = 0;  // Measured in the product of f32 matrices.
  double bytes_per_second = 0;  // Measured in a loop that reads and writes large arrays.
};
absl::StatusOr<MachinePeaks> MeasurePeaks();
// Returns a table: the intensity of each step in FLOPs per byte, what limits it, and its share of that limit.
std::string RooflineText(const Profile& profile, const MachinePeaks& peaks, int64_t top);
nlohmann::ordered_json RooflineJson(const Profile& profile, const MachinePeaks& peaks);

// The chain of dependent instructions of the entry computation that takes the longest. Times in called
// computations count for their callers.
struct Chain {
  std::vector<const Instruction*> instructions;  // The instructions that take time, in order.
  double seconds = 0;
};
Chain LongestChain(const Module& module, const Profile& profile);
std::string ChainText(const Chain& chain, const Profile& profile, double total, int64_t top);

// Returns lines `jit(f);layer;dot 120` for flame graphs: the parts of op_name, and microseconds.
std::string FoldedStacks(const Profile& profile);
std::string ProfileCsv(const Profile& profile);

// The seconds of each step of an earlier profile, by instruction and kernel.
using EarlierProfile = std::map<std::string, double>;
// Parses the output of `hlo-run profile --format=json`.
absl::StatusOr<EarlierProfile> ReadEarlierProfile(std::string_view json);
// The times of a step, or of all steps, in two profiles.
struct ProfileChange {
  std::string step;  // The instruction and its kernel.
  double before = 0, after = 0;
};
// Returns the change of all steps together, followed by those of single steps, the largest first.
std::vector<ProfileChange> CompareProfiles(const EarlierProfile& before, const Profile& after);
std::string ChangesText(const std::vector<ProfileChange>& changes, int64_t top);
nlohmann::ordered_json ChangesJson(const std::vector<ProfileChange>& changes);

}  // namespace hlo::debug
