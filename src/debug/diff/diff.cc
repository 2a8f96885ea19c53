#include "debug/diff/diff.h"

#include <algorithm>

#include "base/activity.h"
#include "base/counted.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/diff/value_types.h"
#include "debug/program_place.h"
#include "debug/statistics.h"
#include "fmt/format.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

std::string TextOf(const FlatModule& flat, const Instruction& instruction) {
  return Print(flat.OriginalOf(instruction),
               {.metadata = false, .layouts = false, .large_constants = false, .backend_config = false});
}

int64_t ByteCount(const Instruction& instruction) { return DenseByteCount(instruction.shape()).value_or(0); }

}  // namespace

CompareRule RuleFor(ElementType type, const DiffOptions& options) {
  const bool is_exact = IsIntegral(type) || type == ElementType::kPred;
  return options.rule && !is_exact ? *options.rule : DefaultCompareRule(type);
}

DiffOptions WithoutTolerance(const DiffOptions& options) {
  DiffOptions strict = options;
  strict.rule = CompareRule::Ulp(1);
  return strict;
}

std::optional<CompareReport> CompareValues(const Literal& a, const Literal& b, const DiffOptions& options) {
  const std::vector<LiteralLeaf> leaves_a = ArrayLeaves(a), leaves_b = ArrayLeaves(b);
  std::optional<CompareReport> worst;
  for (size_t i = 0; i < std::min(leaves_a.size(), leaves_b.size()); ++i) {
    const CommonTypes common = InNarrowerType(*leaves_a[i].value, *leaves_b[i].value);
    CompareReport report = CompareArrays(common.b, common.a, RuleFor(common.a.type(), options));
    report.key = leaves_a[i].key;
    if (!report.ok() && (!worst || report.mismatch_count > worst->mismatch_count)) worst = report;
  }
  return worst;
}

absl::StatusOr<std::vector<Literal>> RunCone(const FlatModule& flat,
                                             absl::Span<const Instruction* const> roots,
                                             const absl::flat_hash_set<const Instruction*>& edges,
                                             const NodeValues& known, const DiffOptions& options) {
  if (roots.empty()) return std::vector<Literal>();
  HLO_ASSIGN_OR_RETURN(const Cone cone, MakeCone(flat, roots, edges));
  std::vector<Literal> arguments;
  for (const Instruction* parameter : cone.parameters) arguments.push_back(known.at(parameter));
  HLO_ASSIGN_OR_RETURN(const Literal all,
                       Execute(cone.module, std::move(arguments), options.engine, options.evaluate));
  return std::vector<Literal>(all.elements().begin(), all.elements().end());
}

absl::StatusOr<std::vector<Literal>> ComputeValues(const FlatModule& flat,
                                                   absl::Span<const Instruction* const> roots,
                                                   const NodeValues& known, const DiffOptions& options) {
  absl::flat_hash_set<const Instruction*> edges;
  for (const auto& [instruction, value] : known) edges.insert(instruction);
  std::vector<const Instruction*> unknown;
  for (const Instruction* root : roots) {
    if (!known.contains(root)) unknown.push_back(root);
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> computed, RunCone(flat, unknown, edges, known, options));
  std::vector<Literal> values;
  for (size_t i = 0, next = 0; i < roots.size(); ++i)
    values.push_back(known.contains(roots[i]) ? known.at(roots[i]) : computed[next++]);
  return values;
}

NodeValues ParameterValues(const FlatModule& flat, const std::vector<Literal>& arguments) {
  NodeValues values;
  for (size_t i = 0; i < arguments.size(); ++i)
    values[flat.computation().parameter(static_cast<int64_t>(i))] = arguments[i];
  return values;
}

ComparedValue Describe(const FlatModule& flat_a, const FlatModule& flat_b, const AlignedPair& pair,
                       const Literal& a, const Literal& b, const DiffOptions& options) {
  ComparedValue value;
  value.a_path = flat_a.PathOf(*pair.a);
  value.b_path = flat_b.PathOf(*pair.b);
  value.a_text = TextOf(flat_a, *pair.a);
  value.b_text = TextOf(flat_b, *pair.b);
  value.a_summary = DescribeValue(a);
  value.b_summary = DescribeValue(b);
  value.aligned_by = Name(pair.by);
  value.worst = CompareValues(a, b, options);
  const Instruction &original_a = flat_a.OriginalOf(*pair.a), &original_b = flat_b.OriginalOf(*pair.b);
  const bool has_metadata = original_a.Has<attr::metadata>();
  const Instruction& original = has_metadata ? original_a : original_b;
  value.op_name = has_metadata ? flat_a.OpNameOf(*pair.a) : flat_b.OpNameOf(*pair.b);
  value.source = SourceLine(original);
  return value;
}

