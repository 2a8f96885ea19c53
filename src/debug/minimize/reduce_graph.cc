// Reductions of the entry computation's graph: fewer outputs, values in place of what computes them.

#include <algorithm>

#include "base/status.h"
#include "debug/minimize/reductions.h"

namespace hlo::debug {
namespace {

// The number of values that are tried as the only result: fewer if fewer outputs were not enough.
constexpr int64_t kMaxRoots = 64;
constexpr int64_t kMaxRootsOfTuple = 4;
// The number of parts of the outputs of which one is tried alone.
constexpr int64_t kMaxParts = 4;
constexpr double kMaxSeconds = 60;

// Returns the numbers below `count` so that each prefix is spread evenly.
std::vector<int64_t> Spread(int64_t count, int64_t limit) {
  std::vector<int64_t> order;
  for (int64_t parts = 2; static_cast<int64_t>(order.size()) < std::min(count, limit) && parts <= 4 * count;
       parts *= 2) {
    for (int64_t i = 1; i < parts; i += 2) {
      const int64_t at = count * i / parts;
      if (std::find(order.begin(), order.end(), at) == order.end()) order.push_back(at);
    }
  }
  return order;
}

// Returns the elements of a root tuple.
std::vector<const Instruction*> Elements(const FlatModule& flat) {
  const Instruction* root = flat.computation().root();
  if (root->opcode() != Opcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

absl::StatusOr<SharedCase> WithElements(const TestCase& test, int64_t begin, int64_t end, bool keeps) {
  const CaseGraph graph(test);
  const std::vector<const Instruction*> all = Elements(graph.flat);
  std::vector<const Instruction*> kept;
  for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
    if ((i >= begin && i < end) == keeps) kept.push_back(all[static_cast<size_t>(i)]);
  }
  if (kept.empty()) return absl::InvalidArgumentError("no output");
  return MakeTestCase(graph.flat, kept, graph.inputs);
}

absl::StatusOr<SharedCase> WithRoot(const TestCase& test, int64_t index) {
  const CaseGraph graph(test);
  const Instruction* root = graph.flat.instructions()[static_cast<size_t>(index)];
  if (root->opcode() == Opcode::kParameter || root->shape().IsToken())
    return absl::InvalidArgumentError("not a value to compute");
  return MakeTestCase(graph.flat, {&root, 1}, graph.inputs);
}

bool CanBeInput(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const bool is_leaf = opcode == Opcode::kParameter || opcode == Opcode::kConstant || opcode == Opcode::kIota;
  return !is_leaf && !instruction.shape().IsToken() && opcode != Opcode::kTuple;
}

// Makes parameters of instructions, with the values that they have.
absl::StatusOr<SharedCase> WithEdges(const CaseGraph& graph, const std::vector<const Instruction*>& edges) {
  const Instruction* root = graph.flat.computation().root();
  if (edges.empty() || std::find(edges.begin(), edges.end(), root) != edges.end())
    return absl::InvalidArgumentError("nothing to compute");
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values, graph.Compute(edges));
  auto known = graph.inputs;
  for (size_t i = 0; i < edges.size(); ++i) known[edges[i]] = values[i];
  return MakeTestCase(graph.flat, {&root, 1}, known);
}

// Returns the instructions at a distance from the root; a root tuple does not count.
std::vector<const Instruction*> AtHeight(const FlatModule& flat, int64_t height) {
  std::vector<const Instruction*> level = Elements(flat);
  absl::flat_hash_set<const Instruction*> seen(level.begin(), level.end());
  for (; height > 0; --height) {
    std::vector<const Instruction*> next;
    for (const Instruction* instruction : level) {
      for (const Instruction* operand : instruction->operands()) {
        if (seen.insert(operand).second) next.push_back(operand);
      }
    }
    level = std::move(next);
  }
  std::erase_if(level, [](const Instruction* i) { return !CanBeInput(*i); });
  return level;
}

// Redirects the users of some instructions to operands of the same shape.
absl::StatusOr<SharedCase> WithBypass(const TestCase& test, int64_t begin, int64_t end) {
  const std::shared_ptr<Module> module = CopyModule(test);
  absl::flat_hash_map<const Instruction*, Instruction*> replacement;
  int64_t number = 0;
  for (Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      std::vector<Instruction*> operands(instruction->operands().begin(), instruction->operands().end());
      for (Instruction*& operand : operands) {
        if (const auto found = replacement.find(operand); found != replacement.end()) operand = found->second;
      }
      InstructionEditor::SetOperands(*module, *instruction, operands);
      const int64_t mine = number++;
      if (mine < begin || mine >= end || instruction->opcode() == Opcode::kTuple) continue;
      for (Instruction* operand : operands) {
        if (!Equal(operand->shape(), instruction->shape(), {.ignore_layout = true})) continue;
        replacement[instruction] = operand;
        break;
      }
    }
    const auto found = replacement.find(computation->root());
    if (found != replacement.end()) InstructionEditor::SetRoot(*computation, found->second);
  }
  if (replacement.empty()) return absl::InvalidArgumentError("nothing to bypass");
  return MakeTestCase(module, test.inputs);
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> Chunks(int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> chunks;
  for (int64_t size = (count + 1) / 2; size >= 1; size = size == 1 ? 0 : (size + 1) / 2) {
    for (int64_t begin = 0; begin < count; begin += size)
      chunks.emplace_back(begin, std::min(begin + size, count));
  }
  return chunks;
}

CaseGraph::CaseGraph(const TestCase& test)
    : flat(test.module.shared(), *test.module.module().entry(), Inlining::kNone) {
  for (size_t i = 0; i < test.inputs.size(); ++i)
    inputs[flat.computation().parameter(static_cast<int64_t>(i))] = test.inputs[i];
}

absl::StatusOr<std::vector<Literal>> CaseGraph::Compute(
    absl::Span<const Instruction* const> instructions) const {
  HLO_ASSIGN_OR_RETURN(const Cone cone, MakeCone(flat, instructions));
  std::vector<Literal> arguments;
  for (const Instruction* parameter : cone.parameters) arguments.push_back(inputs.at(parameter));
  EvaluateOptions options;
  options.max_seconds = kMaxSeconds;
  HLO_ASSIGN_OR_RETURN(const Literal all, RunOnAllDevices(cone.module, arguments, Engine::kFast, options));
  const int64_t count = DeviceCount(cone.module);
  std::vector<Literal> values;
  for (size_t i = 0; i < instructions.size(); ++i) {
    std::vector<Literal> by_device;
    for (int64_t device = 0; device < count; ++device)
      by_device.push_back(OfDevice(all, device, count).element(static_cast<int64_t>(i)));
    values.push_back(AllDevices(std::move(by_device)));
  }
  return values;
}

std::vector<Proposal> ProposeOutputs(const SharedCase& test) {
  const CaseGraph graph(*test);
  const auto count = static_cast<int64_t>(Elements(graph.flat).size());
  std::vector<Proposal> proposals;
  if (graph.flat.computation().root()->opcode() != Opcode::kTuple) return proposals;
  for (const auto& [begin, end] : Chunks(count)) {
    for (const bool keeps : {true, false}) {
      // Small parts alone are rarely enough: if one output is, ProposeRoots finds it.
      if (keeps && (end - begin) * kMaxParts < count) continue;
      proposals.push_back([=, begin = begin, end = end] { return WithElements(*test, begin, end, keeps); });
    }
  }
  return proposals;
}

std::vector<Proposal> ProposeRoots(const SharedCase& test) {
  const CaseGraph graph(*test);
  std::vector<Proposal> proposals;
  const int64_t limit = Elements(graph.flat).size() > 1 ? kMaxRootsOfTuple : kMaxRoots;
  for (const int64_t index : Spread(static_cast<int64_t>(graph.flat.instructions().size()), limit))
    proposals.push_back([=] { return WithRoot(*test, index); });
  return proposals;
}

std::vector<Proposal> ProposeFrontiers(const SharedCase& test) {
  const auto graph = std::make_shared<const CaseGraph>(*test);
  std::vector<Proposal> proposals;
  for (int64_t height = 1; height < 1 << 20; height *= 2) {
    const std::vector<const Instruction*> edges = AtHeight(graph->flat, height);
    if (edges.empty()) break;
    // The graph is part of the case that the proposal keeps alive.
    proposals.push_back([test, graph, edges] { return WithEdges(*graph, edges); });
  }
  return proposals;
}

std::vector<Proposal> ProposeEdges(const SharedCase& test) {
  const auto graph = std::make_shared<const CaseGraph>(*test);
  std::vector<Proposal> proposals;
  const auto instructions = graph->flat.instructions();
  for (size_t i = instructions.size(); i-- > 0;) {
    const Instruction* edge = instructions[i];
    if (CanBeInput(*edge)) proposals.push_back([test, graph, edge] { return WithEdges(*graph, {edge}); });
  }
  return proposals;
}

std::vector<Proposal> ProposeBypasses(const SharedCase& test) {
  std::vector<Proposal> proposals;
  for (const auto& [begin, end] : Chunks(test->module.module().instruction_count()))
    proposals.push_back([=, begin = begin, end = end] { return WithBypass(*test, begin, end); });
  return proposals;
}

}  // namespace hlo::debug
