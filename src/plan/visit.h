#pragma once
// Visits the operands and results of steps.

#include <variant>
#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// Returns the number of reads of each value by steps, moves and results.
std::vector<int64_t> CountReads(const Plan& plan);

// Calls visit(argument, is_write) for the operands and results of a step, control flow excluded. The step may
// be const.
template <class AnyStep, class Visit>
void VisitSlots(AnyStep& step, Visit&& visit) {
  const auto program = [&](auto& p) {
    p.VisitAccesses([&](auto& access, bool is_store) -> void {
      VisitOthers(access, [&](auto& argument) { visit(argument, false); });
      if (access.IsArray()) visit(access.argument, is_store);
    });
  };
  const auto leaves = [&](auto& with_leaves) {
    for (auto& slot : with_leaves.operands) {
      if (slot != kNoValue) visit(slot, false);
    }
    for (auto& slot : with_leaves.results) {
      if (slot != kNoValue) visit(slot, true);
    }
  };
  if (auto* tiles = std::get_if<TileStep>(&step.what)) {
    for (auto& p : tiles->programs) program(p);
  } else if (auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    program(reduce->program.body);
    for (auto& result : reduce->program.results) {
      visit(result.init, false);
      visit(result.output, true);
    }
  } else if (auto* rows = std::get_if<RowsStep>(&step.what)) {
    leaves(*rows);
  } else if (auto* kernel = std::get_if<KernelStep>(&step.what)) {
    leaves(*kernel);
  } else if (auto* product = std::get_if<ProductStep>(&step.what)) {
    leaves(*product);
  } else if (auto* reference = std::get_if<ReferenceStep>(&step.what)) {
    leaves(*reference);
  }
}

// Calls visit(argument, is_write) for all steps, nested ones included, and for the moves, predicates and
// branch indices of control flow.
template <class Visit>
void VisitAllSlots(const std::vector<Step>& steps, Visit&& visit) {
  const auto moves = [&](const std::vector<Move>& all) {
    for (const Move& move : all) {
      visit(move.from, false);
      visit(move.to, true);
    }
  };
  for (const Step& step : steps) {
    VisitSlots(step, visit);
    if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
      visit(loop->predicate, false);
      moves(loop->initial);
      moves(loop->next);
      VisitAllSlots(loop->condition, visit);
      VisitAllSlots(loop->body, visit);
    } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
      visit(branch->choice, false);
      for (const BranchStep::Branch& each : branch->branches) {
        moves(each.results);
        VisitAllSlots(each.steps, visit);
      }
    }
  }
}

// Calls visit(steps) for the condition and the body of a loop, or for each branch of a conditional. The step
// may be const.
template <class AnyStep, class Visit>
void VisitNestedSteps(AnyStep& step, Visit&& visit) {
  if (auto* loop = std::get_if<LoopStep>(&step.what)) {
    visit(loop->condition);
    visit(loop->body);
  } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
    for (auto& each : branch->branches) visit(each.steps);
  }
}

// Calls visit(steps) for every list of steps, from the outside inwards.
template <class Visit>
void VisitStepLists(const std::vector<Step>& steps, Visit&& visit) {
  visit(steps);
  for (const Step& step : steps)
    VisitNestedSteps(step, [&](const std::vector<Step>& nested) { VisitStepLists(nested, visit); });
}

// Calls visit(moves) for every list of moves of control flow, nested steps included.
template <class Visit>
void VisitAllMoves(const std::vector<Step>& steps, Visit&& visit) {
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
      visit(loop->initial);
      visit(loop->next);
      VisitAllMoves(loop->condition, visit);
      VisitAllMoves(loop->body, visit);
    } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (const BranchStep::Branch& each : branch->branches) {
        visit(each.results);
        VisitAllMoves(each.steps, visit);
      }
    }
  }
}

}  // namespace hlo::plan
