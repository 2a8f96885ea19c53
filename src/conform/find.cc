// Finds cases and runs them.

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status.h"
#include "conform/inline_case.h"
#include "fmt/format.h"
#include "hlo_run/conform.h"
#include "hlo_run/module_file.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::string UncompressedName(const fs::path& path) {
  const bool is_compressed = path.extension() == ".gz" || path.extension() == ".zst";
  return (is_compressed ? path.stem() : path.filename()).string();
}

bool IsSnapshot(const fs::path& path) {
  const std::string name = UncompressedName(path);
  return name.ends_with(".pb") || name.ends_with(".pbtxt");
}

// Dumps also contain messages without results: modules, arguments and others.
bool IsSnapshotOfFolder(const fs::path& path) {
  const std::string name = UncompressedName(path);
  return IsSnapshot(path) && SideFileKind(name).empty() && !name.ends_with(".hlo.pb") &&
         name.find("hlo_unoptimized_snapshot") == std::string::npos;
}

bool IsGoldenFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / "case.json", error) && fs::is_regular_file(path / "module.hlo", error);
}

// A case with invalid directives is kept; running it reports the error.
void AddCasesOf(const std::string& path, const conform::Block& block, std::vector<Case>* out) {
  absl::StatusOr<std::vector<conform::Instance>> instances = conform::Instances(block);
  if (!instances.ok()) instances = std::vector<conform::Instance>{{absl::StrJoin(block.lines, "\n"), ""}};
  for (conform::Instance& instance : *instances) {
    const absl::StatusOr<conform::CaseText> text = conform::ParseCaseText(instance.text);
    std::string name = text.ok() ? text->name : fmt::format("case at line {}", block.begin);
    if (!instance.choice.empty()) name += fmt::format(" ({})", instance.choice);
    out->push_back({path, block.begin, std::move(name), std::move(instance.text)});
  }
}

absl::Status AddFile(const std::string& path, bool must_hold_cases, std::vector<Case>* out) {
  if (IsSnapshot(path)) {
    out->push_back({path, 0, path, ""});
    return absl::OkStatus();
  }
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> text, SourceText::Read(path));
  const std::vector<conform::Block> blocks = conform::SplitBlocks(text->content());
  const bool has_cases = std::any_of(blocks.begin(), blocks.end(), conform::HasVerb);
  if (!has_cases && must_hold_cases) {
    return absl::InvalidArgumentError(
        fmt::format("{}: holds no case: expected a line `// run`, `// check` or `// print` in it", path));
  }
  for (const conform::Block& block : blocks) {
    if (has_cases) AddCasesOf(path, block, out);
  }
  return absl::OkStatus();
}

absl::Status AddFolder(const fs::path& folder, std::vector<Case>* out) {
  if (IsGoldenFolder(folder)) {
    out->push_back({folder.string(), 0, folder.string(), ""});
    return absl::OkStatus();
  }
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) return absl::NotFoundError(fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    // Symbolic links to folders are not followed, which prevents cycles.
    if (fs::is_directory(fs::symlink_status(entry, error))) {
      HLO_RETURN_IF_ERROR(AddFolder(entry, out));
    } else if ((entry.extension() == ".hlo" || IsSnapshotOfFolder(entry)) &&
               fs::is_regular_file(entry, error)) {
      HLO_RETURN_IF_ERROR(AddFile(entry.string(), /*must_hold_cases=*/false, out));
    }
  }
  return absl::OkStatus();
}

conform::Outcome OutcomeOfCase(const Case& test, const CaseEvaluator& evaluator, const ElidedValues& elided) {
  if (test.is_golden() && IsSnapshot(test.path))
    return conform::RunSnapshotCase(test.path, evaluator, elided);
  if (test.is_golden()) return conform::RunGoldenCase(test.path, evaluator, elided);
  absl::StatusOr<conform::CaseText> text = conform::ParseCaseText(test.text);
  if (!text.ok()) return conform::OutcomeOf(text.status(), Verdict::kError);
  return conform::RunInlineCase(*text, test.path, test.line, evaluator);
}

}  // namespace

absl::StatusOr<std::vector<Case>> FindCases(absl::Span<const std::string> paths) {
  std::vector<Case> cases;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      HLO_RETURN_IF_ERROR(AddFolder(path, &cases));
    } else {
      HLO_RETURN_IF_ERROR(AddFile(path, /*must_hold_cases=*/true, &cases));
    }
  }
  return cases;
}

CaseResult RunCase(const Case& test, const EvaluateFn& evaluate, const ElidedValues& elided) {
  return RunCase(test, CaseEvaluator{.one = evaluate}, elided);
}

CaseResult RunCase(const Case& test, const CaseEvaluator& evaluator, const ElidedValues& elided) {
  const double start = SteadySeconds();
  conform::Outcome outcome = OutcomeOfCase(test, evaluator, elided);
  return {
      test.path, test.line, test.name, outcome.verdict, std::move(outcome.report), SteadySeconds() - start};
}

}  // namespace hlo
