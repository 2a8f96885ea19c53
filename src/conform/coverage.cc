#include "conform/coverage.h"

#include <algorithm>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status.h"
#include "conform/inline_case.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/visit.h"

namespace hlo::conform {
namespace {

struct Probe {
  Opcode opcode;
  std::string_view entry;
};
constexpr Probe kProbes[] = {
#define HLO_PROBE(opcode, entry) {Opcode::k##opcode, entry},
#include "conform/probes.def"
#undef HLO_PROBE
};

// Computations that probes call.
struct Callee {
  std::string_view name, text;
};
constexpr Callee kCallees[] = {
    {"add", "add { x = T[] parameter(0) y = T[] parameter(1) ROOT s = add(x, y) }"},
    {"never", "never { x = T[] parameter(0) y = T[] parameter(1) ROOT no = pred[] constant(false) }"},
    {"stop", "stop { x = T[2] parameter(0) ROOT no = pred[] constant(false) }"},
    {"same", "same { ROOT x = T[2] parameter(0) }"},
    {"scalar", "scalar { ROOT x = T[] parameter(0) }"},
    {"running",
     "running { x = T[] parameter(0) y = T[] parameter(1) s = add(x, y) ROOT t = (T[], T[]) tuple(s, s) }"},
};

bool Mentions(std::string_view text, std::string_view before, std::string_view name, std::string_view after) {
  const std::string word = std::string(before) + std::string(name);
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (end == text.size() || after.find(text[end]) != std::string_view::npos) return true;
  }
  return false;
}

// True if the operand's name occurs between parentheses and commas.
bool UsesOperand(std::string_view entry, std::string_view name) {
  return Mentions(entry, "(", name, ",)") || Mentions(entry, ", ", name, ",)");
}

// Adds the parameters a, v and n that the probe uses, numbered after its own.
std::string WithParameters(std::string_view entry) {
  int64_t number = 0;
  bool has_own_zero = entry.find("parameter(0)") != std::string_view::npos;
  std::string text;
  const auto add = [&](std::string_view name, std::string_view shape) {
    if (!UsesOperand(entry, name)) return;
    while (entry.find(fmt::format("parameter({})", number)) != std::string_view::npos) ++number;
    text += fmt::format("{} = {} parameter({}) ", name, shape, number++);
  };
  add("a", "T[2]");
  add("v", "T[]");
  add("n", "s32[]");
  // The probe's own parameters start at 1, so parameter 0 must exist.
  if (text.empty() && !has_own_zero && entry.find("parameter(1)") != std::string_view::npos)
    text = "a = T[2] parameter(0) ";
  return text + std::string(entry);
}

std::string ElementwiseProbe(Opcode opcode) {
  const OpcodeInfo& info = Info(opcode);
  if (!info.has(kElementwise) || info.min_operands != info.max_operands) return "";
  std::string operands = "a";
  for (int i = 1; i < info.min_operands; ++i) operands += ", a";
  return fmt::format("ROOT r = {}({})", info.name, operands);
}

std::optional<CheckedModule> CheckedProbe(std::string_view entry, ElementType type) {
  std::string text = "HloModule probe\n";
  for (const Callee& callee : kCallees) {
    if (Mentions(entry, "=", callee.name, ", ")) text += std::string(callee.text) + "\n";
  }
  text += fmt::format("ENTRY e {{ {} }}\n", WithParameters(entry));
  text = absl::StrReplaceAll(text, {{"T[", std::string(Name(type)) + "["}});
  const auto source = std::make_shared<SourceText>("probe", text);
  Diagnostics diagnostics;
  std::shared_ptr<const Module> module = Parse(source, diagnostics, {.infer_shape = &InferMissingShape});
  if (module == nullptr) return std::nullopt;
  absl::StatusOr<CheckedModule> checked = Check(module, diagnostics);
  if (!checked.ok()) return std::nullopt;
  return *std::move(checked);
}

const Shape* FirstArray(const Shape& shape) {
  if (shape.IsArray()) return &shape;
  for (const Shape& element : shape.elements()) {
    if (const Shape* found = FirstArray(element)) return found;
  }
  return nullptr;
}

const Shape* LastArray(const Shape& shape) {
  if (shape.IsArray()) return &shape;
  for (size_t i = shape.elements().size(); i-- > 0;) {
    if (const Shape* found = LastArray(shape.element(static_cast<int64_t>(i)))) return found;
  }
  return nullptr;
}

// Adds the instructions on which the entry's result depends, and those with side effects.
void AddLive(const Computation& computation, absl::flat_hash_set<const Instruction*>* live) {
  std::vector<const Instruction*> stack = {computation.root()};
  for (const Instruction* i : computation.instructions()) {
    if (Info(i->opcode()).has(kSideEffect)) stack.push_back(i);
  }
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    if (!live->insert(top).second) continue;
    stack.insert(stack.end(), top->operands().begin(), top->operands().end());
    for (const Computation* called : top->called_computations()) {
      if (!live->contains(called->root())) AddLive(*called, live);
    }
  }
}

