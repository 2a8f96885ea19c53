#pragma once
// Running one inline case, and what it really gives, for rewriting its expectations.

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

// A case's module, read and checked.
struct LoadedCase {
  std::shared_ptr<const SourceText> source;  // Lines are numbered as in the file.
  std::shared_ptr<const Module> module;      // Null when it does not parse.
  Diagnostics diagnostics;
  std::vector<CheckedModule> checked;  // One, or none when there were errors.
};
void Load(const CaseText& text, const std::string& path, int64_t first_line, LoadedCase* out);

std::vector<Drawing> FoundDrawings(const LoadedCase& loaded);
// The module, or its plan, as it is printed.
absl::StatusOr<std::string> PrintOf(const CaseText& text, const LoadedCase& loaded);
// Evaluates on the values of the `// in` and `// infeed` lines. What the host was given is compared with the
// `// outfeed` lines; differences are added to the outcome.
absl::StatusOr<Literal> EvaluateCase(const CaseText& text, const LoadedCase& loaded,
                                     const EvaluateFn& evaluate, Outcome* outcome);

Outcome RunInlineCase(const CaseText& text, const std::string& path, int64_t first_line,
                      const EvaluateFn& evaluate);
Outcome RunGoldenCase(const std::string& folder, const EvaluateFn& evaluate, const ElidedValues& elided);
Outcome RunSnapshotCase(const std::string& path, const EvaluateFn& evaluate, const ElidedValues& elided);
// Compares under the rule and adds what differs, or how far what passes is off, to the outcome.
void AddComparison(const CompareReport& report, Outcome* outcome);
// kUnsupported for Unimplemented, else kFailed or kError.
Outcome OutcomeOf(const absl::Status& status, Verdict otherwise);

}  // namespace hlo::conform
