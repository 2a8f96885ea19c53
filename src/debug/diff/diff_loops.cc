// Descends into loops and conditionals that compute different results from equal operands.

#include <algorithm>
#include <limits>

#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/diff/loop_run.h"
#include "debug/diff/value_types.h"
#include "debug/exposed_run.h"
#include "debug/extract/function.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

// The iterations whose states are evidence that elements of two states correspond.
constexpr int64_t kFirstIterations = 3;
// The iterations in which a difference beyond proven bounds is searched.
constexpr int64_t kProvenIterations = 8;

// Sets a leaf of `b` to the value of the corresponding leaf of `a`.
void SetFrom(const Literal& a, Literal& b) { b = ConvertTo(a, b.shape()); }

// Returns the callee with a parameter for each leaf. A parameter of a loop that stands for a value that a
// pass moved out of the loop has the origin of that value.
FlatModule Flatten(const Callee& callee, const std::vector<int64_t>& matched) {
  FlatModule flat(callee.caller.source(), callee.computation, Inlining::kAll, Parameters::kLeaves);
  for (size_t leaf = 0; leaf < callee.arguments.size(); ++leaf) {
    const Instruction* argument = callee.arguments[leaf].first;
    const auto number = static_cast<int64_t>(leaf);
    const Instruction* parameter = flat.computation().parameter(number);
    const bool is_matched = std::find(matched.begin(), matched.end(), number) != matched.end();
    const bool is_invariant = leaf < flat.results().size() && flat.results()[leaf] == parameter;
    if (!is_matched && is_invariant && argument->shape().IsArray())
      flat.SetOriginal(*parameter, callee.caller.OriginalOf(*argument));
  }
  return flat;
}

// Searches one call of two computations. Returns true if `divergence` is within them.
absl::StatusOr<bool> SearchCall(const Callee& a, const Callee& b, const std::vector<Literal>& arguments_a,
                                const std::vector<Literal>& arguments_b, Interface interface,
                                const DiffOptions& options, const std::string& place,
                                Divergence& divergence) {
  std::vector<int64_t> matched_a, matched_b;
  for (const auto& [i, j] : interface.parameters) {
    matched_a.push_back(i);
    matched_b.push_back(j);
  }
  DiffRun run(Flatten(a, matched_a), Flatten(b, matched_b), std::move(interface), options);
  DiffResult result;
  HLO_RETURN_IF_ERROR(run.Run(arguments_a, arguments_b, result));
  if (!result.first || !result.first->confirmed) return false;
  std::vector<std::string> inside = std::move(divergence.inside);
  inside.push_back(place);
  inside.insert(inside.end(), result.first->inside.begin(), result.first->inside.end());
  divergence = *std::move(result.first);
  divergence.inside = std::move(inside);
  return true;
}

// Inserts the numbers of the parameters that a value depends on.
void InsertParameters(const Instruction* root, std::vector<bool>& parameters) {
  std::vector<const Instruction*> work = {root};
  absl::flat_hash_set<const Instruction*> seen;
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    if (!seen.insert(instruction).second) continue;
    if (instruction->opcode() == Opcode::kParameter) parameters[instruction->Get<attr::number>()] = true;
    work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
  }
}

// Returns the leaf of a loop's final state that is a value after it; the loop stands for all leaves that are
// read.
std::vector<int64_t> LeavesRead(const FlatModule& flat, const Instruction& loop, const Instruction& value) {
  std::vector<int64_t> leaves;
  for (const Instruction* i : flat.instructions()) {
    if (i->opcode() != Opcode::kGetTupleElement || i->shape().IsTuple()) continue;
    const LeafId leaf = ForwardedLeaf({i, 0});
    if (leaf.first == &loop && (i == &value || &value == &loop)) leaves.push_back(leaf.second);
  }
  return leaves;
}

