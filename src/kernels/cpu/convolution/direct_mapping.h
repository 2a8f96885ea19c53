#pragma once
// This file decides how direct convolutions are split into tiles, and what they read.

#include <optional>

#include "kernels/cpu/convolution/im2col.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {

// The positions of the input along a spatial dimension that some outputs read, also outside of the input.
struct Reach {
  int64_t first, size;
  bool IsInside(int64_t input_size) const { return first >= 0 && first + size <= input_size; }
};

// Returns the reach of `count` outputs along spatial dimension d, of which `output` is the first.
Reach ReachOf(const ConvolutionLayout& c, int64_t d, int64_t output, int64_t count);

// The input is read from one of these.
enum class Storage : uint8_t {
  kOriginal,  // The operand itself.
  kPadded,    // A copy with the padding of one spatial dimension.
  kBlocks,    // Copies of the parts that blocks of outputs read, with that padding.
};

// Tiles have output features as columns and positions as rows, or positions as columns and features as rows.
struct Mapping {
  bool kernel_is_a = false;
  int64_t rows = 1, columns = 1;
  int64_t lanes = 0, vectors = 0;            // A tile has lanes * vectors columns.
  int64_t input_stride = 0, out_stride = 0;  // The strides of adjacent positions in a tile.
  int64_t spatial = PatchDim::kBatch;        // The spatial dimension in a tile, if there is one.
  bool has_batch = false;                    // The batch is in a tile.
  Storage storage = Storage::kOriginal;
  Reach reach = {0, 0};  // Along `spatial`, of all outputs.
  // The outputs of a block along spatial dimension `block_dim`, or 1 if there is none.
  int64_t block_dim = PatchDim::kBatch, block = 1;
  Terms terms = Terms::kSingle;  // Or kPairs, for elements that are pairs of halves.
  ConvolutionLayout stored;      // With the strides of the stored input.
  int64_t stored_count = 0;      // Elements of a copy.
};

// Returns the mapping by which a convolution is computed directly, without blocks, in vectors of `lanes`
// elements. Returns nullopt if it is not supported, or if a product of packed patches is faster.
std::optional<Mapping> ChooseMapping(const ConvolutionLayout& c, int64_t lanes);

// Outputs whose terms are at the same positions of a dilated base, as a convolution without base dilation.
struct Phase {
  ConvolutionLayout layout;
  int64_t output = 0;  // The offset of its first output.
  // If they are not empty, the layout is that of a copy of the input, and of a dense output that is copied to
  // the result.
  CopyDims input_copy = {}, output_copy = {};
  Mapping mapping = {};
};

// Splits a convolution into the phases of its base dilations, such as the input gradient of a strided
// convolution. Phases without terms are left out. Returns nullopt if there are too many.
std::optional<CachedVector<Phase>> PhasesOf(const ConvolutionLayout& c);

// Makes the output dense, in the same order of dimensions, and sets output_copy.
void MakeOutputDense(Phase* phase);

// If the convolution has long sums for few positions, such as the gradient of a kernel, makes its input and
// its output dense. The fastest dimension of the input is the batch; those of the output are batch and
// features. Sets input_copy and output_copy. Returns false if the copies do not pay.
bool PutBatchLast(int64_t element_size, Phase* phase);

// Splits the outputs of a batch entry into blocks whose input fits in the caches.
void SplitIntoBlocks(const ConvolutionLayout& c, int64_t element_size, Mapping* m);

// Returns the columns of the largest tiles, a multiple of the lanes.
inline int64_t TileColumns(const Mapping& m) { return m.lanes * m.vectors; }

// Returns the vectors of the tile that begins with this column.
int64_t VectorsAt(const Mapping& m, int64_t column);

// Returns true if tiles read a packed copy of the kernel, because its features are not contiguous or the rows
// of a panel are too far apart for the caches.
bool PacksKernel(const ConvolutionLayout& c, const Mapping& m);

// A dimension of the terms of a sum.
struct TermDim {
  int64_t size, input, kernel;  // Strides in the input and in the kernel.
};

// The terms under which the input is always stored: `run` is the loop of the micro-kernel, `other` is not
// contiguous with it.
struct StoredTerms {
  TermDim run, other;
};

StoredTerms TermsOf(const ConvolutionLayout& c, int64_t spatial);

}  // namespace hlo::cpu
