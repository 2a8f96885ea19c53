#include "io/index_operands.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hlo::io {
namespace {

int64_t LeafOffset(const Shape& tuple, int64_t element) {
  int64_t offset = 0;
  for (int64_t i = 0; i < element; ++i) offset += tuple.element(i).LeafCount();
  return offset;
}

// A backward dataflow analysis: limits propagate from uses to definitions and only decrease, so the analysis
// of loops terminates.
class Propagation {
 public:
  explicit Propagation(const Module& module) : module_(module) {
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        for (const Computation* callee : instruction->called_computations())
          callers_[callee].push_back(instruction);
      }
    }
  }

  std::vector<std::vector<int64_t>> Run() {
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* instruction : computation->instructions()) AddUses(*instruction);
    }
    while (!pending_.empty()) {
      const auto [instruction, leaf] = pending_.back();
      pending_.pop_back();
      Follow(*instruction, leaf, limits_[instruction][leaf]);
    }
    std::vector<std::vector<int64_t>> result;
    for (const Instruction* parameter : module_.entry()->parameters()) {
      std::vector<int64_t>& leaves = limits_[parameter];
      leaves.resize(parameter->shape().LeafCount(), kNoIndexLimit);
      result.push_back(leaves);
    }
    return result;
  }

 private:
  void Limit(const Instruction& value, int64_t leaf, int64_t limit) {
    std::vector<int64_t>& leaves = limits_[&value];
    if (leaves.empty()) leaves.resize(value.shape().LeafCount(), kNoIndexLimit);
    if (leaf >= static_cast<int64_t>(leaves.size()) || leaves[leaf] <= limit) return;
    leaves[leaf] = limit;
    pending_.emplace_back(&value, leaf);
  }
  void LimitOperand(const Instruction& user, int64_t operand, int64_t leaf, int64_t limit) {
    if (operand < user.operand_count()) Limit(*user.operand(operand), leaf, limit);
  }

  // Returns the largest start index of a slice in a dimension.
  static int64_t Room(int64_t size, int64_t slice) { return std::max<int64_t>(size - slice, 0); }

  void LimitStarts(const Instruction& user, int64_t first, absl::Span<const int64_t> dims, IntList sizes) {
    int64_t smallest = kNoIndexLimit;
    for (size_t d = 0; d < std::min(dims.size(), sizes.size()); ++d) {
      const int64_t room = Room(dims[d], sizes[d]);
      smallest = std::min(smallest, room);
      const auto operand = first + static_cast<int64_t>(d);
      if (operand < user.operand_count() && user.operand(operand)->shape().rank() == 0) {
        LimitOperand(user, operand, 0, room);
      }
    }
    // The older form has all start indices in one array.
    if (first < user.operand_count() && user.operand(first)->shape().rank() == 1)
      LimitOperand(user, first, 0, smallest);
  }

  void AddGather(const Instruction& gather) {
    const IntList sizes = gather.Get<attr::slice_sizes>();
    int64_t smallest = kNoIndexLimit;
    for (const int64_t d : gather.Get<attr::start_index_map>()) {
      smallest = std::min(smallest, Room(gather.operand(0)->shape().dim(d), sizes[d]));
    }
    LimitOperand(gather, 1, 0, smallest);
  }

  // The window of a scatter consists of the update's window dimensions, which map in order to the operand
  // dimensions that are neither inserted nor batching.
  void AddScatter(const Instruction& scatter) {
    const int64_t count = scatter.operand_count() / 2;
    const Shape& input = scatter.operand(0)->shape();
    const Shape& updates = scatter.operand(count + 1)->shape();
    std::vector<int64_t> window(input.rank(), 1);
    const IntList window_dims = scatter.Get<attr::update_window_dims>();
    const IntList inserted = scatter.Get<attr::inserted_window_dims>();
    const IntList batching = scatter.Get<attr::input_batching_dims>();
    size_t next = 0;
    for (int64_t d = 0; d < input.rank() && next < window_dims.size(); ++d) {
      const auto has = [d](IntList list) { return std::find(list.begin(), list.end(), d) != list.end(); };
      if (!has(inserted) && !has(batching)) window[d] = updates.dim(window_dims[next++]);
    }
    int64_t smallest = kNoIndexLimit;
    for (const int64_t d : scatter.Get<attr::scatter_dims_to_operand_dims>()) {
      smallest = std::min(smallest, Room(input.dim(d), window[d]));
    }
    LimitOperand(scatter, count, 0, smallest);
  }

  void AddUses(const Instruction& user) {
    switch (user.opcode()) {
      case Opcode::kGather:
        return AddGather(user);
      case Opcode::kScatter:
        return AddScatter(user);
      case Opcode::kDynamicSlice:
        return LimitStarts(user, 1, user.operand(0)->shape().dims(), user.Get<attr::dynamic_slice_sizes>());
      case Opcode::kDynamicUpdateSlice:
        return LimitStarts(user, 2, user.operand(0)->shape().dims(), user.operand(1)->shape().dims());
      case Opcode::kConditional:
        if (user.operand(0)->shape().IsArray(ElementType::kS32)) {
          LimitOperand(user, 0, 0, static_cast<int64_t>(user.called_computations().size()) - 1);
        }
        return;
      default:
        return;
    }
  }

  // Propagates a limit to the definitions of a leaf.
  void Follow(const Instruction& value, int64_t leaf, int64_t limit) {
    switch (value.opcode()) {
      case Opcode::kParameter:
        return FollowToCallers(value, leaf, limit);
      case Opcode::kPad:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kMinimum:
      case Opcode::kMaximum:
        LimitOperand(value, 0, leaf, limit);
        return LimitOperand(value, 1, leaf, limit);
      case Opcode::kSelect:
        LimitOperand(value, 1, leaf, limit);
        return LimitOperand(value, 2, leaf, limit);
      case Opcode::kClamp:
        return LimitOperand(value, 1, leaf, limit);
      case Opcode::kConcatenate:
        for (int64_t i = 0; i < value.operand_count(); ++i) LimitOperand(value, i, leaf, limit);
        return;
      case Opcode::kSort:
        return LimitOperand(value, leaf, 0, limit);
      case Opcode::kTuple:
        return FollowTuple(value, leaf, limit);
      case Opcode::kGetTupleElement:
        return LimitOperand(value, 0, LeafOffset(value.operand(0)->shape(), value.Get<attr::index>()) + leaf,
                            limit);
      case Opcode::kWhile:
        LimitOperand(value, 0, leaf, limit);
        return Limit(*value.Get<attr::body>()->root(), leaf, limit);
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kConditional:
        for (const Computation* callee : value.called_computations()) Limit(*callee->root(), leaf, limit);
        return;
      default:
        if (Info(value.opcode()).has(kMovement) || Info(value.opcode()).has(kForwards))
          LimitOperand(value, 0, leaf, limit);
        return;
    }
  }

  void FollowTuple(const Instruction& tuple, int64_t leaf, int64_t limit) {
    for (int64_t i = 0; i < tuple.operand_count(); ++i) {
      const int64_t leaves = tuple.operand(i)->shape().LeafCount();
      if (leaf < leaves) return LimitOperand(tuple, i, leaf, limit);
      leaf -= leaves;
    }
  }

  void FollowToCallers(const Instruction& parameter, int64_t leaf, int64_t limit) {
    const int64_t number = parameter.Get<attr::number>();
    const auto callers = callers_.find(parameter.parent());
    if (callers == callers_.end()) return;
    for (const Instruction* caller : callers->second) {
      switch (caller->opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion:
        case Opcode::kMap:
          LimitOperand(*caller, number, leaf, limit);
          break;
        case Opcode::kWhile:
          LimitOperand(*caller, 0, leaf, limit);
          Limit(*caller->Get<attr::body>()->root(), leaf, limit);
          break;
        case Opcode::kConditional:
          for (size_t branch = 0; branch < caller->called_computations().size(); ++branch) {
            if (caller->called_computations()[branch] == parameter.parent()) {
              LimitOperand(*caller, static_cast<int64_t>(branch) + 1, leaf, limit);
            }
          }
          break;
        default:
          break;
      }
    }
  }

  const Module& module_;
  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> callers_;
  absl::flat_hash_map<const Instruction*, std::vector<int64_t>> limits_;
  std::vector<std::pair<const Instruction*, int64_t>> pending_;
};

}  // namespace

std::vector<std::vector<int64_t>> IndexLimits(const Module& module) { return Propagation(module).Run(); }

}  // namespace hlo::io
