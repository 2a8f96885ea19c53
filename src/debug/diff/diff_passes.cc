#include "debug/diff/diff_passes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/activity.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"

namespace hlo::debug {
namespace {

// Returns 0 for dumps before the optimisations, 1 for those of passes, 2 for those after them.
int Stage(const std::string& pass) {
  if (pass.ends_with("before_optimizations")) return 0;
  return pass.ends_with("after_optimizations") ? 2 : 1;
}

std::tuple<int, std::string> PassOrder(const std::string& file) {
  const std::string pass = ParseDumpName(file).pass;
  return {Stage(pass), pass};
}

// The last dump that ran.
struct Previous {
  std::string file;
  LoadedDump dump;
  Literal result;
};

absl::StatusOr<Previous> RunDump(const std::string& file, LoadedDump dump, const DiffOptions& options) {
  HLO_ASSIGN_OR_RETURN(Literal result,
                       Execute(dump.module, dump.arguments, options.engine, options.evaluate));
  return Previous{file, std::move(dump), std::move(result)};
}

absl::Status CompareWithPrevious(const Previous& before, const Previous& after, const DiffOptions& options,
                                 PassDiff& all) {
  ++all.compared;
  const DiffOptions strict = options.rule ? options : WithoutTolerance(options);
  if (!CompareValues(before.result, after.result, strict)) return absl::OkStatus();
  DiffResult known;
  absl::StatusOr<DiffResult> diff =
      Diff(before.dump.module, after.dump.module, before.dump.arguments, options, &known);
  absl::Status status = diff.status();
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  if (status.ok() && diff->results.empty()) return absl::OkStatus();
  all.changes.push_back({before.file, after.file, status.ok() ? *std::move(diff) : std::move(known)});
  return status;
}

}  // namespace

std::vector<DumpSeries> SortDumps(const std::vector<std::string>& files) {
  std::map<std::string, DumpSeries> series;
  for (const std::string& file : files) {
    const DumpName name = ParseDumpName(file);
    if (name.pass.empty()) continue;
    series.try_emplace(name.module, DumpSeries{name.module, {}}).first->second.files.push_back(file);
  }
  std::vector<DumpSeries> sorted;
  for (auto& [module, one] : series) {
    std::sort(one.files.begin(), one.files.end(),
              [](const std::string& a, const std::string& b) { return PassOrder(a) < PassOrder(b); });
    sorted.push_back(std::move(one));
  }
  return sorted;
}

absl::StatusOr<PassDiff> DiffPasses(const DumpSeries& series, const LoadDump& load,
                                    const DiffOptions& options) {
  PassDiff all;
  all.module = series.module;
  std::optional<Previous> previous;
  std::string last_text;
  for (size_t number = 0; number < series.files.size(); ++number) {
    const std::string& file = series.files[number];
    Report({.what = fmt::format("comparing {}", ParseDumpName(file).pass),
            .done = static_cast<int64_t>(number),
            .total = static_cast<int64_t>(series.files.size()),
            .unit = "dumps"});
    absl::StatusOr<LoadedDump> dump = load(file);
    const auto skip = [&](const absl::Status& status) {
      all.skipped.push_back(fmt::format("{}: {}", file, Message(status)));
    };
    if (!dump.ok()) {
      skip(dump.status());
      continue;
    }
    const bool is_unchanged = dump->text == std::exchange(last_text, dump->text);
    all.unchanged += is_unchanged;
    if (is_unchanged) continue;
    absl::StatusOr<Previous> now = RunDump(file, *std::move(dump), options);
    if (absl::IsCancelled(now.status())) {
      all.is_complete = false;
      break;
    }
    if (!now.ok()) {
      skip(now.status());
      continue;
    }
    const absl::Status compared =
        previous ? CompareWithPrevious(*previous, *now, options, all) : absl::OkStatus();
    if (absl::IsCancelled(compared)) {
      all.is_complete = false;
      break;
    }
    HLO_RETURN_IF_ERROR(compared);
    previous = *std::move(now);
  }
  return all;
}

}  // namespace hlo::debug