absl::Status DiffRun::CheckInterfaces() const {
  if (interface_) return absl::OkStatus();
  const auto a = flat_a_.computation().parameters(), b = flat_b_.computation().parameters();
  if (a.size() != b.size())
    return absl::FailedPreconditionError(
        fmt::format("the modules cannot run on the same inputs: one has {}, the other {}",
                    Counted(a.size(), "parameter"), b.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    if (Compatible(a[i]->shape(), b[i]->shape())) continue;
    return absl::FailedPreconditionError(
        fmt::format("the modules cannot run on the same inputs: parameter {} is {} and {}", i,
                    ToString(a[i]->shape()), ToString(b[i]->shape())));
  }
  if (flat_a_.results().size() != flat_b_.results().size())
    return absl::FailedPreconditionError(fmt::format("the modules have {} and {} results",
                                                     flat_a_.results().size(), flat_b_.results().size()));
  return absl::OkStatus();
}

std::vector<AlignedPair> DiffRun::ResultPairs() const {
  std::vector<AlignedPair> pairs;
  for (const auto& [i, j] : interface_->results)
    pairs.push_back({flat_a_.results()[static_cast<size_t>(i)], flat_b_.results()[static_cast<size_t>(j)],
                     AlignedBy::kResult});
  return pairs;
}

absl::StatusOr<DiffRun::PairValues> DiffRun::ComputePairs(absl::Span<const AlignedPair> pairs) const {
  std::vector<const Instruction*> a, b;
  for (const AlignedPair& pair : pairs) {
    a.push_back(pair.a);
    b.push_back(pair.b);
  }
  PairValues values;
  HLO_ASSIGN_OR_RETURN(values.a, ComputeValues(flat_a_, a, arguments_a_, options_));
  HLO_ASSIGN_OR_RETURN(values.b, ComputeValues(flat_b_, b, arguments_b_, options_));
  return values;
}

absl::Status DiffRun::CompareChunk(absl::Span<const AlignedPair> pairs) {
  HLO_ASSIGN_OR_RETURN(const PairValues values, ComputePairs(pairs));
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (CompareValues(values.a[i], values.b[i], options_)) differing_.insert(pairs[i].b);
  }
  return absl::OkStatus();
}

// Compares all pairs in chunks, so that few values are in memory at the same time.
absl::Status DiffRun::CompareAll(DiffResult& result) {
  const std::vector<AlignedPair>& pairs = alignment_->pairs();
  for (size_t begin = 0; begin < pairs.size();) {
    size_t end = begin;
    int64_t bytes = 0;
    while (end < pairs.size() && (end == begin || bytes + 2 * ByteCount(*pairs[end].a) <= options_.max_bytes))
      bytes += 2 * ByteCount(*pairs[end++].a);
    hlo::Report({.what = "comparing aligned values",
                 .done = static_cast<int64_t>(begin),
                 .total = static_cast<int64_t>(pairs.size()),
                 .unit = "values"});
    HLO_RETURN_IF_ERROR(CompareChunk(absl::MakeConstSpan(pairs).subspan(begin, end - begin)));
    for (; begin < end; ++begin) {
      if (result.first_differing.empty() && Differs(pairs[begin]))
        result.first_differing = flat_a_.PathOf(*pairs[begin].a);
    }
    result.compared = static_cast<int64_t>(end);
    result.differing = static_cast<int64_t>(differing_.size());
  }
  return absl::OkStatus();
}

absl::Status DiffRun::CompareResults(DiffResult& result) {
  const std::vector<AlignedPair> pairs = ResultPairs();
  std::vector<const Instruction*> results_a, results_b;
  for (const AlignedPair& pair : pairs) {
    results_a.push_back(pair.a);
    results_b.push_back(pair.b);
  }
  hlo::Report({.what = "running the first module"});
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> a,
                       ComputeValues(flat_a_, results_a, arguments_a_, options_));
  hlo::Report({.what = "running the second module"});
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> b,
                       ComputeValues(flat_b_, results_b, arguments_b_, options_));
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (!IsComparable(a[i].shape(), b[i].shape()))
      return absl::FailedPreconditionError(
          fmt::format("result {} is {} and {}", i, ToString(a[i].shape()), ToString(b[i].shape())));
    ComparedValue value = Describe(flat_a_, flat_b_, pairs[i], a[i], b[i], options_);
    if (!value.worst) {
      result.tolerated += CompareValues(a[i], b[i], WithoutTolerance(options_)).has_value();
      continue;
    }
    result.results.push_back(std::move(value));
    differing_results_.push_back(pairs[i]);
    differing_numbers_.push_back(i);
  }
  return absl::OkStatus();
}

