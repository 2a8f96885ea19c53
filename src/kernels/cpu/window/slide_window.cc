// This file reduces over sliding windows of several dimensions, one dimension after the other.

#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/widened_array.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/thread_memory.h"
#include "kernels/cpu/window/reduce_window.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

// Smaller windows are reduced directly.
constexpr int64_t kMinElements = 33, kMinElementsExact = 10;

constexpr int64_t kColumnPieces = 16;       // Approximate number of pieces if there are few columns.
constexpr int64_t kBlockBytes = 256 << 10;  // Size of a block of suffix results.

// Slides along a strided dimension, on rows of many columns. The dimension is cut into blocks of the window's
// size, so a window consists of a suffix of one block and a prefix of the next. The results of the suffixes
// of a block are stored; the result of the prefix grows with the window.
class ColumnSlider {
 public:
  ColumnSlider(const Slide& slide, const WindowDim& dim, const SlideArrays& arrays)
      : combine_(slide.combine), width_(slide.width), window_(dim, arrays.base_size), arrays_(arrays) {}

  void Run() const {
    const int64_t n = arrays_.base_size, results = arrays_.result_size, size = std::min(window_.size, n);
    const int64_t fitting = kBlockBytes / (size * width_);
    const int64_t lanes = std::min(arrays_.inner, std::clamp<int64_t>(fitting, 64 / width_, 512));
    const int64_t tiles = CeilDiv(arrays_.inner, lanes), all = arrays_.outer * tiles;
    const int64_t per_tile = size < n ? CeilDiv(kColumnPieces, all) : 1;
    const int64_t length = std::max(results / per_tile + 1, 8 * size / window_.stride + 1);
    const int64_t parts = CeilDiv(results, length);
    const double nanoseconds = static_cast<double>(arrays_.outer * arrays_.inner * (n + results));
    ParallelFor(all * parts, nanoseconds, [&](int64_t i) {
      const int64_t tile = i / parts, begin = i % parts * length, column = tile % tiles * lanes;
      SlidePart(tile / tiles, column, std::min(lanes, arrays_.inner - column), begin,
                std::min(results, begin + length));
    });
  }

 private:
  void SlidePart(int64_t outer, int64_t column, int64_t lanes, int64_t begin, int64_t end) const {
    const int64_t n = arrays_.base_size, size = window_.size, row = arrays_.inner * width_;
    const int64_t bytes = lanes * width_;
    const auto* base = static_cast<const std::byte*>(arrays_.base) + outer * n * row + column * width_;
    auto* result = static_cast<std::byte*>(arrays_.result) + (outer * arrays_.result_size + begin) * row +
                   column * width_;
    static thread_local ThreadMemory memory;
    std::byte* const init = memory.Reserve((std::min(size, n) + 2) * bytes);
    std::byte *const prefix = init + bytes, *const suffixes = prefix + bytes;
    if (arrays_.init != nullptr) CopyStrided(lanes, width_, init, 1, arrays_.init, 0);
    int64_t prefix_last = -1, prefix_block = -1, suffix_block = -1;
    // Updates the prefix result of the block that begins at `block`, up to `last`.
    const auto extend_prefix = [&](int64_t block, int64_t last) {
      if (prefix_block != block) {
        std::memcpy(prefix, base + block * row, bytes);
        prefix_block = prefix_last = block;
      }
      while (prefix_last < last) Combine(lanes, prefix, base + ++prefix_last * row, prefix);
    };
    // Returns the suffix result from element `first` to the end of its block.
    const auto suffix_at = [&](int64_t first) {
      const int64_t block = first / size * size;
      if (suffix_block != block) {
        const int64_t last = std::min(block + size, n) - 1;
        std::memcpy(suffixes + (last - block) * bytes, base + last * row, bytes);
        for (int64_t i = last - 1; i >= first; --i) {
          std::byte* to = suffixes + (i - block) * bytes;
          Combine(lanes, base + i * row, to + bytes, to);
        }
        suffix_block = block;
      }
      return suffixes + (first - block) * bytes;
    };
    for (int64_t o = begin; o < end; ++o, result += row) {
      const int64_t first = window_.First(o), next_block = (first / size + 1) * size;
      if (first <= 0) {
        extend_prefix(0, window_.Last(o));
        std::memcpy(result, prefix, bytes);
      } else if (first % size == 0 || next_block >= n) {
        std::memcpy(result, suffix_at(first), bytes);
      } else {
        extend_prefix(next_block, window_.Last(o));
        Combine(lanes, suffix_at(first), prefix, result);
      }
      if (arrays_.init != nullptr) Combine(lanes, init, result, result);
    }
  }
  void Combine(int64_t n, const std::byte* a, const std::byte* b, std::byte* to) const {
    const void* in[] = {a, b};
    combine_.function(n, to, in, combine_.parameter);
  }

