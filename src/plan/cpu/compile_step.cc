#include "plan/cpu/compile_step.h"

#include <iterator>
#include <utility>

#include "plan/select/library_kernels.h"

namespace hlo::plan {

CpuStep CompileStep(const Plan& plan, const Step& step) {
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    // A result has the memory of an argument in runs that donate it.
    const auto may_alias = [&](Slot a, Slot b) {
      return a == b || plan.buffers[a].donor == b || plan.buffers[b].donor == a;
    };
    std::vector<cpu::TileProgram> programs;
    programs.reserve(tiles->programs.size());
    for (const loops::LoopProgram& program : tiles->programs) {
      programs.emplace_back(program, may_alias);
      if (plan.native_code) programs.back().AllowNativeCode(may_alias);
    }
    return programs;
  }
  if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    cpu::ReduceProgram compiled(reduce->program);
    if (plan.native_code) compiled.body.AllowNativeCode();
    return compiled;
  }
  if (const auto* rows = std::get_if<RowsStep>(&step.what)) {
    cpu::RowProgram compiled(rows->program);
    if (plan.native_code) compiled.AllowNativeCode();
    return compiled;
  }
  if (std::holds_alternative<KernelStep>(step.what)) return FindLibraryKernel(*step.instruction).run;
  if (const auto* product = std::get_if<ProductStep>(&step.what)) {
    CpuProduct compiled{FindProductKernel(*step.instruction).run, {}};
    for (size_t block = 0; block < std::size(product->loops); ++block) {
      if (product->loops[block].has_value()) compiled.loops[block].emplace(product->loops[block]->program);
    }
    return compiled;
  }
  return std::monostate();
}

}  // namespace hlo::plan
