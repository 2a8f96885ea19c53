// Determines the order in which computations and instructions are printed (text-format 9.3, 9.4).

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ir/printer.h"

namespace hlo {
namespace {

using ComputationSet = absl::flat_hash_set<const Computation*>;

std::vector<const Computation*> Uncalled(const Module& module) {
  ComputationSet called;
  for (const Computation* c : module.computations()) {
    for (const Instruction* i : c->instructions()) {
      for (const Computation* callee : i->called_computations()) called.insert(callee);
    }
  }
  std::vector<const Computation*> roots;
  for (const Computation* c : module.computations()) {
    if (!called.contains(c)) roots.push_back(c);
  }
  return roots;
}

// Traverses the computations reachable from one root.
class Walk {
 public:
  Walk(bool as_xla, PrintOrder& instructions, ComputationSet* done, std::vector<const Computation*>* order)
      : as_xla_(as_xla), instructions_(instructions), done_(*done), order_(*order) {}

  void From(const Computation& root) {
    if (!as_xla_) {
      if (done_.insert(&root).second) Push(&root);
      Drain();
      return;
    }
    // XLA visits the root's instructions one by one and empties the stack after each.
    for (Instruction* i : root.instructions()) {
      PushCallees(*i);
      Drain();
    }
    if (done_.insert(&root).second) order_.push_back(&root);
  }

 private:
  struct Frame {
    const Computation* computation;
    std::vector<Instruction*> instructions;
    size_t next_instruction = 0;
    size_t next_callee = 0;
  };

  // Most instructions call nothing.
  static std::vector<Instruction*> Callers(absl::Span<Instruction* const> instructions) {
    std::vector<Instruction*> callers;
    for (Instruction* i : instructions) {
      if (!i->called_computations().empty()) callers.push_back(i);
    }
    return callers;
  }

  void Push(const Computation* c) {
    Frame frame{c, Callers(c->instructions())};
    // The stored order suffices if at most one instruction calls computations.
    if (!as_xla_ && frame.instructions.size() > 1)
      frame.instructions = Callers(instructions_.Of(*c, /*nested=*/false));
    stack_.push_back(std::move(frame));
  }

  // Pushes the callees that this traversal has not pushed yet, the last one first.
  void PushCallees(const Instruction& i) {
    std::vector<const Computation*> fresh;
    for (const Computation* callee : i.called_computations()) {
      if (pushed_.insert(callee).second) fresh.push_back(callee);
    }
    for (auto it = fresh.rbegin(); it != fresh.rend(); ++it) Push(*it);
  }

  void Drain() {
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next_instruction == top.instructions.size()) {
        const Computation* finished = top.computation;
        stack_.pop_back();
        if (!as_xla_ || done_.insert(finished).second) order_.push_back(finished);
        continue;
      }
      const Instruction& i = *top.instructions[top.next_instruction];
      if (as_xla_) {
        ++top.next_instruction;
        PushCallees(i);
      } else if (top.next_callee == i.called_computations().size()) {
        ++top.next_instruction;
        top.next_callee = 0;
      } else {
        const Computation* callee = i.called_computations()[top.next_callee++];
        if (done_.insert(callee).second) Push(callee);
      }
    }
  }

  const bool as_xla_;
  PrintOrder& instructions_;
  ComputationSet& done_;
  std::vector<const Computation*>& order_;
  ComputationSet pushed_;
  std::vector<Frame> stack_;
};

bool HasControlPredecessors(const Computation& computation) {
  return std::any_of(computation.instructions().begin(), computation.instructions().end(),
                     [](const Instruction* i) { return i->Has<attr::control_predecessors>(); });
}

}  // namespace

bool PrintOrder::FollowsSchedule(const Computation& computation) {
  if (!module_.header().is_scheduled) return false;
  if (!std::exchange(has_fusion_bodies_, true)) {
    for (const Computation* c : module_.computations()) {
      for (const Instruction* i : c->instructions()) {
        if (i->opcode() == Opcode::kFusion) fusion_bodies_.insert(i->Get<attr::calls>());
      }
    }
  }
  return !fusion_bodies_.contains(&computation);
}

std::vector<Instruction*> PrintOrder::Of(const Computation& computation, bool nested) {
  absl::Span<Instruction* const> stored = computation.instructions();
  if (!nested && (own_order_ || FollowsSchedule(computation))) return {stored.begin(), stored.end()};
  // If control predecessors are not printed, the order must not depend on them; XLA's does.
  std::vector<Instruction*> order = PostOrder(stored, as_xla_ || prints_control_);
  if (as_xla_ || !prints_control_ || !HasControlPredecessors(computation)) return order;
  // The first pass moves instructions without users before those that wait for them. A second pass reaches
  // the fixed point.
  return PostOrder(order);
}

std::vector<const Computation*> PrintOrder::Computations() {
  if (own_order_) return {module_.computations().begin(), module_.computations().end()};
  std::vector<const Computation*> order;
  ComputationSet done;
  for (const Computation* root : Uncalled(module_)) Walk(as_xla_, *this, &done, &order).From(*root);
  return order;
}

}  // namespace hlo
