#include "check/module_graph.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ir/async.h"

namespace hlo::check {

CallGraph::CallGraph(const Module& module) {
  const absl::Span<Computation* const> computations = module.computations();
  index_.reserve(computations.size());
  for (size_t i = 0; i < computations.size(); ++i) index_[computations[i]] = static_cast<int32_t>(i);
  // Pairs of callee and caller, sorted by callee with a counting sort.
  std::vector<std::pair<int32_t, const Instruction*>> calls;
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* called : instruction->called_computations()) {
        const auto it = index_.find(called);
        if (it != index_.end()) calls.emplace_back(it->second, instruction);
      }
    }
  }
  begin_.assign(computations.size() + 1, 0);
  for (const auto& [callee, caller] : calls) ++begin_[callee + 1];
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<int64_t> fill(begin_.begin(), begin_.end());
  callers_.resize(calls.size());
  for (const auto& [callee, caller] : calls) callers_[fill[callee]++] = caller;
}

InstructionSpan CallGraph::Callers(const Computation& computation) const {
  const auto it = index_.find(&computation);
  if (it == index_.end()) return {};
  return InstructionSpan(callers_).subspan(begin_[it->second], begin_[it->second + 1] - begin_[it->second]);
}

const Instruction* CallGraph::LoopOf(const Computation& body) const {
  const InstructionSpan callers = Callers(body);
  if (callers.size() != 1 || callers[0]->opcode() != Opcode::kWhile) return nullptr;
  return callers[0]->Get<attr::body>() == &body ? callers[0] : nullptr;
}

bool CallGraph::IsAsync(const Computation& computation) const {
  if (computation.is_async_wrapper()) return true;
  const InstructionSpan callers = Callers(computation);
  return std::any_of(callers.begin(), callers.end(),
                     [](const Instruction* caller) { return Info(caller->opcode()).has(kAsync); });
}

void Users::Build(const Computation& computation) {
  const absl::Span<Instruction* const> instructions = computation.instructions();
  const size_t count = instructions.size();
  begin_.assign(count + 1, 0);
  last_.assign(count, -1);
  const auto each_use = [&](auto&& visit) {
    for (const Instruction* user : instructions) {
      for (const Instruction* operand : user->operands()) {
        int32_t& last = last_[operand->index()];
        if (last == user->index()) continue;
        last = static_cast<int32_t>(user->index());
        visit(operand->index(), user);
      }
    }
  };
  each_use([&](int64_t operand, const Instruction*) { ++begin_[operand + 1]; });
  for (size_t i = 0; i < count; ++i) begin_[i + 1] += begin_[i];
  fill_.assign(begin_.begin(), begin_.end());
  users_.resize(static_cast<size_t>(begin_[count]));
  std::fill(last_.begin(), last_.end(), -1);
  each_use([&](int64_t operand, const Instruction* user) { users_[fill_[operand]++] = user; });
}

bool IsIntermediary(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement || opcode == Opcode::kOptBarrier ||
         opcode == Opcode::kCopy || opcode == Opcode::kParameter || opcode == Opcode::kWhile ||
         IsAnnotation(instruction);
}

namespace {

// A shape index into a value, innermost first.
using TuplePath = std::vector<int64_t>;
struct TuplePlace {
  const Instruction* instruction;
  TuplePath path;
  bool operator==(const TuplePlace&) const = default;
  template <class H>
  friend H AbslHashValue(H hash, const TuplePlace& place) {
    return H::combine(std::move(hash), place.instruction, place.path);
  }
};

bool IsProducer(Opcode opcode) {
  return opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kAllGatherStart || opcode == Opcode::kAllReduceStart ||
         opcode == Opcode::kCollectivePermuteStart || opcode == Opcode::kCopyStart ||
         opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

// Tuples in real programs have few levels; deeper searches fail.
constexpr size_t kMaxPath = 32;

// Adds the operand of a tuple that `path` selects; all operands if it is empty.
void FollowTuple(TuplePlace place, std::vector<TuplePlace>* open) {
  const absl::Span<Instruction* const> operands = place.instruction->operands();
  if (!place.path.empty()) {
    const int64_t i = place.path.back();
    place.path.pop_back();
    if (i >= 0 && i < static_cast<int64_t>(operands.size()))
      open->push_back({operands[i], std::move(place.path)});
    return;
  }
  for (auto it = operands.rbegin(); it != operands.rend(); ++it) open->push_back({*it, {}});
}

}  // namespace

const Instruction* Tracer::FindProducer(const Instruction& value) {
  if (IsProducer(value.opcode())) return &value;
  std::vector<TuplePlace> open = {{&value, {}}};
  absl::flat_hash_set<TuplePlace> seen;  // Contains the places with several successors or predecessors.
  while (!open.empty() && Step()) {
    TuplePlace place = std::move(open.back());
    open.pop_back();
    const Instruction& at = *place.instruction;
    if (IsProducer(at.opcode())) return &at;
    if (!IsIntermediary(at) || place.path.size() > kMaxPath) continue;
    const bool forks =
        at.opcode() == Opcode::kParameter || at.opcode() == Opcode::kWhile || at.opcode() == Opcode::kTuple;
    if (forks && !seen.insert(place).second) continue;
    switch (at.opcode()) {
      case Opcode::kTuple:
        FollowTuple(std::move(place), &open);
        break;
      case Opcode::kGetTupleElement:
        place.path.push_back(at.Get<attr::index>());
        open.push_back({at.operand(0), std::move(place.path)});
        break;
      case Opcode::kParameter: {
        const Instruction* loop = calls_.LoopOf(*at.parent());
        if (loop == nullptr || loop->operand_count() == 0) break;
        open.push_back({at.parent()->root(), place.path});
        open.push_back({loop->operand(0), std::move(place.path)});
        break;
      }
      case Opcode::kWhile: {
        const Computation* body = at.Get<attr::body>();
        if (at.operand_count() > 0) open.push_back({at.operand(0), place.path});
        if (body != nullptr && body->root() != nullptr) open.push_back({body->root(), std::move(place.path)});
        break;
      }
      default:
        if (at.operand_count() > 0) open.push_back({at.operand(0), std::move(place.path)});
    }
  }
  return nullptr;
}

}  // namespace hlo::check
