#pragma once
// This file gathers and scatters a few windows. The offsets that do not depend on the indices are computed
// once, because for so few elements they take longer than the copies.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cpu/gather_scatter/gather.h"

namespace hlo::cpu {

// A gather or scatter of few windows, with the offsets of their rows. It can run many times.
class FewWindows {
 public:
  static constexpr int64_t kMaxRows = 64;

  // `to` are the dimensions of the result or of the updates; its window_dims are those of the operand, except
  // `left_out` (the collapsed or inserted ones) and batching dimensions. Returns nullopt if the windows have
  // more than kMaxRows contiguous rows, or if none has a valid start.
  static std::optional<FewWindows> Make(absl::Span<const int64_t> operand_dims, const DenseArray& indices,
                                        const StartDims& dims, absl::Span<const int64_t> left_out,
                                        absl::Span<const int64_t> window_dims, absl::Span<const int64_t> to);

  // Copies rows of elements of `width` bytes; the indices are clamped.
  void Gather(int64_t width, const void* operand, const void* indices, void* result) const;
  // Combines the rows with those of the updates in place, in order; windows that are out of range are
  // skipped.
  void Scatter(const ScatterLoops& loops, void* result, const void* indices, const void* updates) const;

  struct Window {
    int64_t batch;  // The operand's offset of its batch.
    int64_t index;  // The offset of its index vector in the indices.
  };
  // A component of index vectors.
  struct Component {
    int64_t index;   // Its offset in an index vector.
    int64_t last;    // The last index at which the window is within the operand.
    int64_t stride;  // The operand's stride in its dimension.
  };
  ElementType index_type() const { return index_type_; }
  absl::Span<const Window> windows() const { return windows_; }
  absl::Span<const Component> components() const { return components_; }
  // The operand's offset of each row of a window.
  absl::Span<const int64_t> rows() const { return rows_; }
  // The other array's offset of each row of all windows.
  absl::Span<const int64_t> other() const { return other_; }
  int64_t length() const { return length_; }  // The elements of a row.

 private:
  // `window` are dimensions of more than one element, with strides in the operand (from) and in the other
  // array (to). Returns false if there are too many rows.
  bool AddRows(const std::vector<CopyDim>& window, std::vector<int64_t>* other);
  // Sets at[k] to the operand's offset of row k, or to -1 if its window is out of range.
  template <class T>
  void ComputeOffsets(const T* indices, bool clamps, int64_t* at) const;
  std::array<int64_t, kMaxRows> Offsets(const void* indices, bool clamps) const;

  ElementType index_type_ = ElementType::kS32;
  std::vector<Window> windows_;
  std::vector<Component> components_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> other_;
  int64_t length_ = 1;
};

}  // namespace hlo::cpu
