#include "hlo_run/execute.h"

#include <algorithm>
#include <utility>

#include "base/deadline.h"
#include "base/isa.h"
#include "base/status.h"
#include "exec/executor.h"
#include "exec/gpu_engine.h"
#include "plan/make_plan.h"
#include "reference/arguments.h"
#include "reference/obstacles.h"
#include "reference/program.h"
#include "reference/supported.h"

namespace hlo {

struct Executable::State {
  explicit State(const CheckedModule& checked) : module(checked) {}
  CheckedModule module;
  plan::Plan plan;
  std::unique_ptr<exec::Executor> executor;
  std::unique_ptr<exec::GpuEngine> gpu_engine;  // Null: the reference runs the module.
  std::string fallback_reason;
  const CustomCalls* custom_calls = nullptr;  // The custom calls that the plan was made with.
  // The computations that a run may call, if one of them exchanges values with the host (infeed, outfeed,
  // send, recv); otherwise empty.
  std::vector<const Computation*> exchanging;
};

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

namespace {

bool NeedsHost(const Computation* computation) {
  const auto instructions = computation->instructions();
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const Instruction* i) { return reference::NeedsHost(*i); });
}

}  // namespace

absl::StatusOr<Executable> Executable::Make(const CheckedModule& module, Engine engine,
                                            const EvaluateOptions& options, Device device,
                                            const PlanOptions& plan_options) {
  HLO_RETURN_IF_ERROR(IsaStatus());
  if (engine == Engine::kReference && device.kind != Device::Kind::kCpu)
    return absl::InvalidArgumentError(
        "the reference engine runs on the CPU alone: leave out either it or the device");
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  auto state = std::make_unique<State>(module);
  state->custom_calls = options.custom_calls;
  std::shared_ptr<device::Gpu> gpu;
  if (device.kind != Device::Kind::kCpu) {
    HLO_ASSIGN_OR_RETURN(gpu, exec::OpenDevice(device));
  }
  int64_t depth = 0;
  state->exchanging = reference::CalledFrom(*state->module.module().entry(), &depth, options.custom_calls);
  if (std::none_of(state->exchanging.begin(), state->exchanging.end(), &NeedsHost)) state->exchanging.clear();
  if (engine == Engine::kFast && gpu != nullptr && !state->exchanging.empty()) {
    state->fallback_reason = "infeed, outfeed, send and recv";
  } else if (engine == Engine::kFast && gpu != nullptr && options.custom_calls != nullptr) {
    state->fallback_reason = "custom calls that the caller supplies";
  } else if (engine == Engine::kFast) {
    const plan::Target target = gpu == nullptr ? plan::Target::kCpu : plan::Target::kGpu;
    absl::StatusOr<plan::Plan> plan =
        plan::MakePlan(state->module, options.custom_calls, target, plan_options);
    if (plan.ok()) {
      state->plan = *std::move(plan);
      if (gpu != nullptr)
        state->gpu_engine = exec::MakeGpuEngine(state->module, state->plan, std::move(gpu));
      else
        state->executor = std::make_unique<exec::Executor>(state->module, state->plan);
    } else if (absl::IsUnimplemented(plan.status())) {
      state->fallback_reason = Message(plan.status());
    } else {
      return plan.status();
    }
  }
  return Executable(std::move(state));
}

Engine Executable::engine() const {
  return state_->executor != nullptr || state_->gpu_engine != nullptr ? Engine::kFast : Engine::kReference;
}
std::vector<Fallback> Executable::fallbacks() const {
  return state_->gpu_engine == nullptr ? std::vector<Fallback>() : state_->gpu_engine->fallbacks();
}
std::string_view Executable::fallback_reason() const { return state_->fallback_reason; }

absl::StatusOr<Literal> Executable::Run(std::vector<Literal> arguments, const EvaluateOptions& options) {
  // Observers that need operands and emulation of dot algorithms are supported by the reference only.
  const bool watched = options.observer != nullptr && options.observer->needs_operands();
  if (engine() == Engine::kReference || watched || options.emulate_dot_algorithms ||
      options.custom_calls != state_->custom_calls)
    return Evaluate(state_->module, std::move(arguments), options);
  HLO_RETURN_IF_ERROR(CheckArguments(*state_->module.module().entry(), arguments));
  if (!state_->exchanging.empty()) HLO_RETURN_IF_ERROR(reference::CheckSupplies(state_->exchanging, options));
  const Deadline deadline(options.max_seconds, options.cancel);
  absl::StatusOr<Literal> result = state_->executor != nullptr
                                       ? state_->executor->Run(std::move(arguments), options)
                                       : state_->gpu_engine->Run(std::move(arguments), options);
  if (options.observer != nullptr) options.observer->Finish(result.status());
  return result;
}

absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options, Device device,
                                const PlanOptions& plan_options) {
  if (engine == Engine::kReference && device.kind == Device::Kind::kCpu)
    return Evaluate(module, std::move(arguments), options);
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine, options, device, plan_options));
  return executable.Run(std::move(arguments), options);
}

}  // namespace hlo
