#include "kernels/cpu/convolution/direct_mapping.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/convolution/dense_strides.h"
#include "kernels/cpu/convolution/direct_kernels.h"
#include "loops/window_phase.h"

namespace hlo::cpu {
namespace {

// A dimension of the output besides its features.
struct PositionDim {
  int64_t size, input, out;  // Strides in the input and in the output.
  int64_t spatial;           // A spatial dimension, or PatchDim::kBatch.
};

// Sets the strides of a row-major array of the input's dimensions with these sizes. The order of the
// dimensions stays; of dimensions that had the same stride, `spatial` comes first. Returns the number of
// elements.
int64_t Restride(ConvolutionLayout* c, int64_t batch, const Index& sizes, int64_t spatial) {
  struct Dim {
    int64_t size;
    int64_t* stride;
    int64_t order;
  };
  absl::InlinedVector<Dim, 6> dims = {{batch, &c->input_batch_stride, c->rank()},
                                      {c->group_inputs, &c->input_feature_stride, c->rank() + 1}};
  for (int64_t d = 0; d < c->rank(); ++d)
    dims.push_back({sizes[d], &c->input_strides[d], d == spatial ? -1 : d});
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::pair(*a.stride, a.order) < std::pair(*b.stride, b.order);
  });
  int64_t count = 1;
  for (const Dim& dim : dims) {
    *dim.stride = count;
    count *= dim.size;
  }
  return count;
}

// Returns the dimensions of the output besides its features, the fastest first.
absl::InlinedVector<PositionDim, 4> PositionDims(const ConvolutionLayout& c) {
  absl::InlinedVector<PositionDim, 4> dims = {
      {c.batch, c.input_batch_stride, c.output_batch_stride, PatchDim::kBatch}};
  for (int64_t d = 0; d < c.rank(); ++d)
    dims.push_back({c.output[d], c.stride[d] * c.input_strides[d], c.output_strides[d], d});
  const auto is_faster = [](const PositionDim& a, const PositionDim& b) {
    return std::tuple(a.size == 1, a.out, a.spatial) < std::tuple(b.size == 1, b.out, b.spatial);
  };
  std::sort(dims.begin(), dims.end(), is_faster);
  return dims;
}

// Sets the strides and the size of the copy with padding along m->spatial. Returns false if there is far more
// padding than input.
bool StoreWithPadding(const ConvolutionLayout& c, Mapping* m) {
  m->stored = c;
  m->reach = ReachOf(c, m->spatial, 0, c.output[m->spatial]);
  const int64_t size = c.input[m->spatial];
  if (m->reach.IsInside(size)) return true;
  if (m->reach.size > 4 * size + 64) return false;
  m->storage = Storage::kPadded;
  Index sizes = c.input;
  sizes[m->spatial] = m->reach.size;
  m->stored_count = Restride(&m->stored, c.batch, sizes, m->spatial);
  return true;
}

// Returns the mapping that has positions as rows, or nullopt if the features are not contiguous.
std::optional<Mapping> MapPositionsToRows(const ConvolutionLayout& c) {
  if (c.output_feature_stride != 1) return std::nullopt;
  Mapping m;
  m.columns = c.outputs;
  for (const PositionDim& dim : PositionDims(c)) {
    if (dim.spatial == PatchDim::kBatch) continue;
    if (dim.size > 1) m.spatial = dim.spatial;
    break;
  }
  if (m.spatial == PatchDim::kBatch || !StoreWithPadding(c, &m)) return std::nullopt;
  bool has_spatial = false;
  for (const PositionDim& dim : PositionDims(m.stored)) {
    const bool is_batch = dim.spatial == PatchDim::kBatch;
    if (dim.size == 1 || (!is_batch && dim.spatial != m.spatial)) break;
    if (m.rows == 1)
      m.input_stride = dim.input, m.out_stride = dim.out;
    else if (dim.input != m.input_stride * m.rows || dim.out != m.out_stride * m.rows)
      break;
    m.rows *= dim.size;
    (is_batch ? m.has_batch : has_spatial) = true;
  }
  return has_spatial ? std::optional(m) : std::nullopt;
}

