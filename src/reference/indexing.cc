// Indexed reads and writes: dynamic-slice, dynamic-update-slice, gather and scatter (semantics 4.2 to 4.4).

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/deadline.h"
#include "base/status.h"
#include "reference/arrays.h"
#include "reference/op.h"
#include "reference/scalar_function.h"
#include "types/view.h"

namespace hlo::reference {
namespace {

// Returns the start of a dynamic slice: one scalar per dimension, or a vector (older dumps).
absl::StatusOr<Index> StartOf(absl::Span<const Literal> operands) {
  Index start;
  for (const Literal& operand : operands) {
    HLO_ASSIGN_OR_RETURN(const Literal indices, AsIndices(operand));
    for (int64_t i : indices.span<int64_t>()) start.push_back(i);
  }
  return start;
}

// The start indices of gather and scatter.
class StartIndices {
 public:
  struct Dimensions {
    int64_t index_vector_dim;
    IntList start_index_map;  // Maps the entries of an index vector to dimensions of the operand.
    IntList operand_batching_dims, indices_batching_dims;
  };

  static absl::StatusOr<StartIndices> Make(const Literal& start_indices, int64_t operand_rank,
                                           const Dimensions& dims) {
    for (int64_t d : dims.indices_batching_dims) {
      if (d == dims.index_vector_dim) {
        return absl::InvalidArgumentError(
            "a batching dimension of the start indices is their index_vector_dim");
      }
    }
    HLO_ASSIGN_OR_RETURN(Literal indices, AsIndices(start_indices));
    return StartIndices(std::move(indices), operand_rank, dims);
  }

  // Returns the start for position s over the dimensions of the start indices except index_vector_dim:
  //   start[start_index_map[k]] = start_indices[s with k at index_vector_dim]
  //   start[operand_batching_dims[k]] = s[indices_batching_dims[k]], by dimensions of start_indices
  Index At(const Index& s) const {
    const int64_t* vector = indices_.span<int64_t>().data() + Offset(s, position_strides_);
    Index start = Zeros(operand_rank_);
    for (size_t k = 0; k < dims_.start_index_map.size(); ++k)
      start[dims_.start_index_map[k]] = vector[k * vector_stride_];
    for (size_t k = 0; k < dims_.operand_batching_dims.size(); ++k) {
      const int64_t d = dims_.indices_batching_dims[k];
      start[dims_.operand_batching_dims[k]] = s[d < dims_.index_vector_dim ? d : d - 1];
    }
    return start;
  }

 private:
  StartIndices(Literal indices, int64_t operand_rank, const Dimensions& dims)
      : indices_(std::move(indices)), operand_rank_(operand_rank), dims_(dims) {
    const Index strides = RowMajorStrides(indices_.dims());
    position_strides_ = Pick(strides, OtherDims(indices_.rank(), {&dims_.index_vector_dim, 1}));
    // index_vector_dim == rank means index vectors of size 1.
    vector_stride_ = dims_.index_vector_dim < indices_.rank() ? strides[dims_.index_vector_dim] : 0;
  }

  Literal indices_;
  int64_t operand_rank_;
  Dimensions dims_;
  Index position_strides_;
  int64_t vector_stride_;
};

// The to_apply computation of a scatter, applied to one element of each operand and each update.
class Combiner {
 public:
  static absl::StatusOr<Combiner> Make(const Computation& computation, absl::Span<const Literal> operands,
                                       absl::Span<const Literal> updates, Caller& caller) {
    Combiner combiner;
    // A combiner that returns its update overwrites the element and needs only a copy.
    combiner.overwrites_ = operands.size() == 1 && computation.root() == computation.parameter(1) &&
                           computation.root()->shape().type() == updates[0].type() &&
                           operands[0].type() == updates[0].type();
    combiner.arguments_.resize(2 * operands.size());
    combiner.results_.resize(operands.size());
    std::vector<ElementType> types = TypesOf(operands);
    for (const Literal& update : updates) types.push_back(update.type());
    HLO_ASSIGN_OR_RETURN(combiner.function_, ScalarFunction::Make(computation, caller, types));
    return combiner;
  }

