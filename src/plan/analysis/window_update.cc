#include "plan/analysis/window_update.h"

#include "absl/algorithm/container.h"
#include "plan/codegen/operations.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Returns the dimension of the updates for each dimension of the operand; -1 for inserted ones.
std::vector<int64_t> UpdateDims(const Instruction& scatter) {
  const IntList window_dims = scatter.Get<attr::update_window_dims>();
  std::vector<int64_t> dims;
  size_t next = 0;
  for (int64_t d = 0; d < scatter.operand(0)->shape().rank(); ++d) {
    const bool inserted = absl::c_linear_search(scatter.Get<attr::inserted_window_dims>(), d);
    dims.push_back(inserted ? -1 : window_dims[next++]);
  }
  return dims;
}

// True if the scatter writes updates of the operand's type to one window of one operand.
bool HasOneWindow(const Instruction& scatter) {
  if (scatter.operand_count() != 3 || !scatter.Get<attr::input_batching_dims>().empty()) return false;
  const Shape &operand = scatter.operand(0)->shape(), &indices = scatter.operand(1)->shape();
  const int64_t index_size = std::ssize(scatter.Get<attr::scatter_dims_to_operand_dims>());
  return IsIntegral(indices.type()) && scatter.operand(2)->shape().type() == operand.type() &&
         index_size > 0 && Product(indices.dims()) == index_size &&
         std::ssize(scatter.Get<attr::update_window_dims>()) +
                 std::ssize(scatter.Get<attr::inserted_window_dims>()) ==
             operand.rank();
}

bool IsPlain(ElementType type) {
  return loops::IsStoredAsComputed(type) && (IsPred(type) || BitWidth(type) % 8 == 0);
}

// True if the window is contiguous: it covers all dimensions after the first one in which it has more than
// one element.
bool IsContiguous(const Index& sizes, const Shape& operand) {
  int64_t d = 0;
  while (d < operand.rank() && sizes[d] == 1) ++d;
  for (++d; d < operand.rank(); ++d) {
    if (sizes[d] != operand.dim(d)) return false;
  }
  return true;
}

}  // namespace

bool FindUpdateOperation(const Instruction& scatter, std::optional<loops::Operation>* combine) {
  const ElementType type = scatter.operand(0)->shape().type();
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const Instruction& root = *to_apply.root();
  *combine = std::nullopt;
  if (&root == to_apply.parameter(1)) return true;
  if (!IsReassociable(root) || !IsPlain(type) || root.operand(0) != to_apply.parameter(0) ||
      root.operand(1) != to_apply.parameter(1))
    return false;
  *combine = loops::FindScalarOperation(root.opcode(), type);
  return combine->has_value();
}

std::optional<WindowUpdate> FindWindowUpdate(const Instruction& scatter) {
  if (!HasOneWindow(scatter)) return std::nullopt;
  const Shape &operand = scatter.operand(0)->shape(), &updates = scatter.operand(2)->shape();
  std::optional<loops::Operation> combine;
  if (!IsPlain(operand.type()) || !FindUpdateOperation(scatter, &combine)) return std::nullopt;
  Index sizes;
  for (const int64_t d : UpdateDims(scatter)) sizes.push_back(d < 0 ? 1 : updates.dim(d));
  WindowUpdate update{.type = operand.type(),
                      .index_type = scatter.operand(1)->shape().type(),
                      .count = Product(sizes),
                      .combine = combine};
  if (!IsContiguous(sizes, operand) || update.count == 0) return std::nullopt;
  // A window larger than the operand is always out of bounds, for instance in an array without elements.
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (sizes[d] > operand.dim(d)) return std::nullopt;
  }
  const Index strides = RowMajorStrides(operand.dims());
  for (const int64_t d : scatter.Get<attr::scatter_dims_to_operand_dims>())
    update.starts.push_back({operand.dim(d) - sizes[d], strides[d]});
  return update;
}

std::optional<LoopUpdate> FindLoopUpdate(const Instruction& scatter) {
  constexpr int64_t kFewElements = 64;  // Smaller updates have faster kernels.
  if (!HasOneWindow(scatter)) return std::nullopt;
  const Shape &operand = scatter.operand(0)->shape(), &updates = scatter.operand(2)->shape();
  std::optional<loops::Operation> combine;
  if (Product(updates.dims()) <= kFewElements || !FindUpdateOperation(scatter, &combine)) return std::nullopt;
  LoopUpdate update{.combine = combine, .update = UpdateDims(scatter)};
  Index room;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    room.push_back(operand.dim(d) - (update.update[d] < 0 ? 1 : updates.dim(update.update[d])));
    if (room[d] < 0) return std::nullopt;
  }
  for (const int64_t d : scatter.Get<attr::scatter_dims_to_operand_dims>()) update.max.push_back(room[d]);
  return update;
}

}  // namespace hlo::plan
