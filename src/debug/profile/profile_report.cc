#include "debug/profile/profile_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

using Json = nlohmann::ordered_json;

struct StepWork {
  double flops, bytes;
  // FLOPs per byte.
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};
StepWork StepWorkOf(const Profile::Row& row) {
  const auto runs = static_cast<double>(row.runs);
  return {runs * static_cast<double>(row.cost.flops + row.cost.transcendentals),
          runs * (static_cast<double>(row.cost.bytes_read) + static_cast<double>(row.cost.bytes_written))};
}

// The shortest time that the peaks allow, and what sets it.
struct Bound {
  double seconds = 0;
  std::string_view by;
};
Bound BoundOf(const StepWork& work, const MachinePeaks& peaks) {
  const double compute = work.flops / peaks.flops_per_second, memory = work.bytes / peaks.bytes_per_second;
  return compute > memory ? Bound{compute, "compute"} : Bound{memory, "memory"};
}

// Time by instruction of the module that the profile saw, with the callers of each computation.
std::map<const Instruction*, double> TimesInEntry(const Module& module, const Profile& profile) {
  std::map<const Computation*, const Instruction*> caller;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations())
        caller.emplace(callee, instruction);
    }
  }
  std::map<const Instruction*, double> times;
  for (const Profile::Row& row : profile.ByInstruction()) {
    const Instruction* instruction = row.instruction;
    while (instruction->parent() != module.entry() && caller.contains(instruction->parent()))
      instruction = caller.at(instruction->parent());
    times[instruction] += row.seconds;
  }
  return times;
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string_view OpName(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  return metadata == nullptr ? "" : metadata->op_name;
}

// The name of an instruction in two modules of one program may differ only in its number.
std::string RowKey(std::string_view instruction, std::string_view kernel) {
  return fmt::format("{} {}", instruction, kernel);
}

std::string ChangeLine(const ProfileChange& change) {
  const std::string ratio = change.before > 0 && change.after > 0
                                ? fmt::format("{:.2f}", change.after / change.before)
                            : change.before > 0 ? "gone"
                                                : "new";
  return fmt::format("{:>10.4f} {:>10.4f} {:>+10.4f} {:>6}  {}\n", change.before * 1e3, change.after * 1e3,
                     (change.after - change.before) * 1e3, ratio, change.step);
}

}  // namespace

std::string RooflineText(const Profile& profile, const MachinePeaks& peaks, int64_t top) {
  std::string text = fmt::format(
      "peaks measured: {:.4g} GFLOP/s in a product of matrices, {:.4g} GB/s; data in caches can be "
      "faster\n{:>10} {:>9} {:>8} {:>7}  {}\n",
      peaks.flops_per_second / 1e9, peaks.bytes_per_second / 1e9, "ms", "FLOP/byte", "bound by", "% of it",
      "instruction");
  const std::vector<Profile::Row> rows = profile.ByInstruction();
  for (size_t i = 0; i < rows.size() && static_cast<int64_t>(i) < top; ++i) {
    const StepWork work = StepWorkOf(rows[i]);
    const Bound bound = BoundOf(work, peaks);
    text += fmt::format("{:>10.4f} {:>9.3g} {:>8} {:>7.1f}  {} {}\n", rows[i].seconds * 1e3, work.intensity(),
                        bound.by, rows[i].seconds > 0 ? bound.seconds / rows[i].seconds * 100 : 0.0,
                        Name(rows[i].instruction->opcode()), rows[i].instruction->name());
  }
  return text;
}

Json RooflineJson(const Profile& profile, const MachinePeaks& peaks) {
  Json rows = Json::array();
  for (const Profile::Row& row : profile.ByInstruction()) {
    const StepWork work = StepWorkOf(row);
    const Bound bound = BoundOf(work, peaks);
    rows.push_back({{"instruction", row.instruction->name()},
                    {"flops_per_byte", work.intensity()},
                    {"bound", bound.by},
                    {"fraction", row.seconds > 0 ? bound.seconds / row.seconds : 0}});
  }
  return {{"peak_flops_per_s", peaks.flops_per_second},
          {"peak_bytes_per_s", peaks.bytes_per_second},
          {"steps", std::move(rows)}};
}

Chain LongestChain(const Module& module, const Profile& profile) {
  const std::map<const Instruction*, double> times = TimesInEntry(module, profile);
  const auto time_of = [&](const Instruction* instruction) {
    const auto found = times.find(instruction);
    return found == times.end() ? 0.0 : found->second;
  };
  std::map<const Instruction*, double> until;  // With the instruction itself.
  std::map<const Instruction*, const Instruction*> before;
  const Instruction* last = nullptr;
  for (const Instruction* instruction : module.entry()->instructions()) {
    double longest = 0;
    for (const Instruction* operand : instruction->operands()) {
      if (before.contains(instruction) && until[operand] <= longest) continue;
      longest = until[operand];
      before[instruction] = operand;
    }
    until[instruction] = longest + time_of(instruction);
    if (last == nullptr || until[instruction] > until[last]) last = instruction;
  }
  Chain chain;
  chain.seconds = last == nullptr ? 0 : until[last];
  for (; last != nullptr; last = before.contains(last) ? before[last] : nullptr) {
    if (time_of(last) > 0) chain.instructions.push_back(last);
  }
  std::reverse(chain.instructions.begin(), chain.instructions.end());
  return chain;
}

