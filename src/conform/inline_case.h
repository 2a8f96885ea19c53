#pragma once
// Runs an inline case, and returns its actual results for updates of the expectations.

#include <memory>
#include <string>
#include <vector>

#include "conform/case_text.h"
#include "conform/drawn.h"
#include "hlo_run/conform.h"

namespace hlo::conform {

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string report;
};

// The module of a case, parsed and checked.
struct LoadedCase {
  std::shared_ptr<const SourceText> source;  // Has the line numbers of the file.
  std::shared_ptr<const Module> module;      // Null if it does not parse.
  Diagnostics diagnostics;
  std::vector<CheckedModule> checked;  // One module, or none after errors.
};
void Load(const CaseText& text, const std::string& path, int64_t first_line, LoadedCase* out);

std::vector<DrawnDiagnostic> FoundDiagnostics(const LoadedCase& loaded);
// Returns the printed module or plan.
absl::StatusOr<std::string> PrintOf(const CaseText& text, const LoadedCase& loaded);
// Evaluates the module on the values of the `// in` and `// infeed` lines. Compares the values that the host
// received with the `// outfeed` lines and adds differences to the outcome.
absl::StatusOr<Literal> EvaluateCase(const CaseText& text, const LoadedCase& loaded,
                                     const EvaluateFn& evaluate, Outcome* outcome);

Outcome RunInlineCase(const CaseText& text, const std::string& path, int64_t first_line,
                      const CaseEvaluator& evaluator);
Outcome RunGoldenCase(const std::string& folder, const CaseEvaluator& evaluator, const ElidedValues& elided);
Outcome RunSnapshotCase(const std::string& path, const CaseEvaluator& evaluator, const ElidedValues& elided);
// Adds the mismatches, or the largest error within tolerance, to the outcome.
void AddComparison(const CompareReport& report, Outcome* outcome);
// Returns kUnsupported for Unimplemented, otherwise kFailed or kError as given.
Outcome OutcomeOf(const absl::Status& status, Verdict otherwise);

}  // namespace hlo::conform
