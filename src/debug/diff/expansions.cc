// Finds loops and conditionals that only one of two modules has: a pass has unrolled them, or replaced them
// by selects.

#include <algorithm>

#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/diff/loop_run.h"
#include "debug/extract/function.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

// The most instructions that inlining adds to a module.
constexpr int64_t kMaxAdded = 20'000;

bool IsControlFlow(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kWhile || instruction.opcode() == Opcode::kConditional;
}

// Returns the loops and conditionals that the other module has, too, or one of their results.
absl::flat_hash_set<const Instruction*> InBoth(const Alignment& alignment, bool is_a) {
  absl::flat_hash_set<const Instruction*> in_both;
  for (const LoopPair& loops : alignment.loops()) in_both.insert(is_a ? loops.a : loops.b);
  for (const AlignedPair& pair : alignment.pairs()) {
    const Instruction *a = ForwardedLeaf({pair.a, 0}).first, *b = ForwardedLeaf({pair.b, 0}).first;
    in_both.insert(is_a ? pair.a : pair.b);
    if (a->opcode() == b->opcode()) in_both.insert(is_a ? a : b);
  }
  return in_both;
}

int64_t SizeOf(const FlatModule& flat, const Computation& computation) {
  return static_cast<int64_t>(FlatModule(flat.source(), computation).instructions().size());
}

// Returns the trip count; nullopt if there are more iterations.
absl::StatusOr<std::optional<int64_t>> CountIterations(const FlatModule& flat, const Instruction& loop,
                                                       const Literal& state, int64_t most,
                                                       const DiffOptions& options) {
  HLO_ASSIGN_OR_RETURN(LoopRun run, LoopRun::Make(flat, loop, state, options));
  const std::string what = fmt::format("counting the iterations of {}", flat.OriginalOf(loop).name());
  for (int64_t count = 0; count <= most; ++count) {
    hlo::Report({.what = what, .done = count, .unit = "iterations"});
    HLO_ASSIGN_OR_RETURN(const bool runs, run.Runs());
    if (!runs) return count;
    HLO_ASSIGN_OR_RETURN(run.state, run.Next());
  }
  return std::nullopt;
}

// The search for the expansions of one module.
class ExpansionFinder {
 public:
  ExpansionFinder(const FlatModule& flat, const NodeValues& known, const DiffOptions& options)
      : flat_(flat), known_(known), options_(options) {}

  // An instruction of the source that does something else in each of its calls is not inlined.
  absl::Status Add(const Instruction& instruction) {
    HLO_ASSIGN_OR_RETURN(const std::optional<int64_t> number, NumberOf(instruction));
    const Instruction* original = &flat_.OriginalOf(instruction);
    const auto [found, is_new] = numbers_.try_emplace(original, number);
    if (!is_new && found->second != number) found->second = std::nullopt;
    return absl::OkStatus();
  }

  // Keeps an instruction of the source in all of its calls, because the other module has it in one of them.
  void Keep(const Instruction& instruction) { numbers_[&flat_.OriginalOf(instruction)] = std::nullopt; }

  Expansions Found() const {
    Expansions found;
    for (const auto& [original, number] : numbers_) {
      if (number) found.emplace(original, *number);
    }
    return found;
  }

 private:
  // Returns the trip count or the branch.
  absl::StatusOr<std::optional<int64_t>> NumberOf(const Instruction& instruction) {
    const Instruction* operand = instruction.operand(0);
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values,
                         ComputeValues(flat_, {&operand, 1}, known_, options_));
    if (instruction.opcode() == Opcode::kWhile) return TripCount(instruction, values[0]);
    const int64_t branch = BranchOf(instruction, values[0]);
    left_ -= SizeOf(flat_, *instruction.called_computations()[static_cast<size_t>(branch)]);
    return left_ < 0 ? std::nullopt : std::optional<int64_t>(branch);
  }

  absl::StatusOr<std::optional<int64_t>> TripCount(const Instruction& loop, const Literal& state) {
    const int64_t size = std::max<int64_t>(SizeOf(flat_, *loop.Get<attr::body>()), 1);
    HLO_ASSIGN_OR_RETURN(const std::optional<int64_t> count,
                         CountIterations(flat_, loop, state, left_ / size, options_));
    if (count) left_ -= *count * size;
    return count;
  }

  const FlatModule& flat_;
  const NodeValues& known_;
  const DiffOptions& options_;
  int64_t left_ = kMaxAdded;
  absl::flat_hash_map<const Instruction*, std::optional<int64_t>> numbers_;
};

}  // namespace

absl::StatusOr<Expansions> FindExpansions(const Alignment& alignment, bool is_a, const NodeValues& known,
                                          const DiffOptions& options) {
  const FlatModule& flat = is_a ? alignment.a() : alignment.b();
  const absl::flat_hash_set<const Instruction*> in_both = InBoth(alignment, is_a);
  ExpansionFinder finder(flat, known, options);
  for (const Instruction* i : flat.instructions()) {
    if (!IsControlFlow(*i)) continue;
    if (in_both.contains(i))
      finder.Keep(*i);
    else
      HLO_RETURN_IF_ERROR(finder.Add(*i));
  }
  return finder.Found();
}

}  // namespace hlo::debug
