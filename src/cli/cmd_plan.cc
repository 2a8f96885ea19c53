// Implements `plan`: prints the plan of the fast engine.

#include <cstdio>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "fmt/format.h"
#include "plan/make_plan.h"
#include "plan/passes.h"
#include "plan/plan.h"
#include "plan/print_plan.h"

namespace hlo::cli {

void AddPlan(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<CommonOptions>();
  auto plan_options = std::make_shared<PlanOptions>();
  CLI::App* command =
      program.add_subcommand("plan", "Print the execution plan: steps, kernels, buffers, fused loops");
  AddCommonFlags(*command, *options);
  AddGridFlags(*command, *options);
  AddElidedFlag(*command, options->elided);
  AddPlanFlags(*command, *plan_options);
  command
      ->add_flag_callback(
          "--passes",
          [] {
            std::fputs(plan::PassesText().c_str(), stdout);
            throw CLI::Success();
          },
          "List the passes of the planner, in order, and stop")
      ->trigger_on_parse();
  command->footer(
      "A loop computes a fusion of elementwise instructions and has the name of the last one. b<-> marks "
      "buffers\n"
      "that are exchanged. With --pass-limit, the last line is the number of changes that the passes have "
      "made,\n"
      "and the last change.\n"
      "Examples:\n  hlo-run plan m.hlo\n  hlo-run plan m.hlo --disable-pass loop_fusion\n"
      "  hlo-run plan m.hlo --pass-limit 12\n  hlo-run plan --passes");
  command->callback([options, plan_options, &exit_status] {
    exit_status = ForEachFile(*options, [&](const std::string& file, FileResult& result) {
      const LoadedModule loaded = Load(file, *options, LoadUntil::kChecked, Exit::kInvalid, result);
      if (loaded.module == nullptr || !result.Accept(RequireElements(loaded), file)) return;
      const absl::StatusOr<plan::Plan> plan =
          plan::MakePlan(loaded.checked.front(), nullptr, plan::Target::kCpu, *plan_options);
      if (!result.Accept(plan.status(), file)) return;
      result.text = plan::ToString(*plan);
      const spmd::DeviceGrid grid = spmd::GridOf(*loaded.module);
      if (grid.count() > 1) {
        result.text += fmt::format("{} of {} share the plan\n", Counted(grid.replicas, "replica"),
                                   Counted(grid.partitions, "partition"));
        result.extra["replicas"] = grid.replicas;
        result.extra["partitions"] = grid.partitions;
      }
      if (plan_options->pass_limit.has_value()) {
        result.text += fmt::format("changes {}{}\n", plan->change_count,
                                   plan->change_count == 0 ? "" : "; the last one is " + plan->last_change);
      }
      result.extra["changes"] = plan->change_count;
      result.extra["memory_bytes"] = plan::MemoryOf(*plan);
      result.extra["arena_bytes"] = plan->arena_bytes;
      result.extra["kernel_bytes"] = plan->kernel_bytes;
      result.extra["steps"] = plan->steps.size();
    });
  });
}

}  // namespace hlo::cli
