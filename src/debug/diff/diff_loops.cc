// Descends into loops and conditionals that compute different results from equal operands.

#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/extract/function.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

struct Sides {
  const FlatModule& a;
  const FlatModule& b;
  const DiffOptions& options;
};

// Searches one call of two computations with equal arguments. Returns true if `divergence` is within them.
absl::StatusOr<bool> SearchCall(const Sides& sides, const Computation& a, const Computation& b,
                                const Literal& argument, const std::string& place, Divergence& divergence) {
  DiffRun run(sides.a.source(), a, sides.b.source(), b, sides.options);
  DiffResult result;
  HLO_RETURN_IF_ERROR(run.Run({argument}, {argument}, result));
  if (!result.first || !result.first->confirmed) return false;
  std::vector<std::string> inside = std::move(divergence.inside);
  inside.push_back(place);
  inside.insert(inside.end(), result.first->inside.begin(), result.first->inside.end());
  divergence = *std::move(result.first);
  divergence.inside = std::move(inside);
  return true;
}

// Runs both loops from the states of `a`, and searches the first iteration whose results differ.
absl::Status DescendIntoLoop(const Sides& sides, const Instruction& a, const Instruction& b, Literal state,
                             Divergence& divergence) {
  const DiffOptions& options = sides.options;
  const std::string name(sides.a.OriginalOf(a).name());
  const auto make = [&](const FlatModule& flat, const Computation& computation) {
    return Function::Make(flat.source(), computation, options.engine, options.evaluate);
  };
  HLO_ASSIGN_OR_RETURN(Function condition_a, make(sides.a, *a.Get<attr::condition>()));
  HLO_ASSIGN_OR_RETURN(Function condition_b, make(sides.b, *b.Get<attr::condition>()));
  HLO_ASSIGN_OR_RETURN(Function body_a, make(sides.a, *a.Get<attr::body>()));
  HLO_ASSIGN_OR_RETURN(Function body_b, make(sides.b, *b.Get<attr::body>()));
  for (int64_t iteration = 1;; ++iteration) {
    Report({.what = fmt::format("searching iteration {} of {}", iteration, name)});
    HLO_ASSIGN_OR_RETURN(const Literal runs_a, condition_a.Call(state, options.evaluate));
    HLO_ASSIGN_OR_RETURN(const Literal runs_b, condition_b.Call(state, options.evaluate));
    if (IsTrue(runs_a) != IsTrue(runs_b)) {
      return SearchCall(sides, *a.Get<attr::condition>(), *b.Get<attr::condition>(), state,
                        fmt::format("the condition before iteration {} of {}", iteration, name), divergence)
          .status();
    }
    if (!IsTrue(runs_a)) break;
    HLO_ASSIGN_OR_RETURN(Literal next_a, body_a.Call(state, options.evaluate));
    HLO_ASSIGN_OR_RETURN(const Literal next_b, body_b.Call(state, options.evaluate));
    if (CompareValues(next_a, next_b, options)) {
      HLO_ASSIGN_OR_RETURN(const bool found,
                           SearchCall(sides, *a.Get<attr::body>(), *b.Get<attr::body>(), state,
                                      fmt::format("iteration {} of {}", iteration, name), divergence));
      if (found) return absl::OkStatus();
    }
    state = std::move(next_a);
  }
  divergence.confirmed = false;
  divergence.note =
      "each iteration agrees with equal states; rounding errors grow from iteration to iteration";
  return absl::OkStatus();
}

}  // namespace

absl::Status DescendInto(const FlatModule& flat_a, const FlatModule& flat_b, const AlignedPair& pair,
                         absl::Span<const Literal> operands, const DiffOptions& options,
                         Divergence& divergence) {
  const Sides sides = {flat_a, flat_b, options};
  if (pair.a->opcode() != pair.b->opcode()) return absl::OkStatus();
  if (pair.a->opcode() == Opcode::kWhile)
    return DescendIntoLoop(sides, *pair.a, *pair.b, operands[0], divergence);
  if (pair.a->opcode() != Opcode::kConditional) return absl::OkStatus();
  const auto branches_a = pair.a->called_computations(), branches_b = pair.b->called_computations();
  if (branches_a.size() != branches_b.size()) return absl::OkStatus();
  const int64_t branch = BranchOf(*pair.a, operands[0]);
  return SearchCall(sides, *branches_a[branch], *branches_b[branch], operands[branch + 1],
                    fmt::format("branch {} of {}", branch, flat_a.OriginalOf(*pair.a).name()), divergence)
      .status();
}

}  // namespace hlo::debug
