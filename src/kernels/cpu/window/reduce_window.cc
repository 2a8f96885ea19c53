#include "kernels/cpu/window/reduce_window.h"

#include <array>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "ir/window_order.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/widened_array.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/odometer.h"
#include "kernels/cpu/window/window_taps.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxElementBytes = 16;
constexpr int64_t kElementsAtOnce = 4096;

// The iteration space of an array whose trailing dimensions without a window are merged into one run.
struct WindowWalk {
  Index outer_base, outer_result;  // Dimensions before the last one with a window.
  Index outer_strides;             // Strides in the base.
  Window outer;                    // Windows of the outer dimensions.
  WindowDim last;                  // The last dimension with a window.
  int64_t last_base, last_result, run;
  // Returns the number of outputs along the last window dimension that are computed together.
  int64_t part() const { return std::min(last_result, std::max<int64_t>(1, kElementsAtOnce / run)); }
};

WindowWalk MakeWalk(absl::Span<const int64_t> base_dims, Window window,
                    absl::Span<const int64_t> result_dims) {
  size_t rank = window.size();
  WindowWalk walk{};
  walk.run = 1;
  while (rank > 1 && IsTrivial(window[rank - 1])) walk.run *= base_dims[--rank];
  walk.last_base = walk.last_result = 1;
  if (rank == 0) return walk;
  walk.last = window[rank - 1];
  walk.last_base = base_dims[rank - 1];
  walk.last_result = result_dims[rank - 1];
  walk.outer = window.first(rank - 1);
  walk.outer_base = base_dims.first(rank - 1);
  walk.outer_result = result_dims.first(rank - 1);
  walk.outer_strides = RowMajorStrides(walk.outer_base);
  for (int64_t& stride : walk.outer_strides) stride *= walk.last_base * walk.run;
  return walk;
}

// The accumulators of a part of a result line.
class Line {
 public:
  Line(absl::Span<const WindowArray> arrays, const CachedVector<WidenedInput>& bases, const WindowWalk& walk,
       const TileCode& combiner)
      : bases_(bases), walk_(walk), combiner_(combiner), in_(2 * arrays.size()), out_(arrays.size()) {
    const int64_t bytes = walk.part() * walk.run * kMaxElementBytes;
    memory_.resize(3 * arrays.size() * bytes);
    for (size_t k = 0; k < arrays.size(); ++k) {
      std::byte* at = memory_.data() + 3 * static_cast<int64_t>(k) * bytes;
      parts_.push_back({at, at + bytes, at + 2 * bytes});
      const WidenedInput init(arrays[k].type, arrays[k].init, 1);
      inits_.emplace_back();
      std::memcpy(inits_.back().data(), init.at(0), init.width());
    }
  }

  // Initialises the accumulators of outputs [begin, end) along the last window dimension.
  void Begin(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
    for (size_t k = 0; k < parts_.size(); ++k)
      CopyStrided((end - begin) * walk_.run, bases_[k].width(), parts_[k].accumulated, 1, inits_[k].data(),
                  0);
  }
  // Combines the elements under one tap of the last window dimension, in the line that begins at `line`.
  void Combine(int64_t line, const TapRun& whole) {
    const TapRun tap = Within(whole);
    if (tap.count <= 0) return;
    const int64_t run = walk_.run, n = tap.count * run;
    for (size_t k = 0; k < parts_.size(); ++k) {
      const int64_t width = bases_[k].width();
      std::byte* accumulated = parts_[k].accumulated + tap.first_output * run * width;
      const std::byte* base = bases_[k].at(line + tap.first_base * run);
      out_[k] = tap.output_step == 1
                    ? accumulated
                    : Packed(tap.count, tap.output_step, width, accumulated, parts_[k].picked);
      in_[k] = out_[k];
      in_[parts_.size() + k] =
          tap.base_step == 1 ? base : Packed(tap.count, tap.base_step, width, base, parts_[k].gathered);
    }
    combiner_.Run(n, in_.data(), out_.data());
    if (tap.output_step == 1) return;
    for (size_t k = 0; k < parts_.size(); ++k) {
      const int64_t width = bases_[k].width();
      const CopyDim dims[] = {{tap.count, run, tap.output_step * run}, {run, 1, 1}};
      CopyArray(dims, width, parts_[k].picked, parts_[k].accumulated + tap.first_output * run * width);
    }
  }
  const std::byte* accumulated(size_t k) const { return parts_[k].accumulated; }

