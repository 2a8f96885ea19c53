#include "plan/cpu/compile_step.h"

#include <iterator>
#include <utility>

#include "loops/split_at_edges.h"
#include "plan/select/library_kernels.h"

namespace hlo::plan {
namespace {

// A result has the memory of an argument in runs that donate it.
bool ShareMemory(const Plan& plan, Slot a, Slot b) {
  return a == b || plan.buffers[a].donor == b || plan.buffers[b].donor == a;
}

CpuProduct CompileProduct(const Plan& plan, const Instruction& instruction, const ProductStep& product) {
  CpuProduct compiled{FindProductKernel(instruction).run, {}};
  // Returns the slot of an argument, or -1 for an array that exists only block by block.
  const auto slot_of = [&](int32_t argument) {
    const auto operands = static_cast<int32_t>(product.operands.size());
    if (argument == product.NumberOf(ProductStep::kProduct) && product.in_place) return product.results[0];
    if (argument >= product.NumberOf(0)) return Slot{-1};
    return argument < operands ? product.operands[argument] : product.results[argument - operands];
  };
  const auto may_alias = [&](int32_t a, int32_t b) {
    const Slot first = slot_of(a), second = slot_of(b);
    return a == b || (first >= 0 && second >= 0 && ShareMemory(plan, first, second));
  };
  for (size_t block = 0; block < std::size(product.loops); ++block) {
    if (!product.loops[block].has_value()) continue;
    cpu::TileProgram& loop = compiled.loops[block].emplace(product.loops[block]->program);
    if (plan.native_code) loop.AllowNativeCode(may_alias);
  }
  return compiled;
}

}  // namespace

CpuStep CompileStep(const Plan& plan, const Step& step) {
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    const auto may_alias = [&](Slot a, Slot b) { return ShareMemory(plan, a, b); };
    std::vector<cpu::TileProgram> programs;
    programs.reserve(tiles->programs.size());
    for (const loops::LoopProgram& program : tiles->programs) {
      for (loops::LoopProgram& part : loops::SplitAtEdges(program)) {
        programs.emplace_back(std::move(part), may_alias);
        if (plan.native_code) programs.back().AllowNativeCodeOfRuns(may_alias);
      }
    }
    return programs;
  }
  if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    cpu::ReduceProgram compiled(reduce->program);
    if (plan.native_code) compiled.AllowNativeCode();
    return compiled;
  }
  if (const auto* rows = std::get_if<RowsStep>(&step.what)) {
    cpu::RowProgram compiled(rows->program);
    if (plan.native_code) compiled.AllowNativeCode();
    return compiled;
  }
  if (std::holds_alternative<KernelStep>(step.what)) return FindLibraryKernel(*step.instruction).run;
  if (const auto* product = std::get_if<ProductStep>(&step.what))
    return CompileProduct(plan, *step.instruction, *product);
  return std::monostate();
}

}  // namespace hlo::plan