// Returns the leaves of a loop's state that a value after it depends on.
std::vector<bool> LeavesBehind(const FlatModule& flat, const Instruction& loop, const Instruction& value) {
  const auto count = static_cast<size_t>(loop.shape().LeafCount());
  std::vector<bool> behind(count), before;
  for (const int64_t leaf : LeavesRead(flat, loop, value)) behind[static_cast<size_t>(leaf)] = true;
  const FlatModule condition(flat.source(), *loop.Get<attr::condition>(), Inlining::kAll,
                             Parameters::kLeaves);
  const FlatModule body(flat.source(), *loop.Get<attr::body>(), Inlining::kAll, Parameters::kLeaves);
  InsertParameters(condition.results()[0], behind);
  while (behind != before) {
    before = behind;
    for (size_t i = 0; i < count; ++i) {
      if (before[i]) InsertParameters(body.results()[i], behind);
    }
  }
  return behind;
}

void NoteAgreement(Divergence& divergence) {
  divergence.confirmed = false;
  divergence.note =
      "each iteration agrees with equal states; rounding errors grow from iteration to iteration";
}

// Both loops, of which `b` starts each iteration with the values of `a` where their states correspond.
class LoopSearch {
 public:
  LoopSearch(const DivergingCall& call, const LoopPair& loops, const DiffOptions& options,
             Divergence& divergence)
      : call_(call),
        options_(options),
        divergence_(divergence),
        name_(call.flat_a.OriginalOf(call.a).name()) {
    const std::vector<bool> is_needed_a = LeavesBehind(call.flat_a, call.a, *call.pair.a);
    const std::vector<bool> is_needed_b = LeavesBehind(call.flat_b, call.b, *call.pair.b);
    for (const auto& [i, j] : loops.leaves) {
      const bool is_one_sided =
          std::find(loops.one_sided.begin(), loops.one_sided.end(), std::pair(i, j)) != loops.one_sided.end();
      if (!is_one_sided) interface_.parameters.emplace_back(i, j);
      if (is_needed_a[static_cast<size_t>(i)] && is_needed_b[static_cast<size_t>(j)])
        interface_.results.emplace_back(i, j);
    }
    unmatched_ = UnmatchedResult(loops);
  }

  absl::Status Run(LoopRun& a, LoopRun& b) {
    std::string other_start;
    for (const auto& [i, j] : interface_.results) {
      if (other_start.empty() && Differs(a.state[static_cast<size_t>(i)], b.state[static_cast<size_t>(j)]))
        other_start = fmt::format(
            "{}; each iteration agrees with equal states, but element {} of the initial state of {}, which "
            "is "
            "element {} in the second module, has another value there",
            kDiffersLocally, i, name_, j);
    }
    const int64_t last = options_.needs_proof ? kProvenIterations : std::numeric_limits<int64_t>::max();
    for (int64_t iteration = 1; iteration <= last; ++iteration) {
      Report({.what = fmt::format("searching iteration {} of {}", iteration, name_)});
      for (const auto& [i, j] : interface_.parameters)
        SetFrom(a.state[static_cast<size_t>(i)], b.state[static_cast<size_t>(j)]);
      HLO_ASSIGN_OR_RETURN(const bool runs_a, a.Runs());
      HLO_ASSIGN_OR_RETURN(const bool runs_b, b.Runs());
      if (runs_a != runs_b) return SearchConditions(a, b, iteration);
      if (!runs_a) break;
      HLO_ASSIGN_OR_RETURN(std::vector<Literal> next_a, a.Next());
      HLO_ASSIGN_OR_RETURN(std::vector<Literal> next_b, b.Next());
      const bool differs =
          std::any_of(interface_.results.begin(), interface_.results.end(), [&](const auto& leaf) {
            return Differs(next_a[static_cast<size_t>(leaf.first)], next_b[static_cast<size_t>(leaf.second)]);
          });
      if (differs) {
        HLO_ASSIGN_OR_RETURN(const bool found, Search(a.BodyOf(), b.BodyOf(), a, b, interface_,
                                                      fmt::format("iteration {} of {}", iteration, name_)));
        if (found) return absl::OkStatus();
      }
      a.state = std::move(next_a);
      b.state = std::move(next_b);
    }
    divergence_.note = other_start;
    if (!other_start.empty()) return absl::OkStatus();
    if (unmatched_) {
      divergence_.note = fmt::format(
          "{}; each iteration agrees with equal states, but element {} of the state of {} was not compared, "
          "because no element of the second module's loop corresponds to it",
          kDiffersLocally, *unmatched_, name_);
      return absl::OkStatus();
    }
    NoteAgreement(divergence_);
    for (const auto& [i, j] : interface_.results) call_.agreeing.insert({&call_.a, i});
    return absl::OkStatus();
  }

