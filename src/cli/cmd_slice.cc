// Implements `slice`: writes the instructions that an instruction depends on as a golden case, with recorded
// values at their boundary.

#include "base/counted.h"
#include "base/status.h"
#include "build/extract.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/single.h"
#include "debug/extract/test_case.h"
#include "debug/record.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

struct SliceFlags {
  CommonOptions common;
  InputOptions inputs;
  DevicesFlags devices;
  std::string root, folder;
  int64_t execution = 1;
  ExtractOptions extract;
};

// Returns the slice and the value of its root in the run of the whole module.
struct Slice {
  debug::SharedCase test;
  Literal value;
};
absl::StatusOr<Slice> MakeSlice(const SliceFlags& flags, const LoadedModule& loaded, FileResult& result) {
  HLO_ASSIGN_OR_RETURN(const Instruction* root, debug::FindInstruction(*loaded.module, flags.root));
  const ExtractedPart part = Extract(*loaded.module, {&root, 1}, flags.extract);
  std::vector<const Instruction*> recorded = part.parameters;
  recorded.push_back(root);
  HLO_ASSIGN_OR_RETURN(const debug::WatchedArguments arguments,
                       MakeWatchedRun(flags.inputs, flags.common, flags.devices, loaded, result));
  HLO_ASSIGN_OR_RETURN(const CheckedModule checked, debug::CheckedText(part.text));
  if (arguments.by_device.size() > 1 && spmd::DependsOnDevices(checked.module())) {
    return absl::UnimplementedError(
        "a slice is a case of one device, but this one exchanges values with others: choose a --root behind "
        "the collective, or a --height that ends below it");
  }
  HLO_ASSIGN_OR_RETURN(const debug::RecordedValues values,
                       debug::RecordValues(loaded.checked.front(), recorded, arguments, flags.execution));
  std::vector<Literal> inputs;
  for (const Instruction* parameter : part.parameters) inputs.push_back(values.at(parameter));
  HLO_ASSIGN_OR_RETURN(debug::SharedCase test, debug::MakeOneDeviceCase(part.text, std::move(inputs)));
  return Slice{std::move(test), values.at(root)};
}

void RunSlice(const SliceFlags& flags, FileResult& result) {
  const std::string& file = flags.common.files[0];
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  const absl::StatusOr<Slice> slice = MakeSlice(flags, loaded, result);
  if (!result.Accept(slice.status(), file)) return;
  const std::string description =
      fmt::format("{} of {}, with the values that it had at its edge", flags.root, file);
  if (!result.Accept(WriteCase(flags.folder, *slice->test, &slice->value, description), flags.folder)) return;
  const debug::CaseSize size = SizeOf(*slice->test);
  result.text = fmt::format("{} and {} in {}\n", Counted(size.instructions, "instruction"),
                            Counted(static_cast<int64_t>(slice->test->inputs.size()), "input"), flags.folder);
  result.extra["instructions"] = size.instructions;
  result.extra["inputs"] = slice->test->inputs.size();
}

}  // namespace

void AddSlice(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<SliceFlags>();
  CLI::App* command =
      program.add_subcommand("slice", "Write a golden case that computes one instruction from its operands");
  AddCommonFlags(*command, flags->common);
  AddWatchedRunFlags(*command, flags->common, flags->inputs, flags->devices);
  command->add_option("--root", flags->root, "The instruction whose value the case computes")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--height", flags->extract.height,
                   "Levels of operands to include; operands above them become inputs with recorded values. "
                   "Default: all")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--execution", flags->execution,
                   "Inside loops and called computations, record the values of this execution")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("-o,--output", flags->folder, "The folder for the case")
      ->type_name("FOLDER")
      ->required();
  command->footer(
      "The folder holds module.hlo, inputs.npz, outputs.npz with the recorded value, and case.json.\n"
      "Example:\n"
      "  hlo-run slice m.hlo --root %dot.3 --height 2 --random 1 -o case/ && hlo-run check case/");
  command->callback([flags, &exit_status] {
    if (flags->common.files.size() != 1) throw CLI::ValidationError("slice", "takes one module");
    exit_status = RunOnce(flags->common, [&](FileResult& result) { RunSlice(*flags, result); });
  });
}

}  // namespace hlo::cli
