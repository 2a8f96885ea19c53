// Implements `print`: parses a module and prints it in a canonical form.

#include "build/extract.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"
#include "hlo_run/print.h"
#include "io/write_module.h"

namespace hlo::cli {
namespace {

struct PrintCommandOptions {
  CommonOptions common;
  PrintOptions print;
  bool no_metadata = false, no_layouts = false, no_large_constants = false, no_backend_config = false;
  std::string computation;
  std::string output;
};

// Returns the form of the HloModuleProto for this file name; nullopt for text.
std::optional<io::MessageForm> MessageFormOf(const std::string& path) {
  const std::optional<FileFormat> format = FileFormatOf(path);
  if (format == FileFormat::kProto) return io::MessageForm::kBinary;
  if (format == FileFormat::kProtoText) return io::MessageForm::kText;
  if (format == FileFormat::kJson) return io::MessageForm::kJson;
  return std::nullopt;
}

void PrintFile(const PrintCommandOptions& options, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, options.common, LoadUntil::kParsed, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  if (const std::optional<io::MessageForm> form = MessageFormOf(options.output)) {
    const absl::StatusOr<std::string> message = io::Serialize(*loaded.module, *form);
    if (result.Accept(message.status(), file)) result.Accept(WriteOutput(options.output, *message), file);
    return;
  }
  PrintOptions print = options.print;
  if (print.as_xla) NormalizeAsXla(*loaded.module);
  // Keeps the order of computations, for comparison with the file and for XLA's reader.
  print.own_order = !print.as_xla && (print.form == PrintForm::kLong || print.form == PrintForm::kShort);
  print.metadata = !options.no_metadata;
  print.layouts = !options.no_layouts;
  print.large_constants = !options.no_large_constants;
  print.backend_config = !options.no_backend_config;
  std::string text;
  if (options.computation.empty()) {
    text = Print(*loaded.module, print);
  } else if (Computation* computation = loaded.module->FindComputation(options.computation)) {
    for (const Computation* callee : CalleesOf(*loaded.module, *computation)) {
      if (!callee->is_nested() && !callee->is_async_wrapper()) text += Print(*callee, print) + "\n\n";
    }
    text += Print(*computation, print) + "\n";
  } else {
    std::vector<std::string_view> names;
    for (const Computation* c : loaded.module->computations()) names.push_back(c->name());
    const std::string_view near = ClosestName(options.computation, names);
    result.Fail(Exit::kInvalid,
                fmt::format("{}: error: there is no computation '{}'{}", file, options.computation,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    return;
  }
  result.extra["text"] = text;
  if (options.output.empty())
    result.text = std::move(text);
  else
    result.Accept(WriteOutput(options.output, text), file);
}

}  // namespace

void AddPrint(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<PrintCommandOptions>();
  options->common.separator = "// -----\n";
  CLI::App* command = program.add_subcommand("print", "Parse modules and print them in a canonical form");
  AddCommonFlags(*command, options->common);
  const std::map<std::string, PrintForm> forms = {{"long", PrintForm::kLong},
                                                  {"short", PrintForm::kShort},
                                                  {"canonical", PrintForm::kCanonical},
                                                  {"fingerprint", PrintForm::kFingerprint}};
  command
      ->add_option("--form", options->print.form,
                   "long (everything), short, canonical (with numbered names) or fingerprint")
      ->transform(OneOf(forms))
      ->type_name("FORM")
      ->default_str("long");
  command->add_flag("--as-xla", options->print.as_xla,
                    "Print exactly as XLA does, even if the text does not parse to the same module");
  command->add_flag("--no-metadata", options->no_metadata, "Leave out metadata and source tables");
  command->add_flag("--no-layouts", options->no_layouts, "Leave out layouts");
  command->add_flag("--no-large-constants", options->no_large_constants,
                    "Print constants of more than 10 elements as {...}");
  command->add_flag("--no-backend-config", options->no_backend_config, "Leave out backend_config");
  command->add_option("--computation", options->computation, "Print this computation and those that it calls")
      ->type_name("NAME");
  command
      ->add_option("-o,--output", options->output,
                   "Write to this file instead of standard output: text, or an HloModuleProto if the name "
                   "ends in .pb, .pbtxt or .json")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  hlo-run print m.hlo --form=short --no-metadata\n"
      "  hlo-run print m.hlo --computation fused_computation.3\n"
      "  hlo-run print m.hlo --output m.pb");
  command->callback([options, &exit_status] {
    if (!options->output.empty() && options->common.files.size() > 1) {
      throw CLI::ValidationError("--output", "takes a single input file");
    }
    if (MessageFormOf(options->output) && !options->computation.empty())
      throw CLI::ValidationError("--computation", "a message holds a whole module, not a computation alone");
    options->common.single_output = options->output;
    exit_status = ForEachFile(options->common, [&](const std::string& file, FileResult& result) {
      PrintFile(*options, file, result);
    });
  });
}

}  // namespace hlo::cli
