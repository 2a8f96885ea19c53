// Reductions of calls, loops and conditionals.

#include <algorithm>

#include "base/arena.h"
#include "base/status.h"
#include "debug/extract/function.h"
#include "debug/minimize/reductions.h"
#include "spmd/device_grid.h"

namespace hlo::debug {
namespace {

constexpr int64_t kMaxIterations = 100'000;
constexpr EvaluateOptions kLimits = {.max_seconds = 60};

bool HasCalls(const FlatModule& flat) {
  return std::any_of(flat.instructions().begin(), flat.instructions().end(),
                     [](const Instruction* i) { return IsCallOrFusion(*i); });
}

absl::StatusOr<SharedCase> Inlined(const TestCase& test) {
  const FlatModule flat(test.module.shared(), *test.module.module().entry());
  absl::flat_hash_map<const Instruction*, Literal> values;
  for (size_t i = 0; i < test.inputs.size(); ++i)
    values[flat.computation().parameter(static_cast<int64_t>(i))] = test.inputs[i];
  const Instruction* root = flat.computation().root();
  return MakeTestCase(flat, {&root, 1}, values);
}

// True if all devices run another iteration. Returns Unimplemented if only some do.
absl::StatusOr<bool> RunsOnAllDevices(const Literal& conditions, int64_t count) {
  int64_t running = 0;
  for (int64_t device = 0; device < count; ++device) running += IsTrue(OfDevice(conditions, device, count));
  if (running > 0 && running < count)
    return absl::UnimplementedError("the devices leave the loop after different iterations");
  return running == count;
}

// Runs a loop and returns its states, on all devices: the initial one and those after each iteration.
absl::StatusOr<std::vector<Literal>> StatesOf(const CaseGraph& graph, const Instruction& loop) {
  const int64_t count = spmd::GridOf(*graph.flat.source()).count();
  const Instruction* operand = loop.operand(0);
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> states, graph.Compute({&operand, 1}));
  const auto make = [&](const Computation& computation) {
    return Function::Make(graph.flat.source(), computation, Engine::kFast, kLimits);
  };
  HLO_ASSIGN_OR_RETURN(Function condition, make(*loop.Get<attr::condition>()));
  HLO_ASSIGN_OR_RETURN(Function body, make(*loop.Get<attr::body>()));
  while (static_cast<int64_t>(states.size()) <= kMaxIterations) {
    HLO_ASSIGN_OR_RETURN(const Literal conditions, condition.CallOnAllDevices(states.back(), kLimits));
    HLO_ASSIGN_OR_RETURN(const bool runs, RunsOnAllDevices(conditions, count));
    if (!runs) return states;
    HLO_ASSIGN_OR_RETURN(Literal next, body.CallOnAllDevices(states.back(), kLimits));
    states.push_back(std::move(next));
  }
  return absl::ResourceExhaustedError("the loop has too many iterations");
}

// Starts a loop with the state after some of its iterations. With `once`, calls its body once instead.
absl::StatusOr<SharedCase> WithState(const TestCase& test, std::string_view name, const Literal& state,
                                     bool once) {
  const std::shared_ptr<Module> module = CopyModule(test);
  Instruction* loop = nullptr;
  for (Instruction* i : module->entry()->instructions()) {
    if (i->name() == name) loop = i;
  }
  Instruction* operand = loop->operand(0);
  const auto number = static_cast<int64_t>(test.inputs.size());
  const AttrEntry entry{AttrId::number, {}, AttrValue::Of(number)};
  Instruction* parameter = module->AddInstruction(module->entry(), Opcode::kParameter, "state.of.the.loop",
                                                  operand->shape(), {}, {&entry, 1});
  InstructionEditor::SetParameter(*module->entry(), number, parameter);
  Instruction* replaced = loop;
  if (once) {
    const AttrEntry body{AttrId::to_apply, {}, AttrValue::Of(loop->Get<attr::body>())};
    replaced = module->AddInstruction(module->entry(), Opcode::kCall, "iteration.of.the.loop", loop->shape(),
                                      {&parameter, 1}, {&body, 1});
  } else {
    InstructionEditor::SetOperands(*module, *loop, {&parameter, 1});
  }
  // Operands stand before their users.
  std::vector<Instruction*> order = {parameter};
  if (once) order.push_back(replaced);
  for (Instruction* i : module->entry()->instructions()) {
    if (i == parameter || (once && i == replaced)) continue;
    std::vector<Instruction*> operands(i->operands().begin(), i->operands().end());
    std::replace(operands.begin(), operands.end(), loop, replaced);
    InstructionEditor::SetOperands(*module, *i, operands);
    order.push_back(i);
  }
  if (module->entry()->root() == loop) InstructionEditor::SetRoot(*module->entry(), replaced);
  InstructionEditor::SetInstructions(*module->entry(), std::move(order));
  std::vector<Literal> inputs = test.inputs;
  inputs.push_back(state);
  return MakeTestCase(module, inputs);
}

absl::StatusOr<SharedCase> WithBranch(const TestCase& test, std::string_view name, int64_t branch) {
  const std::shared_ptr<Module> module = CopyModule(test);
  std::vector<Instruction*> order;
  absl::flat_hash_map<Instruction*, Instruction*> replaced;
  const std::vector<Instruction*> before(module->entry()->instructions().begin(),
                                         module->entry()->instructions().end());
  for (Instruction* i : before) {
    std::vector<Instruction*> operands(i->operands().begin(), i->operands().end());
    for (Instruction*& operand : operands) {
      if (replaced.contains(operand)) operand = replaced[operand];
    }
    InstructionEditor::SetOperands(*module, *i, operands);
    order.push_back(i);
    if (i->name() != name) continue;
    Instruction* operand = i->operand(branch + 1);
    const AttrEntry callee{AttrId::to_apply, {}, AttrValue::Of(i->called_computations()[branch])};
    replaced[i] = module->AddInstruction(module->entry(), Opcode::kCall, "branch.of.the.conditional",
                                         i->shape(), {&operand, 1}, {&callee, 1});
    order.push_back(replaced[i]);
    if (module->entry()->root() == i) InstructionEditor::SetRoot(*module->entry(), replaced[i]);
  }
  InstructionEditor::SetInstructions(*module->entry(), std::move(order));
  return MakeTestCase(module, test.inputs);
}

void ProposeForLoop(const SharedCase& test, const CaseGraph& graph, const Instruction& loop,
                    std::vector<Proposal>& proposals) {
  const absl::StatusOr<std::vector<Literal>> states = StatesOf(graph, loop);
  if (!states.ok() || states->size() < 2) return;
  const auto shared = std::make_shared<const std::vector<Literal>>(*states);
  const size_t last = shared->size() - 2;  // The state before the last iteration.
  const auto propose = [&](size_t state, bool once) {
    proposals.push_back([test, shared, state, once, name = std::string(loop.name())] {
      return WithState(*test, name, (*shared)[state], once);
    });
  };
  for (const size_t state : {last, size_t{0}, last / 2}) propose(state, true);
  for (size_t skipped = last; skipped > 0; skipped /= 2) propose(skipped, false);
}

}  // namespace

std::vector<Proposal> ProposeInlining(const SharedCase& test) {
  if (!HasCalls(CaseGraph(*test).flat)) return {};
  return {[=] { return Inlined(*test); }};
}

std::vector<Proposal> ProposeIterations(const SharedCase& test) {
  const CaseGraph graph(*test);
  std::vector<Proposal> proposals;
  for (const Instruction* i : graph.flat.instructions()) {
    if (i->opcode() == Opcode::kWhile) ProposeForLoop(test, graph, *i, proposals);
  }
  return proposals;
}

std::vector<Proposal> ProposeBranches(const SharedCase& test) {
  const CaseGraph graph(*test);
  std::vector<Proposal> proposals;
  for (const Instruction* i : graph.flat.instructions()) {
    if (i->opcode() != Opcode::kConditional) continue;
    for (size_t branch = 0; branch < i->called_computations().size(); ++branch) {
      proposals.push_back([test, name = std::string(i->name()), branch] {
        return WithBranch(*test, name, static_cast<int64_t>(branch));
      });
    }
  }
  return proposals;
}

}  // namespace hlo::debug
