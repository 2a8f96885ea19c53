// Reads, parses and checks modules, and stores errors in the result of a file.

#include <algorithm>
#include <utility>

#include "base/activity.h"
#include "base/clock.h"
#include "base/limit_rule.h"
#include "base/status.h"
#include "cli/common.h"
#include "fmt/format.h"
#include "spmd/device_grid.h"

namespace hlo::cli {
namespace {

void AddDiagnostics(const Diagnostics& diagnostics, const SourceText& source, FileResult& result) {
  result.diagnostics += Render(diagnostics, source, {.color = UseColor()});
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::kError) result.errors.push_back(ErrorOf(diagnostic, source));
  }
}

// Sets the counts of replicas and partitions to those of the run.
absl::Status SetGrid(const CommonOptions& options, Module& module) {
  std::optional<int64_t> replicas = options.replicas, partitions = options.partitions;
  if (options.keeps_devices && spmd::HasSeveralDevices(module)) {
    const spmd::DeviceGrid header = spmd::GridOf(module);
    if (!replicas.has_value()) replicas = header.replicas;
    if (!partitions.has_value()) partitions = header.partitions;
  }
  HLO_ASSIGN_OR_RETURN(const spmd::DeviceGrid grid,
                       spmd::ChooseGrid(module, replicas, partitions, options.shards));
  module.mutable_header().replica_count = grid.replicas;
  module.mutable_header().num_partitions = grid.partitions;
  return absl::OkStatus();
}

}  // namespace

LoadedModule Load(const std::string& file, const CommonOptions& options, LoadUntil until, Exit check_failure,
                  FileResult& result, const CheckOptions& check_options) {
  LoadedModule loaded;
  absl::StatusOr<ModuleFile> read =
      result.module ? *std::exchange(result.module, std::nullopt) : ReadModuleFile(file);
  if (!read.ok()) {
    result.Fail(ExitFor(read.status()), fmt::format("hlo-run: error: {}", Message(read.status())));
    return loaded;
  }
  result.source = read->text;
  loaded.source = std::move(read->text);
  loaded.snapshot_arguments = std::move(read->arguments);

  Report({.what = "parsing " + file});
  Diagnostics diagnostics(options.max_errors);
  double start = SteadySeconds();
  std::shared_ptr<Module> module =
      Parse(loaded.source, diagnostics,
            {.strict = options.strict,
             .infer_shape = InferMissingShape,
             .max_nesting = options.max_nesting,
             .max_literal_bytes = static_cast<int64_t>(options.max_literal_bytes)});
  loaded.seconds.parse = SteadySeconds() - start;
  if (module == nullptr) {
    const bool is_limit =
        std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                    [](const Diagnostic& diagnostic) { return diagnostic.rule == kMemoryLimitRule; });
    result.exit = std::max(result.exit, is_limit ? Exit::kLimit : Exit::kInvalid);
    AddDiagnostics(diagnostics, *loaded.source, result);
    return loaded;
  }
  if (!result.Accept(FillElided(options.elided, *module), file)) return loaded;
  if (options.runs_devices && !result.Accept(SetGrid(options, *module), file)) return loaded;
  if (until == LoadUntil::kChecked) {
    Report({.what = "checking " + file});
    CheckOptions all = check_options;
    all.strict |= options.strict;
    start = SteadySeconds();
    absl::StatusOr<CheckedModule> checked = Check(module, diagnostics, all);
    loaded.seconds.check = SteadySeconds() - start;
    if (!checked.ok()) {
      result.exit = std::max(result.exit, check_failure);
      AddDiagnostics(diagnostics, *loaded.source, result);
      return loaded;
    }
    loaded.checked.push_back(*std::move(checked));
  }
  AddDiagnostics(diagnostics, *loaded.source, result);
  loaded.module = std::move(module);
  return loaded;
}

namespace {

absl::StatusOr<Literal> ZerosOfCall(const Instruction& call, absl::Span<const Literal>) {
  return Literal::CreateZeros(call.shape());
}

// Returns the only operand if it has the call's shape, otherwise the tuple of all operands.
absl::StatusOr<Literal> OperandOfCall(const Instruction& call, absl::Span<const Literal> operands) {
  const ShapeEquality relaxed{.ignore_layout = true};
  if (operands.size() == 1 && Equal(operands[0].shape(), call.shape(), relaxed)) return operands[0];
  const Literal all = Literal::Tuple({operands.begin(), operands.end()});
  if (Equal(all.shape(), call.shape(), relaxed)) return all;
  return absl::FailedPreconditionError(fmt::format("--custom-call {}=identity: the operands {} are not {}",
                                                   call.Get<attr::custom_call_target>(),
                                                   ToString(all.shape()), ToString(call.shape())));
}

}  // namespace

bool AddCustomCalls(const CustomCallOptions& options, const CommonOptions& common, CustomCalls& custom_calls,
                    FileResult& result) {
  for (const std::string& library : options.libraries) {
    if (!result.Accept(custom_calls.AddLibrary(library), library)) return false;
  }
  for (const std::string& text : options.modules) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      result.Fail(Exit::kInvalid,
                  fmt::format("hlo-run: error: --custom-call takes TARGET=FILE.hlo, TARGET=zeros or "
                              "TARGET=identity, but it is '{}'",
                              text));
      return false;
    }
    if (const std::string word = text.substr(equals + 1); word == "zeros" || word == "identity") {
      custom_calls.Add(text.substr(0, equals), word == "zeros" ? &ZerosOfCall : &OperandOfCall);
      continue;
    }
    LoadedModule loaded = Load(text.substr(equals + 1), common, LoadUntil::kChecked, Exit::kInvalid, result);
    if (loaded.module == nullptr) return false;
    custom_calls.Add(text.substr(0, equals), std::move(loaded.checked.front()));
  }
  return true;
}

}  // namespace hlo::cli
