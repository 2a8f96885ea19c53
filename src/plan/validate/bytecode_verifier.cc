#include "plan/validate/bytecode_verifier.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "plan/validate/slot_liveness.h"
#include "plan/validate/symbolic_bytecode.h"
#include "plan/validate/symbolic_steps.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cpu::DecodedOp;
using Kind = DecodedOp::Kind;

class Verifier {
 public:
  explicit Verifier(const Plan& plan)
      : plan_(plan),
        layout_(plan),
        liveness_(plan),
        steps_(plan, layout_, terms_, dots_),
        code_(plan, layout_, terms_, dots_),
        machine_(code_.state()),
        changing_(plan.buffers.size()) {}

  absl::Status Run() {
    if (ok()) code_.Import();
    if (ok()) {
      FindChanging();
      VerifySteps(plan_.steps);
      if (RunTo(Kind::kEnd, code_.op_count() - 1) != nullptr) Compare(liveness_.AtEnd(), "at the end");
    }
    if (ok()) return absl::OkStatus();
    return absl::InternalError("the plan's bytecode is wrong: " + error_);
  }

 private:
  // Arguments and constants that are never written are the same on both sides.
  void FindChanging() {
    for (Slot slot = 0; slot < static_cast<Slot>(plan_.buffers.size()); ++slot) {
      if (plan_.buffers[slot].kind == Buffer::Kind::kArena) changing_.Add(slot);
    }
    VisitAllSlots(plan_.steps, [&](const Slot& slot, bool is_write) {
      if (is_write) changing_.Add(slot);
    });
    VisitAllMoves(plan_.steps, [&](const std::vector<Move>& moves) {
      for (const Move& move : moves) {
        if (move.swaps) changing_.Add(move.from);
      }
    });
    code_.VisitWrittenSlots(0, code_.op_count() - 1, [&](Slot slot) { changing_.Add(slot); });
  }
  template <class Visit>
  void ForEachChanging(const SlotSet& live, Visit&& visit) const {
    live.ForEach([&](Slot slot) {
      if (changing_.Contains(slot)) visit(slot);
    });
  }

  bool ok() {
    if (!code_.error().empty()) Fail(code_.error());
    return error_.empty();
  }
  const DecodedOp* RunTo(Kind kind, int64_t stop) { return ok() ? code_.RunTo(kind, stop) : nullptr; }
  void Fail(std::string error) {
    if (!error_.empty()) return;
    error_ = std::move(error);
    if (enclosing_ != nullptr)
      error_ += fmt::format(", in the step of '{}'", enclosing_->instruction->name());
  }
  void FailHere(const std::string& what) { code_.FailAt(code_.pc(), what); }
  static std::string NameOf(const Step* step) {
    return step == nullptr || step->instruction == nullptr
               ? "a move"
               : fmt::format("the step of '{}'", step->instruction->name());
  }

  // --- Steps and code side by side

