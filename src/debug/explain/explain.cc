#include "debug/explain/explain.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/counted.h"
#include "base/status.h"
#include "debug/program_place.h"
#include "fmt/format.h"
#include "hlo_run/cost.h"
#include "hlo_run/print.h"
#include "plan/make_plan.h"
#include "plan/step_cost.h"
#include "plan/visit.h"

namespace hlo::debug {
namespace {

constexpr std::string_view WordsOf(Opcode opcode) {
  switch (opcode) {
#define OPCODE_WORDS(name, words) \
  case Opcode::k##name:           \
    return words;
#include "debug/explain/opcode_words.def"
#undef OPCODE_WORDS
    default:
      return "what the rules of its opcode say";
  }
}

std::string Lines(std::string_view heading, const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : fmt::format("{}\n", heading);
  for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  return text;
}

// Returns the printed attribute at the beginning of a text. A comma outside of brackets ends it.
std::string FirstAttribute(std::string_view text) {
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' || text[i] == '(';
    depth -= text[i] == '}' || text[i] == ')';
    if (text[i] == ',' && depth == 0) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

// Returns the attributes as the printer writes them. It adds defaults of absent ones, which are left out
// here.
std::vector<std::string> AttributeLines(const Instruction& instruction) {
  std::vector<std::string> lines;
  for (const AttrEntry& entry : instruction.attributes()) {
    const absl::Span<const AttrId> common = CommonAttributes();
    const bool is_annotation = std::find(common.begin(), common.end(), entry.id) != common.end();
    if (is_annotation || entry.id == AttrId::literal || entry.id == AttrId::number) continue;
    Module module(instruction.parent()->module()->source());
    const Instruction* alone =
        module.AddInstruction(module.NewComputation("alone"), instruction.opcode(), "x", instruction.shape(),
                              instruction.operands(), {&entry, 1});
    const std::string printed = Print(*alone, {.metadata = false, .layouts = false, .backend_config = false});
    const std::string spelling = fmt::format(", {}=", Info(entry.id).spelling);
    const size_t at = printed.find(spelling);
    if (at != std::string::npos) lines.push_back(FirstAttribute(std::string_view(printed).substr(at + 2)));
  }
  return lines;
}

std::vector<std::string> ShapeLines(const Instruction& instruction) {
  std::vector<std::string> lines;
  for (const Instruction* operand : instruction.operands()) {
    lines.push_back(
        fmt::format("%{}: {}, by {}", operand->name(), ToString(operand->shape()), Name(operand->opcode())));
  }
  return lines;
}

std::vector<std::string> OriginLines(const Instruction& instruction) {
  std::vector<std::string> lines;
  const Metadata* metadata = instruction.Get<attr::metadata>();
  if (metadata != nullptr && !metadata->op_name.empty()) lines.emplace_back(metadata->op_name);
  for (const ProgramPlace& place : ProgramPlaces(instruction)) {
    lines.push_back(fmt::format("{}:{}{}", place.file, place.line,
                                place.function.empty() ? "" : fmt::format(" in {}", place.function)));
  }
  return lines;
}

std::vector<std::string> CostLines(const Instruction& instruction) {
  const Cost cost = InstructionCost(instruction);
  std::vector<std::string> lines = {fmt::format("{}", Counted(cost.flops, "floating-point operation"))};
  if (cost.transcendentals > 0)
    lines.push_back(fmt::format("{} of transcendental functions", Counted(cost.transcendentals, "element")));
  lines.push_back(fmt::format("{} read, {} written", Counted(cost.bytes_read, "byte"),
                              Counted(cost.bytes_written, "byte")));
  return lines;
}

// Returns the step that computes an instruction, within loops and branches too.
const plan::Step* FindStep(const std::vector<plan::Step>& steps, const Instruction& instruction) {
  for (const plan::Step& step : steps) {
    if (&step.shown() == &instruction ||
        std::find(step.fused.begin(), step.fused.end(), &instruction) != step.fused.end())
      return &step;
    const plan::Step* inner = nullptr;
    plan::VisitNestedSteps(step, [&](const std::vector<plan::Step>& nested) {
      if (inner == nullptr) inner = FindStep(nested, instruction);
    });
    if (inner != nullptr) return inner;
  }
  return nullptr;
}

std::string KernelLine(const CheckedModule& module, const Instruction& instruction) {
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module);
  if (!plan.ok())
    return fmt::format(
        "the reference function of its opcode, since the fast engine has no plan for the module: {}",
        Message(plan.status()));
  const plan::Step* step = FindStep(plan->steps, instruction);
  if (step == nullptr) return "no separate step: the planner folds, shares or bypasses it";
  std::string line(plan::KernelName(*step));
  const bool is_own = &step->shown() == &instruction;
  if (!is_own) line += fmt::format(", fused into the step of %{}", step->shown().name());
  if (step->fused.size() > 1 || (step->fused.size() == 1 && is_own))
    line += fmt::format(", which computes {} instructions", step->fused.size() + 1);
  return line;
}

}  // namespace

std::string OpcodeWords(const Instruction& instruction) {
  std::string words(WordsOf(instruction.opcode()));
  for (int64_t i = 0; i < 5; ++i) {
    const std::string name =
        i < instruction.operand_count() ? fmt::format("%{}", instruction.operand(i)->name()) : "its operand";
    words = absl::StrReplaceAll(words, {{fmt::format("{{{}}}", i), name}});
  }
  return words;
}

std::string ExplainInstruction(const CheckedModule& module, const Instruction& instruction) {
  const Computation& parent = *instruction.parent();
  const std::string_view opcode = Name(instruction.opcode());
  const bool has_vowel = std::string_view("aeiou").find(opcode[0]) != std::string_view::npos;
  std::string text = fmt::format(
      "%{}: {} {} in the {} {}.\nIt is {}.\n", instruction.name(), has_vowel ? "an" : "a", opcode,
      parent.IsEntry() ? "entry computation" : "computation", parent.name(), OpcodeWords(instruction));
  text += fmt::format("Its value is {}{}.\n", ToString(instruction.shape()),
                      parent.root() == &instruction ? ", which the computation returns" : "");
  text += Lines("Operands", ShapeLines(instruction)) + Lines("Attributes", AttributeLines(instruction)) +
          Lines("Origin", OriginLines(instruction)) + Lines("Cost", CostLines(instruction));
  text += fmt::format("The fast engine runs it by\n  {}\n", KernelLine(module, instruction));
  return text +
         fmt::format("hlo-run explain {} cites the rules of its opcode.\n", Name(instruction.opcode()));
}

}  // namespace hlo::debug
