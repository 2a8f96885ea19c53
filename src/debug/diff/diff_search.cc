// Finds the first instruction that computes different values from equal operands.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/diff/value_types.h"
#include "debug/shadow/verdict.h"
#include "fmt/format.h"
#include "hlo_run/cost.h"

namespace hlo::debug {
namespace {

// The most FLOPs and bytes of a shadow run.
constexpr int64_t kMaxShadowWork = 100'000'000;
// The most of all shadow runs of a search for a proven difference.
constexpr int64_t kMaxProofWork = 300'000'000;
// The most removed pairs that are tried as the cause of a difference.
constexpr size_t kMaxCauses = 100;
// The most differences for which a proof is tried.
constexpr int64_t kMaxProofs = 200;

// Bounds of loops and of custom calls take long or are estimates.
bool CanProve(const Computation& cone) {
  return std::none_of(cone.instructions().begin(), cone.instructions().end(), [](const Instruction* i) {
    return i->opcode() == Opcode::kWhile || i->opcode() == Opcode::kConditional ||
           i->opcode() == Opcode::kCustomCall;
  });
}

// Returns the largest error of an array; 0 if all elements are within the tolerance.
double LargestError(const Literal& got, const Literal& want, const DiffOptions& options) {
  const std::optional<CompareReport> report = CompareValues(want, got, options);
  if (!report) return 0;
  const bool is_finite = report->worst && !report->worst->special && std::isfinite(report->worst->abs);
  return is_finite ? report->worst->abs : std::numeric_limits<double>::infinity();
}

// Gives an instruction the value of its partner in the other module.
void Know(const Instruction* instruction, const Literal& value, NodeValues& known) {
  known[instruction] = ConvertTo(value, instruction->shape());
}

// Returns a value of `b` in the shape of the value of `a`, without the rounding to a narrower type.
Literal WithoutLastRounding(const Literal& a, const Literal& b) {
  if (!a.shape().IsTuple()) return a.shape().IsArray() ? NearestUnrounded(a, b) : b;
  std::vector<Literal> elements;
  for (size_t i = 0; i < a.elements().size(); ++i)
    elements.push_back(WithoutLastRounding(a.elements()[i], b.elements()[i]));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

// Returns the nearest instructions above the root that are aligned, without constants.
std::vector<const Instruction*> DiffRun::EdgesAbove(const Instruction* root, bool is_a) const {
  std::vector<const Instruction*> edges, work(root->operands().begin(), root->operands().end());
  absl::flat_hash_set<const Instruction*> seen;
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    if (!seen.insert(instruction).second) continue;
    const bool is_aligned = is_a ? alignment_->PartnerOfA(instruction) : alignment_->PartnerOfB(instruction);
    if (is_aligned)
      edges.push_back(instruction);
    else
      work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
  }
  std::sort(edges.begin(), edges.end(),
            [](const Instruction* x, const Instruction* y) { return x->index() < y->index(); });
  return edges;
}

// Returns the aligned values from which both sides compute the pair. A side may use fewer of them than the
// other, because compilers fold constants and remove dead code.
DiffRun::Cut DiffRun::CutAbove(const AlignedPair& pair) const {
  Cut cut;
  const std::vector<const Instruction*> above_a = EdgesAbove(pair.a, /*is_a=*/true),
                                        above_b = EdgesAbove(pair.b, /*is_a=*/false);
  absl::flat_hash_set<const Instruction*> a(above_a.begin(), above_a.end()), b;
  for (const Instruction* edge : above_b) b.insert(alignment_->PartnerOfB(edge));
  const auto has_only = [](const auto& part, const auto& whole) {
    return std::all_of(part.begin(), part.end(), [&](const Instruction* i) {
      return whole.contains(i) || i->opcode() == Opcode::kConstant;
    });
  };
  cut.is_comparable = has_only(a, b) || has_only(b, a);
  for (const Instruction* edge : above_b) {
    cut.edges.push_back({alignment_->PartnerOfB(edge), edge, AlignedBy::kName});
  }
  for (const Instruction* edge : above_a) {
    if (!b.contains(edge)) cut.edges.push_back({edge, alignment_->PartnerOfA(edge), AlignedBy::kName});
  }
  std::stable_sort(cut.edges.begin(), cut.edges.end(),
                   [](const AlignedPair& x, const AlignedPair& y) { return x.a->index() < y.a->index(); });
  // Only one of two loops with different states may read a value.
  const LoopPair* loops = alignment_->LoopsOf(pair);
  cut.is_comparable |= loops != nullptr && !loops->IsIdentity();
  for (const AlignedPair& edge : cut.edges) cut.is_comparable &= !Differs(edge);
  return cut;
}

// Returns the edges whose values differ. The search has passed what differs above the side of `a`, so these
// are above the side of `b` only, for instance one of several equal instructions that are in another order
// there.
std::vector<AlignedPair> DiffRun::DifferingEdges(const Cut& cut) const {
  std::vector<AlignedPair> differing;
  for (const AlignedPair& edge : cut.edges) {
    if (Differs(edge)) differing.push_back(edge);
  }
  return differing;
}

// Returns the first differing pair, in the dependency order of `a`, on which a differing result depends
// through differing or unaligned values, or through any.
std::optional<AlignedPair> DiffRun::FirstCandidate(Path path) const {
  absl::flat_hash_set<const Instruction*> reached, differs;
  for (const AlignedPair& pair : alignment_->pairs()) {
    if (Differs(pair)) differs.insert(pair.a);
  }
  std::vector<const Instruction*> work;
  for (const AlignedPair& result : differing_results_) work.push_back(result.a);
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    const bool agrees = path == Path::kDiffering && alignment_->PartnerOfA(instruction) != nullptr &&
                        !differs.contains(instruction);
    if (agrees || !reached.insert(instruction).second) continue;
    work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
  }
  for (const AlignedPair& pair : alignment_->pairs()) {
    if (reached.contains(pair.a) && Differs(pair)) return pair;
  }
  for (const AlignedPair& result : differing_results_) {
    if (reached.contains(result.a) && alignment_->PartnerOfB(result.b) != result.a) return result;
  }
  return std::nullopt;
}

// Computes both sides of the pairs from the values of `a`, and inserts those that differ in local_. The side
// of `a` is what it computed from its own operands; only `b` runs with other operands than its own.
absl::Status DiffRun::CompareLocally(absl::Span<const AlignedPair> pairs) {
  std::vector<const Instruction*> a, b;
  NodeValues known = arguments_b_;
  for (const AlignedPair& pair : pairs) {
    a.push_back(pair.a);
    b.push_back(pair.b);
  }
  std::vector<const Instruction*> edges_b;
  for (const AlignedPair& pair : pairs) {
    for (const Instruction* edge : EdgesAbove(pair.b, /*is_a=*/false)) {
      if (!known.try_emplace(edge).second) continue;
      a.push_back(alignment_->PartnerOfB(edge));
      edges_b.push_back(edge);
    }
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values_a,
                       ComputeValues(flat_a_, a, arguments_a_, options_));
  for (size_t i = 0; i < edges_b.size(); ++i) Know(edges_b[i], values_a[pairs.size() + i], known);
  absl::flat_hash_set<const Instruction*> edges;
  for (const auto& [edge, value] : known) edges.insert(edge);
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values_b, RunCone(flat_b_, b, edges, known, options_));
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (CompareValues(values_a[i], values_b[i], options_))
      local_.insert(pairs[i].b);
    else
      local_.erase(pairs[i].b);
  }
  return absl::OkStatus();
}

