// Implements `extract`: writes a part of a module as a module, optionally with the values at its boundary.

#include "base/counted.h"
#include "base/status.h"
#include "build/extract.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "debug/extract/resize.h"
#include "debug/golden_folder.h"
#include "debug/record.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

struct ExtractFlags {
  CommonOptions common;
  InputOptions inputs;
  DevicesFlags devices;
  std::string instruction, computation, output, record, resize;
  bool constants = false;
  int64_t execution = 1;
  ExtractOptions extract;
  bool wants_values() const { return constants || !record.empty(); }
  bool wants_part() const { return !instruction.empty() || !computation.empty(); }
};

using debug::CheckedText;
using debug::FindComputation;
using debug::FindInstruction;

absl::StatusOr<debug::RecordedValues> Record(const ExtractFlags& flags, const LoadedModule& loaded,
                                             absl::Span<const Instruction* const> instructions,
                                             FileResult& result) {
  HLO_ASSIGN_OR_RETURN(const debug::WatchedArguments arguments,
                       MakeWatchedRun(flags.inputs, flags.common, flags.devices, loaded, result));
  return debug::RecordValues(loaded.checked.front(), instructions, arguments, flags.execution);
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

absl::StatusOr<std::string> PartOf(const ExtractFlags& flags, const LoadedModule& loaded,
                                   FileResult& result) {
  HLO_ASSIGN_OR_RETURN(ExtractedPart part, MakePart(flags, *loaded.module, flags.extract));
  if (!flags.wants_values()) return part.text;
  HLO_ASSIGN_OR_RETURN(const debug::RecordedValues values, Record(flags, loaded, part.parameters, result));
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

// Returns the text of a module with other sizes of dimensions.
absl::StatusOr<std::string> ResizedText(const ExtractFlags& flags, const std::shared_ptr<Module>& module,
                                        const std::string& file, FileResult& result) {
  HLO_ASSIGN_OR_RETURN(const std::vector<debug::NewSize> sizes, debug::ParseNewSizes(flags.resize));
  HLO_ASSIGN_OR_RETURN(debug::ResizedModule resized, debug::ResizeModule(module, sizes));
  result.extra["constants_resized"] = resized.constants;
  if (resized.constants > 0) {
    result.diagnostics += fmt::format("{}: note: {} changed with the dimensions\n", file,
                                      Counted(resized.constants, "constant"));
  }
  return std::move(resized.text);
}

absl::StatusOr<std::string> ExtractedText(const ExtractFlags& flags, const LoadedModule& loaded,
                                          const std::string& file, FileResult& result) {
  if (!flags.wants_part()) return ResizedText(flags, loaded.module, file, result);
  HLO_ASSIGN_OR_RETURN(std::string text, PartOf(flags, loaded, result));
  if (flags.resize.empty()) return text;
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Module> part, debug::ParsedText(text));
  return ResizedText(flags, part, file, result);
}

void ExtractFile(const ExtractFlags& flags, const std::string& file, FileResult& result) {
  // A part of a module that does not run keeps the counts of the module's header.
  CommonOptions common = flags.common;
  common.runs_devices = flags.wants_values();
  const LoadedModule loaded = Load(file, common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  absl::StatusOr<std::string> text = ExtractedText(flags, loaded, file, result);
  if (!result.Accept(text.status(), file)) return;
  if (!result.Accept(CheckedText(*text).status(), file)) return;
  result.extra["text"] = *text;
  if (flags.output.empty())
    result.text = *std::move(text);
  else
    result.Accept(WriteOutput(flags.output, *text), file);
}

void AddPartFlags(CLI::App& command, ExtractFlags& flags) {
  CLI::Option* instruction =
      command
          .add_option("--instruction", flags.instruction,
                      "Extract this instruction and the instructions that it is computed from")
          ->type_name("NAME");
  command.add_option("--computation", flags.computation, "Extract this computation and those that it calls")
      ->type_name("NAME")
      ->excludes(instruction);
  command
      .add_option("--height", flags.extract.height,
                  "Levels of operands to include above the instruction; operands above them become "
                  "parameters. Default: all")
      ->needs(instruction)
      ->check(CLI::NonNegativeNumber);
}

void AddValueFlags(CLI::App& command, ExtractFlags& flags) {
  command
      .add_option("--record", flags.record,
                  "Run the module, and store the values of the part's parameters: .npz, .safetensors, .json")
      ->type_name("FILE");
  command.add_flag("--constants", flags.constants,
                   "Run the module, and replace the part's parameters by constants with their values");
  command
      .add_option("--execution", flags.execution,
                  "Inside loops and called computations, record the values of this execution")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

// Reports flags that exclude each other, or that are missing.
void CheckFlags(const ExtractFlags& flags) {
  if (!flags.wants_part() && flags.resize.empty())
    throw CLI::ValidationError("extract", "give --instruction NAME, --computation NAME or --resize FROM=TO");
  if (flags.wants_values() && !flags.resize.empty())
    throw CLI::ValidationError("--resize", "excludes --record and --constants");
  if (!(flags.output + flags.record).empty() && flags.common.files.size() > 1)
    throw CLI::ValidationError("--output", "takes a single input file");
}

}  // namespace

void AddExtract(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<ExtractFlags>();
  flags->common.separator = "// -----\n";
  CLI::App* command = program.add_subcommand("extract",
                                             "Extract a part of a module as a separate module: an "
                                             "instruction or a computation; or make its dimensions "
                                             "smaller");
  AddCommonFlags(*command, flags->common);
  AddPartFlags(*command, *flags);
  AddWatchedRunFlags(*command, flags->common, flags->inputs, flags->devices);
  AddValueFlags(*command, *flags);
  command
      ->add_option(
          "--resize", flags->resize,
          "Make the dimensions of the part, or of the whole module, smaller: 1024=16,32=4 makes each "
          "dimension of 1024 elements one of 16, and of 2048 one of 32. Integer constants with these "
          "values change as well: limits of loops, and offsets of partitions")
      ->type_name("FROM=TO[,...]");
  command->add_option("-o,--output", flags->output, "Write to this file instead of standard output")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  hlo-run extract m.hlo --instruction %dot.3 --height 2 -o part.hlo\n"
      "  hlo-run extract m.hlo --instruction dot.3 --height 0 --random 1 --record args.npz -o part.hlo\n"
      "  hlo-run extract m.hlo --instruction dot.3 --height 2 --random 1 --record r1.npz --for-device r1\n"
      "  hlo-run extract m.hlo --computation body.7 --random 1 --execution 10 --constants\n"
      "  hlo-run extract train_step.hlo --resize 128=8,32=2 -o small.hlo");
  command->callback([flags, &exit_status] {
    CheckFlags(*flags);
    flags->common.single_output = flags->output.empty() ? flags->record : flags->output;
    exit_status = ForEachFile(flags->common, [&](const std::string& file, FileResult& result) {
      ExtractFile(*flags, file, result);
    });
  });
}

}  // namespace hlo::cli
