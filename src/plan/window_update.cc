#include "plan/window_update.h"

#include "absl/algorithm/container.h"
#include "plan/tile_calls.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Sizes by dimension of the operand.
Index WindowSizes(const Instruction& scatter) {
  const Shape &operand = scatter.operand(0)->shape(), &updates = scatter.operand(2)->shape();
  const IntList window_dims = scatter.Get<attr::update_window_dims>();
  Index sizes;
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool inserted = absl::c_linear_search(scatter.Get<attr::inserted_window_dims>(), d);
    sizes.push_back(inserted ? 1 : updates.dim(window_dims[next++]));
  }
  return sizes;
}

// Whether a window's elements lie side by side: whole behind the first dimension that it is longer in than 1.
bool IsOneRun(const Index& sizes, const Shape& operand) {
  int64_t d = 0;
  while (d < operand.rank() && sizes[d] == 1) ++d;
  for (++d; d < operand.rank(); ++d) {
    if (sizes[d] != operand.dim(d)) return false;
  }
  return true;
}

}  // namespace

std::optional<WindowUpdate> FindWindowUpdate(const Instruction& scatter) {
  if (scatter.operand_count() != 3 || !scatter.Get<attr::input_batching_dims>().empty()) return std::nullopt;
  const Shape &operand = scatter.operand(0)->shape(), &indices = scatter.operand(1)->shape(),
              &updates = scatter.operand(2)->shape();
  const IntList dims = scatter.Get<attr::scatter_dims_to_operand_dims>();
  WindowUpdate update{operand.type(), indices.type()};
  const bool is_plain = cpu::IsStoredAsLane(update.type) && BitWidth(update.type) % 8 == 0 &&
                        updates.type() == update.type && IsIntegral(update.index_type);
  const size_t window_rank =
      scatter.Get<attr::update_window_dims>().size() + scatter.Get<attr::inserted_window_dims>().size();
  if (!is_plain || Product(indices.dims()) != static_cast<int64_t>(dims.size()) || dims.empty() ||
      window_rank != static_cast<size_t>(operand.rank()))
    return std::nullopt;
  const Index sizes = WindowSizes(scatter);
  update.count = Product(sizes);
  if (!IsOneRun(sizes, operand) || update.count == 0) return std::nullopt;
  const Index strides = RowMajorStrides(operand.dims());
  for (const int64_t d : dims) update.starts.push_back({operand.dim(d) - sizes[d], strides[d]});
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const Instruction& root = *to_apply.root();
  if (&root == to_apply.parameter(1)) return update;
  if (!IsRegrouped(root) || root.operand(0)->shape().type() != update.type ||
      root.operand(1)->shape().type() != update.type)
    return std::nullopt;
  update.combine = cpu::FindTileOp(root.opcode(), update.type);
  return update.combine.function == nullptr ? std::nullopt : std::optional(update);
}

std::optional<LoopUpdate> FindLoopUpdate(const Instruction& scatter) {
  constexpr int64_t kFewElements = 64;  // Others have quicker ways.
  if (scatter.operand_count() != 3 || !scatter.Get<attr::input_batching_dims>().empty()) return std::nullopt;
  const Shape &operand = scatter.operand(0)->shape(), &indices = scatter.operand(1)->shape(),
              &updates = scatter.operand(2)->shape();
  const IntList dims = scatter.Get<attr::scatter_dims_to_operand_dims>(),
                window_dims = scatter.Get<attr::update_window_dims>();
  const bool is_plain = IsIntegral(indices.type()) && updates.type() == operand.type() && !dims.empty() &&
                        Product(indices.dims()) == static_cast<int64_t>(dims.size()) &&
                        Product(updates.dims()) > kFewElements &&
                        window_dims.size() + scatter.Get<attr::inserted_window_dims>().size() ==
                            static_cast<size_t>(operand.rank());
  if (!is_plain) return std::nullopt;
  LoopUpdate update;
  const Index sizes = WindowSizes(scatter);
  for (const int64_t d : dims) update.max.push_back(operand.dim(d) - sizes[d]);
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool inserted = absl::c_linear_search(scatter.Get<attr::inserted_window_dims>(), d);
    update.update.push_back(inserted ? -1 : window_dims[next++]);
    if (sizes[d] > operand.dim(d)) return std::nullopt;
  }
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const Instruction& root = *to_apply.root();
  if (&root == to_apply.parameter(1)) return update;
  const ElementType type = operand.type();
  if (!IsRegrouped(root) || !cpu::IsStoredAsLane(type) || BitWidth(type) % 8 != 0 ||
      root.operand(0)->shape().type() != type || root.operand(1)->shape().type() != type)
    return std::nullopt;
  update.combine = cpu::FindTileOp(root.opcode(), type);
  // The first operand may be the update.
  const bool in_order = root.operand(0) == to_apply.parameter(0);
  return update.combine.function == nullptr || !in_order ? std::nullopt : std::optional(update);
}

}  // namespace hlo::plan
