// Windows that slide by way of running results: a window is the end of one block of its size and the
// beginning of the next.

#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/copy_array.h"
#include "kernels/cpu/lane_array.h"
#include "kernels/cpu/reduce_window.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kElementsAtOnce = 1 << 20;
// Windows of fewer elements are walked through.
constexpr int64_t kFewest = 33;

struct Span1 {
  int64_t first, last;  // Base elements under a window, inclusive.
};
Span1 Under(const WindowDim& dim, int64_t base_size, int64_t o) {
  const int64_t first = o * dim.stride - dim.padding_low;
  return {std::max<int64_t>(first, 0), std::min(first + dim.size, base_size) - 1};
}

// Lines side by side: position i of all of them lies at [i * lines, (i + 1) * lines).
class Slab {
 public:
  Slab(const WindowDim& dim, int64_t base_size, int64_t result_size, int64_t lines, int64_t width,
       const TileCode& combiner)
      : dim_(dim),
        base_size_(base_size),
        result_size_(result_size),
        lines_(lines),
        width_(width),
        combiner_(combiner),
        base_(Bytes(base_size)),
        before_(Bytes(base_size)),
        after_(Bytes(base_size)),
        result_(Bytes(result_size)) {}

  std::byte* base() { return base_.data(); }
  const std::byte* result() const { return result_.data(); }

  void Run(const std::byte* init) {
    const int64_t size = dim_.size;
    // Combined from the first element of a block, and to its last.
    for (int64_t i = 0; i < base_size_; ++i) {
      if (i % size == 0)
        std::memcpy(At(before_, i), At(base_, i), Bytes(1));
      else
        Combine(1, At(before_, i - 1), At(base_, i), At(before_, i));
    }
    const bool needs_after = Under(dim_, base_size_, result_size_ - 1).first > 0;
    for (int64_t i = base_size_ - 1; i >= 0 && needs_after; --i) {
      if (i + 1 == base_size_ || (i + 1) % size == 0)
        std::memcpy(At(after_, i), At(base_, i), Bytes(1));
      else
        Combine(1, At(base_, i), At(after_, i + 1), At(after_, i));
    }
    for (int64_t o = 0; o < result_size_;) {
      const Span1 span = Under(dim_, base_size_, o);
      const Part part = PartOf(span);
      int64_t n = 1;  // Outputs that are made in the same way of what follows.
      for (; o + n < result_size_; ++n) {
        const Span1 next = Under(dim_, base_size_, o + n);
        if (PartOf(next) != part || !Follows(span, next, part, n)) break;
      }
      if (part == Part::kBoth)
        Combine(n, At(after_, span.first), At(before_, span.last), At(result_, o));
      else
        std::memcpy(At(result_, o), part == Part::kBefore ? At(before_, span.last) : At(after_, span.first),
                    Bytes(n));
      o += n;
    }
    if (init == nullptr) return;
    CopyStrided(base_size_ * lines_, width_, At(base_, 0), 1, init, 0);
    for (int64_t o = 0; o < result_size_; o += base_size_)
      Combine(std::min(base_size_, result_size_ - o), At(base_, 0), At(result_, o), At(result_, o));
  }

 private:
  int64_t Bytes(int64_t positions) const { return positions * lines_ * width_; }
  std::byte* At(std::vector<std::byte>& array, int64_t i) const { return array.data() + Bytes(i); }
  void Combine(int64_t positions, const std::byte* a, const std::byte* b, std::byte* to) const {
    const void* in[] = {a, b};
    void* out[] = {to};
    combiner_.Run(positions * lines_, in, out);
  }
  // Which running results make up that of a window.
  enum class Part : uint8_t { kBefore, kAfter, kBoth };
  Part PartOf(const Span1& span) const {
    if (dim_.size >= base_size_) return span.first == 0 ? Part::kBefore : Part::kAfter;
    if (span.first / dim_.size != span.last / dim_.size) return Part::kBoth;
    return span.first % dim_.size == 0 ? Part::kBefore : Part::kAfter;
  }
  static bool Follows(const Span1& a, const Span1& b, Part part, int64_t n) {
    return (part == Part::kAfter || b.last == a.last + n) &&
           (part == Part::kBefore || b.first == a.first + n);
  }