absl::Status DiffRun::FindLocalDifferences() {
  std::vector<AlignedPair> pairs;
  int64_t bytes = 0;
  const auto flush = [&] {
    absl::Status status = CompareLocally(pairs);
    pairs.clear();
    bytes = 0;
    return status;
  };
  for (const AlignedPair& pair : alignment_->pairs()) {
    if (!Differs(pair)) continue;
    pairs.push_back(pair);
    bytes += 4 * DenseByteCount(pair.a->shape()).value_or(0);
    if (bytes >= options_.max_bytes) HLO_RETURN_IF_ERROR(flush());
  }
  for (const AlignedPair& result : differing_results_) {
    if (alignment_->PartnerOfB(result.b) != result.a) pairs.push_back(result);
  }
  return flush();
}

absl::Status DiffRun::Descend(const AlignedPair& pair, const NodeValues& known_a, Divergence& divergence) {
  const Instruction *a = ForwardedLeaf({pair.a, 0}).first, *b = ForwardedLeaf({pair.b, 0}).first;
  if (a->opcode() != Opcode::kWhile && a->opcode() != Opcode::kConditional) return absl::OkStatus();
  if (a->opcode() != b->opcode()) {
    divergence.note = fmt::format("{}; {} is not searched, because the second module has no such {}",
                                  kDiffersLocally, a->name(), Name(a->opcode()));
    return absl::OkStatus();
  }
  NodeValues known_b = arguments_b_;
  for (const AlignedPair& known : alignment_->pairs()) {
    if (const auto value = known_a.find(known.a); value != known_a.end())
      Know(known.b, value->second, known_b);
  }
  DivergingCall call{flat_a_, flat_b_, *alignment_, pair, *a, *b, {}, {}, agreeing_};
  HLO_ASSIGN_OR_RETURN(
      call.operands_a,
      ComputeValues(flat_a_, std::vector<const Instruction*>(a->operands().begin(), a->operands().end()),
                    known_a, options_));
  HLO_ASSIGN_OR_RETURN(
      call.operands_b,
      ComputeValues(flat_b_, std::vector<const Instruction*>(b->operands().begin(), b->operands().end()),
                    known_b, options_));
  return DescendInto(call, options_, divergence);
}