  // Computes (results[0][at], ...) = to_apply(results[0][at], ..., updates[0][from], ...).
  absl::Status Apply(absl::Span<Literal> results, int64_t at, absl::Span<const Literal> updates,
                     int64_t from) {
    if (overwrites_) {
      const int64_t width = ByteCount(results[0].type());
      std::copy_n(updates[0].data() + from * width, width, results[0].mutable_data() + at * width);
      return absl::OkStatus();
    }
    const size_t count = results.size();
    for (size_t k = 0; k < count; ++k) {
      arguments_[k] = LoadScalar(results[k], at);
      arguments_[count + k] = LoadScalar(updates[k], from);
    }
    HLO_RETURN_IF_ERROR(function_->Run(arguments_, absl::MakeSpan(results_)));
    for (size_t k = 0; k < count; ++k) StoreScalar(results[k], at, results_[k]);
    return absl::OkStatus();
  }

 private:
  bool overwrites_ = false;
  std::unique_ptr<ScalarFunction> function_;
  std::vector<WideScalar> arguments_, results_;
};

bool SameDims(absl::Span<const Literal> arrays) {
  return std::all_of(arrays.begin(), arrays.end(),
                     [&](const Literal& a) { return a.dims() == arrays[0].dims(); });
}

constexpr int64_t kNanosecondsAnElement = 4;

absl::Status DimensionListedTwice() {
  return absl::InvalidArgumentError(
      "a dimension of the operand is both a batching one and left out of the windows");
}

// Returns the operand with unshared elements.
absl::StatusOr<Literal> TakeUnique(Literal& operand) {
  Literal result = std::move(operand);
  HLO_RETURN_IF_ERROR(result.MakeUnique());
  return result;
}

}  // namespace

// result[i] = operand[start + i], where start[d] = clamp(0, start[d], dim(operand, d) - slice_sizes[d]).
absl::StatusOr<Literal> DynamicSlice(OpContext& context) {
  const Literal& operand = context.operands[0];
  const Index sizes = context.shape().dims();
  HLO_ASSIGN_OR_RETURN(Index start, StartOf(context.operands.subspan(1)));
  start = Clamp(Zeros(operand.rank()), start, Index(operand.dims()) - sizes);
  return Copied(operand, View::Dense(operand.dims()).Window(start, sizes), context.shape());
}

// The result is the operand with result[start + i] = update[i], where start[d] = clamp(0, start[d],
// dim(operand, d) - dim(update, d)).
absl::StatusOr<Literal> DynamicUpdateSlice(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Index start, StartOf(context.operands.subspan(2)));
  HLO_ASSIGN_OR_RETURN(Literal result, TakeUnique(context.operands[0]));
  HLO_ASSIGN_OR_RETURN(const Literal update, WithType(context.operands[1], result.type()));
  start = Clamp(Zeros(result.rank()), start, Index(result.dims()) - Index(update.dims()));
  CopyElements(ByteCount(result.type()), update.data(), View::Dense(update.dims()), result.mutable_data(),
               View::Dense(result.dims()).Window(start, update.dims()));
  return result;
}

// For each position s of the start indices, the slice of sizes `slice_sizes` that starts at
//   start[d] = clamp(0, start(s)[d], dim(operand, d) - slice_sizes[d])
// gives the result elements with s in the batch dimensions. The slice's dimensions, except collapsed and
// batching ones, are the dimensions `offset_dims` of the result.
absl::StatusOr<Literal> Gather(OpContext& context) {
  const Instruction& gather = context.instruction;
  const Literal& operand = context.operands[0];
  HLO_CHECK(operand.type() == context.shape().type());
  if (operand.element_count() == 0) return Literal::CreateZeros(context.shape());
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const IntList offset_dims = gather.Get<attr::offset_dims>(), slice_sizes = gather.Get<attr::slice_sizes>();
  const IntList operand_batching_dims = gather.Get<attr::operand_batching_dims>();
  HLO_ASSIGN_OR_RETURN(
      const StartIndices starts,
      StartIndices::Make(context.operands[1], operand.rank(),
                         {gather.Get<attr::index_vector_dim>(), gather.Get<attr::start_index_map>(),
                          operand_batching_dims, gather.Get<attr::start_indices_batching_dims>()}));

  Index last_start = operand.dims();  // An empty slice also starts at an existing element.
  for (int64_t d = 0; d < operand.rank(); ++d) last_start[d] -= std::max<int64_t>(1, slice_sizes[d]);
  const Index window_dims =
      OtherDims(operand.rank(), gather.Get<attr::collapsed_slice_dims>(), operand_batching_dims);
  if (window_dims.size() != offset_dims.size()) return DimensionListedTwice();
  const Index batch_dims = OtherDims(result.rank(), offset_dims);
  const View all = View::Dense(operand.dims()), to_all = View::Dense(result.dims());
  View from = all.Permuted(window_dims), to = to_all.Permuted(offset_dims);
  from.dims = Pick(slice_sizes, window_dims);
  const View batches = to_all.Permuted(batch_dims);
  const int64_t window_size = Product(from.dims);
  DeadlineChecker deadline;
  for (const Index& s : EachIndex(batches.dims)) {
    HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsAnElement * (window_size + 16)));
    from.offset = Offset(Clamp(Zeros(operand.rank()), starts.At(s), last_start), all.strides);
    to.offset = Offset(s, batches.strides);
    CopyElements(ByteCount(operand.type()), operand.data(), from, result.mutable_data(), to);
  }
  return result;
}

