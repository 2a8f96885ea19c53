#include "hlo_run/execute.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/deadline.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "base/status.h"
#include "exec/device_runs.h"
#include "exec/executor.h"
#include "exec/gpu_engine.h"
#include "exec/process_jobs.h"
#include "fmt/format.h"
#include "plan/make_plan.h"
#include "plan/validate/evaluate_graph.h"
#include "reference/arguments.h"
#include "reference/evaluator.h"
#include "reference/obstacles.h"
#include "reference/program.h"
#include "reference/supported.h"
#include "spmd/device_grid.h"
#include "spmd/exchange_groups.h"
#include "spmd/instruction_numbers.h"
#include "spmd/process_group.h"
#include "spmd/rendezvous.h"

namespace hlo {

#if defined(__clang__)
// Clang takes the visibility of the first declaration, which is that of the public class.
struct Executable::State {
#else
struct [[gnu::visibility("hidden")]] Executable::State {
#endif
  explicit State(const CheckedModule& checked) : module(checked) {}
  CheckedModule module;
  plan::Plan plan;
  std::shared_ptr<exec::CompiledSteps> compiled_steps;  // All executors share them.
  std::unique_ptr<exec::Executor> executor;
  std::unique_ptr<exec::GpuEngine> gpu_engine;  // Null: the reference runs the module.
  std::string fallback_reason;
  const CustomCalls* custom_calls = nullptr;  // The custom calls that the plan was made with.
  // The computations that a run may call, if one of them exchanges values with the host (infeed, outfeed,
  // send, recv); otherwise empty.
  std::vector<const Computation*> exchanging;
  // These describe a run on several devices: the computations that it may call, the groups of their
  // collectives, their programs, and the executors of the devices. RunDevices makes the latter two.
  std::vector<const Computation*> computations;
  std::shared_ptr<const reference::Programs> programs;
  std::unique_ptr<const spmd::ExchangeTable> exchanges;
  std::vector<std::unique_ptr<exec::Executor>> device_executors;
  std::vector<std::unique_ptr<exec::GpuEngine>> device_gpu_engines;

  // The options that it was made with, and the number that it has in other processes; 0 if none has it.
  Engine engine = Engine::kReference;
  EvaluateOptions options;
  Device device;
  PlanOptions plan_options;
  int64_t number_on_processes = 0;
  std::unique_ptr<const spmd::InstructionNumbers> instruction_numbers;

