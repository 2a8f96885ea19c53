#pragma once
// What does a step read and write?

#include <variant>
#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// How often steps, moves and results read each value, by its number.
std::vector<int64_t> CountReads(Plan& plan);

// visit(argument, is_write) for all that the step itself reads and writes, control flow apart.
template <class Visit>
void VisitSlots(Step& step, Visit&& visit) {
  auto program = [&](cpu::TileProgram& p) {
    p.VisitAccesses([&](cpu::Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t& argument) { visit(argument, false); });
      if (access.IsArray()) visit(access.argument, is_store);
    });
  };
  auto leaves = [&](std::vector<Slot>& operands, std::vector<Slot>& results) {
    for (Slot& slot : operands) {
      if (slot != kNoValue) visit(slot, false);
    }
    for (Slot& slot : results) {
      if (slot != kNoValue) visit(slot, true);
    }
  };
  if (auto* tiles = std::get_if<TileStep>(&step.what)) {
    for (cpu::TileProgram& p : tiles->programs) program(p);
  } else if (auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    program(reduce->program.body);
    for (cpu::ReduceProgram::Result& result : reduce->program.results) {
      visit(result.init, false);
      visit(result.output, true);
    }
  } else if (auto* rows = std::get_if<RowsStep>(&step.what)) {
    leaves(rows->operands, rows->results);
  } else if (auto* kernel = std::get_if<KernelStep>(&step.what)) {
    leaves(kernel->operands, kernel->results);
  } else if (auto* product = std::get_if<ProductStep>(&step.what)) {
    leaves(product->operands, product->results);
  } else if (auto* reference = std::get_if<ReferenceStep>(&step.what)) {
    leaves(reference->operands, reference->results);
  }
}

}  // namespace hlo::plan
