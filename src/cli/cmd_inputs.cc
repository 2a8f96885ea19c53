// Implements `inputs`: writes a file of arguments for a module.

#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "hlo_run/io.h"

namespace hlo::cli {
namespace {

// Returns the arguments with those parameters alone; the others are tokens, which archives leave out.
Literal Only(const std::vector<Literal>& arguments, const std::vector<bool>& wanted) {
  std::vector<Literal> elements;
  for (size_t p = 0; p < arguments.size(); ++p)
    elements.push_back(wanted[p] ? arguments[p] : Literal::Token());
  return Literal::Tuple(std::move(elements));
}

// Writes arguments on which all devices agree once, and the others under the keys of each device.
absl::Status WriteOfDevices(const std::string& path, const DeviceRun& run) {
  const std::vector<Literal>& first = run.arguments[0];
  std::vector<bool> common(first.size()), device_specific(first.size());
  for (size_t p = 0; p < first.size(); ++p) {
    DeviceResults values = NamesOfDevices(run.grid);
    for (const std::vector<Literal>& arguments : run.arguments) values.values.push_back(arguments[p]);
    common[p] = EqualResults(values).size() == 1;
    device_specific[p] = !common[p];
  }
  std::vector<std::string> prefixes = {""};
  std::vector<Literal> values = {Only(first, common)};
  const std::vector<std::string> names = NamesOfDevices(run.grid).names;
  for (size_t d = 0; d < names.size(); ++d) {
    prefixes.push_back(names[d] + "/");
    values.push_back(Only(run.arguments[d], device_specific));
  }
  return WriteUnderPrefixes(path, prefixes, values);
}

}  // namespace

void AddInputs(CLI::App& program, int& exit_status) {
  struct Options {
    CommonOptions common;
    InputOptions inputs;
    DevicesFlags devices;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("inputs", "Generate arguments for a module: random, zeros, ones, iota");
  AddCommonFlags(*command, options->common);
  AddFillFlags(*command, options->inputs);
  AddGridFlags(*command, options->common);
  AddShardFlags(*command, options->common, options->devices,
                "Generate whole arrays, which run --shard splits by the shardings of the parameters");
  command
      ->add_option(
          "-o,--output", options->output,
          "Output file: .npz, .safetensors, .json, .txt, .pb or .pbtxt; .npy or .bin for a single array")
      ->type_name("FILE")
      ->required();
  command->footer(
      "For a module of several devices, arrays that differ between them have a key per device, such as "
      "p3/0.\n"
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
      options->inputs.generates_values = true;
      absl::StatusOr<DeviceRun> run =
          MakeDeviceRun(options->inputs, options->common, options->devices, loaded);
      if (!result.Accept(run.status(), file)) return;
      result.extra["output"] = options->output;
      if (run->has_several() && !options->common.shards) {
        result.Accept(WriteOfDevices(options->output, *run), file);
        return;
      }
      std::vector<Literal>* arguments = run->whole.empty() ? &run->arguments[0] : &run->whole;
      for (size_t i = 0; i < arguments->size(); ++i) {
        (*arguments)[i] =
            InLayoutsOf(ParameterShapeInMemory(*loaded.module, static_cast<int64_t>(i)), (*arguments)[i]);
      }
      result.Accept(WriteValues(options->output, *arguments), file);
    });
  });
}

}  // namespace hlo::cli