 private:
  // Returns a leaf that the differing value reads, and that is not compared.
  std::optional<int64_t> UnmatchedResult(const LoopPair& loops) const {
    for (const int64_t leaf : LeavesRead(call_.flat_a, call_.a, *call_.pair.a)) {
      if (!loops.LeafOfB(leaf)) return leaf;
    }
    return std::nullopt;
  }

  bool Differs(const Literal& a, const Literal& b) const { return CompareValues(a, b, options_).has_value(); }

  absl::StatusOr<bool> Search(const Callee& callee_a, const Callee& callee_b, const LoopRun& a,
                              const LoopRun& b, const Interface& interface, const std::string& place) {
    return SearchCall(callee_a, callee_b, a.state, b.state, interface, options_, place, divergence_);
  }

  absl::Status SearchConditions(const LoopRun& a, const LoopRun& b, int64_t iteration) {
    const Interface interface {
      interface_.parameters, {
        { 0, 0 }
      }
    };
    return Search(a.ConditionOf(), b.ConditionOf(), a, b, interface,
                  fmt::format("the condition before iteration {} of {}", iteration, name_))
        .status();
  }

  const DivergingCall& call_;
  const DiffOptions& options_;
  Divergence& divergence_;
  std::string name_;
  Interface interface_;  // Its results are the leaves on which the differing value depends.
  std::optional<int64_t> unmatched_;
};

// True if every leaf of both states has a counterpart that both loops change or neither does. Otherwise an
// iteration of `b` may start from values that are not those of `a`, which proves nothing.
bool HasEqualStates(const LoopPair& loops) {
  const auto count = static_cast<int64_t>(loops.leaves.size());
  return loops.one_sided.empty() && count == loops.a->shape().LeafCount() &&
         count == loops.b->shape().LeafCount();
}

absl::Status DescendIntoLoop(const DivergingCall& call, const LoopPair& loops, const DiffOptions& options,
                             Divergence& divergence) {
  const bool is_known = call.agreeing.contains(ForwardedLeaf({call.pair.a, 0})) && call.pair.a != &call.a;
  if (is_known || (options.needs_proof && !HasEqualStates(loops))) {
    NoteAgreement(divergence);
    return absl::OkStatus();
  }
  HLO_ASSIGN_OR_RETURN(LoopRun a, LoopRun::Make(call.flat_a, *loops.a, call.operands_a[0], options));
  HLO_ASSIGN_OR_RETURN(LoopRun b, LoopRun::Make(call.flat_b, *loops.b, call.operands_b[0], options));
  return LoopSearch(call, loops, options, divergence).Run(a, b);
}

