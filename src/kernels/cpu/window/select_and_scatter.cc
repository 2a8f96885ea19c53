#include "kernels/cpu/window/select_and_scatter.h"

#include <cstring>

#include "base/arithmetic.h"
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

// The positions along a dimension whose windows are within the operand: [begin, end).
struct InnerPositions {
  int64_t begin = 0, end = 0;
};
InnerPositions FindInner(const WindowDim& w, int64_t size, int64_t positions) {
  const int64_t extent = (w.size - 1) * w.window_dilation + 1, room = size + w.padding_low - extent;
  if (w.base_dilation != 1 || w.padding_low < 0 || room < 0) return {};
  const int64_t begin = CeilDiv(w.padding_low, w.stride), end = std::min(positions, room / w.stride + 1);
  return {begin, std::max(begin, end)};
}

// Windows within the operand have the same taps: offsets of their elements from the first one.
struct InnerWindows {
  CachedVector<InnerPositions> positions;  // By dimension.
  CachedVector<int64_t> taps;

  bool Contain(const Index& o) const {
    for (size_t d = 0; d < positions.size(); ++d) {
      if (o[d] < positions[d].begin || o[d] >= positions[d].end) return false;
    }
    return true;
  }
};

int64_t FirstElement(const Planes& planes, const Index& o) {
  int64_t offset = 0;
  for (size_t d = 0; d < planes.window.size(); ++d)
    offset += (o[d] * planes.window[d].stride - planes.window[d].padding_low) * planes.strides[d];
  return offset;
}

InnerWindows FindInnerWindows(const Planes& planes) {
  InnerWindows inner;
  if (planes.window.empty()) return inner;
  Index first = Zeros(planes.source_dims.rank());
  for (size_t d = 0; d < planes.window.size(); ++d) {
    inner.positions.push_back(FindInner(planes.window[d], planes.operand_dims[d], planes.source_dims[d]));
    first[d] = inner.positions[d].begin;
    if (inner.positions[d].begin == inner.positions[d].end) return inner;
  }
  OffsetsUnderWindow(planes.window, planes.operand_dims, planes.strides, first, planes.peeled, &inner.taps);
  for (int64_t& tap : inner.taps) tap -= FirstElement(planes, first);
  return inner;
}

// Selects elements of `operand`, whose windows have these taps, and scatters the elements of `source` to
// them. `add` updates an element of the result.
template <class T, class Select, class Add>
[[gnu::always_inline]] inline void RunWindow(absl::Span<const int64_t> taps, int64_t run, const T* operand,
                                             const T* source, T* result, const Add& add) {
  const Select select;
  for (int64_t c = 0; c < run; ++c) {
    int64_t chosen = taps[0];
    T value = operand[chosen + c];
    for (size_t k = 1; k < taps.size(); ++k) {
      const T next = operand[taps[k] + c];
      const bool keeps = select(value, next);
      chosen = keeps ? chosen : taps[k];
      value = keeps ? value : next;
    }
    add(result + chosen + c, source + c);
  }
}

template <class T, class Select, class Add>
void RunPlane(const Planes& planes, const InnerWindows& inner, const T* operand, const T* source, T* result,
              const Add& add) {
  const int64_t count = Product(planes.source_dims);
  const Index zeros = Zeros(planes.source_dims.rank());
  Odometer o(planes.source_dims, zeros, 0);
  CachedVector<int64_t> taps;
  for (int64_t i = 0; i < count;) {
    if (!inner.taps.empty() && inner.Contain(o.digits())) {
      const size_t last = planes.window.size() - 1;
      const int64_t step = planes.window[last].stride * planes.run;
      const int64_t begin = o.digits()[last], windows = inner.positions[last].end - begin;
      int64_t first = FirstElement(planes, o.digits());
      for (int64_t k = 0; k < windows; ++k, first += step, source += planes.run)
        RunWindow<T, Select>(inner.taps, planes.run, operand + first, source, result + first, add);
      i += windows;
      if (windows > 1) o.Skip(windows - 1);
      o.Next();
      continue;
    }
    OffsetsUnderWindow(planes.window, planes.operand_dims, planes.strides, o.digits(), planes.peeled, &taps);
    if (!taps.empty()) RunWindow<T, Select>(taps, planes.run, operand, source, result, add);
    ++i;
    o.Next();
    source += planes.run;
  }
}

template <class Select>
void RunAll(ComputeType compute_type, const Planes& planes, const WidenedInput& operand,
            const WidenedInput& source, WidenedResult& result, const ScatterCode& scatter) {
  const InnerWindows inner = FindInnerWindows(planes);
  const int64_t from = Product(planes.operand_dims) * planes.run,
                to = Product(planes.source_dims) * planes.run;
  ParallelFor(planes.count, 20.0 * static_cast<double>(planes.count * to), [&](int64_t p) {
    DispatchComputeType(compute_type, [&]<class T>() {
      if constexpr (std::is_invocable_r_v<bool, Select, T, T>) {
        const auto run = [&](const auto& add) {
          RunPlane<T, Select>(planes, inner, reinterpret_cast<const T*>(operand.at(p * from)),
                              reinterpret_cast<const T*>(source.at(p * to)),
                              reinterpret_cast<T*>(result.at(p * from)), add);
        };
        if (scatter.is_sum) {
          run([](T * to, const T* x) __attribute__((always_inline)) { *to = *to + *x; });
          return;
        }
        run([&](T* to, const T* x) {
          const void* in[] = {to, x};
          void* out[] = {to};
          scatter.code.Run(1, in, out);
        });
      }
    });
  });
}

}  // namespace

void SelectAndScatter(const SelectAndScatterArrays& arrays, absl::Span<const int64_t> operand_dims,
                      Window window, absl::Span<const int64_t> source_dims, ComparisonDirection select,
                      const ScatterCode& scatter) {
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