// Names a loop between a pair and the aligned values above it that only one module has, for instance because
// the other has unrolled it. Returns an empty text if there is none.
std::string DiffRun::UnsearchedLoop(const AlignedPair& pair) const {
  for (const bool is_a : {true, false}) {
    const Instruction* root = is_a ? pair.a : pair.b;
    std::vector<const Instruction*> work(root->operands().begin(), root->operands().end());
    absl::flat_hash_set<const Instruction*> seen;
    while (!work.empty()) {
      const Instruction* i = work.back();
      work.pop_back();
      if ((is_a ? alignment_->PartnerOfA(i) : alignment_->PartnerOfB(i)) != nullptr || !seen.insert(i).second)
        continue;
      const bool is_paired =
          std::any_of(alignment_->loops().begin(), alignment_->loops().end(),
                      [&](const LoopPair& loops) { return (is_a ? loops.a : loops.b) == i; });
      if (i->opcode() == Opcode::kWhile && !is_paired)
        return fmt::format(
            "{}; the loop {} above them is only in the {} module, so that its iterations are not searched",
            kDiffersLocally, (is_a ? flat_a_ : flat_b_).OriginalOf(*i).name(), is_a ? "first" : "second");
      work.insert(work.end(), i->operands().begin(), i->operands().end());
    }
  }
  return "";
}

absl::StatusOr<Divergence> DiffRun::Report(const AlignedPair& pair, const Cut& cut) {
  std::vector<AlignedPair> pairs = {pair};
  pairs.insert(pairs.end(), cut.edges.begin(), cut.edges.end());
  HLO_ASSIGN_OR_RETURN(const PairValues values, ComputePairs(pairs));
  Divergence divergence;
  divergence.value = Describe(flat_a_, flat_b_, pair, values.a[0], values.b[0], options_);
  NodeValues known_a = arguments_a_;
  for (size_t i = 0; i < cut.edges.size(); ++i) {
    const bool is_copy = i > 0 && cut.edges[i].a == cut.edges[i - 1].a;
    if (!is_copy)
      divergence.operands.push_back(
          Describe(flat_a_, flat_b_, cut.edges[i], values.a[i + 1], values.b[i + 1], options_));
    known_a[cut.edges[i].a] = values.a[i + 1];
  }
  divergence.confirmed = local_.contains(pair.b);
  if (divergence.confirmed) HLO_RETURN_IF_ERROR(Descend(pair, known_a, divergence));
  if (!divergence.confirmed || !divergence.inside.empty()) return divergence;
  HLO_ASSIGN_OR_RETURN(const bool is_rounding, IsRounding(pair, cut, known_a));
  if (!is_rounding) {
    if (options_.needs_proof)
      divergence.note = "the difference exceeds the bound of rounding errors that a shadow run computes";
    else if (divergence.note.empty())
      divergence.note = UnsearchedLoop(pair);
    return divergence;
  }
  divergence.confirmed = false;
  divergence.note = "both are within the bound of rounding errors that a shadow run computes";
  return divergence;
}

// Counts the work for proofs, so that a search for them ends soon.
bool DiffRun::CanRunShadow(const Computation& cone) {
  Cost cost;
  for (const Instruction* i : cone.instructions()) cost += InstructionCost(*i);
  const int64_t work = cost.flops + cost.transcendentals + cost.bytes_read;
  if (!options_.needs_proof) return work <= kMaxShadowWork;
  proof_work_ += std::min(work, kMaxProofWork);
  return work <= kMaxShadowWork && proof_work_ <= kMaxProofWork;
}

