// Selects kernels for reduce-window and select-and-scatter.

#include <numeric>

#include "ir/combiners.h"
#include "ir/comparators.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/window/reduce_window.h"
#include "kernels/cpu/window/scan.h"
#include "kernels/cpu/window/select_and_scatter.h"
#include "plan/codegen/operations.h"
#include "plan/codegen/scalar_code.h"
#include "plan/select/library_kernels.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// The reference evaluates larger windows: it skips the padding.
constexpr int64_t kMaxWindow = 1 << 16;

bool IsWithinReach(Window window, absl::Span<const int64_t> base_dims) {
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& dim = window[d];
    if (!WithinReach(dim.padding_low) || !WithinReach(dim.padding_high) ||
        !WithinReach((base_dims[d] - 1) * dim.base_dilation) ||
        !WithinReach((dim.size - 1) * dim.window_dilation) || dim.base_dilation > kMaxWindow ||
        dim.stride > (int64_t{1} << 40))
      return false;
  }
  return true;
}

cpu::CachedVector<cpu::WindowArray> Arrays(const Instruction& reduce_window,
                                           absl::Span<const void* const> operands,
                                           absl::Span<void* const> results) {
  cpu::CachedVector<cpu::WindowArray> arrays;
  for (size_t k = 0; k < results.size(); ++k) {
    arrays.push_back({reduce_window.operand(static_cast<int64_t>(k))->shape().type(), operands[k],
                      operands[results.size() + k], results[k]});
  }
  return arrays;
}

// Returns the dimensions of the first result.
absl::Span<const int64_t> ResultDims(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  return shape.IsTuple() ? shape.element(0).dims() : shape.dims();
}

// Lines advance in lockstep, while sliding sets up each of them.
bool HasManyShortLines(const cpu::ScanDims& dims) {
  return dims.inner == 1 && dims.outer >= 4 && dims.length <= 64;
}

// Returns the loop over a short line of prefixes, if one operation of the parameters combines the elements.
cpu::ScanLineFn FindPrefixLine(const Instruction& reduce_window, const cpu::ScanDims& dims) {
  constexpr int64_t kMaxLines = 4;
  const Instruction& root = *reduce_window.Get<attr::to_apply>()->root();
  const ElementType type = reduce_window.operand(0)->shape().type();
  if (dims.inner != 1 || dims.outer > kMaxLines || reduce_window.operand_count() != 2 ||
      root.operand_count() != 2 || root.operand(0)->opcode() != Opcode::kParameter ||
      root.operand(1)->opcode() != Opcode::kParameter || root.operand(0) == root.operand(1) ||
      !root.shape().IsArray(type) || !root.operand(0)->shape().IsArray(type) ||
      !root.operand(1)->shape().IsArray(type))
    return nullptr;
  return cpu::FindScanLine(root.opcode(), type, root.operand(0)->Get<attr::number>() == 0);
}

}  // namespace

