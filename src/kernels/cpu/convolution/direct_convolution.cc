#include "kernels/cpu/convolution/direct_convolution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/convolution/direct_kernels.h"
#include "kernels/cpu/convolution/direct_mapping.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// The positions that are copied along each spatial dimension.
using Reaches = absl::InlinedVector<Reach, 3>;

// Copies a part of the first `batch` entries of the input, with zeros for the padding of the dimension in a
// tile. Other dimensions are clipped to the input.
template <class T>
CachedVector<T> CopyPart(const T* input, const ConvolutionLayout& from, const Mapping& m, int64_t batch,
                         const Reaches& reaches) {
  const ConvolutionLayout& to = m.stored;
  CachedVector<T> copy(static_cast<size_t>(m.stored_count));
  std::fill(copy.begin(), copy.end(), T{});
  CopyDims dims = {{batch, from.input_batch_stride, to.input_batch_stride},
                   {from.group_inputs, from.input_feature_stride, to.input_feature_stride}};
  int64_t from_offset = 0, to_offset = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const Reach& reach = reaches[static_cast<size_t>(d)];
    const int64_t first = std::max<int64_t>(reach.first, 0),
                  end = std::min(reach.first + reach.size, from.input[d]);
    if (first >= end) return copy;
    dims.push_back({end - first, from.input_strides[d], to.input_strides[d]});
    from_offset += first * from.input_strides[d];
    if (d == m.spatial) to_offset = (first - reach.first) * to.input_strides[d];
  }
  CopyInOrder(std::move(dims), sizeof(T), input + from_offset, copy.data() + to_offset);
  return copy;
}

Reaches WholeInput(const ConvolutionLayout& c, const Mapping& m) {
  Reaches reaches;
  for (int64_t d = 0; d < c.rank(); ++d) reaches.push_back(d == m.spatial ? m.reach : Reach{0, c.input[d]});
  return reaches;
}

// Returns a copy of the kernel in panels of `columns` output features. Each has the order spatial dimensions,
// input features, output features. Updates the strides, which are those within a panel.
template <class T>
CachedVector<T> PackKernel(const T* kernel, int64_t columns, ConvolutionLayout* layout) {
  ConvolutionLayout& c = *layout;
  const int64_t depth = c.taps() * c.group_inputs;
  CachedVector<T> copy(static_cast<size_t>(depth * RoundUp(c.outputs, columns)));
  CopyDims dims = {{columns, c.kernel_output_stride, 1}, {c.group_inputs, c.kernel_input_stride, columns}};
  int64_t stride = columns * c.group_inputs;
  for (int64_t d = c.rank() - 1; d >= 0; --d) {
    dims.push_back({c.window[d], c.window_strides[d], stride});
    c.window_strides[d] = stride;
    stride *= c.window[d];
  }
  std::reverse(dims.begin(), dims.end());
  for (int64_t first = 0; first < c.outputs; first += columns) {
    dims.back().size = std::min(columns, c.outputs - first);
    CopyArray(dims, sizeof(T), kernel + c.window_origin + first * c.kernel_output_stride,
              copy.data() + first * depth);
  }
  c.kernel_output_stride = 1;
  c.kernel_input_stride = columns;
  c.window_origin = 0;
  return copy;
}

// Computes a convolution tile by tile.
template <class T>
class TiledConvolution {
 public:
  TiledConvolution(const ConvolutionLayout& original, const Mapping& mapping, const T* input, const T* kernel,
                   int64_t panel_stride, const RoundedResult<T>& result)
      : original_(original),
        m_(mapping),
        c_(mapping.stored),
        terms_(TermsOf(c_, mapping.spatial)),
        input_(input),
        kernel_(kernel + c_.window_origin),
        panel_stride_(panel_stride),
        result_(result) {
    column_tiles_ = CeilDiv(m_.columns, TileColumns(m_));
    row_tiles_ = CeilDiv(m_.rows, MaxRows(m_.vectors));
    for (int64_t d = 0; d < c_.rank(); ++d) {
      if (d != m_.spatial) places_ *= d == m_.block_dim ? CeilDiv(c_.output[d], m_.block) : c_.output[d];
    }
    if (!m_.has_batch) places_ *= c_.batch;
    // Shares of long sums have many tiles, which read the same operands.
    const int64_t wanted = (m_.has_batch ? 2 : 4) * ThreadCount();
    if (m_.storage != Storage::kBlocks)
      shares_ = std::clamp<int64_t>(CeilDiv(wanted, places_), 1, row_tiles_);
  }

