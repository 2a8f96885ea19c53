#include "hlo_run/execute.h"

#include <algorithm>
#include <utility>

#include "base/deadline.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "base/status.h"
#include "exec/executor.h"
#include "exec/gpu_engine.h"
#include "fmt/format.h"
#include "plan/make_plan.h"
#include "reference/arguments.h"
#include "reference/evaluator.h"
#include "reference/obstacles.h"
#include "reference/program.h"
#include "reference/supported.h"
#include "spmd/device_grid.h"
#include "spmd/device_threads.h"
#include "spmd/exchange_groups.h"
#include "spmd/rendezvous.h"

namespace hlo {

struct [[gnu::visibility("hidden")]] Executable::State {
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
  // Of a module with several devices: all computations that a run may call, the groups of their collectives,
  // their programs, and the executors of the devices, which share the plan. RunDevices makes the latter two.
  std::vector<const Computation*> computations;
  std::shared_ptr<const reference::Programs> programs;
  std::unique_ptr<const spmd::ExchangeTable> exchanges;
  std::vector<std::unique_ptr<exec::Executor>> device_executors;

  absl::Status PrepareDevices(const EvaluateOptions& options);
  absl::StatusOr<Literal> RunDevice(int64_t device, std::vector<Literal> arguments,
                                    const EvaluateOptions& options);
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

absl::Status Executable::State::PrepareDevices(const EvaluateOptions& options) {
  const Module& whole = module.module();
  if (!spmd::HasSeveralDevices(whole)) return absl::OkStatus();
  int64_t depth = 0;
  computations = reference::CalledFrom(*whole.entry(), &depth, options.custom_calls);
  const spmd::DeviceGrid grid = spmd::GridOf(whole);
  if (spmd::DependsOnDevices(whole)) HLO_RETURN_IF_ERROR(spmd::CheckSize(grid));
  auto table = std::make_unique<spmd::ExchangeTable>(grid);
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!spmd::DependsOnDevices(*instruction)) continue;
      if (const absl::Status status = table->Add(*instruction); !status.ok())
        return reference::Located(status, *instruction);
    }
  }
  exchanges = std::move(table);
  return absl::OkStatus();
}