LibraryKernel FindReduceWindowKernel(const Instruction& reduce_window) {
  const Shape& base = reduce_window.operand(0)->shape();
  const Window window = reduce_window.Get<attr::window>();
  const int64_t count = reduce_window.operand_count() / 2;
  if (!IsWithinReach(window, base.dims()) || static_cast<int64_t>(window.size()) != base.rank()) return {};
  for (int64_t k = 0; k < count; ++k) {
    const Shape& shape = reduce_window.shape();
    if ((shape.IsTuple() ? shape.element(k) : shape).type() != reduce_window.operand(k)->shape().type())
      return {};
  }
  std::optional<ReduceCode> code = FindReduceCode(reduce_window);
  if (!code.has_value()) return {};
  const Opcode combine = reduce_window.Get<attr::to_apply>()->root()->opcode();
  const bool is_exact = IsIntegral(base.type()) || combine == Opcode::kMaximum || combine == Opcode::kMinimum;
  const std::optional<cpu::Slide> slide =
      code->reassociation == loops::Reassociation::kAny ? cpu::FindSlide(combine, base.type()) : std::nullopt;
  const auto prefixes = cpu::FindPrefixes(base.dims(), window, ResultDims(reduce_window));
  const bool scans = prefixes.has_value() && HasManyShortLines(prefixes->dims);
  if (!scans && slide.has_value() &&
      cpu::IsSlidingFaster(base.dims(), window, ResultDims(reduce_window), is_exact)) {
    return {"reduce-window by sliding",
            [slide = *slide](const Instruction& instruction, auto operands, auto results) {
              cpu::SlideWindow(Arrays(instruction, operands, results)[0],
                               instruction.operand(0)->shape().dims(), instruction.Get<attr::window>(),
                               instruction.shape().dims(), slide);
              return absl::OkStatus();
            }};
  }
  // The kernels below reduce in the reference's order and round as often.
  std::vector<ElementType> types;
  for (int64_t k = 0; k < count; ++k) types.push_back(reduce_window.operand(k)->shape().type());
  const std::optional<loops::ScalarFunction> combiner =
      FindCombinerCode(*reduce_window.Get<attr::to_apply>(), types);
  if (!combiner.has_value()) return {};
  if (prefixes.has_value()) {
    if (const cpu::ScanLineFn line = FindPrefixLine(reduce_window, prefixes->dims); line != nullptr) {
      return {"reduce-window by scan",
              [prefixes = *prefixes, line](const Instruction& instruction, auto operands, auto results) {
                cpu::ReducePrefixesOfLines(prefixes, Arrays(instruction, operands, results)[0], line);
                return absl::OkStatus();
              }};
    }
    return {"reduce-window by scan", [prefixes = *prefixes, combiner = cpu::TileCode(*combiner)](
                                         const Instruction& instruction, auto operands, auto results) {
              cpu::ReducePrefixes(prefixes, Arrays(instruction, operands, results), combiner);
              return absl::OkStatus();
            }};
  }
  for (const WindowDim& dim : window) {
    if (dim.size > kMaxWindow) return {};
  }
  return {"reduce-window",
          [combiner = cpu::TileCode(*combiner)](const Instruction& instruction, auto operands, auto results) {
            cpu::ReduceWindow(Arrays(instruction, operands, results), instruction.operand(0)->shape().dims(),
                              instruction.Get<attr::window>(), ResultDims(instruction), combiner);
            return absl::OkStatus();
          }};
}

LibraryKernel FindSelectAndScatterKernel(const Instruction& instruction) {
  const Shape &operand = instruction.operand(0)->shape(), &source = instruction.operand(1)->shape();
  const ElementType type = instruction.shape().type();
  const Instruction& select = *instruction.Get<attr::select>()->root();
  if (operand.type() != type || source.type() != type || instruction.operand(2)->shape().type() != type ||
      select.opcode() != Opcode::kCompare || select.operand(0)->opcode() != Opcode::kParameter ||
      select.operand(1)->opcode() != Opcode::kParameter || IsComplex(type) || IsTotalOrder(select) ||
      !IsWithinReach(instruction.Get<attr::window>(), operand.dims()))
    return {};
  for (const Instruction* parameter : instruction.Get<attr::select>()->parameters()) {
    if (!parameter->shape().IsArray(type) || !parameter->shape().IsScalar()) return {};
  }
  ComparisonDirection direction = select.Get<attr::direction>();
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe ||
      select.operand(0)->Get<attr::number>() != 0 || select.operand(1)->Get<attr::number>() != 1)
    return {};
  const std::optional<loops::ScalarFunction> scatter =
      FindCombinerCode(*instruction.Get<attr::scatter>(), {&type, 1});
  if (!scatter.has_value()) return {};
  const Instruction& root = *instruction.Get<attr::scatter>()->root();
  const bool is_sum = root.opcode() == Opcode::kAdd && IsOnTwoParameters(root) &&
                      (type == ElementType::kF32 || type == ElementType::kF64);
  return {"select-and-scatter", [direction, scatter = cpu::ScatterCode{cpu::TileCode(*scatter), is_sum}](
                                    const Instruction& node, auto operands, auto results) {
            cpu::SelectAndScatter({node.shape().type(), operands[0], operands[1], operands[2], results[0]},
                                  node.operand(0)->shape().dims(), node.Get<attr::window>(),
                                  node.operand(1)->shape().dims(), direction, scatter);
            return absl::OkStatus();
          }};
}

}  // namespace hlo::plan
