// Implements `ops`: prints the opcode table.

#include <cstdio>

#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "conform/coverage.h"
#include "fmt/format.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/opcode.h"
#include "ir/opcode_names.h"
#include "plan/select/kernel_table.h"

namespace hlo::cli {
namespace {

std::string Operands(const OpcodeInfo& info) {
  if (info.max_operands == kAny) return fmt::format("{}+", info.min_operands);
  if (info.min_operands == info.max_operands) return fmt::format("{}", info.min_operands);
  return fmt::format("{}-{}", info.min_operands, info.max_operands);
}

// Returns the engines that evaluate the opcode themselves for some element type.
Json Engines(Opcode opcode) {
  Json names = Json::array();
  for (const conform::Engine& engine : conform::AllEngines()) {
    bool evaluates = false;
    for (size_t type = 0; type < kElementTypeCount && !evaluates; ++type) {
      for (const CheckedModule& probe : conform::ProbesOf(opcode, static_cast<ElementType>(type)))
        evaluates |= engine.supports(probe, opcode).ok();
    }
    if (evaluates || engine.name == "reference") names.push_back(engine.name);
  }
  return names;
}

Json OpJson(Opcode opcode) {
  const OpcodeInfo& info = Info(opcode);
  Json required = Json::array(), optional = Json::array();
  for (const AttrUse& use : info.attributes) {
    (use.required ? required : optional).push_back(std::string(Info(use.id).spelling));
  }
  return {{"name", std::string(info.name)},
          {"operands", Operands(info)},
          {"required", required},
          {"optional", optional},
          {"shape_may_be_inferred", info.has(kInfer)},
          {"elementwise", info.has(kElementwise)},
          {"side_effect", info.has(kSideEffect)},
          {"collective", info.has(kCollective)},
          {"engines", Engines(opcode)}};
}

std::string Attributes(const Json& op) {
  std::string text;
  for (const auto& name : op["required"]) text += (text.empty() ? "" : " ") + name.get<std::string>();
  for (const auto& name : op["optional"]) text += (text.empty() ? "[" : " [") + name.get<std::string>() + "]";
  return text;
}

int PrintOps(const std::vector<std::string>& names, const std::string& format) {
  std::vector<Opcode> opcodes;
  for (const std::string& name : names) {
    const std::optional<Opcode> opcode = ParseOpcode(name);
    if (!opcode) {
      const std::string_view near = ClosestOpcode(name);
      fmt::print(stderr, "hlo-run: error: there is no opcode '{}'{}\n", name,
                 near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
      return static_cast<int>(Exit::kInvalid);
    }
    opcodes.push_back(*opcode);
  }
  if (names.empty()) {
    for (int i = 0; i < kOpcodeCount; ++i) opcodes.push_back(static_cast<Opcode>(i));
  }
  if (format == "text")
    fmt::print("{:<27} {:<8} {:<15} attributes ([optional])\n", "opcode", "operands", "engines");
  if (format == "markdown")
    fmt::print("| opcode | operands | engines | attributes ([optional]) |\n|---|---|---|---|\n");
  for (Opcode opcode : opcodes) {
    const Json op = OpJson(opcode);
    std::string engines;
    for (const auto& name : op["engines"]) engines += (engines.empty() ? "" : ", ") + name.get<std::string>();
    if (format == "json")
      fmt::print("{}\n", op.dump());
    else if (format == "markdown")
      fmt::print("| `{}` | {} | {} | {} |\n", hlo::Name(opcode), op["operands"].get<std::string>(), engines,
                 Attributes(op));
    else
      fmt::print("{:<27} {:<8} {:<15} {}\n", hlo::Name(opcode), op["operands"].get<std::string>(), engines,
                 Attributes(op));
  }
  return 0;
}

// Prints the built-in custom-call targets with their operands and results.
int PrintCustomCalls(const std::string& format) {
  for (const KnownCustomCall& known : KnownCustomCalls()) {
    if (format == "json")
      fmt::print("{}\n", Json{{"target", known.pattern}, {"signature", known.signature}}.dump());
    else
      fmt::print("{:<38} {}\n", known.pattern, known.signature.empty() ? "X -> X" : known.signature);
  }
  return 0;
}

// Prints the opcodes that have kernels on whole arrays.
int PrintKernels(const std::string& format) {
  const auto shown = [](std::string_view name) { return name == "None" || name == "Always" ? "-" : name; };
  if (format == "text")
    fmt::print("{:<25} {:<20} {:<18} {:<18} condition\n", "opcode", "CPU", "GPU", "GPU, any to_apply");
  if (format == "markdown")
    fmt::print("| opcode | CPU | GPU | GPU, any `to_apply` | condition |\n|---|---|---|---|---|\n");
  for (const plan::KernelRow& row : plan::KernelTable()) {
    const std::string_view opcode = hlo::Name(row.opcode);
    if (format == "json") {
      fmt::print("{}\n", Json{{"opcode", opcode},
                              {"cpu", shown(row.cpu)},
                              {"gpu", shown(row.gpu)},
                              {"gpu_to_apply", shown(row.combiner)},
                              {"condition", shown(row.condition)}}
                             .dump());
    } else {
      fmt::print(fmt::runtime(format == "markdown" ? "| `{}` | {} | {} | {} | {} |\n"
                                                   : "{:<25} {:<20} {:<18} {:<18} {}\n"),
                 opcode, shown(row.cpu), shown(row.gpu), shown(row.combiner), shown(row.condition));
    }
  }
  return 0;
}

int PrintCoverage(const std::vector<std::string>& cases, const std::string& format) {
  const absl::StatusOr<conform::Coverage> coverage = conform::MeasureCoverage(conform::AllEngines(), cases);
  if (!coverage.ok()) {
    fmt::print(stderr, "hlo-run: error: {}\n", Message(coverage.status()));
    return static_cast<int>(Exit::kInvalid);
  }
  fmt::print("{}", format == "json"       ? conform::CoverageJson(*coverage)
                   : format == "markdown" ? conform::CoverageSummary(*coverage)
                                          : conform::CoverageTable(*coverage));
  return 0;
}

}  // namespace

void AddOps(CLI::App& program, int& exit_status) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = program.add_subcommand(
      "ops", "Print the table of opcodes: operands, attributes, and the engines that evaluate them");
  command->add_option("OPCODE", *names, "Opcodes; all if none is given")->type_name("NAME");
  command->add_option("--format", *format, "text, json (a line for each opcode) or markdown")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  auto custom_calls = std::make_shared<bool>(false);
  command->add_flag("--custom-calls", *custom_calls, "List the known targets of custom calls instead")
      ->excludes("OPCODE");
  auto kernels = std::make_shared<bool>(false);
  command
      ->add_flag("--kernels", *kernels,
                 "List the kernels on whole arrays instead, by opcode and device; other opcodes are loops, "
                 "reductions and control flow, or run on the reference's functions")
      ->excludes("--custom-calls")
      ->excludes("OPCODE");
  auto coverage = std::make_shared<bool>(false);
  auto cases = std::make_shared<std::vector<std::string>>();
  command
      ->add_flag("--coverage", *coverage,
                 "Print which opcodes are valid, evaluated and tested for which element types; with "
                 "--format=markdown, a summary")
      ->excludes("--custom-calls")
      ->excludes("--kernels")
      ->excludes("OPCODE");
  command->add_option("--cases", *cases, "With --coverage: the cases and golden folders that count as tests")
      ->type_name("PATH")
      ->needs("--coverage");
  command->footer(
      "Examples:\n  hlo-run ops\n  hlo-run ops gather scatter --format=json\n"
      "  hlo-run ops --coverage --cases tests/cases golden");
  command->callback([=, &exit_status] {
    exit_status = *custom_calls ? PrintCustomCalls(*format)
                  : *kernels    ? PrintKernels(*format)
                  : *coverage   ? PrintCoverage(*cases, *format)
                                : PrintOps(*names, *format);
  });
}

}  // namespace hlo::cli
