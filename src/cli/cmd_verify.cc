// Implements `verify`: parses and checks a module and prints all errors.

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

struct VerifyOptions {
  CommonOptions common;
  CheckOptions check;
  bool no_mixed_precision = false;
};

void Verify(const VerifyOptions& options, const std::string& file, FileResult& result) {
  CheckOptions check = options.check;
  check.allow_mixed_precision = !options.no_mixed_precision;
  const LoadedModule loaded = Load(file, options.common, LoadUntil::kChecked, Exit::kFailed, result, check);
  if (loaded.module == nullptr) return;
  const Module& module = *loaded.module;
  result.extra["module"] = std::string(module.name());
  result.extra["computations"] = module.computations().size();
  result.extra["instructions"] = module.instruction_count();
  result.text = fmt::format("{}: valid: module {}, {}, {}\n", file, module.name(),
                            Counted(std::ssize(module.computations()), "computation"),
                            Counted(module.instruction_count(), "instruction"));
}

}  // namespace

void AddVerify(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = program.add_subcommand("verify", "Parse and check modules; print all errors");
  AddCommonFlags(*command, options->common);
  command->add_flag("--layout-sensitive", options->check.layout_sensitive,
                    "Require equal layouts too, as after layout assignment");
  command->add_flag("--no-mixed-precision", options->no_mixed_precision,
                    "Report operands of different float types as errors");
  command->footer(
      "Exit status 1 when a module breaks a rule, 2 when it does not parse.\n"
      "Examples:\n"
      "  hlo-run verify m.hlo\n"
      "  hlo-run verify --strict --format=json dumps/");
  command->callback([options, &exit_status] {
    exit_status = ForEachFile(options->common, [&](const std::string& file, FileResult& result) {
      Verify(*options, file, result);
    });
  });
}

}  // namespace hlo::cli
