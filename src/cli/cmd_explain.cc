// Implements `explain`: an instruction of a module, a rule, an opcode or a pass of the planner in plain
// words.

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/rules.h"
#include "cli/single.h"
#include "debug/explain/explain.h"
#include "debug/record.h"
#include "fmt/format.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/opcode.h"
#include "plan/passes.h"

namespace hlo::cli {
namespace {

std::string OperandCount(const OpcodeInfo& info) {
  if (info.max_operands == kAny) return fmt::format("at least {}", info.min_operands);
  if (info.min_operands == info.max_operands) return fmt::format("{}", info.min_operands);
  return fmt::format("{} to {}", info.min_operands, info.max_operands);
}

std::string ExplainOpcode(Opcode opcode) {
  const OpcodeInfo& info = Info(opcode);
  std::string text = fmt::format("{}: an opcode.\nOperands: {}.\n", info.name, OperandCount(info));
  std::string required, optional;
  for (const AttrUse& use : info.attributes) {
    std::string& list = use.required ? required : optional;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Info(use.id).spelling);
  }
  if (!required.empty()) text += fmt::format("Required attributes: {}.\n", required);
  if (!optional.empty()) text += fmt::format("Optional attributes: {}.\n", optional);
  const Rule* last = nullptr;
  for (const RuleLine& found : LinesThatName(info.name)) {
    if (found.rule != last) text += fmt::format("\n[{}] {}\n", found.rule->id, found.rule->title);
    last = found.rule;
    if (!found.line.starts_with('#')) text += fmt::format("  {}\n", found.line);
  }
  return text + fmt::format(
                    "\n`hlo-run explain RULE` prints a whole rule; `hlo-run ops {}` lists the engines that "
                    "run the opcode.\n",
                    info.name);
}

std::string ExplainPass(const plan::Pass& pass) {
  return fmt::format(
      "{}: a pass of the planner{}.\n{}.\nIt preserves: {}.\n", pass.name,
      pass.is_required ? ", which always runs" : fmt::format("; --disable-pass {} skips it", pass.name),
      pass.summary, pass.preserves);
}

// Returns the explanation; an empty string if nothing has this name.
std::string Explain(const std::string& topic) {
  if (const int64_t rule = FindRule(topic); rule >= 0) return TextOf(static_cast<size_t>(rule));
  for (const plan::Pass& pass : plan::Passes()) {
    if (pass.name == topic) return ExplainPass(pass);
  }
  if (const std::optional<Opcode> opcode = ParseOpcode(topic)) return ExplainOpcode(*opcode);
  return "";
}

std::vector<std::string_view> Topics() {
  std::vector<std::string_view> topics;
  for (const Rule& rule : Rules()) topics.push_back(rule.id);
  for (const plan::Pass& pass : plan::Passes()) topics.push_back(pass.name);
  for (int i = 0; i < kOpcodeCount; ++i) topics.push_back(hlo::Name(static_cast<Opcode>(i)));
  return topics;
}

// True if the words are those of `explain FILE %INSTRUCTION`, also if there is no such file.
bool NamesAnInstruction(const std::vector<std::string>& words) {
  std::error_code error;
  return words.size() == 2 &&
         (words[1].starts_with('%') || words[0] == "-" || std::filesystem::exists(words[0], error));
}

int ExplainInstruction(const std::string& file, const std::string& name) {
  return RunOnce({}, [&](FileResult& result) {
    CommonOptions options;
    // No explanation shows the elements of a constant, but the plan needs some.
    if (!result.Accept(AddElidedValues("zeros", &options.elided), file)) return;
    const LoadedModule loaded = Load(file, options, LoadUntil::kChecked, Exit::kInvalid, result);
    if (loaded.module == nullptr) return;
    const absl::StatusOr<const Instruction*> instruction = debug::FindInstruction(*loaded.module, name);
    if (!result.Accept(instruction.status(), file)) return;
    result.text = debug::ExplainInstruction(loaded.checked.front(), **instruction);
  });
}

int PrintList() {
  for (const Rule& rule : Rules()) fmt::print("{:<18} {}\n", rule.id, rule.title);
  return 0;
}

}  // namespace

void AddExplain(CLI::App& program, int& exit_status) {
  auto words = std::make_shared<std::vector<std::string>>();
  auto list = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand(
      "explain", "Explain an instruction of a module, a rule that a message cites, an opcode, or a pass");
  command->add_option(
      "TOPIC", *words,
      "A module and the name of an instruction in it, or a rule (shape-rules.3.1), an opcode, or a pass "
      "of the planner");
  command->add_flag("--list", *list, "List the rules")->excludes("TOPIC");
  command->footer(
      "Examples:\n  hlo-run explain m.hlo %dot.3\n  hlo-run explain shape-rules.3.1\n  hlo-run explain "
      "'semantics 6.1'\n  hlo-run explain "
      "gather\n"
      "  hlo-run explain loop_fusion\n  hlo-run explain --list");
  command->callback([words, list, &exit_status] {
    if (*list) {
      exit_status = PrintList();
      return;
    }
    if (words->empty())
      throw CLI::ValidationError("TOPIC", "give a rule, an opcode, a pass, or a module and an instruction");
    std::error_code error;
    if (std::filesystem::is_regular_file(words->front(), error) && words->size() > 2)
      throw CLI::ValidationError("TOPIC", "takes one instruction of a module");
    if (words->size() == 1 && std::filesystem::is_regular_file(words->front(), error))
      throw CLI::ValidationError("TOPIC", "a module also needs the name of an instruction: hlo-run explain " +
                                              words->front() + " %x");
    if (NamesAnInstruction(*words)) {
      exit_status = ExplainInstruction((*words)[0], (*words)[1]);
      return;
    }
    std::string topic;
    for (const std::string& word : *words) topic += (topic.empty() ? "" : " ") + word;
    const std::string text = Explain(topic);
    if (!text.empty()) {
      fmt::print("{}", text);
      exit_status = 0;
      return;
    }
    const std::string_view near = ClosestName(topic, Topics());
    fmt::print(stderr, "hlo-run: error: '{}' is neither a rule nor an opcode nor a pass{}\n", topic,
               near.empty() ? "; hlo-run explain --list lists the rules"
                            : fmt::format("; did you mean '{}'?", near));
    exit_status = static_cast<int>(Exit::kInvalid);
  });
}

}  // namespace hlo::cli