// Returns the mapping that has positions as columns, or nullopt if adjacent positions are not contiguous.
std::optional<Mapping> MapPositionsToColumns(const ConvolutionLayout& c) {
  const PositionDim fast = PositionDims(c)[0];
  if (fast.spatial == PatchDim::kBatch || fast.size == 1 || fast.input != 1 || fast.out != 1)
    return std::nullopt;
  Mapping m;
  m.kernel_is_a = true;
  m.rows = c.outputs;
  m.columns = fast.size;
  m.input_stride = m.out_stride = 1;
  m.spatial = fast.spatial;
  return StoreWithPadding(c, &m) ? std::optional(m) : std::nullopt;
}

void SetVectors(int64_t lanes, Mapping* m) {
  m->lanes = lanes;
  m->vectors = std::min<int64_t>(CeilDiv(m->columns, lanes), kMaxVectors);
  // Panels of a packed kernel have at most kMaxVectors.
  while (m->kernel_is_a && 2 * m->vectors <= kMaxVectorsOfFewRows && m->rows <= MaxRows(2 * m->vectors) &&
         2 * m->vectors * lanes <= m->columns)
    m->vectors *= 2;
}

// Returns the phase along dimension d that begins with output `first`, or nullopt if it has no terms.
std::optional<Phase> PhaseAlong(const Phase& from, int64_t d, int64_t first) {
  Phase phase = from;
  ConvolutionLayout& c = phase.layout;
  const loops::WindowPhase along = loops::PhaseOf({.outputs = c.output[d],
                                                   .taps = c.window[d],
                                                   .stride = c.stride[d],
                                                   .padding = c.padding[d],
                                                   .window_dilation = c.window_dilation[d],
                                                   .base_dilation = c.base_dilation[d]},
                                                  first);
  if (along.taps == 0) return std::nullopt;
  c.padding[d] = -along.origin;
  c.stride[d] = along.step;
  c.window_dilation[d] = along.tap_move;
  c.window_origin += along.first_tap * c.window_strides[d];
  c.window[d] = along.taps;
  c.window_strides[d] *= along.tap_step;
  c.base_dilation[d] = 1;
  phase.output += first * c.output_strides[d];
  c.output[d] = along.outputs;
  c.output_strides[d] *= along.output_step;
  return phase;
}

}  // namespace

Reach ReachOf(const ConvolutionLayout& c, int64_t d, int64_t output, int64_t count) {
  return {output * c.stride[d] - c.padding[d],
          (count - 1) * c.stride[d] + (c.window[d] - 1) * c.window_dilation[d] + 1};
}

std::optional<CachedVector<Phase>> PhasesOf(const ConvolutionLayout& c) {
  // More than a few phases pay if each saves many products with the zeros between elements.
  constexpr size_t kFewPhases = 16, kMaxPhases = 256;
  constexpr int64_t kMinTerms = 32 << 10;
  const auto most_phases = static_cast<size_t>(c.taps() * c.group_inputs * c.output_count() / kMinTerms);
  const size_t max_phases = std::clamp(most_phases, kFewPhases, kMaxPhases);
  CachedVector<Phase> phases;
  phases.push_back({.layout = c});
  for (int64_t d = 0; d < c.rank(); ++d) {
    CachedVector<Phase> split;
    const int64_t period = loops::PhasePeriod(c.stride[d], c.base_dilation[d]);
    if (phases.size() * static_cast<size_t>(period) > max_phases) return std::nullopt;
    for (const Phase& phase : phases) {
      for (int64_t first = 0; first < std::min(period, c.output[d]); ++first) {
        if (std::optional<Phase> one = PhaseAlong(phase, d, first)) split.push_back(*one);
      }
    }
    phases = std::move(split);
  }
  return phases;
}

void MakeOutputDense(Phase* phase) {
  ConvolutionLayout& c = phase->layout;
  StridedDims dims = {{c.batch, &c.output_batch_stride}, {c.outputs, &c.output_feature_stride}};
  for (int64_t d = 0; d < c.rank(); ++d) dims.push_back({c.output[d], &c.output_strides[d]});
  std::sort(dims.begin(), dims.end(), [](const StridedDim& a, const StridedDim& b) {
    return std::pair(*a.stride, a.size) < std::pair(*b.stride, b.size);
  });
  phase->output_copy = Reversed(MakeDense(dims));
}