 private:
  struct Part {
    std::byte *accumulated, *picked, *gathered;
  };
  // Returns the part of a tap that is inside [begin_, end_), with outputs relative to begin_.
  TapRun Within(TapRun tap) const {
    const auto steps_to = [&](int64_t o) {
      return std::clamp<int64_t>(CeilDiv(o - tap.first_output, tap.output_step), 0, tap.count);
    };
    const int64_t skipped = steps_to(begin_), end = steps_to(end_);
    tap.first_output += skipped * tap.output_step - begin_;
    tap.first_base += skipped * tap.base_step;
    tap.count = end - skipped;
    return tap;
  }
  // Packs every `step`-th run contiguously.
  std::byte* Packed(int64_t count, int64_t step, int64_t width, const std::byte* from, std::byte* to) const {
    if (walk_.run == 1) {
      CopyStrided(count, width, to, 1, from, step);
    } else {
      const CopyDim dims[] = {{count, step * walk_.run, walk_.run}, {walk_.run, 1, 1}};
      CopyArray(dims, width, from, to);
    }
    return to;
  }

  const CachedVector<WidenedInput>& bases_;
  const WindowWalk& walk_;
  const TileCode& combiner_;
  int64_t begin_ = 0, end_ = 0;
  CachedVector<std::byte> memory_;
  CachedVector<Part> parts_;
  CachedVector<std::array<std::byte, kMaxElementBytes>> inits_;
  CachedVector<const void*> in_;
  CachedVector<void*> out_;
};

}  // namespace

void ReduceWindow(absl::Span<const WindowArray> arrays, absl::Span<const int64_t> base_dims, Window window,
                  absl::Span<const int64_t> result_dims, const TileCode& combiner) {
  const int64_t base_count = Product(base_dims), count = Product(result_dims);
  if (count == 0) return;
  const WindowWalk walk = MakeWalk(base_dims, window, result_dims);
  CachedVector<WidenedInput> bases;
  CachedVector<WidenedResult> results;
  for (const WindowArray& array : arrays) {
    bases.emplace_back(array.type, array.base, base_count);
    results.emplace_back(array.type, array.result, count);
  }
  const PeeledElements peeled = FindPeeledElements(window, base_dims, result_dims);
  const int64_t last = static_cast<int64_t>(walk.outer.size());
  // The taps of the last dimension that come first, and those that come after all others.
  CachedVector<TapRun> taps, late;
  for (int64_t w = 0; w < walk.last.size; ++w) {
    const TapRun run = RunOfTap(walk.last, walk.last_base, walk.last_result, w);
    if (run.count > 0) (peeled.dimension == last && w >= peeled.first ? late : taps).push_back(run);
  }
  double taps_each = static_cast<double>(taps.size() + late.size());
  for (const WindowDim& dim : walk.outer) taps_each *= static_cast<double>(dim.size);
  const int64_t lines = Product(walk.outer_result), length = walk.part();
  const int64_t per_line = CeilDiv(walk.last_result, length), parts = lines * per_line;
  const int64_t chunk = std::max<int64_t>(1, kElementsAtOnce / (length * walk.run));
  ParallelFor(CeilDiv(parts, chunk), taps_each * static_cast<double>(count), [&](int64_t c) {
    Line line(arrays, bases, walk, combiner);
    CachedVector<int64_t> offsets;
    const Index zeros = Zeros(walk.outer_result.rank());
    Odometer o(walk.outer_result, zeros, c * chunk / per_line);
    for (int64_t p = c * chunk; p < std::min(parts, (c + 1) * chunk); ++p) {
      const int64_t begin = p % per_line * length, end = std::min(begin + length, walk.last_result);
      OffsetsUnderWindow(walk.outer, walk.outer_base, walk.outer_strides, o.digits(),
                         peeled.dimension < last ? peeled : PeeledElements(), &offsets);
      line.Begin(begin, end);
      for (const auto* part : {&taps, &late}) {
        for (int64_t offset : offsets) {
          for (const TapRun& tap : *part) line.Combine(offset, tap);
        }
      }
      const int64_t at = (p / per_line * walk.last_result + begin) * walk.run;
      for (size_t k = 0; k < results.size(); ++k) {
        std::memcpy(results[k].at(at), line.accumulated(k), (end - begin) * walk.run * results[k].width());
      }
      if (end == walk.last_result) o.Next();
    }
  });
  for (WidenedResult& result : results) result.Finish();
}

}  // namespace hlo::cpu