// True if the bounds of a shadow run of `a` hold what `b` computes from the operands of `a`. Large parts are
// not run; they are rounding only if a proof is needed.
absl::StatusOr<bool> DiffRun::IsRounding(const AlignedPair& pair, const Cut& cut, const NodeValues& known_a) {
  absl::flat_hash_set<const Instruction*> edges_a, edges_b;
  NodeValues known_b = arguments_b_;
  for (const AlignedPair& edge : cut.edges) Know(edge.b, known_a.at(edge.a), known_b);
  for (const auto& [edge, value] : known_a) edges_a.insert(edge);
  for (const auto& [edge, value] : known_b) edges_b.insert(edge);
  HLO_ASSIGN_OR_RETURN(const Cone cone, MakeCone(flat_a_, {&pair.a, 1}, edges_a));
  if (!CanRunShadow(*cone.module.module().entry())) return options_.needs_proof;
  if (options_.needs_proof && !CanProve(*cone.module.module().entry())) return true;
  std::vector<Literal> arguments;
  for (const Instruction* parameter : cone.parameters) {
    const Literal& value = known_a.at(parameter);
    const Instruction* partner = alignment_->PartnerOfA(parameter);
    // Both sides start from values that both types have.
    arguments.push_back(
        partner == nullptr ? value : ConvertTo(ConvertTo(value, partner->shape()), parameter->shape()));
  }
  EvaluateOptions evaluate = options_.evaluate;
  evaluate.observer = nullptr;
  const absl::StatusOr<ShadowReport> shadow = RunShadow(cone.module, arguments, evaluate);
  if (!shadow.ok()) return options_.needs_proof;
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> b, RunCone(flat_b_, {&pair.b, 1}, edges_b, known_b, options_));
  const Literal got = WithoutLastRounding(Declared(shadow->result), Literal::Tuple(std::move(b)));
  const std::vector<OutputVerdict> verdicts = Judge(*shadow, cone.module.module(), got);
  return std::none_of(verdicts.begin(), verdicts.end(), [&](const OutputVerdict& verdict) {
    return options_.needs_proof ? verdict.verdict == RoundingVerdict::kBug : IsUnexplained(verdict);
  });
}

// Returns the pairs between `pair` and its cut that were removed from the alignment, in dependency order.
std::vector<AlignedPair> DiffRun::RemovedBelow(const Cut& cut, const AlignedPair& pair) const {
  absl::flat_hash_set<const Instruction*> edges, between;
  for (const AlignedPair& edge : cut.edges) edges.insert(edge.b);
  std::vector<const Instruction*> work(pair.b->operands().begin(), pair.b->operands().end());
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    if (edges.contains(instruction) || !between.insert(instruction).second) continue;
    work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
  }
  std::vector<AlignedPair> pairs;
  int64_t bytes = 0;
  for (const AlignedPair& removed : removed_) {
    if (!between.contains(removed.b)) continue;
    bytes += DenseByteCount(removed.a->shape()).value_or(0);
    if (bytes > options_.max_bytes || pairs.size() == kMaxCauses) break;
    pairs.push_back(removed);
  }
  return pairs;
}

// A pair whose sides have different operands may be aligned rightly: then one side uses a wrong operand.
// Replaces `divergence` by the first such pair with which `pair` agrees if `b` uses the value of `a` there.
// That is no proof that `pair` differs.
absl::Status DiffRun::FindWrongOperand(const AlignedPair& pair, const Cut& cut, Divergence& divergence) {
  if (options_.needs_proof && !divergence.confirmed) return absl::OkStatus();
  const std::vector<AlignedPair> removed = RemovedBelow(cut, pair);
  if (removed.empty()) return absl::OkStatus();
  std::vector<const Instruction*> a = {pair.a};
  for (const AlignedPair& edge : cut.edges) a.push_back(edge.a);
  for (const AlignedPair& candidate : removed) a.push_back(candidate.a);
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values, ComputeValues(flat_a_, a, arguments_a_, options_));
  NodeValues known = arguments_b_;
  for (size_t i = 0; i < cut.edges.size(); ++i) Know(cut.edges[i].b, values[i + 1], known);
  for (size_t i = 0; i < removed.size(); ++i) {
    NodeValues known_here = known;
    Know(removed[i].b, values[cut.edges.size() + 1 + i], known_here);
    absl::flat_hash_set<const Instruction*> edges;
    for (const auto& [edge, value] : known_here) edges.insert(edge);
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> b,
                         RunCone(flat_b_, {&pair.b, 1}, edges, known_here, options_));
    if (CompareValues(values[0], b[0], options_)) continue;
    local_.insert(removed[i].b);
    HLO_ASSIGN_OR_RETURN(Divergence cause, Report(removed[i], CutAbove(removed[i])));
    if (!cause.confirmed) continue;
    if (cause.inside.empty())
      cause.note = fmt::format("their operands differ; with the first module's value here, {} agrees",
                               divergence.value.a_path);
    divergence = std::move(cause);
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

