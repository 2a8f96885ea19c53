#pragma once
// Does an engine compute what is recorded? Cases inline in .hlo files (tests/README.md) and golden folders
// (module.hlo, inputs.npz, outputs.npz, case.json): finding them, running them, reports.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/check.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"

#pragma GCC visibility push(default)
namespace hlo {

struct Case {
  std::string path;  // The .hlo file, the golden folder, or the snapshot (.pb, .pbtxt).
  int64_t line = 0;  // Where an inline case begins; 0 for a golden folder or a snapshot.
  std::string name;  // The first comment of an inline case, the path of a folder.
  std::string text;  // Inline cases: directives, module and expectations, `foreach` already applied.

  bool is_golden() const { return line == 0; }  // Or a snapshot.
};

// The cases of files and, recursively, of folders, in the order of their paths. A file that is named must
// hold cases; in a folder, .hlo files without any are passed over. A serialised snapshot is a case: its
// arguments give its result, integers exactly, f64 within 1e-9, other floats within 1e-4 or four epsilons of
// their type; or by the rules of PATH.json beside it, as in a golden folder's case.json.
absl::StatusOr<std::vector<Case>> FindCases(absl::Span<const std::string> paths);

class Host;

// Evaluates a checked module on the arguments of its entry, with the host of the case. Unimplemented means
// that the engine cannot.
using EvaluateFn = std::function<absl::StatusOr<Literal>(const CheckedModule&, std::vector<Literal>, Host*)>;

enum class Verdict : uint8_t {
  kPassed,
  kFailed,       // Another value, another diagnostic, another print than expected.
  kUnsupported,  // Valid, but the engine cannot evaluate it; the report names what it lacks.
  kError,        // The case itself is wrong: it does not parse, its inputs do not fit.
};
std::string_view Name(Verdict verdict);

struct CaseResult {
  std::string path;
  int64_t line = 0;
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::string
      report;  // Why, in some lines; for a passed case how far the farthest element was off, or nothing.
  double seconds = 0;
};
// Constants without elements get values first, where `elided` has some.
CaseResult RunCase(const Case& test, const EvaluateFn& evaluate, const ElidedValues& elided = {});

// Rewrites what the inline cases of a file expect: diagnostics drawn under their lines, prints, and with
// `values` the
// `// out` lines. Cases under `foreach` and golden folders stay as they are. Returns how many cases changed.
struct UpdateOptions {
  bool values = false;
  EvaluateFn evaluate;  // Only for values.
};
absl::StatusOr<int64_t> UpdateCaseFile(const std::string& path, const UpdateOptions& options = {});

struct ConformSummary {
  int64_t passed = 0, failed = 0, unsupported = 0, errors = 0;
  double seconds = 0;
};
ConformSummary Summarize(absl::Span<const CaseResult> results);
std::string ToString(const ConformSummary& summary);  // One line.
std::string ConformJson(absl::Span<const CaseResult> results);
std::string ConformJUnit(absl::Span<const CaseResult> results);

}  // namespace hlo
#pragma GCC visibility pop