bool PutBatchLast(int64_t element_size, Phase* phase) {
  ConvolutionLayout& c = phase->layout;
  const int64_t positions = Product(c.output);
  // Each copied byte takes about as long as this many products.
  constexpr int64_t kProducts = 13;
  const bool pays =
      c.taps() > 2 * positions && c.taps() * c.group_inputs * c.output_count() >
                                      kProducts * element_size * (c.input_count() + c.output_count());
  if (!pays) return false;
  StridedDims input = {{c.batch, &c.input_batch_stride}},
              output = {{c.outputs, &c.output_feature_stride}, {c.batch, &c.output_batch_stride}};
  for (int64_t d = c.rank() - 1; d >= 0; --d) {
    input.push_back({c.input[d], &c.input_strides[d]});
    output.push_back({c.output[d], &c.output_strides[d]});
  }
  input.push_back({c.group_inputs, &c.input_feature_stride});
  phase->input_copy = MakeDense(input);
  phase->output_copy = Reversed(MakeDense(output));
  return true;
}

std::optional<Mapping> ChooseMapping(const ConvolutionLayout& c, int64_t lanes) {
  // Longer panels of the kernel do not stay in the caches, so packing the patches pays.
  constexpr int64_t kMaxPanelBytes = 240 << 10, kMaxDepthOfColumns = 1200, kMinColumns = 4;
  const int64_t depth = c.taps() * c.group_inputs;
  std::optional<Mapping> mapping = MapPositionsToRows(c);
  if (mapping.has_value()) {
    SetVectors(lanes, &*mapping);
    return mapping->has_batch || depth * TileColumns(*mapping) <= kMaxPanelBytes / kVectorBytes * lanes
               ? mapping
               : std::nullopt;
  }
  if (depth <= kMaxDepthOfColumns) mapping = MapPositionsToColumns(c);
  if (!mapping.has_value() || mapping->columns < kMinColumns) return std::nullopt;
  SetVectors(lanes, &*mapping);
  return mapping;
}

void SplitIntoBlocks(const ConvolutionLayout& c, int64_t element_size, Mapping* m) {
  if (m->has_batch || c.rank() > 2) return;
  const int64_t block_elements = (96 << 10) / element_size;
  Index sizes = c.input;
  sizes[m->spatial] = m->reach.size;
  if (c.rank() == 2) {
    const int64_t d = m->spatial == 0 ? 1 : 0, outputs = c.output[d];
    const int64_t line = c.group_inputs * sizes[1 - d];
    m->block_dim = d;
    m->block = outputs;
    const auto fits = [&](int64_t block) {
      return ReachOf(c, d, 0, block).size * line <= block_elements &&
             c.batch * CeilDiv(outputs, block) >= 4 * ThreadCount();
    };
    while (m->block > 1 && !fits(m->block)) m->block = CeilDiv(m->block, 2);
    sizes[d] = ReachOf(c, d, 0, m->block).size;
    if (sizes[d] > 4 * m->block * c.stride[d] + 4) return;  // Blocks would copy the same input repeatedly.
  }
  if (m->storage != Storage::kPadded) return;
  m->storage = Storage::kBlocks;
  m->stored = c;
  m->stored_count = Restride(&m->stored, 1, sizes, m->spatial);
  m->input_stride = c.stride[m->spatial] * m->stored.input_strides[m->spatial];
}

int64_t VectorsAt(const Mapping& m, int64_t column) {
  int64_t vectors = m.vectors;
  while (column + (vectors - 1) * m.lanes >= m.columns) vectors /= 2;
  return vectors;
}

bool PacksKernel(const ConvolutionLayout& c, const Mapping& m) {
  if (m.kernel_is_a) return false;
  if (c.kernel_output_stride != 1) return true;
  constexpr int64_t kMinElements = 64 << 10, kMinPositions = 128;
  return m.columns > TileColumns(m) && c.taps() * c.group_inputs * m.columns > kMinElements &&
         c.batch * Product(c.output) >= kMinPositions && !m.has_batch;
}

StoredTerms TermsOf(const ConvolutionLayout& c, int64_t spatial) {
  TermDim features = {c.group_inputs, c.input_feature_stride, c.kernel_input_stride};
  TermDim taps = {c.window[spatial], c.window_dilation[spatial] * c.input_strides[spatial],
                  c.window_strides[spatial]};
  const bool is_contiguous =
      taps.input == features.input * features.size && taps.kernel == features.kernel * features.size;
  if (features.size == 1) return {taps, {1, 0, 0}};
  if (taps.size == 1) return {features, {1, 0, 0}};
  if (is_contiguous) return {{features.size * taps.size, features.input, features.kernel}, {1, 0, 0}};
  if (features.size < taps.size) std::swap(features, taps);
  return {features, taps};
}

}  // namespace hlo::cpu
