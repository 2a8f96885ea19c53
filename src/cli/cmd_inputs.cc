// Implements `inputs`: writes a file of arguments for a module.

#include "cli/commands.h"
#include "cli/flags.h"
#include "hlo_run/io.h"

namespace hlo::cli {

void AddInputs(CLI::App& program, int& exit_status) {
  struct Options {
    CommonOptions common;
    InputOptions inputs;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("inputs", "Generate arguments for a module: random, zeros, ones, iota");
  AddCommonFlags(*command, options->common);
  AddFillFlags(*command, options->inputs);
  command
      ->add_option(
          "-o,--output", options->output,
          "Output file: .npz, .safetensors, .json, .txt, .pb or .pbtxt; .npy or .bin for a single array")
      ->type_name("FILE")
      ->required();
  command->footer(
      "Integers that become indices of gather, scatter and dynamic slices are within the bounds of the "
      "indexed array.\n"
      "The same seed gives the same values on every machine.\n"
      "Examples:\n"
      "  hlo-run inputs m.hlo --random 7 --output args.npz\n"
      "  hlo-run inputs m.hlo --random 7 --range 0:1 --range ids=0:31999 --output args.npz\n"
      "  hlo-run inputs m.hlo --fill=iota --output args.safetensors");
  command->callback([options, &exit_status] {
    if (options->common.files.size() > 1)
      throw CLI::ValidationError("files", "one module makes one file of arguments");
    options->common.single_output = options->output;
    exit_status = ForEachFile(options->common, [&](const std::string& file, FileResult& result) {
      const LoadedModule loaded = Load(file, options->common, LoadUntil::kChecked, Exit::kInvalid, result);
      if (loaded.module == nullptr) return;
      absl::StatusOr<std::vector<Literal>> arguments = MakeInputs(*loaded.module, options->inputs.make);
      if (!result.Accept(arguments.status(), file)) return;
      for (size_t i = 0; i < arguments->size(); ++i) {
        (*arguments)[i] =
            InLayoutsOf(ParameterShapeInMemory(*loaded.module, static_cast<int64_t>(i)), (*arguments)[i]);
      }
      if (!result.Accept(WriteValues(options->output, *arguments), file)) return;
      result.extra["output"] = options->output;
    });
  });
}

}  // namespace hlo::cli