// For each position s of the updates' scatter dimensions, in order: a window that is not inside the operand
// is skipped; otherwise for each position w over `update_window_dims`
//   (result_0[start(s) + w], ...) = to_apply(result_0[start(s) + w], ..., update_0[s, w], ...).
absl::StatusOr<Literal> Scatter(OpContext& context) {
  const Instruction& scatter = context.instruction;
  const int64_t count = (scatter.operand_count() - 1) / 2;
  const absl::Span<const Literal> updates = context.operands.subspan(count + 1);
  if (!SameDims(context.operands.subspan(0, count)) || !SameDims(updates)) {
    return absl::InvalidArgumentError(
        "operands scattered together differ in their sizes, or their updates do");
  }
  std::vector<Literal> results(count);
  for (int64_t k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(results[k], TakeUnique(context.operands[k]));
  }
  const View all = View::Dense(results[0].dims()), from_all = View::Dense(updates[0].dims());
  const IntList update_window_dims = scatter.Get<attr::update_window_dims>();
  const IntList batching_dims = scatter.Get<attr::input_batching_dims>();
  HLO_ASSIGN_OR_RETURN(const StartIndices starts,
                       StartIndices::Make(context.operands[count], results[0].rank(),
                                          {scatter.Get<attr::index_vector_dim>(),
                                           scatter.Get<attr::scatter_dims_to_operand_dims>(), batching_dims,
                                           scatter.Get<attr::scatter_indices_batching_dims>()}));
  HLO_ASSIGN_OR_RETURN(Combiner combiner,
                       Combiner::Make(*scatter.Get<attr::to_apply>(), results, updates, context.caller));

  const View from = from_all.Permuted(update_window_dims);
  const Index window_dims =
      OtherDims(all.dims.rank(), scatter.Get<attr::inserted_window_dims>(), batching_dims);
  if (window_dims.size() != update_window_dims.size()) return DimensionListedTwice();
  const Index to_strides = Pick(all.strides, window_dims);
  Index starts_inside = all.dims;  // The number of valid window starts.
  for (int64_t d = 0; d < all.dims.rank(); ++d) {
    const auto* k = std::find(window_dims.begin(), window_dims.end(), d);
    starts_inside[d] -= (k == window_dims.end() ? 1 : from.dims[k - window_dims.begin()]) - 1;
  }
  const View positions = from_all.Permuted(OtherDims(from_all.dims.rank(), update_window_dims));
  DeadlineChecker deadline;
  for (const Index& s : EachIndex(positions.dims)) {
    HLO_RETURN_IF_ERROR(deadline.Spend(16 * kNanosecondsAnElement));
    const Index start = starts.At(s);
    if (!InBounds(start, starts_inside)) continue;
    const int64_t to_start = Offset(start, all.strides), from_start = Offset(s, positions.strides);
    for (const Index& w : EachIndex(from.dims)) {
      HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsAnElement));
      HLO_RETURN_IF_ERROR(combiner.Apply(absl::MakeSpan(results), to_start + Offset(w, to_strides), updates,
                                         from_start + Offset(w, from.strides)));
    }
  }
  if (count == 1) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

}  // namespace hlo::reference