// True if the results of `b` are farther from those of `a` with the value of `a` at this pair. Then its sides
// are different values, for instance a denominator and its reciprocal, which compilers give the same
// metadata.
absl::StatusOr<bool> DiffRun::IsMisaligned(const AlignedPair& pair) const {
  constexpr double kFactor = 4;
  std::vector<const Instruction*> results_b;
  std::vector<const Instruction*> values_a = {pair.a};
  for (const AlignedPair& result : ResultPairs()) {
    if (result.a == pair.a || result.b == pair.b) return false;
    values_a.push_back(result.a);
    results_b.push_back(result.b);
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> a,
                       ComputeValues(flat_a_, values_a, arguments_a_, options_));
  NodeValues known = arguments_b_;
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> own, ComputeValues(flat_b_, results_b, known, options_));
  Know(pair.b, a[0], known);
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> changed,
                       ComputeValues(flat_b_, results_b, known, options_));
  bool is_worse = false;
  for (size_t i = 0; i < results_b.size(); ++i) {
    const double before = LargestError(own[i], a[i + 1], options_);
    const double after = LargestError(changed[i], a[i + 1], options_);
    if (after * kFactor < before) return false;
    is_worse |= after > kFactor * before;
  }
  return is_worse;
}

// Tries the differing pairs in dependency order. A pair that agrees when it is computed from equal operands
// has drifted by rounding, and the search continues below it. A pair whose sides are computed from different
// values may have been aligned wrongly, for instance two partial sums of a sum that was reordered.
absl::Status DiffRun::SearchAlong(Path path, DiffResult& result, std::optional<AlignedPair>& drift) {
  const int64_t differing = result.differing;
  int64_t reports = 0;
  const auto drop = [&](const AlignedPair pair) {
    differing_.erase(pair.b);
    alignment_->Remove(pair);
    removed_.push_back(pair);
  };
  while (const std::optional<AlignedPair> pair = FirstCandidate(path)) {
    hlo::Report({.what = "searching the first difference",
                 .done = result.drifting,
                 .total = differing,
                 .unit = "differing values"});
    const bool is_forced = pair->by == AlignedBy::kResult;
    const Cut cut = CutAbove(*pair);
    if (const std::vector<AlignedPair> differing_edges = DifferingEdges(cut); !differing_edges.empty()) {
      for (const AlignedPair& edge : differing_edges) drop(edge);
      continue;
    }
    if (!cut.is_comparable && !is_forced) {
      drop(*pair);
      continue;
    }
    if (!removed_.empty()) HLO_RETURN_IF_ERROR(CompareLocally({&*pair, 1}));
    if (local_.contains(pair->b)) {
      if (options_.needs_proof && ++reports > kMaxProofs) return absl::OkStatus();
      HLO_ASSIGN_OR_RETURN(Divergence divergence, Report(*pair, cut));
      if (divergence.confirmed && divergence.inside.empty() && !is_forced) {
        HLO_ASSIGN_OR_RETURN(const bool is_misaligned, IsMisaligned(*pair));
        if (is_misaligned) {
          drop(*pair);
          continue;
        }
      }
      if (divergence.inside.empty()) HLO_RETURN_IF_ERROR(FindWrongOperand(*pair, cut, divergence));
      if (divergence.confirmed) {
        result.first = std::move(divergence);
        return absl::OkStatus();
      }
    }
    if (!drift) drift = *pair;
    ++result.drifting;
    differing_.erase(pair->b);
    if (is_forced && alignment_->PartnerOfB(pair->b) != pair->a)
      std::erase_if(differing_results_, [&](const AlignedPair& p) { return p.a == pair->a; });
  }
  return absl::OkStatus();
}

// Values between a difference and the results may agree within the tolerance, for instance if they are small.
// Therefore the second search also continues through such values.
absl::Status DiffRun::Search(DiffResult& result) {
  hlo::Report({.what = "computing differing values from equal operands"});
  HLO_RETURN_IF_ERROR(FindLocalDifferences());
  const std::vector<AlignedPair> results = differing_results_;
  std::optional<AlignedPair> drift;
  HLO_RETURN_IF_ERROR(SearchAlong(Path::kDiffering, result, drift));
  if (result.first) return absl::OkStatus();
  differing_results_ = results;
  HLO_RETURN_IF_ERROR(SearchAlong(Path::kAny, result, drift));
  if (!result.first && drift) {
    HLO_ASSIGN_OR_RETURN(result.first, Report(*drift, CutAbove(*drift)));
  }
  return absl::OkStatus();
}

}  // namespace hlo::debug
