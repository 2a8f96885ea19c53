#include "exec/process_jobs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/arena.h"
#include "base/status.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "spmd/device_grid.h"
#include "spmd/instruction_numbers.h"
#include "types/memory_use.h"

namespace hlo::exec {
namespace {

using spmd::MessageReader;
using spmd::MessageWriter;

void AddOptions(const EvaluateOptions& options, MessageWriter& job) {
  job.Add(options.max_steps)
      .Add(options.max_seconds)
      .Add(options.max_call_depth)
      .Add(options.seed)
      .Add(options.emulate_dot_algorithms);
}

EvaluateOptions ReadOptions(MessageReader& job) {
  EvaluateOptions options;
  options.max_steps = job.Read<int64_t>();
  options.max_seconds = job.Read<double>();
  options.max_call_depth = job.Read<int64_t>();
  options.seed = job.Read<uint64_t>();
  options.emulate_dot_algorithms = job.Read<bool>();
  return options;
}

void AddPlanOptions(const PlanOptions& options, MessageWriter& job) {
  job.Add(options.disabled_passes)
      .Add(options.pass_limit.has_value())
      .Add(options.pass_limit.value_or(0))
      .Add(options.validate)
      .Add(options.check_passes)
      .Add(options.min_fused_product_bytes);
}

PlanOptions ReadPlanOptions(MessageReader& job) {
  PlanOptions options;
  for (auto left = job.Read<int64_t>(); left > 0; --left)
    options.disabled_passes.emplace_back(job.ReadText());
  const bool has_limit = job.Read<bool>();
  const auto limit = job.Read<int64_t>();
  if (has_limit) options.pass_limit = limit;
  options.validate = job.Read<bool>();
  options.check_passes = job.Read<bool>();
  options.min_fused_product_bytes = job.Read<int64_t>();
  return options;
}

void AddDevice(const Device& device, MessageWriter& job) {
  job.Add(device.kind).Add(device.number).Add(device.more);
}

// Returns the GPUs in the order in which the devices from `first` on take them.
Device ReadDevice(MessageReader& job, int64_t first) {
  Device device{job.Read<Device::Kind>()};
  std::vector<int> numbers = {job.Read<int>()};
  for (auto left = job.Read<int64_t>(); left > 0; --left) numbers.push_back(job.Read<int>());
  std::rotate(numbers.begin(), numbers.begin() + first % static_cast<int64_t>(numbers.size()), numbers.end());
  device.number = numbers[0];
  device.more.assign(numbers.begin() + 1, numbers.end());
  return device;
}

std::unique_ptr<Module> ParseAgain(const std::string& name, std::string_view text, Diagnostics& diagnostics) {
  return Parse(std::make_shared<SourceText>(name, std::string(text)), diagnostics,
               {.infer_shape = &InferMissingShape});
}

// Constants whose elements the text elides, and which have been given elements since.
struct FilledConstant {
  int32_t number;
  const Literal* value;
};

std::vector<FilledConstant> FilledConstants(const Module& module, const std::string& name,
                                            std::string_view text) {
  std::vector<FilledConstant> filled;
  if (text.find("...}") == std::string_view::npos) return filled;
  Diagnostics diagnostics;
  const std::unique_ptr<Module> reread = ParseAgain(name, text, diagnostics);
  if (reread == nullptr) return filled;
  const spmd::InstructionNumbers numbers(module), others(*reread);
  if (numbers.fingerprint() != others.fingerprint()) return filled;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const int32_t number = numbers.Of(*instruction);
      if (others.At(number).is_elided() && !instruction->is_elided())
        filled.push_back({number, instruction->Get<attr::literal>()});
    }
  }
  return filled;
}

void Fill(Module& module, Instruction& constant, Literal value) {
  const Literal* kept = module.arena().New<Literal>(std::move(value));
  InstructionEditor::SetAttribute(module, constant, AttrId::literal, AttrValue::Of<const Literal*>(kept));
  InstructionEditor::SetElided(constant, false);
}

}  // namespace

