// Implements `extract`: writes a part of a module as a module, on request with the values at its boundary.

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "build/extract.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"

namespace hlo::cli {
namespace {

struct ExtractFlags {
  CommonOptions common;
  InputOptions inputs;
  std::string instruction, computation, output, record;
  bool constants = false;
  int64_t execution = 1;
  ExtractOptions extract;
  bool wants_values() const { return constants || !record.empty(); }
};

using Values = absl::flat_hash_map<const Instruction*, Literal>;

// Records the values of instructions at their n-th execution.
class Recorder : public Observer {
 public:
  Recorder(absl::Span<const Instruction* const> instructions, int64_t execution) : execution_(execution) {
    for (const Instruction* instruction : instructions) counts_[instruction] = 0;
  }
  bool needs_operands() const override { return true; }
  absl::Status AfterStep(const StepView& step) override {
    const auto found = counts_.find(&step.instruction());
    if (found == counts_.end() || ++found->second != execution_) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(values[found->first], step.Result());
    return absl::OkStatus();
  }
  Values values;

 private:
  int64_t execution_;
  absl::flat_hash_map<const Instruction*, int64_t> counts_;
};

absl::StatusOr<CheckedModule> CheckedText(const std::string& text) {
  const auto source = std::make_shared<const SourceText>("extracted", text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  if (module == nullptr) return diagnostics.ToStatus(*source);
  return Check(module, diagnostics);
}

// Computes instructions of the entry computation with the fast engine, as the results of an extracted module.
absl::StatusOr<Values> ComputeInEntry(const Module& module, absl::Span<const Instruction* const> instructions,
                                      std::vector<Literal> arguments) {
  Values values;
  std::vector<const Instruction*> computed;
  for (const Instruction* instruction : instructions) {
    if (instruction->opcode() == Opcode::kParameter)
      values[instruction] = arguments[static_cast<size_t>(instruction->Get<attr::number>())];
    else
      computed.push_back(instruction);
  }
  if (computed.empty()) return values;
  HLO_ASSIGN_OR_RETURN(const CheckedModule part,
                       CheckedText(Extract(module, computed, {.keep_parameters = true}).text));
  HLO_ASSIGN_OR_RETURN(const Literal result, Execute(part, std::move(arguments), Engine::kFast));
  for (size_t i = 0; i < computed.size(); ++i)
    values[computed[i]] = computed.size() == 1 ? result : result.elements()[i];
  return values;
}

absl::StatusOr<Values> Record(const ExtractFlags& flags, const LoadedModule& loaded,
                              absl::Span<const Instruction* const> instructions) {
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments, Arguments(flags.inputs, loaded));
  const bool in_entry = instructions.empty() || instructions.front()->parent() == loaded.module->entry();
  if (in_entry) return ComputeInEntry(*loaded.module, instructions, std::move(arguments));
  Recorder recorder(instructions, flags.execution);
  EvaluateOptions evaluate;
  evaluate.observer = &recorder;
  HLO_RETURN_IF_ERROR(Evaluate(loaded.checked.front(), std::move(arguments), evaluate).status());
  for (const Instruction* instruction : instructions) {
    if (recorder.values.contains(instruction)) continue;
    return absl::FailedPreconditionError(fmt::format("'{}' is executed less than {} time{}",
                                                     instruction->name(), flags.execution,
                                                     flags.execution == 1 ? "" : "s"));
  }
  return std::move(recorder.values);
}

std::string DidYouMean(const std::string& name, const std::vector<std::string_view>& names) {
  const std::string_view near = ClosestName(name, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

// Finds an instruction by name, first in the entry computation.
absl::StatusOr<const Instruction*> FindInstruction(const Module& module, std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  const Instruction* found = nullptr;
  std::vector<std::string_view> names;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      names.push_back(instruction->name());
      const bool is_better = found == nullptr || computation == module.entry();
      if (instruction->name() == name && is_better) found = instruction;
    }
  }
  if (found != nullptr) return found;
  return absl::InvalidArgumentError(
      fmt::format("there is no instruction '{}'{}", name, DidYouMean(name, names)));
}

absl::StatusOr<const Computation*> FindComputation(const Module& module, std::string name) {
  if (name.starts_with('%')) name.erase(0, 1);
  if (const Computation* found = module.FindComputation(name)) return found;
  std::vector<std::string_view> names;
  for (const Computation* computation : module.computations()) names.push_back(computation->name());
  return absl::InvalidArgumentError(
      fmt::format("there is no computation '{}'{}", name, DidYouMean(name, names)));
}

absl::StatusOr<ExtractedPart> MakePart(const ExtractFlags& flags, const Module& module,
                                       const ExtractOptions& options) {
  if (!flags.computation.empty()) {
    HLO_ASSIGN_OR_RETURN(const Computation* computation, FindComputation(module, flags.computation));
    return Extract(module, *computation, options);
  }
  HLO_ASSIGN_OR_RETURN(const Instruction* instruction, FindInstruction(module, flags.instruction));
  return Extract(module, {&instruction, 1}, options);
}

absl::StatusOr<std::string> PartOf(const ExtractFlags& flags, const LoadedModule& loaded) {
  HLO_ASSIGN_OR_RETURN(ExtractedPart part, MakePart(flags, *loaded.module, flags.extract));
  if (!flags.wants_values()) return part.text;
  HLO_ASSIGN_OR_RETURN(const Values values, Record(flags, loaded, part.parameters));
  if (!flags.record.empty()) {
    std::vector<Literal> in_order;
    for (const Instruction* parameter : part.parameters) in_order.push_back(values.at(parameter));
    HLO_RETURN_IF_ERROR(WriteValues(flags.record, in_order));
  }
  if (!flags.constants) return part.text;
  ExtractOptions options = flags.extract;
  options.constant = [&](const Instruction& instruction) -> const Literal* {
    const auto found = values.find(&instruction);
    return found == values.end() ? nullptr : &found->second;
  };
  HLO_ASSIGN_OR_RETURN(part, MakePart(flags, *loaded.module, options));
  return part.text;
}

void ExtractFile(const ExtractFlags& flags, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  absl::StatusOr<std::string> text = PartOf(flags, loaded);
  if (text.ok()) text = CheckedText(*text).ok() ? text : CheckedText(*text).status();
  if (!result.Accept(text.status(), file)) return;
  result.extra["text"] = *text;
  if (flags.output.empty())
    result.text = *std::move(text);
  else
    result.Accept(WriteOutput(flags.output, *text), flags.output);
}

}  // namespace

void AddExtract(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<ExtractFlags>();
  flags->common.separator = "// -----\n";
  CLI::App* command =
      program.add_subcommand("extract", "Make a module of a part of one: an instruction or a computation");
  AddCommonFlags(*command, flags->common);
  CLI::Option* instruction = command
                                 ->add_option("--instruction", flags->instruction,
                                              "Take this instruction and what it is computed from")
                                 ->type_name("NAME");
  command->add_option("--computation", flags->computation, "Take this computation and those that it calls")
      ->type_name("NAME")
      ->excludes(instruction);
  command
      ->add_option(
          "--height", flags->extract.height,
          "Levels of operands to compute above the instruction; those further up become parameters. Default: "
          "all")
      ->needs(instruction)
      ->check(CLI::NonNegativeNumber);
  AddInputFlags(*command, flags->inputs);
  AddElidedFlag(*command, flags->common.elided);
  command
      ->add_option(
          "--record", flags->record,
          "Run the module, and store what the parameters of the part are then: .npz, .safetensors, .json")
      ->type_name("FILE");
  command->add_flag("--constants", flags->constants,
                    "Run the module, and make constants of what the parameters of the part are then");
  command
      ->add_option("--execution", flags->execution,
                   "Inside of loops and called computations, record the values of this execution")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "Write here instead of to standard output")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  hlo-run extract m.hlo --instruction %dot.3 --height 2 -o part.hlo\n"
      "  hlo-run extract m.hlo --instruction dot.3 --height 0 --random 1 --record args.npz -o part.hlo\n"
      "  hlo-run extract m.hlo --computation body.7 --random 1 --execution 10 --constants");
  command->callback([flags, &exit_status] {
    if (flags->instruction.empty() && flags->computation.empty())
      throw CLI::ValidationError("extract", "give --instruction NAME or --computation NAME");
    if (!(flags->output + flags->record).empty() && flags->common.files.size() > 1)
      throw CLI::ValidationError("--output", "takes a single input file");
    flags->common.single_output = flags->output.empty() ? flags->record : flags->output;
    exit_status = ForEachFile(flags->common, [&](const std::string& file, FileResult& result) {
      ExtractFile(*flags, file, result);
    });
  });
}

}  // namespace hlo::cli