  void Run() const {
    const int64_t count = places_ * shares_;
    const double terms = static_cast<double>(c_.taps() * c_.group_inputs);
    const double tile = terms * static_cast<double>(CeilDiv(m_.rows, row_tiles_) * m_.vectors) * 0.3;
    const double all = tile * static_cast<double>(places_ * m_.block * row_tiles_ * column_tiles_);
    ParallelFor(count, all + static_cast<double>(m_.stored_count), [&](int64_t i) {
      const int64_t share = i % shares_;
      RunPlace(i / shares_, row_tiles_ * share / shares_, row_tiles_ * (share + 1) / shares_);
    });
  }

 private:
  // The outputs that one item computes: a position besides the dimensions of tiles and blocks.
  struct Place {
    int64_t batch = 0;
    Index output;                            // Along each spatial dimension; the first one of the block.
    int64_t block_begin = 0, block_end = 1;  // Along the dimension of the block.
    int64_t input_offset = 0;                // The stored input at position 0 of all spatial dimensions.
  };

  Place PlaceOf(int64_t i) const {
    Place place;
    place.output = Zeros(c_.rank());
    for (int64_t d = c_.rank() - 1; d >= 0; --d) {
      if (d == m_.spatial) continue;
      const int64_t step = d == m_.block_dim ? m_.block : 1, count = CeilDiv(c_.output[d], step);
      place.output[d] = i % count * step;
      i /= count;
    }
    if (m_.block_dim != PatchDim::kBatch) {
      place.block_begin = place.output[m_.block_dim];
      place.block_end = std::min(place.block_begin + m_.block, c_.output[m_.block_dim]);
    }
    place.batch = i;
    place.input_offset = i * c_.input_batch_stride;
    return place;
  }

  // Copies the part of the input that the block reads.
  CachedVector<T> CopyBlock(Place* place) const {
    Reaches reaches = WholeInput(original_, m_);
    place->input_offset = 0;
    if (m_.block_dim != PatchDim::kBatch) {
      const Reach reach =
          ReachOf(c_, m_.block_dim, place->block_begin, place->block_end - place->block_begin);
      reaches[static_cast<size_t>(m_.block_dim)] = reach;
      place->input_offset = -std::max<int64_t>(reach.first, 0) * c_.input_strides[m_.block_dim];
    }
    return CopyPart(input_ + place->batch * original_.input_batch_stride, original_, m_, 1, reaches);
  }

  // Collects the runs of an output whose input is inside along the spatial dimensions besides that of the
  // tile.
  void FindRuns(const Place& place, int64_t block_output, CachedVector<Offsets>* runs,
                CachedVector<Offsets>* next) const {
    const auto extend = [&](int64_t size, const auto& offsets_of) {
      next->clear();
      for (const Offsets& run : *runs) {
        for (int64_t w = 0; w < size; ++w) {
          const std::optional<Offsets> offsets = offsets_of(w);
          if (offsets.has_value())
            next->push_back({run.input + offsets->input, run.kernel + offsets->kernel});
        }
      }
      runs->swap(*next);
    };
    runs->assign(1, {place.input_offset, 0});
    if (terms_.other.size > 1) {
      extend(terms_.other.size, [&](int64_t w) {
        return std::optional(Offsets{w * terms_.other.input, w * terms_.other.kernel});
      });
    }
    for (int64_t d = 0; d < c_.rank(); ++d) {
      if (d == m_.spatial) continue;
      const int64_t output = d == m_.block_dim ? block_output : place.output[d];
      const int64_t first = output * c_.stride[d] - c_.padding[d];
      extend(c_.window[d], [&](int64_t w) -> std::optional<Offsets> {
        const int64_t p = first + w * c_.window_dilation[d];
        if (p < 0 || p >= c_.input[d]) return std::nullopt;
        return Offsets{p * c_.input_strides[d], w * c_.window_strides[d]};
      });
    }
  }