std::string ModuleJob(const CheckedModule& checked, Engine engine, const EvaluateOptions& options,
                      const Device& device, const PlanOptions& plan_options, uint64_t fingerprint) {
  const Module& module = checked.module();
  const bool has_text = module.source() != nullptr;
  const std::string printed = has_text ? "" : Print(module, {.own_order = true});
  const std::string_view text = has_text ? module.source()->content() : std::string_view(printed);
  const std::string name = has_text ? module.source()->name() : std::string(module.name());
  MessageWriter job = spmd::ProcessGroup::StartJob();
  job.Add(JobKind::kModule).Add(MemoryLimit()).Add(name).Add(text);
  job.Add(module.header().replica_count).Add(module.header().num_partitions).Add(fingerprint);
  const std::vector<FilledConstant> filled = FilledConstants(module, name, text);
  job.Add(static_cast<int64_t>(filled.size()));
  for (const FilledConstant& constant : filled) job.Add(constant.number).Add(*constant.value);
  job.Add(engine);
  AddOptions(options, job);
  AddDevice(device, job);
  AddPlanOptions(plan_options, job);
  return job.Take();
}

absl::StatusOr<ReceivedModule> ReadModuleJob(MessageReader& job, const spmd::ProcessGroup& processes) {
  SetMemoryLimit(job.Read<int64_t>());
  const std::string name(job.ReadText());
  Diagnostics diagnostics;
  const std::string_view text = job.ReadText();
  std::shared_ptr<Module> module = ParseAgain(name, text, diagnostics);
  if (module == nullptr) return diagnostics.ToStatus(SourceText(name, std::string(text)));
  module->mutable_header().replica_count = job.Read<int64_t>();
  module->mutable_header().num_partitions = job.Read<int64_t>();
  const auto fingerprint = job.Read<uint64_t>();
  const spmd::InstructionNumbers numbers(*module);
  if (numbers.fingerprint() != fingerprint) {
    return absl::FailedPreconditionError(
        "the module does not consist of the instructions in its text, so its devices must be in one process");
  }
  for (auto left = job.Read<int64_t>(); left > 0; --left) {
    const Instruction& constant = numbers.At(job.Read<int32_t>());
    HLO_ASSIGN_OR_RETURN(Literal value, job.ReadLiteral());
    Fill(*module, *constant.parent()->instructions()[constant.index()], std::move(value));
  }
  const auto engine = job.Read<Engine>();
  EvaluateOptions options = ReadOptions(job);
  const int64_t device_count = spmd::GridOf(*module).count();
  const Device device =
      ReadDevice(job, spmd::DevicesOf(processes.rank(), processes.size(), device_count).first);
  PlanOptions plan_options = ReadPlanOptions(job);
  HLO_ASSIGN_OR_RETURN(CheckedModule checked, Check(std::move(module), diagnostics));
  return ReceivedModule{std::move(checked), engine, options, device, std::move(plan_options)};
}

std::string RunJob(int64_t number, int64_t device_count, const EvaluateOptions& options,
                   const DevicesOptions& devices, absl::Span<const std::vector<Literal>> arguments) {
  MessageWriter job = spmd::ProcessGroup::StartJob();
  job.Add(JobKind::kRun).Add(number).Add(device_count);
  AddOptions(options, job);
  job.Add(devices.strict_match).Add(devices.collective_timeout).Add(devices.emulate_xla_cpu);
  job.Add(static_cast<int64_t>(arguments.size()));
  for (const std::vector<Literal>& own : arguments) job.Add(own);
  return job.Take();
}

ReceivedRun ReadRunJob(MessageReader& job) {
  ReceivedRun run;
  run.number = job.Read<int64_t>();
  run.device_count = job.Read<int64_t>();
  run.options = ReadOptions(job);
  run.devices.strict_match = job.Read<bool>();
  run.devices.collective_timeout = job.Read<double>();
  run.devices.emulate_xla_cpu = job.Read<bool>();
  std::vector<std::vector<Literal>> arguments;
  for (auto left = job.Read<int64_t>(); left > 0; --left) {
    absl::StatusOr<std::vector<Literal>> own = job.ReadLiterals();
    if (!own.ok()) {
      run.arguments = own.status();
      return run;
    }
    arguments.push_back(*std::move(own));
  }
  run.arguments = std::move(arguments);
  return run;
}

}  // namespace hlo::exec
