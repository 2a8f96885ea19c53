#include "hlo_run/execute.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/deadline.h"
#include "base/status.h"
#include "device/gpu.h"
#include "exec/executor.h"
#include "exec/gpu_executor.h"
#include "reference/arguments.h"

namespace hlo {

struct Executable::State {
  explicit State(const CheckedModule& checked) : module(checked) {}
  CheckedModule module;
  plan::Plan plan;
  std::unique_ptr<exec::Executor> executor;
  std::unique_ptr<exec::GpuExecutor> gpu_executor;  // Neither: the reference runs the module.
  std::string fallback_reason;
};

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

namespace {

// Whether values come from elsewhere or go elsewhere while the module runs.
bool ExchangesValues(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      switch (instruction->opcode()) {
        case Opcode::kInfeed:
        case Opcode::kOutfeed:
        case Opcode::kRecv:
        case Opcode::kRecvDone:
        case Opcode::kSend:
        case Opcode::kSendDone:
          return true;
        default:
          break;
      }
    }
  }
  return false;
}

// Opening one takes longer than most runs, so that a thread keeps those that it has.
absl::StatusOr<std::shared_ptr<device::Gpu>> OpenDevice(Device device) {
  if (device.kind == Device::Kind::kEmulatedGpu)
    return std::shared_ptr<device::Gpu>(device::MakeEmulatedGpu(device.number));
  static thread_local absl::flat_hash_map<int, std::shared_ptr<device::Gpu>> opened;
  std::shared_ptr<device::Gpu>& gpu = opened[device.number];
  if (gpu == nullptr) {
    HLO_ASSIGN_OR_RETURN(gpu, device::OpenGpu(device.number));
  }
  return gpu;
}

}  // namespace

absl::StatusOr<Executable> Executable::Make(const CheckedModule& module, Engine engine,
                                            const EvaluateOptions& options, Device device) {
  if (engine == Engine::kReference && device.kind != Device::Kind::kCpu)
    return absl::InvalidArgumentError(
        "the reference engine runs on the CPU alone: leave out either it or the device");
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  auto state = std::make_unique<State>(module);
  std::shared_ptr<device::Gpu> gpu;
  if (device.kind != Device::Kind::kCpu) {
    HLO_ASSIGN_OR_RETURN(gpu, OpenDevice(device));
  }
  if (engine == Engine::kFast && ExchangesValues(module.module())) {
    state->fallback_reason = "infeed, outfeed, send and recv";
  } else if (engine == Engine::kFast && options.custom_calls != nullptr) {
    state->fallback_reason = "custom calls that the caller supplies";
  } else if (engine == Engine::kFast) {
    absl::StatusOr<plan::Plan> plan =
        plan::MakePlan(state->module, gpu == nullptr ? plan::Target::kCpu : plan::Target::kGpu);
    if (plan.ok()) {
      state->plan = *std::move(plan);
      if (gpu != nullptr)
        state->gpu_executor = std::make_unique<exec::GpuExecutor>(state->module, state->plan, std::move(gpu));
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
  return state_->executor != nullptr || state_->gpu_executor != nullptr ? Engine::kFast : Engine::kReference;
}
std::vector<Fallback> Executable::fallbacks() const {
  return state_->gpu_executor == nullptr ? std::vector<Fallback>() : state_->gpu_executor->fallbacks();
}
std::string_view Executable::fallback_reason() const { return state_->fallback_reason; }

absl::StatusOr<Literal> Executable::Run(std::vector<Literal> arguments, const EvaluateOptions& options) {
  // The reference shows every instruction to observers that look at values, and splits operands as algorithms
  // say.
  const bool watched = options.observer != nullptr && options.observer->needs_operands();
  if (engine() == Engine::kReference || watched || options.emulate_dot_algorithms ||
      options.custom_calls != nullptr)
    return Evaluate(state_->module, std::move(arguments), options);
  HLO_RETURN_IF_ERROR(CheckArguments(*state_->module.module().entry(), arguments));
  const Deadline deadline(options.max_seconds);
  absl::StatusOr<Literal> result = state_->executor != nullptr
                                       ? state_->executor->Run(arguments, options)
                                       : state_->gpu_executor->Run(arguments, options);
  if (options.observer != nullptr) options.observer->Finish(result.status());
  return result;
}

absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options, Device device) {
  if (engine == Engine::kReference && device.kind == Device::Kind::kCpu)
    return Evaluate(module, std::move(arguments), options);
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, engine, options, device));
  return executable.Run(std::move(arguments), options);
}

}  // namespace hlo
