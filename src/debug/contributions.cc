#include "debug/contributions.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "debug/summary.h"
#include "fmt/format.h"
#include "types/index.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

constexpr int64_t kAnywhere = -1;

// Returns for each dimension of operand k the only index that contributes, or kAnywhere.
std::vector<int64_t> FixedIndices(const Instruction& instruction, int64_t k, const Literal& operand,
                                  const std::vector<int64_t>& index) {
  std::vector<int64_t> fixed(static_cast<size_t>(operand.rank()), kAnywhere);
  const Opcode opcode = instruction.opcode();
  const bool is_elementwise = Info(opcode).has(kElementwise) || opcode == Opcode::kSelect ||
                              opcode == Opcode::kClamp || opcode == Opcode::kMap;
  if (is_elementwise && fixed.size() == index.size()) return index;
  // A step may compute an instruction on many elements at a time, in another shape.
  if (!instruction.shape().IsTuple() && instruction.shape().rank() != static_cast<int64_t>(index.size()))
    return fixed;
  if (opcode == Opcode::kDot && k < 2) {
    const Index batch(k == 0 ? instruction.Get<attr::lhs_batch_dims>()
                             : instruction.Get<attr::rhs_batch_dims>());
    const Index contracting(k == 0 ? instruction.Get<attr::lhs_contracting_dims>()
                                   : instruction.Get<attr::rhs_contracting_dims>());
    for (size_t b = 0; b < batch.size(); ++b) fixed[static_cast<size_t>(batch[b])] = index[b];
    const auto free = operand.rank() - static_cast<int64_t>(batch.size() + contracting.size());
    // The free dimensions of the left operand come first.
    size_t next = k == 0 ? batch.size() : index.size() - static_cast<size_t>(free);
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (!Contains(batch, d) && !Contains(contracting, d)) fixed[static_cast<size_t>(d)] = index[next++];
    }
  } else if (opcode == Opcode::kReduce && k < instruction.operand_count() / 2) {
    const IntList reduced = instruction.Get<attr::dimensions>();
    size_t next = 0;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (!Contains(reduced, d)) fixed[static_cast<size_t>(d)] = index[next++];
    }
  }
  return fixed;
}

// Calls visit(position) for each of these elements.
template <class Visit>
void EachContribution(const Instruction& instruction, int64_t k, const Literal& operand,
                      const std::vector<int64_t>& index, Visit&& visit) {
  if (!operand.shape().IsArray()) return;
  const std::vector<int64_t> fixed = FixedIndices(instruction, k, operand, index);
  const bool is_whole = std::all_of(fixed.begin(), fixed.end(), [](int64_t i) { return i == kAnywhere; });
  if (is_whole && !operand.has_dynamic_sizes()) {
    for (int64_t position = 0; position < operand.element_count(); ++position) visit(position);
    return;
  }
  Index sizes;
  for (int64_t d = 0; d < operand.rank(); ++d)
    sizes.push_back(fixed[static_cast<size_t>(d)] == kAnywhere ? operand.dim(d) : 1);
  const Index strides = RowMajorStrides(operand.dims());
  int64_t base = 0;
  for (int64_t d = 0; d < operand.rank(); ++d)
    base += std::max<int64_t>(fixed[static_cast<size_t>(d)], 0) * strides[d];
  for (const Index& i : EachIndex(sizes)) {
    const int64_t position = base + Offset(i, strides);
    if (IsWithinSizes(operand, position)) visit(position);
  }
}

}  // namespace

bool ContributesInPart(const Instruction& instruction, int64_t k, const Literal& operand,
                       const std::vector<int64_t>& index) {
  if (!operand.shape().IsArray() || operand.element_count() <= 1) return true;
  const std::vector<int64_t> fixed = FixedIndices(instruction, k, operand, index);
  return std::any_of(fixed.begin(), fixed.end(), [](int64_t i) { return i != kAnywhere; });
}

bool ContributionHolds(const Instruction& instruction, int64_t k, const Literal& operand,
                       const std::vector<int64_t>& index, bool nans) {
  bool holds = false;
  EachContribution(instruction, k, operand, index, [&](int64_t position) {
    holds = holds || (nans ? IsNanAt(operand, position) : IsInfAt(operand, position));
  });
  return holds;
}

std::string ContributionText(const Instruction& instruction, int64_t k, const Literal& operand,
                             const std::vector<int64_t>& index) {
  const std::string_view name = instruction.operand(k)->name();
  if (!operand.shape().IsArray()) return fmt::format("%{} is {}", name, ToString(operand.shape()));
  int64_t count = 0, nans = 0, infinities = 0, least = -1, largest = -1;
  double low = 0, high = 0;
  DispatchWide(operand.type(), [&]<class W>() {
    const LoadFn<W> load = Loader<W>(operand.type());
    EachContribution(instruction, k, operand, index, [&](int64_t position) {
      ++count;
      const double x = std::fabs(ModulusOf(load(operand.data(), position)));
      nans += std::isnan(x) ? 1 : 0;
      infinities += std::isinf(x) ? 1 : 0;
      if (std::isnan(x)) return;
      if (least < 0 || x < low) std::tie(least, low) = std::tuple(position, x);
      if (largest < 0 || x > high) std::tie(largest, high) = std::tuple(position, x);
    });
  });
  if (count == 1 && largest >= 0) return fmt::format("%{} = {}", name, ElementText(operand, largest));
  std::string text = fmt::format("%{}: {} elements", name, count);
  if (largest >= 0)
    text += fmt::format(", least magnitude {}, largest {}", ElementText(operand, least),
                        ElementText(operand, largest));
  if (nans > 0) text += fmt::format(", {} NaN", nans);
  if (infinities > 0) text += fmt::format(", {} Inf", infinities);
  return text;
}

}  // namespace hlo::debug