// Loops are aligned although they fail to run; the comparison will return the error.
LoopStates DiffRun::FirstStatesOf(const Instruction& loop, bool is_a) const {
  const FlatModule& flat = is_a ? flat_a_ : flat_b_;
  const Instruction* operand = loop.operand(0);
  absl::StatusOr<std::vector<Literal>> state =
      ComputeValues(flat, {&operand, 1}, is_a ? arguments_a_ : arguments_b_, options_);
  if (!state.ok()) return {};
  return RunFirstIterations(flat, loop, state->front(), options_).value_or(LoopStates());
}

void DiffRun::Align() {
  alignment_.emplace(flat_a_, flat_b_, *interface_,
                     [&](const Instruction& loop, bool is_a) { return FirstStatesOf(loop, is_a); });
}

// Inlines loops and conditionals that only one of the modules has, since the other may compute the same
// instructions without them.
absl::Status DiffRun::ExpandControlFlow(const std::vector<Literal>& a_arguments,
                                        const std::vector<Literal>& b_arguments) {
  HLO_ASSIGN_OR_RETURN(const Expansions a,
                       FindExpansions(*alignment_, /*is_a=*/true, arguments_a_, options_));
  HLO_ASSIGN_OR_RETURN(const Expansions b,
                       FindExpansions(*alignment_, /*is_a=*/false, arguments_b_, options_));
  if (a.empty() && b.empty()) return absl::OkStatus();
  alignment_.reset();
  if (!a.empty()) flat_a_ = flat_a_.Expanded(a);
  if (!b.empty()) flat_b_ = flat_b_.Expanded(b);
  arguments_a_ = ParameterValues(flat_a_, a_arguments);
  arguments_b_ = ParameterValues(flat_b_, b_arguments);
  Align();
  const std::vector<AlignedPair> results = ResultPairs();
  differing_results_.clear();
  for (const size_t number : differing_numbers_) differing_results_.push_back(results[number]);
  return absl::OkStatus();
}

absl::Status DiffRun::Run(const std::vector<Literal>& a_arguments, const std::vector<Literal>& b_arguments,
                          DiffResult& result) {
  HLO_RETURN_IF_ERROR(CheckInterfaces());
  if (!interface_) interface_ = PositionalInterface(flat_a_, flat_b_);
  arguments_a_ = ParameterValues(flat_a_, a_arguments);
  arguments_b_ = ParameterValues(flat_b_, b_arguments);
  Align();
  HLO_RETURN_IF_ERROR(CompareResults(result));
  result.has_results = true;
  if (!differing_results_.empty()) HLO_RETURN_IF_ERROR(ExpandControlFlow(a_arguments, b_arguments));
  result.a_instructions = static_cast<int64_t>(flat_a_.instructions().size());
  result.b_instructions = static_cast<int64_t>(flat_b_.instructions().size());
  result.aligned = static_cast<int64_t>(alignment_->pairs().size());
  for (const AlignedPair& pair : alignment_->pairs()) ++result.aligned_by[std::string(Name(pair.by))];
  HLO_RETURN_IF_ERROR(CompareAll(result));
  if (!differing_results_.empty()) HLO_RETURN_IF_ERROR(Search(result));
  result.is_complete = true;
  return absl::OkStatus();
}

namespace {

// Values that agree within the tolerance may hide a cause. Searches again among all values that differ at
// all, and replaces a difference that seems to be rounding, or the agreement of all results, if another
// difference is proven not to be rounding.
absl::Status FindProvenDifference(const CheckedModule& a, const CheckedModule& b,
                                  const std::vector<Literal>& arguments, const DiffOptions& options,
                                  DiffResult& result) {
  DiffOptions strict = WithoutTolerance(options);
  strict.needs_proof = true;
  DiffRun run(FlatModule(a.shared(), *a.module().entry()), FlatModule(b.shared(), *b.module().entry()),
              strict);
  DiffResult proven;
  HLO_RETURN_IF_ERROR(run.Run(arguments, arguments, proven));
  if (!proven.first || !proven.first->confirmed) return absl::OkStatus();
  result.first = std::move(proven.first);
  result.drifting = 0;
  if (!result.results.empty()) return absl::OkStatus();
  result.within_tolerance = true;
  result.results = std::move(proven.results);
  result.differing = proven.differing;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DiffResult> Diff(const CheckedModule& a, const CheckedModule& b,
                                const std::vector<Literal>& arguments, const DiffOptions& options,
                                DiffResult* partial) {
  DiffRun run(FlatModule(a.shared(), *a.module().entry()), FlatModule(b.shared(), *b.module().entry()),
              options);
  DiffResult result;
  absl::Status status = run.Run(arguments, arguments, result);
  const bool may_hide_cause =
      result.results.empty() ? result.tolerated > 0 : result.first && !result.first->confirmed;
  if (status.ok() && may_hide_cause && !options.rule)
    status = FindProvenDifference(a, b, arguments, options, result);
  if (status.ok()) return result;
  if (partial != nullptr) *partial = std::move(result);
  return status;
}

}  // namespace hlo::debug
