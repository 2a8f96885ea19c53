#include "io/index_operands.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/leaf_flow.h"

namespace hlo::io {
namespace {

// A backward dataflow analysis: limits propagate from uses to definitions and only decrease, so the analysis
// of loops terminates.
class Propagation {
 public:
  explicit Propagation(const Module& module) : module_(module), flow_(module) {}

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
  static int64_t MaxStart(int64_t size, int64_t slice) { return std::max<int64_t>(size - slice, 0); }

  void LimitStarts(const Instruction& user, int64_t first, absl::Span<const int64_t> dims, IntList sizes) {
    int64_t smallest = kNoIndexLimit;
    for (size_t d = 0; d < std::min(dims.size(), sizes.size()); ++d) {
      const int64_t room = MaxStart(dims[d], sizes[d]);
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
      smallest = std::min(smallest, MaxStart(gather.operand(0)->shape().dim(d), sizes[d]));
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
      smallest = std::min(smallest, MaxStart(input.dim(d), window[d]));
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
    for (const auto& [source, source_leaf] : flow_.Sources({&value, leaf})) {
      if (source != nullptr) Limit(*source, source_leaf, limit);
    }
    if (value.opcode() == Opcode::kSort) return LimitOperand(value, leaf, 0, limit);
    const auto [first, last] = SelectedOperands(value);
    for (int64_t i = first; i < last; ++i) LimitOperand(value, i, leaf, limit);
  }

  // Returns the range of operands that hold the elements of the result, or bounds of them.
  static std::pair<int64_t, int64_t> SelectedOperands(const Instruction& value) {
    switch (value.opcode()) {
      case Opcode::kPad:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kMinimum:
      case Opcode::kMaximum:
        return {0, 2};
      case Opcode::kSelect:
        return {1, 3};
      case Opcode::kClamp:
        return {1, 2};
      case Opcode::kConcatenate:
        return {0, value.operand_count()};
      default:
        return {0, Info(value.opcode()).has(kMovement) || Info(value.opcode()).has(kForwards) ? 1 : 0};
    }
  }

  const Module& module_;
  LeafFlow flow_;
  absl::flat_hash_map<const Instruction*, std::vector<int64_t>> limits_;
  std::vector<std::pair<const Instruction*, int64_t>> pending_;
};

}  // namespace

std::vector<std::vector<int64_t>> IndexLimits(const Module& module) { return Propagation(module).Run(); }

}  // namespace hlo::io