  WindowDim dim_;
  int64_t base_size_, result_size_, lines_, width_;
  const TileCode& combiner_;
  std::vector<std::byte> base_, before_, after_, result_;
};

// One dimension of an array [outer, size, inner]; with `init`, results begin with it.
void SlideAlong(const WindowDim& dim, int64_t outer, int64_t base_size, int64_t result_size, int64_t inner,
                int64_t width, const std::byte* base, std::byte* result, const std::byte* init,
                const TileCode& combiner) {
  // A batch: some neighbours along the inner dimension, or all of them at several places of the outer one.
  const int64_t most = std::min<int64_t>(64, std::max<int64_t>(1, kElementsAtOnce / base_size));
  const int64_t inner_step = std::min(inner, most);
  const int64_t outer_step = std::min(outer, std::max<int64_t>(1, most / inner));
  const int64_t inner_batches = (inner + inner_step - 1) / inner_step;
  const int64_t batches = (outer + outer_step - 1) / outer_step * inner_batches;
  ParallelFor(batches, 3.0 * static_cast<double>(outer * inner * base_size), [&](int64_t b) {
    const int64_t o = b / inner_batches * outer_step, i = b % inner_batches * inner_step;
    const int64_t rows = std::min(outer_step, outer - o), columns = std::min(inner_step, inner - i);
    const int64_t lines = rows * columns;
    Slab slab(dim, base_size, result_size, lines, width, combiner);
    const CopyDim in[] = {{base_size, inner, lines}, {rows, base_size * inner, columns}, {columns, 1, 1}};
    CopyArray(in, width, base + (o * base_size * inner + i) * width, slab.base());
    slab.Run(init);
    const CopyDim out[] = {
        {rows, columns, result_size * inner}, {result_size, lines, inner}, {columns, 1, 1}};
    CopyArray(out, width, slab.result(), result + (o * result_size * inner + i) * width);
  });
}

}  // namespace

bool SlidesWindow(absl::Span<const int64_t> base_dims, Window window, absl::Span<const int64_t> result_dims) {
  int64_t elements = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& dim = window[d];
    if (dim.window_dilation != 1 || dim.base_dilation != 1 || base_dims[d] == 0) return false;
    elements *= std::min(dim.size, kFewest);
    // Every window must see an element: there is nothing to begin with but at the end.
    for (int64_t o = 0; o < result_dims[d]; ++o) {
      const Span1 span = Under(dim, base_dims[d], o);
      if (span.first > span.last) return false;
    }
  }
  return elements >= kFewest;
}

void SlideWindow(const WindowArray& array, absl::Span<const int64_t> base_dims, Window window,
                 absl::Span<const int64_t> result_dims, const TileCode& combiner) {
  if (Product(result_dims) == 0) return;
  const LaneInput base(array.type, array.base, Product(base_dims));
  const LaneInput init(array.type, array.init, 1);
  LaneResult result(array.type, array.result, Product(result_dims));
  const int64_t width = base.width();
  const auto rank = static_cast<int64_t>(window.size());
  int64_t last = rank - 1;
  while (last > 0 && window[last].size == 1 && base_dims[last] == result_dims[last]) --last;
  Index dims(base_dims);
  std::vector<std::byte> current, next;
  const std::byte* from = base.at(0);
  for (int64_t d = 0; d <= last; ++d) {
    if (d < last && window[d].size == 1 && dims[d] == result_dims[d]) continue;
    const int64_t outer = Product(absl::MakeConstSpan(dims).first(d));
    const int64_t inner = Product(absl::MakeConstSpan(dims).subspan(d + 1));
    std::byte* to = result.at(0);
    if (d < last) {
      next.resize(outer * result_dims[d] * inner * width);
      to = next.data();
    }
    SlideAlong(window[d], outer, dims[d], result_dims[d], inner, width, from, to,
               d == last ? init.at(0) : nullptr, combiner);
    dims[d] = result_dims[d];
    std::swap(current, next);
    from = current.data();
  }
  result.Finish();
}

}  // namespace hlo::cpu
