#pragma once
// Finds the first value in which two modules differ beyond rounding.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/diff/align.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"

namespace hlo::debug {

struct DiffOptions {
  std::optional<CompareRule> rule;  // The tolerance for floats; by default DefaultCompareRule of their type.
  Engine engine = Engine::kFast;
  EvaluateOptions evaluate;
  int64_t max_bytes = int64_t{1} << 30;  // The size of the values that are compared in one run.
  // Only differences beyond a proven bound of rounding errors are confirmed.
  bool needs_proof = false;
};

// Returns the rule for arrays of a type. Tolerances do not apply to integers and predicates.
CompareRule RuleFor(ElementType type, const DiffOptions& options);
// Returns the options for which all values differ that are more than an ULP apart.
DiffOptions WithoutTolerance(const DiffOptions& options);

// A value in both modules.
struct ComparedValue {
  std::string a_path, b_path;        // The instruction with its callers: `fusion.3/add.1`.
  std::string a_text, b_text;        // The text of the instruction.
  std::string a_summary, b_summary;  // Summaries of the values.
  std::string op_name, source;       // The origin in the user's program; empty if unknown.
  std::string aligned_by;
  std::optional<CompareReport> worst;  // The leaf with the most mismatches; nullopt if the values agree.
};

// The first value that differs.
struct Divergence {
  std::vector<std::string> inside;  // The loops and branches around it: `iteration 3 of while.5`.
  ComparedValue value;
  std::vector<ComparedValue> operands;  // The nearest values above it that both modules have; all agree.
  // True if both modules compute different values from the same operands; otherwise rounding errors of the
  // operands grow beyond the tolerance.
  bool confirmed = false;
  std::string note;
};

struct DiffResult {
  int64_t a_instructions = 0, b_instructions = 0, aligned = 0;
  std::map<std::string, int64_t> aligned_by;  // The number of pairs by their evidence.
  int64_t differing = 0;                      // The number of aligned values that differ.
  int64_t drifting = 0;  // The number of them that agree if they are computed from equal operands.
  std::vector<ComparedValue> results;  // The results that differ.
  int64_t tolerated = 0;  // The number of results that differ by more than an ULP, but within the tolerance.
  // True if all results are within the default tolerance, but rounding does not explain why those in
  // `results` differ.
  bool within_tolerance = false;
  std::optional<Divergence> first;
  // The progress of the comparison.
  bool has_results = false, is_complete = false;
  int64_t compared = 0;         // The number of aligned values whose values were compared.
  std::string first_differing;  // The path of the first of them that differs.
};

// Runs both modules on the arguments of `a`. Results that differ within the default tolerance are differences
// only if one exceeds a proven bound of rounding errors; a tolerance in the options is the user's decision.
// If the comparison fails, `partial`, which may be null, has what is known so far.
absl::StatusOr<DiffResult> Diff(const CheckedModule& a, const CheckedModule& b,
                                const std::vector<Literal>& arguments, const DiffOptions& options = {},
                                DiffResult* partial = nullptr);

// Recorded values of single iterations of loops and of elements of tuples, under the keys of `trace`.
struct RecordedIterations {
  struct Value {
    std::string heading;             // The instruction and the iteration.
    std::string text;                // The text of the instruction.
    std::string computed, recorded;  // Summaries of the values.
    CompareReport report;
    bool operands_agree = false;  // True if those recorded in the same iteration agree, and none is missing.
  };
  int64_t compared = 0, differing = 0, unknown_keys = 0;
  // The first value in order of execution that differs although its operands agree; without one, the first
  // that differs.
  std::optional<Value> first;
};

// Compares the module's values with recorded ones, keyed by instruction name. Keys of other instructions are
// counted in `unknown_keys`.
struct RecordedDiffResult {
  int64_t recorded = 0, compared = 0, differing = 0, unknown_keys = 0;
  std::vector<std::string> unreadable;  // Keys whose arrays have another shape or type.
  std::optional<Divergence> first;
  RecordedIterations iterations;
  // If false, only those values differ that do not follow from the recorded ones above them.
  bool is_complete = false;
};
// If the comparison fails, `partial`, which may be null, has what is known so far.
absl::StatusOr<RecordedDiffResult> DiffRecorded(const CheckedModule& module, Archive& recorded,
                                                const std::vector<Literal>& arguments,
                                                const DiffOptions& options = {},
                                                RecordedDiffResult* partial = nullptr);

// Compares without running.
struct StructuralChange {
  std::string a_path, b_path;  // Empty where the instruction is missing.
  std::string a_text, b_text;
};
struct StructuralDiff {
  int64_t same = 0;
  std::vector<StructuralChange> changed, only_a, only_b;
};
StructuralDiff DiffStructure(const CheckedModule& a, const CheckedModule& b);

// Returns the comparison with the most mismatches among the leaves; nullopt if all of them agree.
std::optional<CompareReport> CompareValues(const Literal& a, const Literal& b, const DiffOptions& options);

}  // namespace hlo::debug