std::string ChainText(const Chain& chain, const Profile& profile, double total, int64_t top) {
  const Module* module = chain.instructions.empty() ? nullptr : chain.instructions[0]->parent()->module();
  std::string text = fmt::format("the longest chain of dependent steps: {:.4f} ms of {:.4f} ms, {} steps\n",
                                 chain.seconds * 1e3, total * 1e3, chain.instructions.size());
  if (module == nullptr) return text;
  const std::map<const Instruction*, double> times = TimesInEntry(*module, profile);
  size_t shown = 0;
  for (const Instruction* instruction : chain.instructions) {
    if (static_cast<int64_t>(++shown) > top) {
      text += fmt::format("{:>10} and {} more (see --top)\n", "...", chain.instructions.size() - shown + 1);
      break;
    }
    text += fmt::format("{:>10.4f}  {} {}\n", times.at(instruction) * 1e3, Name(instruction->opcode()),
                        instruction->name());
  }
  return text;
}

std::string FoldedStacks(const Profile& profile) {
  std::map<std::string, double> stacks;
  for (const Profile::Row& row : profile.ByInstruction()) {
    std::string stack;
    for (const std::string_view part : std::vector<std::string>(
             absl::StrSplit(std::string(OpName(*row.instruction)), '/', absl::SkipEmpty())))
      stack += fmt::format("{};", part);
    stacks[stack + std::string(row.instruction->name())] += row.seconds;
  }
  std::string text;
  for (auto& [stack, seconds] : stacks) {
    std::string words = stack;
    // Blanks separate the count and newlines the stacks in this format.
    std::replace_if(
        words.begin(), words.end(), [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); },
        '_');
    text += fmt::format("{} {}\n", words, std::llround(seconds * 1e6));
  }
  return text;
}

std::string ProfileCsv(const Profile& profile) {
  std::string text = "instruction,opcode,kernel,runs,seconds,flops,bytes,op_name\n";
  for (const Profile::Row& row : profile.ByInstruction()) {
    const StepWork work = StepWorkOf(row);
    text += fmt::format("{},{},{},{},{:.9g},{:.17g},{:.17g},{}\n", CsvField(row.instruction->name()),
                        Name(row.instruction->opcode()), CsvField(row.kernel), row.runs, row.seconds,
                        work.flops, work.bytes, CsvField(OpName(*row.instruction)));
  }
  return text;
}

absl::StatusOr<EarlierProfile> ReadEarlierProfile(std::string_view json) {
  const absl::Status wrong =
      absl::InvalidArgumentError("the file is not an output of `hlo-run profile --format=json`");
  const Json profile = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!profile.is_object() || !profile.contains("steps") || !profile["steps"].is_array()) return wrong;
  EarlierProfile seconds;
  for (const Json& row : profile["steps"]) {
    if (!row.is_object()) return wrong;
    const Json instruction = row.value("instruction", Json("")), kernel = row.value("kernel", Json(""));
    const Json time = row.value("seconds", Json(0.0));
    if (!instruction.is_string() || !kernel.is_string() || !time.is_number()) return wrong;
    seconds[RowKey(instruction.get<std::string>(), kernel.get<std::string>())] += time.get<double>();
  }
  return seconds;
}

std::vector<ProfileChange> CompareProfiles(const EarlierProfile& before, const Profile& after) {
  std::map<std::string, ProfileChange> by_step;
  ProfileChange all{"all steps"};
  for (const auto& [step, seconds] : before) {
    by_step[step].before = seconds;
    all.before += seconds;
  }
  for (const Profile::Row& row : after.ByInstruction()) {
    by_step[RowKey(row.instruction->name(), row.kernel)].after += row.seconds;
    all.after += row.seconds;
  }
  std::vector<ProfileChange> changes = {all};
  for (const auto& [step, change] : by_step) changes.push_back({step, change.before, change.after});
  std::stable_sort(changes.begin() + 1, changes.end(), [](const ProfileChange& a, const ProfileChange& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  return changes;
}

std::string ChangesText(const std::vector<ProfileChange>& changes, int64_t top) {
  std::string text = fmt::format("{:>10} {:>10} {:>10} {:>6}  {}\n", "before ms", "after ms", "change",
                                 "ratio", "instruction, kernel");
  for (size_t i = 0; i < changes.size() && static_cast<int64_t>(i) <= top; ++i)
    text += ChangeLine(changes[i]);
  return text;
}

Json ChangesJson(const std::vector<ProfileChange>& changes) {
  Json json = Json::array();
  for (const ProfileChange& change : changes)
    json.push_back({{"step", change.step}, {"before_s", change.before}, {"after_s", change.after}});
  return json;
}

}  // namespace hlo::debug
