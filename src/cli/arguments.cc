// Makes the arguments of a run.

#include "base/counted.h"
#include "cli/common.h"
#include "fmt/format.h"
#include "reference/supported.h"

namespace hlo::cli {

absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const Module& module) {
  if (!options.files.empty()) {
    InputsOptions inputs{.read = {.convert = options.convert}};
    if (options.generates_values) inputs.rest = options.make;
    return ReadInputs(module, options.files, inputs);
  }
  const auto parameters = module.entry()->parameters();
  if (options.generates_values || parameters.empty()) return MakeInputs(module, options.make);
  std::string list;
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < parameters.size() && i < kShown; ++i) {
    list += fmt::format("\n  {}: {} {}", i, parameters[i]->name(), ToString(parameters[i]->shape()));
  }
  if (parameters.size() > kShown) list += fmt::format("\n  and {} more", parameters.size() - kShown);
  return absl::InvalidArgumentError(
      fmt::format("the module takes {}: give --input for each, or --random SEED{}",
                  Counted(static_cast<int64_t>(parameters.size()), "argument"), list));
}

absl::StatusOr<std::vector<Literal>> Arguments(const InputOptions& options, const LoadedModule& loaded) {
  if (!options.files.empty() || options.generates_values || !loaded.snapshot_arguments) {
    return Arguments(options, *loaded.module);
  }
  return loaded.snapshot_arguments->size() == loaded.module->entry()->parameters().size()
             ? absl::StatusOr<std::vector<Literal>>(*loaded.snapshot_arguments)
             : absl::FailedPreconditionError(
                   fmt::format("the snapshot has {}, but the module takes {}",
                               Counted(loaded.snapshot_arguments->size(), "argument"),
                               loaded.module->entry()->parameters().size()));
}

absl::Status RequireElements(const LoadedModule& loaded) { return reference::CheckElements(*loaded.module); }

}  // namespace hlo::cli