// Pairs the leaves of two operands that are the same value: aligned ones first, then those that are equal.
std::vector<std::pair<int64_t, int64_t>> MatchOperands(const Alignment& alignment, const Callee& a,
                                                       const std::vector<Literal>& leaves_a, const Callee& b,
                                                       const std::vector<Literal>& leaves_b) {
  std::vector<std::pair<int64_t, int64_t>> matched;
  std::vector<bool> has_a(leaves_a.size()), has_b(leaves_b.size());
  DiffOptions exact;
  exact.rule = CompareRule::Exact();
  for (const bool by_alignment : {true, false}) {
    for (size_t i = 0; i < leaves_a.size(); ++i) {
      for (size_t j = 0; j < leaves_b.size() && !has_a[i]; ++j) {
        if (has_b[j] || !IsComparable(leaves_a[i].shape(), leaves_b[j].shape())) continue;
        const bool is_same = by_alignment ? alignment.IsSame(a.arguments[i], b.arguments[j]).value_or(false)
                                          : !CompareValues(leaves_a[i], leaves_b[j], exact);
        if (!is_same) continue;
        has_a[i] = has_b[j] = true;
        matched.emplace_back(i, j);
      }
    }
  }
  return matched;
}

// Searches the branches that both conditionals run.
absl::Status DescendIntoBranch(const DivergingCall& call, const DiffOptions& options,
                               Divergence& divergence) {
  const Instruction &a = call.a, &b = call.b;
  const int64_t branch_a = BranchOf(a, call.operands_a[0]), branch_b = BranchOf(b, call.operands_b[0]);
  const Callee callee_a{call.flat_a, *a.called_computations()[branch_a], SourcesOf(*a.operand(branch_a + 1))};
  const Callee callee_b{call.flat_b, *b.called_computations()[branch_b], SourcesOf(*b.operand(branch_b + 1))};
  const std::vector<Literal> leaves_a = LeavesIn(call.operands_a[static_cast<size_t>(branch_a) + 1]);
  std::vector<Literal> leaves_b = LeavesIn(call.operands_b[static_cast<size_t>(branch_b) + 1]);
  Interface interface;
  interface.parameters = MatchOperands(call.alignment, callee_a, leaves_a, callee_b, leaves_b);
  for (const auto& [i, j] : interface.parameters)
    SetFrom(leaves_a[static_cast<size_t>(i)], leaves_b[static_cast<size_t>(j)]);
  const int64_t first_a = ForwardedLeaf({call.pair.a, 0}).second;
  const int64_t first_b = ForwardedLeaf({call.pair.b, 0}).second;
  for (int64_t leaf = 0; leaf < call.pair.a->shape().LeafCount(); ++leaf)
    interface.results.emplace_back(first_a + leaf, first_b + leaf);
  return SearchCall(callee_a, callee_b, leaves_a, leaves_b, std::move(interface), options,
                    fmt::format("branch {} of {}", branch_a, call.flat_a.OriginalOf(a).name()), divergence)
      .status();
}

}  // namespace

absl::StatusOr<LoopStates> RunFirstIterations(const FlatModule& flat, const Instruction& loop,
                                              const Literal& state, const DiffOptions& options) {
  HLO_ASSIGN_OR_RETURN(LoopRun run, LoopRun::Make(flat, loop, state, options));
  LoopStates states = {run.state};
  for (int64_t iteration = 0; iteration < kFirstIterations; ++iteration) {
    HLO_ASSIGN_OR_RETURN(const bool runs, run.Runs());
    if (!runs) break;
    HLO_ASSIGN_OR_RETURN(run.state, run.Next());
    states.push_back(run.state);
  }
  return states;
}

absl::Status DescendInto(const DivergingCall& call, const DiffOptions& options, Divergence& divergence) {
  if (call.a.opcode() == Opcode::kConditional) return DescendIntoBranch(call, options, divergence);
  if (const LoopPair* loops = call.alignment.LoopsOf(call.pair))
    return DescendIntoLoop(call, *loops, options, divergence);
  divergence.note = fmt::format(
      "{}; the iterations of {} are not searched, because its state has no element of that of {}",
      kDiffersLocally, call.flat_a.OriginalOf(call.a).name(), call.flat_b.OriginalOf(call.b).name());
  return absl::OkStatus();
}

}  // namespace hlo::debug
