#pragma once
/// \file
/// Finds and runs conformance cases: inline cases in .hlo files (tests/README.md), golden folders
/// (module.hlo, inputs.npz, outputs.npz, case.json) and serialised snapshots.

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

/// A conformance case, not yet parsed.
struct Case {
  std::string path;  ///< The .hlo file, the golden folder, or the snapshot (.pb, .pbtxt).
  int64_t line = 0;  ///< The first line of an inline case; 0 for others.
  std::string name;  ///< The first comment of an inline case, or the path of a folder.
  std::string text;  ///< The directives, module and expectations of an inline case, with `foreach` expanded.

  bool is_golden() const { return line == 0; }  ///< True for snapshots as well.
};

/// Returns the cases in files and, recursively, in folders, sorted by path. A file in `paths` must contain
/// cases; .hlo files in folders need not. A snapshot is a case whose arguments must give its result, compared
/// by DefaultCompareRule or by the rules in PATH.json, which has the format of a golden folder's case.json.
absl::StatusOr<std::vector<Case>> FindCases(absl::Span<const std::string> paths);

class Host;

/// Evaluates a checked module on the arguments of its entry with the case's host. Unimplemented means that
/// the engine does not support the module.
using EvaluateFn = std::function<absl::StatusOr<Literal>(const CheckedModule&, std::vector<Literal>, Host*)>;

/// The same for a module of several devices (Executable::RunDevices): takes the arguments of each device and
/// returns their results; `emulate_xla_cpu` is that of DevicesOptions.
using EvaluateDevicesFn = std::function<absl::StatusOr<std::vector<Literal>>(
    const CheckedModule&, std::vector<std::vector<Literal>>, bool emulate_xla_cpu)>;

/// Evaluates the modules of cases. Without `devices`, cases of several devices are unsupported.
struct CaseEvaluator {
  EvaluateFn one;
  EvaluateDevicesFn devices = {};
};

/// The outcome of a case.
enum class Verdict : uint8_t {
  kPassed,
  kFailed,       ///< A value, a diagnostic or a print differs from the expectation.
  kUnsupported,  ///< The module is valid, but the engine cannot evaluate it; the report says why.
  kError,        ///< The case is malformed: it does not parse, or its inputs do not fit.
};
std::string_view Name(Verdict verdict);

/// The outcome of a case, with its location and the reason.
struct CaseResult {
  std::string path;
  int64_t line = 0;
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::string report;  ///< The reason, in a few lines; for a passed case the largest error, if any.
  double seconds = 0;
};
/// Runs a case. Elided constants get their values from `elided` first.
CaseResult RunCase(const Case& test, const CaseEvaluator& evaluator, const ElidedValues& elided = {});
CaseResult RunCase(const Case& test, const EvaluateFn& evaluate, const ElidedValues& elided = {});

/// Options of UpdateCaseFile.
struct UpdateOptions {
  bool values = false;
  EvaluateFn evaluate;  ///< Used only if `values` is set.
};
/// Rewrites the expectations of the inline cases in a file: diagnostics, prints and, if `values` is set, the
/// lines `// out`. Cases under `foreach` and golden folders stay as they are. Returns the number of cases
/// that changed.
absl::StatusOr<int64_t> UpdateCaseFile(const std::string& path, const UpdateOptions& options = {});

/// The number of cases by verdict, and the time of all.
struct ConformSummary {
  int64_t passed = 0, failed = 0, unsupported = 0, errors = 0;
  double seconds = 0;
};
ConformSummary Summarize(absl::Span<const CaseResult> results);
std::string ToString(const ConformSummary& summary);  ///< Returns one line.
/// Return the results as JSON and as JUnit XML.
std::string ConformJson(absl::Span<const CaseResult> results);
std::string ConformJUnit(absl::Span<const CaseResult> results);

}  // namespace hlo
#pragma GCC visibility pop
