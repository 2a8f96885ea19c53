#include "kernels/cpu/window/select_and_scatter.h"

#include <cstring>

#include "base/parallel.h"
#include "ir/window_order.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/elementwise/widened_array.h"
#include "kernels/cpu/memory/odometer.h"
#include "kernels/cpu/window/window_taps.h"

namespace hlo::cpu {
namespace {

// Disjoint planes of positions with a window; each position is a run of elements without one.
struct Planes {
  int64_t count = 1, run = 1;
  Index operand_dims, source_dims, strides;  // Dimensions with a window; strides in the operand.
  Window window;
  PeeledElements peeled;
};

Planes Split(absl::Span<const int64_t> operand_dims, Window window, absl::Span<const int64_t> source_dims) {
  Planes planes;
  size_t first = 0, last = window.size();
  while (first < last && IsTrivial(window[first])) planes.count *= operand_dims[first++];
  while (last > first && IsTrivial(window[last - 1])) planes.run *= operand_dims[--last];
  planes.window = window.subspan(first, last - first);
  planes.operand_dims = operand_dims.subspan(first, last - first);
  planes.source_dims = source_dims.subspan(first, last - first);
  planes.peeled = FindPeeledElements(planes.window, planes.operand_dims, planes.source_dims);
  planes.strides = RowMajorStrides(planes.operand_dims);
  for (int64_t& stride : planes.strides) stride *= planes.run;
  return planes;
}

template <class T, class Select>
void RunPlane(const Planes& planes, const T* operand, const T* source, T* result, const TileCode& scatter) {
  const Index zeros = Zeros(planes.source_dims.rank());
  Odometer o(planes.source_dims, zeros, 0);
  CachedVector<int64_t> taps;
  const Select select;
  for (int64_t i = 0; i < Product(planes.source_dims); ++i, o.Next(), source += planes.run) {
    OffsetsUnderWindow(planes.window, planes.operand_dims, planes.strides, o.digits(), planes.peeled, &taps);
    if (taps.empty()) continue;
    for (int64_t c = 0; c < planes.run; ++c) {
      int64_t chosen = taps[0];
      // The first element is compared with itself, which is false for a NaN.
      for (int64_t tap : taps) chosen = select(operand[chosen + c], operand[tap + c]) ? chosen : tap;
      const void* in[] = {result + chosen + c, source + c};
      void* out[] = {result + chosen + c};
      scatter.Run(1, in, out);
    }
  }
}

template <class Select>
void RunAll(ComputeType compute_type, const Planes& planes, const WidenedInput& operand,
            const WidenedInput& source, WidenedResult& result, const TileCode& scatter) {
  const int64_t from = Product(planes.operand_dims) * planes.run,
                to = Product(planes.source_dims) * planes.run;
  ParallelFor(planes.count, 20.0 * static_cast<double>(planes.count * to), [&](int64_t p) {
    DispatchComputeType(compute_type, [&]<class T>() {
      if constexpr (std::is_invocable_r_v<bool, Select, T, T>) {
        RunPlane<T, Select>(planes, reinterpret_cast<const T*>(operand.at(p * from)),
                            reinterpret_cast<const T*>(source.at(p * to)),
                            reinterpret_cast<T*>(result.at(p * from)), scatter);
      }
    });
  });
}

}  // namespace

void SelectAndScatter(const SelectAndScatterArrays& arrays, absl::Span<const int64_t> operand_dims,
                      Window window, absl::Span<const int64_t> source_dims, ComparisonDirection select,
                      const TileCode& scatter) {
  const int64_t count = Product(operand_dims);
  const Planes planes = Split(operand_dims, window, source_dims);
  const WidenedInput operand(arrays.type, arrays.operand, count),
      source(arrays.type, arrays.source, Product(source_dims)), init(arrays.type, arrays.init, 1);
  WidenedResult result(arrays.type, arrays.result, count);
  CopyStrided(count, result.width(), result.at(0), 1, init.at(0), 0);
  const ComputeType compute_type = ComputeTypeOf(arrays.type);
  switch (select) {
    case ComparisonDirection::kGe:
      RunAll<scalar::Ge>(compute_type, planes, operand, source, result, scatter);
      break;
    case ComparisonDirection::kGt:
      RunAll<scalar::Gt>(compute_type, planes, operand, source, result, scatter);
      break;
    case ComparisonDirection::kLe:
      RunAll<scalar::Le>(compute_type, planes, operand, source, result, scatter);
      break;
    default:
      RunAll<scalar::Lt>(compute_type, planes, operand, source, result, scatter);
  }
  result.Finish();
}

}  // namespace hlo::cpu