  const TileCall combine_;
  const int64_t width_;
  const SlidingWindow window_;
  const SlideArrays& arrays_;
};

void SlideAlong(const Slide& slide, const WindowDim& dim, const SlideArrays& arrays) {
  if (arrays.inner > 1)
    ColumnSlider(slide, dim, arrays).Run();
  else
    slide.lines.slide(dim, arrays);
}

// True if every window contains an element, so that the initial value can be combined at the end.
bool AllWindowsOverlap(const WindowDim& dim, int64_t base_size, int64_t result_size) {
  if (result_size == 0) return true;
  const int64_t last = (result_size - 1) * dim.stride - dim.padding_low;
  return base_size > 0 && dim.size > dim.padding_low && last < base_size;
}

}  // namespace

std::optional<Slide> FindSlide(Opcode opcode, ElementType type) {
  const ComputeType compute_type = ComputeTypeOf(type);
  const Slide slide{FindTileOp(opcode, type), ComputeTypeBytes(compute_type),
                    FindLineLoops(opcode, compute_type)};
  if (slide.combine.function == nullptr || slide.lines.slide == nullptr) return std::nullopt;
  return slide;
}

bool IsSlidingFaster(absl::Span<const int64_t> base_dims, Window window,
                     absl::Span<const int64_t> result_dims, bool is_exact) {
  const int64_t fewest = is_exact ? kMinElementsExact : kMinElements;
  int64_t elements = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& dim = window[d];
    if (dim.window_dilation != 1 || dim.base_dilation != 1 ||
        !AllWindowsOverlap(dim, base_dims[d], result_dims[d]))
      return false;
    elements = std::min(fewest, elements * std::min(dim.size, fewest));
  }
  return elements >= fewest;
}

void SlideWindow(const WindowArray& array, absl::Span<const int64_t> base_dims, Window window,
                 absl::Span<const int64_t> result_dims, const Slide& slide) {
  const int64_t count = Product(result_dims);
  if (count == 0) return;
  const WidenedInput base(array.type, array.base, Product(base_dims));
  const WidenedInput init(array.type, array.init, 1);
  WidenedResult result(array.type, array.result, count);
  const int64_t width = slide.width;
  const auto rank = static_cast<int64_t>(window.size());
  int64_t last = rank - 1;
  while (last > 0 && window[last].size == 1 && base_dims[last] == result_dims[last]) --last;
  Index dims(base_dims);
  CachedVector<std::byte> current, next;
  const std::byte* from = base.at(0);
  for (int64_t d = 0; d <= last; ++d) {
    if (d < last && window[d].size == 1 && dims[d] == result_dims[d]) continue;
    const int64_t outer = Product(absl::MakeConstSpan(dims).first(d));
    const int64_t inner = Product(absl::MakeConstSpan(dims).subspan(d + 1));
    if (d < last) next.resize(outer * result_dims[d] * inner * width);
    std::byte* to = d < last ? next.data() : result.at(0);
    SlideAlong(slide, window[d],
               {.outer = outer,
                .base_size = dims[d],
                .result_size = result_dims[d],
                .inner = inner,
                .base = from,
                .result = to,
                .init = d == last ? init.at(0) : nullptr});
    dims[d] = result_dims[d];
    std::swap(current, next);
    from = current.data();
  }
  // Integers narrower than their compute type are truncated.
  if (const TileCall cut = RoundTile(array.type); IsIntegral(array.type) && cut.function != nullptr) {
    const void* in[] = {result.at(0)};
    cut.function(count, result.at(0), in, cut.parameter);
  }
  result.Finish();
}

}  // namespace hlo::cpu