  void RunPlace(int64_t i, int64_t first_tile, int64_t end_tile) const {
    Place place = PlaceOf(i);
    CachedVector<T> block;
    const T* input = input_;
    if (m_.storage == Storage::kBlocks) {
      block = CopyBlock(&place);
      input = block.data();
    }
    CachedVector<std::byte> own;
    const Output output = OutputOf(place, &own);
    CachedVector<Offsets> runs, next;
    if (m_.has_batch) {
      // Sums are long: all tiles read one part of the operands, which stays in the caches.
      FindRuns(place, place.block_begin, &runs, &next);
      return ForEachPart(runs, [&](const Part& part) {
        for (int64_t column = 0; column < m_.columns; column += VectorsAt(m_, column) * m_.lanes) {
          for (int64_t t = first_tile; t < end_tile; ++t) {
            const Position position = PositionOf(t, column);
            auto* sums = reinterpret_cast<T*>(output.At(0, position.row, position.column));
            AddPart(position, input, part, {sums, output.row_stride});
          }
        }
      });
    }
    // All outputs of a block are computed from one panel of the kernel.
    for (int64_t column = 0; column < m_.columns; column += VectorsAt(m_, column) * m_.lanes) {
      for (int64_t o = place.block_begin; o < place.block_end; ++o) {
        FindRuns(place, o, &runs, &next);
        for (int64_t t = first_tile; t < end_tile; ++t)
          ComputeTile(PositionOf(t, column), input, runs, output, o - place.block_begin);
      }
    }
    RunEpilogue(place, output, PositionOf(first_tile, 0).row, PositionOf(end_tile, 0).row);
  }

  // The results of a place are stored here.
  struct Output {
    std::byte* data;
    int64_t width, row_stride, block_stride;

    // Returns the element in the first row and column of a tile.
    std::byte* At(int64_t block, int64_t row, int64_t column) const {
      return data + (block * block_stride + row * row_stride + column) * width;
    }
  };

  // Returns the place in the result, or in *own if there is none.
  Output OutputOf(const Place& place, CachedVector<std::byte>* own) const {
    const int64_t width = result_.width, count = place.block_end - place.block_begin;
    if (result_.data != nullptr) {
      return {static_cast<std::byte*>(result_.data) + FirstOf(place) * width, width, out_row_stride(),
              block_stride()};
    }
    own->resize(static_cast<size_t>(m_.rows * m_.columns * count * width));
    if (m_.kernel_is_a) return {own->data(), width, count * m_.columns, m_.columns};
    return {own->data(), width, m_.columns, m_.rows * m_.columns};
  }

  int64_t out_row_stride() const { return m_.kernel_is_a ? c_.output_feature_stride : m_.out_stride; }
  int64_t block_stride() const {
    return m_.block_dim == PatchDim::kBatch ? 0 : c_.output_strides[m_.block_dim];
  }
  // Returns the index of the first result of the place.
  int64_t FirstOf(const Place& place) const {
    return place.batch * c_.output_batch_stride + Offset(place.output, c_.output_strides);
  }

  // Runs the epilogue on rows [row, end) of the place.
  void RunEpilogue(const Place& place, const Output& output, int64_t row, int64_t end) const {
    if (result_.epilogue.run == nullptr) return;
    const int64_t count = place.block_end - place.block_begin;
    ArrayBlock block{FirstOf(place) + row * out_row_stride(),
                     end - row,
                     m_.columns,
                     out_row_stride(),
                     output.At(0, row, 0),
                     output.row_stride};
    if (m_.kernel_is_a && block_stride() == m_.columns && output.block_stride == m_.columns) {
      block.columns *= count;
      return result_.epilogue.run(result_.epilogue.context, block);
    }
    for (int64_t o = 0; o < count; ++o) {
      result_.epilogue.run(result_.epilogue.context, block);
      block.first += block_stride();
      block.data = static_cast<std::byte*>(block.data) + output.block_stride * output.width;
    }
  }

  // The rows and columns of a tile.
  struct Position {
    int64_t row, rows, column, columns;
  };

  Position PositionOf(int64_t row_tile, int64_t column) const {
    const int64_t row = row_tile * m_.rows / row_tiles_, end = (row_tile + 1) * m_.rows / row_tiles_;
    return {row, end - row, column, std::min(m_.columns - column, VectorsAt(m_, column) * m_.lanes)};
  }

  // A tile of sums in memory.
  struct Sums {
    T* data;
    int64_t ld;
  };

  // Some of the terms of each sum: terms [first, first + count) of some runs.
  struct Part {
    absl::Span<const Offsets> runs;
    int64_t first, count;
    bool add;  // It is not the first part.
  };

  // Calls visit for each part. Sums are accumulated in parts, whose rounding errors are smaller.
  template <class Visit>
  void ForEachPart(absl::Span<const Offsets> runs, Visit&& visit) const {
    constexpr int64_t kMaxTerms = 640;
    const auto run_count = static_cast<size_t>(std::max<int64_t>(1, kMaxTerms / terms_.run.size));
    for (int64_t k = 0; k < terms_.run.size; k += kMaxTerms) {
      for (size_t r = 0; r < std::max<size_t>(runs.size(), 1); r += run_count)
        visit(Part{runs.subspan(r, run_count), k, std::min(kMaxTerms, terms_.run.size - k), k + r > 0});
    }
  }