absl::StatusOr<Executable> Executable::Make(const CheckedModule& module, Engine engine,
                                            const EvaluateOptions& options, Device device,
                                            const PlanOptions& plan_options) {
  HLO_RETURN_IF_ERROR(IsaStatus());
  if (engine == Engine::kReference && device.kind != Device::Kind::kCpu)
    return absl::InvalidArgumentError(
        "the reference engine runs on the CPU alone: leave out either it or the device");
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  auto state = std::make_unique<State>(module);
  HLO_RETURN_IF_ERROR(state->PrepareDevices(options));
  state->custom_calls = options.custom_calls;
  std::shared_ptr<device::Gpu> gpu;
  if (device.kind != Device::Kind::kCpu) {
    HLO_ASSIGN_OR_RETURN(gpu, exec::OpenDevice(device));
  }
  int64_t depth = 0;
  state->exchanging = reference::CalledFrom(*state->module.module().entry(), &depth, options.custom_calls);
  if (std::none_of(state->exchanging.begin(), state->exchanging.end(), &NeedsHost)) state->exchanging.clear();
  if (gpu != nullptr && state->exchanges != nullptr && spmd::DependsOnDevices(module.module())) {
    return absl::UnimplementedError("several replicas and partitions run on the CPU alone");
  } else if (engine == Engine::kFast && gpu != nullptr && !state->exchanging.empty()) {
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
  HLO_RETURN_IF_ERROR(reference::CheckPeers(state_->computations, options));
  if (!state_->exchanging.empty()) HLO_RETURN_IF_ERROR(reference::CheckSupplies(state_->exchanging, options));
  const Deadline deadline(options.max_seconds, options.cancel);
  absl::StatusOr<Literal> result = state_->executor != nullptr
                                       ? state_->executor->Run(std::move(arguments), options)
                                       : state_->gpu_engine->Run(std::move(arguments), options);
  if (options.observer != nullptr) options.observer->Finish(result.status());
  return result;
}

int64_t Executable::device_count() const { return spmd::GridOf(state_->module.module()).count(); }

absl::StatusOr<Literal> Executable::State::RunDevice(int64_t device, std::vector<Literal> arguments,
                                                     const EvaluateOptions& options) {
  const Deadline deadline(options.max_seconds, options.cancel);
  const bool watched = options.observer != nullptr && options.observer->needs_operands();
  if (executor == nullptr || watched || options.emulate_dot_algorithms ||
      options.custom_calls != custom_calls) {
    reference::Evaluator evaluator(
        options.custom_calls == custom_calls
            ? programs
            : std::make_shared<const reference::Programs>(computations, options.custom_calls),
        options);
    return evaluator.Call(*module.module().entry(), absl::MakeSpan(arguments));
  }
  return device_executors[device]->Run(std::move(arguments), options);
}

absl::StatusOr<std::vector<Literal>> Executable::RunDevices(std::vector<std::vector<Literal>> arguments,
                                                            const EvaluateOptions& options,
                                                            const DevicesOptions& devices) {
  const int64_t count = device_count();
  if (static_cast<int64_t>(arguments.size()) != count) {
    return absl::FailedPreconditionError(
        fmt::format("the run has {} devices, but there are arguments for {}", count, arguments.size()));
  }
  const auto options_of = [&](int64_t device) {
    EvaluateOptions own = options;
    own.seed += static_cast<uint64_t>(device);
    if (device != 0) own.observer = nullptr;
    if (devices.host) own.host = devices.host(device);
    return own;
  };
  if (count == 1) {
    HLO_ASSIGN_OR_RETURN(Literal result, Run(std::move(arguments[0]), options_of(0)));
    return std::vector<Literal>{std::move(result)};
  }
  const spmd::DeviceGrid& grid = state_->exchanges->grid();
  HLO_RETURN_IF_ERROR(spmd::CheckSize(grid));
  if (state_->gpu_engine != nullptr)
    return absl::UnimplementedError("several replicas and partitions run on the CPU alone");
  for (int64_t device = 0; device < count; ++device) {
    const absl::Status fits = CheckArguments(*state_->module.module().entry(), arguments[device]);
    if (!fits.ok())
      return absl::Status(fits.code(), fmt::format("{}: {}", grid.NameOf(device), Message(fits)));
  }
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(state_->computations, options_of(0)));
  if (state_->programs == nullptr)
    state_->programs =
        std::make_shared<const reference::Programs>(state_->computations, state_->custom_calls);
  if (state_->executor != nullptr) {
    for (auto device = static_cast<int64_t>(state_->device_executors.size()); device < count; ++device) {
      state_->device_executors.push_back(
          std::make_unique<exec::Executor>(state_->module, state_->plan, state_->programs));
    }
  }
  spmd::Rendezvous rendezvous(*state_->exchanges, {.strict_match = devices.strict_match,
                                                   .timeout_seconds = devices.collective_timeout,
                                                   .most_running = ThreadCount()});
  std::vector<Literal> results(count);
  const auto run = [&](int64_t device) {
    rendezvous.Enter(device);
    EvaluateOptions own = options_of(device);
    own.collectives = &rendezvous.LinkOf(device);
    absl::StatusOr<Literal> result = state_->RunDevice(device, std::move(arguments[device]), own);
    if (own.observer != nullptr) own.observer->Finish(result.status());
    if (result.ok()) results[device] = *std::move(result);
    rendezvous.Leave(device, result.status());
  };
  const auto refused = [&](int64_t device) {
    rendezvous.Enter(device);
    rendezvous.Leave(device, absl::ResourceExhaustedError("the system starts no thread for this device"));
  };
  spmd::RunOnThreads(count, run, refused);
  if (devices.warn) {
    for (const std::string& warning : rendezvous.Warnings()) devices.warn(warning);
  }
  HLO_RETURN_IF_ERROR(rendezvous.Outcome());
  return results;
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