void MarkTested(const Module& module, OpcodeTypes* tested) {
  absl::flat_hash_set<const Instruction*> live;
  AddLive(*module.entry(), &live);
  for (const Instruction* instruction : live) {
    if (const std::optional<ElementType> type = KeyType(*instruction))
      (*tested)[static_cast<size_t>(instruction->opcode())].set(static_cast<size_t>(*type));
  }
}

absl::Status MarkCase(const Case& test, OpcodeTypes* tested) {
  LoadedCase loaded;
  if (test.is_golden()) {
    HLO_ASSIGN_OR_RETURN(loaded.source, SourceText::Read(test.path + "/module.hlo"));
    loaded.module = Parse(loaded.source, loaded.diagnostics, {.infer_shape = &InferMissingShape});
  } else {
    const absl::StatusOr<CaseText> text = ParseCaseText(test.text);
    if (!text.ok() || text->verb != Verb::kRun) return absl::OkStatus();
    Load(*text, test.path, test.line, &loaded);
  }
  if (loaded.module != nullptr) MarkTested(*loaded.module, tested);
  return absl::OkStatus();
}

bool HasNoSemantics(const absl::Status& status) {
  return Message(status).find("no meaning") != std::string_view::npos;
}

// True if a step, or a step nested in it, calls the reference function of the opcode.
bool UsesReference(const std::vector<plan::Step>& steps, Opcode opcode) {
  return std::any_of(steps.begin(), steps.end(), [&](const plan::Step& step) {
    if (std::holds_alternative<plan::ReferenceStep>(step.what)) return step.instruction->opcode() == opcode;
    bool found = false;
    plan::VisitNestedSteps(
        step, [&](const std::vector<plan::Step>& nested) { found = found || UsesReference(nested, opcode); });
    return found;
  });
}

}  // namespace

std::vector<Engine> AllEngines() {
  const auto reference = [](const CheckedModule& module, Opcode) { return CheckSupported(module); };
  const auto fast = [](const CheckedModule& module, Opcode opcode) {
    HLO_RETURN_IF_ERROR(CheckSupported(module));
    HLO_ASSIGN_OR_RETURN(const plan::Plan plan, plan::MakePlan(module));
    return UsesReference(plan.steps, opcode) ? absl::UnimplementedError("the reference's function")
                                             : absl::OkStatus();
  };
  return {{"reference", reference}, {"fast", fast}};
}

std::optional<ElementType> KeyType(const Instruction& instruction) {
  const Shape* array = nullptr;
  switch (instruction.opcode()) {
    case Opcode::kConditional:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      array = LastArray(instruction.shape());  // The type of the data, not of the predicate, bounds or state.
      break;
    case Opcode::kSelect:
      array = FirstArray(instruction.operand(1)->shape());
      break;
    default:
      for (const Instruction* operand : instruction.operands()) {
        if (array == nullptr) array = FirstArray(operand->shape());
      }
      if (array == nullptr) array = FirstArray(instruction.shape());
  }
  return array == nullptr ? std::nullopt : std::optional(array->type());
}

std::vector<CheckedModule> ProbesOf(Opcode opcode, ElementType type) {
  std::vector<CheckedModule> modules;
  const auto add = [&](std::string_view entry) {
    std::optional<CheckedModule> module = CheckedProbe(entry, type);
    if (!module) return;
    // Instructions with another type do not count.
    for (const Instruction* i : module->module().entry()->instructions()) {
      if (i->opcode() != opcode || KeyType(*i) != type) continue;
      modules.push_back(*std::move(module));
      return;
    }
  };
  for (const Probe& probe : kProbes) {
    if (probe.opcode == opcode) add(probe.entry);
  }
  if (const std::string probe = ElementwiseProbe(opcode); modules.empty() && !probe.empty()) add(probe);
  return modules;
}

absl::StatusOr<Coverage> MeasureCoverage(const std::vector<Engine>& engines,
                                         const std::vector<std::string>& paths) {
  Coverage coverage;
  HLO_CHECK(!engines.empty());
  for (const Engine& engine : engines) coverage.engines.emplace_back(engine.name, OpcodeTypes());
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    for (size_t type = 0; type < kElementTypeCount; ++type) {
      for (const CheckedModule& probe : ProbesOf(static_cast<Opcode>(op), static_cast<ElementType>(type))) {
        coverage.accepted[op].set(type);
        for (size_t i = 0; i < engines.size(); ++i) {
          if (engines[i].supports(probe, static_cast<Opcode>(op)).ok())
            coverage.engines[i].second[op].set(type);
        }
        if (HasNoSemantics(engines[0].supports(probe, static_cast<Opcode>(op))))
          coverage.meaningless[op].set(type);
      }
      if (coverage.engines[0].second[op].test(type)) coverage.meaningless[op].reset(type);
    }
  }
  HLO_ASSIGN_OR_RETURN(const std::vector<Case> cases, FindCases(paths));
  OpcodeTypes exercised;
  for (const Case& test : cases) HLO_RETURN_IF_ERROR(MarkCase(test, &exercised));
  for (size_t op = 0; op < kOpcodeCount; ++op) coverage.tested[op] = exercised[op] & coverage.accepted[op];
  return coverage;
}

}  // namespace hlo::conform