  void AddPart(const Position& position, const T* input, const Part& part, const Sums& sums) const {
    const int64_t vectors = CeilDiv(position.columns, m_.lanes);
    const auto last = static_cast<int>(position.columns - (vectors - 1) * m_.lanes);
    const TermDim& terms = terms_.run;
    RunOperands<T> operands{.tile = {.k_count = part.count,
                                     .a_k_stride = terms.input,
                                     .b_k_stride = terms.kernel,
                                     .c = sums.data,
                                     .ld = sums.ld,
                                     .add = part.add,
                                     .last = last,
                                     .loaded = last},
                            .runs = part.runs,
                            .terms = m_.terms,
                            .kernel_is_a = m_.kernel_is_a};
    Tile<T>& tile = operands.tile;
    if (m_.kernel_is_a) {
      std::swap(tile.a_k_stride, tile.b_k_stride);
      tile.a = kernel_ + position.row * c_.kernel_output_stride;
      tile.a_stride = c_.kernel_output_stride;
      tile.b = input + position.column;
    } else {
      tile.a = input + position.row * m_.input_stride;
      tile.a_stride = m_.input_stride;
      tile.b = kernel_ + position.column / TileColumns(m_) * panel_stride_;
    }
    tile.a += part.first * tile.a_k_stride;
    tile.b += part.first * tile.b_k_stride;
    SumRuns<T>(operands, position.rows, vectors);
  }

  void ComputeTile(const Position& position, const T* input, absl::Span<const Offsets> runs,
                   const Output& output, int64_t block) const {
    alignas(64) T buffer[MaxRows(1) * kMaxVectors * kLanes<T>];
    const auto to = [&](int64_t row) { return output.At(block, position.row + row, position.column); };
    const bool is_rounded = output.width != sizeof(T);
    const Sums sums =
        is_rounded ? Sums{buffer, TileColumns(m_)} : Sums{reinterpret_cast<T*>(to(0)), output.row_stride};
    ForEachPart(runs, [&](const Part& part) { AddPart(position, input, part, sums); });
    for (int64_t i = 0; i < position.rows && is_rounded; ++i)
      result_.narrow(buffer + i * sums.ld, position.columns, to(i));
  }

  const ConvolutionLayout& original_;
  const Mapping& m_;
  const ConvolutionLayout& c_;
  StoredTerms terms_;
  const T *input_, *kernel_;
  int64_t panel_stride_;  // Distance of the kernel's panels, if tiles have features as columns.
  RoundedResult<T> result_;
  int64_t places_ = 1, shares_ = 1, row_tiles_, column_tiles_;
};

// Returns an upper bound for the bytes that a phase allocates.
int64_t MemoryOf(const Phase& phase, int64_t element_size, int64_t width, bool keeps_result) {
  const ConvolutionLayout& c = phase.layout;
  const Mapping& m = phase.mapping;
  const int64_t packed =
      PacksKernel(c, m) ? c.taps() * c.group_inputs * RoundUp(c.outputs, TileColumns(m)) : 0;
  const int64_t copies = m.storage == Storage::kBlocks ? ThreadCount() : 1;
  const int64_t sums = m.has_batch && width != element_size ? c.output_count() : 0;
  const int64_t results = keeps_result ? 0 : ThreadCount() * m.rows * m.columns * m.block * width;
  const int64_t dense = (phase.output_copy.empty() ? 0 : c.output_count() * width) +
                        (phase.input_copy.empty() ? 0 : c.input_count() * element_size);
  return (packed + copies * m.stored_count + sums) * element_size + results + dense;
}

template <class T>
void RunPhase(const T* input, const T* kernel, const Phase& phase, const RoundedResult<T>& result) {
  const ConvolutionLayout& c = phase.layout;
  Mapping m = phase.mapping;
  CachedVector<T> input_copy, kernel_copy, sums;
  if (m.storage == Storage::kPadded) {
    input_copy = CopyPart(input, c, m, c.batch, WholeInput(c, m));
    input = input_copy.data();
  } else if (m.storage == Storage::kOriginal) {
    input += m.reach.first * c.input_strides[m.spatial];
  }
  int64_t panel_stride = TileColumns(m);
  if (PacksKernel(c, m)) {
    kernel_copy = PackKernel(kernel, panel_stride, &m.stored);
    kernel = kernel_copy.data();
    panel_stride *= c.taps() * c.group_inputs;
  }
  if (!m.has_batch || result.width == sizeof(T))
    return TiledConvolution<T>(c, m, input, kernel, panel_stride, result).Run();
  // Long sums are stored between their parts.
  sums.resize(static_cast<size_t>(c.output_count()));
  TiledConvolution<T>(c, m, input, kernel, panel_stride, {.data = sums.data(), .width = sizeof(T)}).Run();
  result.narrow(sums.data(), c.output_count(), result.data);
}

}  // namespace