  void VerifySteps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (!ok()) return;
      const Step* const outer = enclosing_;
      if (std::holds_alternative<LoopStep>(step.what) || std::holds_alternative<BranchStep>(step.what))
        enclosing_ = &step;
      if (const auto* loop = std::get_if<LoopStep>(&step.what))
        Loop(step, *loop);
      else if (const auto* branch = std::get_if<BranchStep>(&step.what))
        Branch(step, *branch);
      else
        RunStep(step);
      if (ok()) enclosing_ = outer;
    }
  }
  void RunStep(const Step& step) {
    Write(&step);
    steps_.Run(step);
    CheckSteps();
  }
  void RunMoves(const std::vector<Move>& moves) {
    Write(nullptr);
    steps_.Run(moves);
    CheckSteps();
  }
  void Write(const Step* step) {
    steps_.SetWriter(static_cast<int32_t>(writers_.size()));
    writers_.push_back(step);
  }
  void CheckSteps() {
    if (!steps_.error().empty()) Fail(fmt::format("{}: {}", NameOf(writers_.back()), steps_.error()));
  }

  void Loop(const Step& step, const LoopStep& loop) {
    RunMoves(loop.initial);
    const DecodedOp* entry = RunTo(Kind::kJump, code_.op_count());
    if (entry == nullptr) return;
    const int64_t body = code_.pc() + 1, test = entry->targets[0];
    if (test < body) return FailHere("a loop is entered backwards");
    const SlotSet& live = liveness_.At(step);
    Compare(live, "where the loop begins");
    const int64_t repeat = FindRepeat(body, test);
    if (repeat < 0) return FailHere("no operation repeats the loop");
    EnterLoop(loop, live, body, repeat);
    code_.JumpTo(test);
    VerifySteps(loop.condition);
    const DecodedOp* end = RunTo(Kind::kRepeat, code_.op_count());
    if (end == nullptr) return;
    if (code_.pc() != repeat) return FailHere("this is not the loop's test");
    CompareValue(steps_.ReadSlot(loop.predicate, 0, 1), end->in[0], "the loop's condition");
    if (!ok()) return;
    // An iteration must restore the invariants that the next one assumes.
    const size_t steps_mark = steps_.memory().Begin(), machine_mark = machine_.memory().Begin();
    code_.JumpTo(body);
    VerifySteps(loop.body);
    RunMoves(loop.next);
    if (!code_.RunStraight(test)) return;
    if (code_.pc() != test) return FailHere("the loop's body does not end where its condition begins");
    Compare(live, "at the end of an iteration");
    steps_.memory().Rollback(steps_mark);
    machine_.memory().Rollback(machine_mark);
    code_.JumpTo(repeat + 1);
  }

  // Returns the operation that jumps back to the body: the first one after the test.
  int64_t FindRepeat(int64_t body, int64_t test) const {
    for (int64_t k = test; k < code_.op_count(); ++k) {
      if (code_.op(k).kind == Kind::kRepeat && code_.op(k).targets[0] == body) return k;
    }
    return -1;
  }

  // Gives fresh values to the bytes that an iteration may write, the same on both sides where they are live.
  void EnterLoop(const LoopStep& loop, const SlotSet& live, int64_t first, int64_t last) {
    SlotSet written(plan_.buffers.size());
    const auto collect = [&](const Slot& slot, bool is_write) {
      if (is_write) written.Add(slot);
    };
    const auto swapped = [&](const std::vector<Move>& moves) {
      for (const Move& move : moves) {
        written.Add(move.to);
        if (move.swaps) written.Add(move.from);
      }
    };
    VisitAllSlots(loop.condition, collect);
    VisitAllSlots(loop.body, collect);
    swapped(loop.next);
    AddSwaps(loop.condition, swapped);
    AddSwaps(loop.body, swapped);
    Merge(live, written);
    code_.EraseWrites(first, last);
    TakeLive(live);
    SetEffects(terms_.Fresh(1));
  }
  template <class Visit>
  void AddSwaps(const std::vector<Step>& steps, Visit& visit) {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
        visit(loop->initial);
        visit(loop->next);
        AddSwaps(loop->condition, visit);
        AddSwaps(loop->body, visit);
      } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
        for (const BranchStep::Branch& each : branch->branches) {
          visit(each.results);
          AddSwaps(each.steps, visit);
        }
      }
    }
  }
  void SetEffects(Term effects) {
    steps_.SetEffects(effects);
    machine_.SetEffects(effects);
  }

  // On the side of the steps: written slots that are live hold fresh values, and others are undefined.
  void Merge(const SlotSet& live, const SlotSet& written) {
    std::vector<Slot> merged;
    written.ForEach([&](Slot slot) {
      const Pieces pieces = steps_.ReadSlot(slot);
      if (live.Contains(slot) && !HasUndefined(pieces)) merged.push_back(slot);
    });
    written.ForEach([&](Slot slot) { steps_.EraseSlot(slot); });
    Write(nullptr);
    for (const Slot slot : merged) {
      const int64_t bytes = layout_.of(slot).bytes;
      if (bytes > 0) steps_.WriteSlot(slot, 0, {{terms_.Fresh(bytes), 0, bytes}});
    }
  }
  // Copies the live values of the steps to the code's memory.
  void TakeLive(const SlotSet& live) {
    ForEachChanging(live, [&](Slot slot) {
      Pieces held = steps_.ReadSlot(slot);
      const Pieces own = machine_.ReadSlot(slot);
      if (!IsSame(held, own)) machine_.WriteSlot(slot, 0, std::move(held));
    });
  }

  void Branch(const Step& step, const BranchStep& branch) {
    const size_t count = branch.branches.size();
    const bool is_pred = branch.choice_type == ElementType::kPred;
    const DecodedOp* choice = RunTo(is_pred ? Kind::kJumpUnless : Kind::kJumpTo, code_.op_count());
    if (choice == nullptr) return;
    const int64_t at = code_.pc();
    CompareValue(steps_.ReadSlot(branch.choice, 0, is_pred ? 1 : 4), choice->in[0], "the choice of a branch");
    std::vector<int64_t> begins = choice->targets;
    if (is_pred) begins.insert(begins.begin(), at + 1);
    if (begins.size() != count) return code_.FailAt(at, "another number of branches");
    const SlotSet& live = liveness_.At(step);
    std::optional<int64_t> end;
    SlotSet written(plan_.buffers.size()), lost(plan_.buffers.size());
    std::vector<SymbolicMemory::Change> steps_changes, machine_changes;
    for (size_t b = 0; b < count && ok(); ++b) {
      if (begins[b] <= at) return code_.FailAt(at, "a branch precedes its choice");
      const size_t steps_mark = steps_.memory().Begin(), machine_mark = machine_.memory().Begin();
      code_.JumpTo(begins[b]);
      VerifySteps(branch.branches[b].steps);
      RunMoves(branch.branches[b].results);
      if (b + 1 < count) {
        const DecodedOp* jump = RunTo(Kind::kJump, code_.op_count());
        if (jump == nullptr) return;
        if (jump->targets[0] <= code_.pc() || end.value_or(jump->targets[0]) != jump->targets[0])
          return FailHere("branches end at different operations");
        end = jump->targets[0];
      } else if (end.has_value()) {
        if (!code_.RunStraight(*end)) return;
        if (code_.pc() != *end) return FailHere("the last branch does not end where the others do");
      } else {
        break;  // The only branch ends where the following code begins.
      }
      Compare(live, "at the end of a branch");
      ForEachChanging(live, [&](Slot slot) {
        if (HasUndefined(steps_.ReadSlot(slot))) lost.Add(slot);
      });
      const auto add = [](std::vector<SymbolicMemory::Change> from, auto& to) {
        to.insert(to.end(), from.begin(), from.end());
      };
      add(steps_.memory().Changes(steps_mark), steps_changes);
      add(machine_.memory().Changes(machine_mark), machine_changes);
      steps_.memory().Rollback(steps_mark);
      machine_.memory().Rollback(machine_mark);
    }
    if (!ok() || !end.has_value()) return;
    Join(live, lost, steps_changes, machine_changes);
  }

  // Joins the branches: what any of them writes gets a fresh value.
  void Join(const SlotSet& live, const SlotSet& lost,
            const std::vector<SymbolicMemory::Change>& steps_changes,
            const std::vector<SymbolicMemory::Change>& machine_changes) {
    std::vector<Slot> merged;
    ForEachChanging(live, [&](Slot slot) {
      const auto& at = layout_.of(slot);
      const bool changes = std::any_of(steps_changes.begin(), steps_changes.end(), [&](const auto& change) {
        return change.object == at.object && change.begin < at.offset + at.bytes &&
               at.offset < change.begin + change.bytes;
      });
      if (changes && !lost.Contains(slot)) merged.push_back(slot);
    });
    for (const auto& [object, begin, bytes] : steps_changes) steps_.memory().Erase(object, begin, bytes);
    for (const auto& [object, begin, bytes] : machine_changes) machine_.memory().Erase(object, begin, bytes);
    Write(nullptr);
    for (const Slot slot : merged) {
      const int64_t bytes = layout_.of(slot).bytes;
      steps_.WriteSlot(slot, 0, {{terms_.Fresh(bytes), 0, bytes}});
    }
    TakeLive(live);
    SetEffects(terms_.Fresh(1));
  }

  // --- Comparison

  static bool IsSame(const Pieces& a, const Pieces& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
      return x.term == y.term && x.offset == y.offset && x.bytes == y.bytes;
    });
  }
  // Values that the steps leave undefined agree with any value of the code.
  bool Agree(const Pieces& steps, const Pieces& machine) {
    if (IsSame(steps, machine)) return true;
    if (!HasUndefined(steps)) return Combine(terms_, steps) == Combine(terms_, machine);
    size_t k = 0;
    int64_t used = 0;
    for (const Piece& piece : steps) {
      for (int64_t done = 0; done < piece.bytes;) {
        const Piece& other = machine[k];
        const int64_t bytes = std::min(piece.bytes - done, other.bytes - used);
        if (piece.term != kUndefined &&
            (piece.term != other.term || piece.offset + done != other.offset + used))
          return false;
        done += bytes;
        used += bytes;
        if (used == other.bytes) {
          used = 0;
          ++k;
        }
      }
    }
    return true;
  }
  void Compare(const SlotSet& live, std::string_view where) {
    if (!ok()) return;
    ForEachChanging(live, [&](Slot slot) {
      const Pieces steps = steps_.ReadSlot(slot), machine = machine_.ReadSlot(slot);
      if (!ok() || Agree(steps, machine)) return;
      const int32_t by_step = steps[0].writer, by_op = machine[0].writer;
      Fail(fmt::format(
          "{}, b{} does not hold what {} stores there; {}", where, slot,
          by_step < 0 ? "it held" : NameOf(writers_[by_step]),
          by_op < 0 ? "no operation has written it" : fmt::format("operation {} wrote it", by_op)));
    });
    if (steps_.effects() != machine_.effects())
      Fail(fmt::format("{}, the effects of the code are not those of the steps", where));
  }
  void CompareValue(const Pieces& steps, const DecodedOp::FrameRange& range, std::string_view what) {
    if (!ok() || !code_.Check(range)) return;
    if (!Agree(steps, machine_.ReadFrame(range.offset, range.bytes)))
      FailHere(fmt::format("frame offset {} does not hold {}", range.offset, what));
  }

  const Plan& plan_;
  const SlotLayout layout_;
  const StepLiveness liveness_;
  Terms terms_;
  SmallDots dots_;
  SymbolicState steps_;
  SymbolicCode code_;
  SymbolicState& machine_;  // The memory of the code.
  SlotSet changing_;
  std::vector<const Step*> writers_;
  const Step* enclosing_ = nullptr;  // The enclosing loop or branch.
  std::string error_;
};

}  // namespace

absl::Status VerifyBytecode(const Plan& plan) {
  return plan.bytecode == nullptr ? absl::OkStatus() : Verifier(plan).Run();
}

}  // namespace hlo::plan