  absl::Status PrepareDevices(const EvaluateOptions& options);
  absl::Status PrepareRuns(int64_t device_count);
  spmd::RendezvousOptions RendezvousOptionsOf(const DevicesOptions& devices) const;
  // Returns why the devices of a run cannot be in several processes; "" if they can.
  std::string SingleProcessReason(const EvaluateOptions& options, const DevicesOptions& devices) const;
  // Sends the other processes their part of a run.
  spmd::DistributedRun StartOnProcesses(spmd::ProcessGroup& processes,
                                        std::vector<std::vector<Literal>>& arguments,
                                        const EvaluateOptions& options, const DevicesOptions& devices);
  // Runs the devices of this process on threads; arguments and options are those of a device, whose number is
  // added to the seed.
  void RunThreads(spmd::Rendezvous& rendezvous, absl::FunctionRef<std::vector<Literal>(int64_t)> arguments_of,
                  absl::FunctionRef<EvaluateOptions(int64_t)> options_of);
  // True if the reference must run the module: there is no plan, an observer needs operands, dot algorithms
  // are emulated, or the custom calls are not those of the plan.
  bool NeedsReference(const EvaluateOptions& options) const;
  absl::StatusOr<Literal> RunDevice(int64_t device, std::vector<Literal> arguments,
                                    const EvaluateOptions& options,
                                    absl::Span<const std::unique_ptr<exec::GpuEngine>> peers);
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
  HLO_RETURN_IF_ERROR(exec::AddExchanges(computations, *table));
  exchanges = std::move(table);
  return absl::OkStatus();
}

absl::StatusOr<Executable> Executable::Make(const CheckedModule& module, Engine engine,
                                            const EvaluateOptions& options, const Device& device,
                                            const PlanOptions& plan_options) {
  HLO_RETURN_IF_ERROR(IsaStatus());
  if (engine == Engine::kReference && device.kind != Device::Kind::kCpu)
    return absl::InvalidArgumentError(
        "the reference engine runs on the CPU alone: leave out either it or the device");
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  auto state = std::make_unique<State>(module);
  HLO_RETURN_IF_ERROR(state->PrepareDevices(options));
  state->custom_calls = options.custom_calls;
  state->engine = engine;
  state->options = options;
  state->device = device;
  state->plan_options = plan_options;
  std::shared_ptr<device::Gpu> gpu;
  if (device.kind != Device::Kind::kCpu) {
    for (const int number : device.more) HLO_RETURN_IF_ERROR(exec::OpenDevice(device.kind, number).status());
    HLO_ASSIGN_OR_RETURN(gpu, exec::OpenDevice(device.kind, device.number));
  }
  int64_t depth = 0;
  state->exchanging = reference::CalledFrom(*state->module.module().entry(), &depth, options.custom_calls);
  if (std::none_of(state->exchanging.begin(), state->exchanging.end(), &NeedsHost)) state->exchanging.clear();
  if (engine == Engine::kFast) {
    const plan::Target target = gpu == nullptr ? plan::Target::kCpu : plan::Target::kGpu;
    absl::StatusOr<plan::Plan> plan =
        plan::MakePlan(state->module, options.custom_calls, target, plan_options);
    if (plan.ok()) {
      state->plan = *std::move(plan);
      if (gpu != nullptr) {
        state->gpu_engine = exec::MakeGpuEngine(state->module, state->plan, std::move(gpu));
      } else {
        state->compiled_steps = std::make_shared<exec::CompiledSteps>(state->plan);
        state->executor =
            std::make_unique<exec::Executor>(state->module, state->plan, nullptr, state->compiled_steps);
      }
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
  if (state_->gpu_engine == nullptr) return {};
  std::vector<Fallback> all = state_->gpu_engine->fallbacks();
  for (const auto& engine : state_->device_gpu_engines) {
    for (Fallback& fallback : engine->fallbacks()) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Fallback& other) {
        return other.instruction == fallback.instruction && other.reason == fallback.reason;
      });
      if (same == all.end()) {
        all.push_back(std::move(fallback));
        continue;
      }
      same->runs += fallback.runs;
      same->bytes += fallback.bytes;
    }
  }
  return all;
}
std::string_view Executable::fallback_reason() const { return state_->fallback_reason; }
std::string_view Executable::plan_refusal() const { return state_->plan.refusal; }

absl::StatusOr<Literal> Executable::Run(std::vector<Literal> arguments, const EvaluateOptions& options) {
  if (state_->NeedsReference(options)) return Evaluate(state_->module, std::move(arguments), options);
  HLO_RETURN_IF_ERROR(CheckArguments(*state_->module.module().entry(), arguments));
  HLO_RETURN_IF_ERROR(reference::CheckPeers(state_->computations, options));
  if (!state_->exchanging.empty()) HLO_RETURN_IF_ERROR(reference::CheckSupplies(state_->exchanging, options));
  const Deadline deadline(options.max_seconds, options.cancel);
  absl::StatusOr<Literal> result = state_->executor != nullptr
                                       ? state_->executor->Run(arguments, options)
                                       : state_->gpu_engine->Run(std::move(arguments), options, {});
  if (options.observer != nullptr) options.observer->Finish(result.status());
  return result;
}

std::string Executable::State::SingleProcessReason(const EvaluateOptions& run_options,
                                                   const DevicesOptions& devices) const {
  if (run_options.custom_calls != nullptr || custom_calls != nullptr)
    return "it has custom calls that the caller supplies";
  if (!exchanging.empty()) return "the module exchanges values with the host";
  if (devices.observer) return "their values are observed, which one process does";
  return "";
}

spmd::DistributedRun Executable::State::StartOnProcesses(spmd::ProcessGroup& processes,
                                                         std::vector<std::vector<Literal>>& arguments,
                                                         const EvaluateOptions& run_options,
                                                         const DevicesOptions& devices) {
  if (instruction_numbers == nullptr)
    instruction_numbers = std::make_unique<spmd::InstructionNumbers>(module.module());
  if (number_on_processes == 0 || processes.sent_module != number_on_processes) {
    processes.sent_module = number_on_processes = ++processes.last_module;
    const std::string job =
        exec::ModuleJob(module, engine, options, device, plan_options, instruction_numbers->fingerprint());
    for (int rank = 1; rank < processes.size(); ++rank) processes.SendJob(rank, job);
  }
  if (run_options.max_seconds > 0 || devices.collective_timeout > 0) processes.LimitSilence();
  const int64_t run = ++processes.last_run;
  const auto count = static_cast<int64_t>(arguments.size());
  for (int rank = 1; rank < processes.size(); ++rank) {
    const spmd::DeviceRange range = spmd::DevicesOf(rank, processes.size(), count);
    if (range.first == range.last) continue;
    processes.SendJob(rank,
                      exec::RunJob(run, count, run_options, devices,
                                   absl::MakeSpan(arguments).subspan(range.first, range.last - range.first)));
  }
  return {.processes = &processes, .number = run, .instructions = instruction_numbers.get()};
}

absl::Status Executable::State::PrepareRuns(int64_t device_count) {
  if (programs == nullptr) programs = plan::MakePrograms(module, plan.graph, custom_calls);
  const auto count = static_cast<size_t>(device_count);
  while (executor != nullptr && device_executors.size() < count)
    device_executors.push_back(std::make_unique<exec::Executor>(module, plan, programs, compiled_steps));
  while (gpu_engine != nullptr && device_gpu_engines.size() < count) {
    const size_t made = device_gpu_engines.size(), gpu_count = device.more.size() + 1;
    const size_t turn = made % gpu_count;
    HLO_ASSIGN_OR_RETURN(
        std::shared_ptr<device::Gpu> gpu,
        exec::OpenDevice(device.kind, turn == 0 ? device.number : device.more[turn - 1], /*is_own=*/true));
    const exec::GpuEngine& same = made < gpu_count ? *gpu_engine : *device_gpu_engines[turn];
    device_gpu_engines.push_back(same.ForDevice(std::move(gpu), programs));
  }
  return absl::OkStatus();
}

spmd::RendezvousOptions Executable::State::RendezvousOptionsOf(const DevicesOptions& devices) const {
  // Devices on GPUs need little CPU time, so all of them run concurrently.
  const bool runs_on_gpus = gpu_engine != nullptr && device.kind == Device::Kind::kGpu;
  return {.strict_match = devices.strict_match,
          .timeout_seconds = devices.collective_timeout,
          .emulate_xla_cpu = devices.emulate_xla_cpu,
          .max_running = runs_on_gpus ? std::numeric_limits<int>::max() : ThreadCount()};
}

void Executable::State::RunThreads(spmd::Rendezvous& rendezvous,
                                   absl::FunctionRef<std::vector<Literal>(int64_t)> arguments_of,
                                   absl::FunctionRef<EvaluateOptions(int64_t)> options_of) {
  const spmd::DeviceRange& range = rendezvous.devices();
  const int64_t count = range.last - range.first;
  const absl::Status prepared = PrepareRuns(count);
  std::vector<EvaluateOptions> options;
  for (int64_t device = range.first; device < range.last; ++device) options.push_back(options_of(device));
  const bool have_peers = gpu_engine != nullptr && count == exchanges->grid().count() &&
                          !rendezvous.CollectivesOf(range.first).emulates_xla_cpu() &&
                          std::none_of(options.begin(), options.end(),
                                       [&](const EvaluateOptions& own) { return NeedsReference(own); });
  const absl::Span<const std::unique_ptr<exec::GpuEngine>> peers =
      have_peers ? absl::MakeConstSpan(device_gpu_engines)
                 : absl::Span<const std::unique_ptr<exec::GpuEngine>>();
  const auto run = [&](int64_t device, const EvaluateOptions& own) -> absl::StatusOr<Literal> {
    HLO_RETURN_IF_ERROR(prepared);
    absl::StatusOr<Literal> result = RunDevice(device - range.first, arguments_of(device), own, peers);
    if (own.observer != nullptr) own.observer->Finish(result.status());
    return result;
  };
  exec::RunDeviceThreads(
      rendezvous, [&](int64_t device) { return options[device - range.first]; }, run);
}

int64_t Executable::device_count() const { return spmd::GridOf(state_->module.module()).count(); }

bool Executable::State::NeedsReference(const EvaluateOptions& run_options) const {
  const bool watched = run_options.observer != nullptr && run_options.observer->needs_operands();
  return (executor == nullptr && gpu_engine == nullptr) || watched || run_options.emulate_dot_algorithms ||
         run_options.custom_calls != custom_calls;
}

absl::StatusOr<Literal> Executable::State::RunDevice(
    int64_t device, std::vector<Literal> arguments, const EvaluateOptions& options,
    absl::Span<const std::unique_ptr<exec::GpuEngine>> peers) {
  if (NeedsReference(options)) {
    reference::Evaluator evaluator(
        options.custom_calls == custom_calls
            ? programs
            : std::make_shared<const reference::Programs>(computations, options.custom_calls),
        options);
    return evaluator.Call(*module.module().entry(), absl::MakeSpan(arguments));
  }
  return executor != nullptr ? device_executors[device]->Run(arguments, options)
                             : device_gpu_engines[device]->Run(std::move(arguments), options, peers);
}

absl::StatusOr<std::vector<Literal>> Executable::RunDevices(std::vector<std::vector<Literal>> arguments,
                                                            const EvaluateOptions& options,
                                                            const DevicesOptions& devices) {
  const int64_t count = device_count();
  if (static_cast<int64_t>(arguments.size()) != count) {
    return absl::FailedPreconditionError(fmt::format("the run has {}, but there are arguments for {}",
                                                     Counted(count, "device"), arguments.size()));
  }
  const auto options_of = [&](int64_t device) {
    EvaluateOptions own = options;
    if (devices.observer)
      own.observer = devices.observer(device);
    else if (device != 0)
      own.observer = nullptr;
    if (devices.host) own.host = devices.host(device);
    return own;
  };
  if (count == 1) {
    HLO_ASSIGN_OR_RETURN(Literal result, Run(std::move(arguments[0]), options_of(0)));
    return std::vector<Literal>{std::move(result)};
  }
  const spmd::DeviceGrid& grid = state_->exchanges->grid();
  HLO_RETURN_IF_ERROR(spmd::CheckSize(grid));
  for (int64_t device = 0; device < count; ++device) {
    const absl::Status fits = CheckArguments(*state_->module.module().entry(), arguments[device]);
    if (!fits.ok())
      return absl::Status(fits.code(), fmt::format("{}: {}", grid.NameOf(device), Message(fits)));
  }
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(state_->computations, options_of(0)));
  spmd::DistributedRun run;
  if (devices.processes != nullptr && devices.processes->size() > 1) {
    const std::string reason = state_->SingleProcessReason(options, devices);
    if (reason.empty())
      run = state_->StartOnProcesses(*devices.processes, arguments, options, devices);
    else if (devices.warn)
      devices.warn("all devices run in process 0: " + reason);
  }
  spmd::Rendezvous rendezvous(*state_->exchanges, state_->RendezvousOptionsOf(devices), run);
  state_->RunThreads(
      rendezvous, [&](int64_t device) { return std::move(arguments[device]); }, options_of);
  rendezvous.WaitForOthers();
  if (devices.warn) {
    for (const std::string& warning : rendezvous.Warnings()) devices.warn(warning);
  }
  HLO_RETURN_IF_ERROR(rendezvous.Outcome());
  return rendezvous.TakeResults();
}

absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options, const Device& device,
                                const PlanOptions& plan_options) {
  if (engine == Engine::kReference && device.kind == Device::Kind::kCpu)
    return Evaluate(module, std::move(arguments), options);
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine, options, device, plan_options));
  return executable.Run(std::move(arguments), options);
}

namespace exec {

// Runs this process's devices in the runs of process 0. It keeps the last module.
class RunServer {
 public:
  explicit RunServer(spmd::ProcessGroup& processes) : processes_(processes) {}

  void Serve() {
    while (const std::optional<std::string> job = processes_.NextJob()) {
      spmd::MessageReader reader(*job);
      if (reader.Read<JobKind>() == JobKind::kModule)
        outcome_ = TakeModule(reader);
      else
        Run(reader);
    }
  }

 private:
  absl::Status TakeModule(spmd::MessageReader& job) {
    executable_.reset();
    HLO_ASSIGN_OR_RETURN(ReceivedModule received, ReadModuleJob(job, processes_));
    HLO_ASSIGN_OR_RETURN(Executable made, Executable::Make(received.module, received.engine, received.options,
                                                           received.device, received.plan_options));
    made.state_->instruction_numbers = std::make_unique<spmd::InstructionNumbers>(received.module.module());
    executable_ = std::move(made);
    return absl::OkStatus();
  }

  void Run(spmd::MessageReader& job) {
    ReceivedRun run = ReadRunJob(job);
    const absl::Status status = outcome_.ok() ? run.arguments.status() : outcome_;
    if (!status.ok()) {
      return spmd::Rendezvous::ReportFailure(
          processes_, run.number, run.device_count,
          absl::Status(status.code(), fmt::format("process {}: {}", processes_.rank(), Message(status))));
    }
    Executable::State& state = *executable_->state_;
    const spmd::DistributedRun distributed = {
        .processes = &processes_, .number = run.number, .instructions = state.instruction_numbers.get()};
    spmd::Rendezvous rendezvous(*state.exchanges, state.RendezvousOptionsOf(run.devices), distributed);
    const int64_t first = rendezvous.devices().first;
    const auto arguments_of = [&](int64_t device) { return std::move((*run.arguments)[device - first]); };
    state.RunThreads(rendezvous, arguments_of, [&](int64_t) { return run.options; });
  }

  spmd::ProcessGroup& processes_;
  std::optional<Executable> executable_;
  absl::Status outcome_;  // The outcome of taking the last module.
};

void ServeRuns(spmd::ProcessGroup& processes) { RunServer(processes).Serve(); }

}  // namespace exec
}  // namespace hlo