std::optional<DirectConvolution> DirectConvolution::Make(const ConvolutionLayout& c, ElementType type,
                                                         Terms terms) {
  const bool is_supported =
      type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kU32;
  if (!is_supported || c.rank() == 0 || c.groups != 1 || c.taps() * c.group_inputs == 0) return std::nullopt;
  std::optional<CachedVector<Phase>> phases = PhasesOf(c);
  if (!phases.has_value()) return std::nullopt;
  DirectConvolution convolution;
  convolution.element_size_ = ByteCount(type);
  convolution.count_ = c.output_count();
  convolution.is_one_phase_ =
      phases->size() == 1 && phases->front().layout.output_count() == c.output_count();
  for (Phase& phase : *phases) {
    const int64_t lanes = kVectorBytes / convolution.element_size_;
    std::optional<Mapping> mapping = ChooseMapping(phase.layout, lanes);
    if (!mapping.has_value() && !convolution.is_one_phase_) {
      MakeOutputDense(&phase);
      mapping = ChooseMapping(phase.layout, lanes);
    } else if (!mapping.has_value() && PutBatchLast(convolution.element_size_, &phase)) {
      mapping = ChooseMapping(phase.layout, lanes);
    }
    if (!mapping.has_value() || (mapping->has_batch && !convolution.is_one_phase_)) return std::nullopt;
    phase.mapping = *std::move(mapping);
    phase.mapping.terms = terms;
    SplitIntoBlocks(phase.layout, convolution.element_size_, &phase.mapping);
  }
  convolution.phases_ = *std::move(phases);
  return convolution;
}

ProductRows DirectConvolution::rows() const {
  if (!is_one_phase_ || phases_.front().mapping.has_batch || !phases_.front().output_copy.empty()) return {};
  const ConvolutionLayout& c = phases_.front().layout;
  const Mapping& m = phases_.front().mapping;
  const int64_t depth = c.taps() * c.group_inputs;
  if (!m.kernel_is_a) return {c.outputs, c.outputs, depth};
  const bool joins_block = m.block_dim != PatchDim::kBatch && c.output_strides[m.block_dim] == m.columns;
  return {c.output_feature_stride, m.columns * (joins_block ? m.block : 1), depth};
}

int64_t DirectConvolution::Memory(int64_t width, bool keeps_result) const {
  const bool streams = SupportsEpilogue();
  int64_t most = 0;
  for (const Phase& phase : phases_)
    most = std::max(most, MemoryOf(phase, element_size_, width, keeps_result || !streams));
  return most + (keeps_result || streams ? 0 : count_ * width);
}

template <class T>
void DirectConvolution::Run(const T* input, const T* kernel, const RoundedResult<T>& result) const {
  int64_t computed = 0;
  for (const Phase& phase : phases_) computed += phase.layout.output_count();
  // Outputs of other phases are sums of no terms.
  if (computed < count_) std::memset(result.data, 0, static_cast<size_t>(count_ * result.width));
  for (const Phase& phase : phases_) {
    RoundedResult<T> part = result;
    part.data = static_cast<std::byte*>(result.data) + phase.output * result.width;
    if (phase.output_copy.empty()) {
      RunPhase<T>(input, kernel, phase, part);
      continue;
    }
    CachedVector<T> input_copy;
    const T* from = input;
    if (!phase.input_copy.empty()) {
      input_copy.resize(static_cast<size_t>(phase.layout.input_count()));
      CopyInOrder(phase.input_copy, sizeof(T), input, input_copy.data());
      from = input_copy.data();
    }
    CachedVector<std::byte> dense(static_cast<size_t>(phase.layout.output_count() * result.width));
    RunPhase<T>(from, kernel, phase, {.data = dense.data(), .width = result.width, .narrow = result.narrow});
    CopyInOrder(phase.output_copy, result.width, dense.data(), part.data);
  }
}

template void DirectConvolution::Run(const float*, const float*, const RoundedResult<float>&) const;
template void DirectConvolution::Run(const double*, const double*, const RoundedResult<double>&) const;
template void DirectConvolution::Run(const uint32_t*, const uint32_t*, const RoundedResult<uint32_t>&) const;

}  // namespace hlo::cpu
