#pragma once
/// \file
/// Declares the operations that build a module in C++: one function per operation of XLA's operation
/// semantics. Operations without operands are members of Builder. Binary operations broadcast implicitly as
/// XLA's broadcasting semantics define: scalars always, an array of lower rank by `broadcast_dimensions`, and
/// dimensions of size 1. Shapes follow shape-rules section 3.

#include "hlo_run/builder_core.h"

#pragma GCC visibility push(default)
namespace hlo::build {

// Elementwise operations: one function per scalar opcode, by the builder's name in opcodes.def. Clamp is
// below.
#define HLO_BUILD_1(name) Op name(Operand operand);
#define HLO_BUILD_2(name) Op name(Operand lhs, Op rhs, Dims broadcast_dimensions = {});
#define HLO_BUILD_3(name)
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  HLO_BUILD_##operands(builder)
#include "hlo_run/opcodes.def"
#undef HLO_BUILD_1
#undef HLO_BUILD_2
#undef HLO_BUILD_3
Op Copy(Operand operand);
Op OptimizationBarrier(Operand operand);
Op Round(Operand operand);  ///< RoundNearestAfz.
#define HLO_BUILD_COMPARISON(F) F(Eq) F(Ne) F(Ge) F(Gt) F(Le) F(Lt)
/// Declares a partial-order and a total-order comparison each, such as Eq and EqTotalOrder.
#define HLO_DECLARE(name)                                       \
  Op name(Operand lhs, Op rhs, Dims broadcast_dimensions = {}); \
  Op name##TotalOrder(Operand lhs, Op rhs, Dims broadcast_dimensions = {});
HLO_BUILD_COMPARISON(HLO_DECLARE)
#undef HLO_DECLARE
Op Compare(Operand lhs, Op rhs, ComparisonDirection direction, Dims broadcast_dimensions = {},
           ComparisonOrder order = ComparisonOrder::kPartial);
Op WithAccuracy(Operand function, const ResultAccuracy& accuracy);  ///< For Exp, Log, Sin, ...
Op Atan(Operand operand);
Op Conj(Operand operand);
Op Square(Operand operand);
Op Select(Operand pred, Op on_true, Op on_false);  ///< Becomes a conditional on tuples.
Op Clamp(Operand min, Op operand, Op max);
Op ScalarLike(Operand prototype, double value);  ///< Returns a scalar constant of the prototype's type.
Op FullLike(Operand prototype, double value);    ///< Returns a constant of the prototype's shape.
Op ConvertElementType(Operand operand, ElementType type);
Op BitcastConvertType(Operand operand, ElementType type);
Op StochasticConvertType(Operand operand, Op random, ElementType type);
Op ReducePrecision(Operand operand, int64_t exponent_bits, int64_t mantissa_bits);

Op operator-(Operand x);
Op operator~(Operand x);
Op operator+(Operand x, Operand y);
Op operator-(Operand x, Operand y);
Op operator*(Operand x, Operand y);
Op operator/(Operand x, Operand y);
Op operator%(Operand x, Operand y);
Op operator&(Operand x, Operand y);
Op operator|(Operand x, Operand y);
Op operator^(Operand x, Operand y);
Op operator<<(Operand x, Operand y);
Op operator>>(Operand x, Operand y);  ///< Arithmetic for signed types, logical for unsigned ones.

// Operations on shapes and indices.
Op Broadcast(Operand operand, Dims sizes);  ///< Prepends major dimensions.
Op BroadcastInDim(Operand operand, Dims out_dims, Dims broadcast_dimensions);
Op Reshape(Operand operand, Dims dims);
Op Reshape(const Shape& shape, Operand operand);
Op ReshapeWithInferredDimension(Operand operand, Dims dims, int64_t inferred_dimension);
Op Collapse(Operand operand, Dims dimensions);
Op DynamicReshape(Operand operand, const std::vector<Op>& dim_sizes, Dims new_size_bounds,
                  const std::vector<bool>& dims_are_dynamic);
Op Transpose(Operand operand, Dims permutation);
Op Rev(Operand operand, Dims dimensions);
Op Slice(Operand operand, Dims start_indices, Dims limit_indices, Dims strides = {});
Op SliceInDim(Operand operand, int64_t start, int64_t limit, int64_t stride, int64_t dimension);
Op DynamicSlice(Operand operand, const std::vector<Op>& start_indices, Dims slice_sizes);
Op DynamicUpdateSlice(Operand operand, Op update, const std::vector<Op>& start_indices);
Op Pad(Operand operand, Op padding_value, const std::vector<PaddingDim>& padding);
Op PadInDim(Operand operand, Op padding_value, int64_t dimension, int64_t low, int64_t high);
Op ConcatInDim(Operands operands, int64_t dimension);
Op GetDimensionSize(Operand operand, int64_t dimension);
Op SetDimensionSize(Operand operand, Op size, int64_t dimension);
Op RemoveDynamicDimension(Operand operand, int64_t dimension);
/// The dimension numbers of a gather (shape-rules 3.18).
struct GatherDimensions {
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> operand_batching_dims = {}, start_indices_batching_dims = {};
};
Op Gather(Operand operand, Op start_indices, const GatherDimensions& dimensions, Dims slice_sizes,
          bool indices_are_sorted = false);
/// The dimension numbers of a scatter (shape-rules 3.18).
struct ScatterDimensions {
  std::vector<int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> input_batching_dims = {}, scatter_indices_batching_dims = {};
};
Op Scatter(Operands operands, Op scatter_indices, const Operands& updates, Function update_computation,
           const ScatterDimensions& dimensions, bool indices_are_sorted = false, bool unique_indices = false);

// Contractions, convolutions and linear algebra.
/// The dimension numbers of a dot.
struct DotDimensions {
  std::vector<int64_t> lhs_contracting, rhs_contracting, lhs_batch = {}, rhs_batch = {};
};
/// Optional attributes of dots. Without a preferred type, the result has the type of the operands.
struct DotOptions {
  std::vector<Precision> precision = {};
  PrecisionAlgorithm algorithm = PrecisionAlgorithm::kUnset;
  std::optional<ElementType> preferred_element_type = {};
};
Op Dot(Operand lhs, Op rhs, const DotOptions& options = {});
Op DotGeneral(Operand lhs, Op rhs, const DotDimensions& dimensions, const DotOptions& options = {});
Op ScaledDot(Operand lhs, Op lhs_scale, Op rhs, Op rhs_scale, const DotDimensions& dimensions,
             const DotOptions& options = {});
Op RaggedDot(Operand lhs, Op rhs, Op group_sizes, const DotDimensions& dimensions, Dims lhs_ragged_dims,
             Dims rhs_group_dims, const DotOptions& options = {});
/// The padding of windows, as in TensorFlow.
enum class Padding { kSame, kValid };
/// Returns the low and high padding of each dimension. kSame pads for ceil(size / stride) results, the odd
/// element at the high end; kValid pads nothing.
absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> MakePadding(Dims sizes, Dims window, Dims strides,
                                                                     Padding padding);
/// The dimension numbers of a convolution.
struct ConvDimensions {
  int64_t input_batch = 0, input_feature = 1;
  std::vector<int64_t> input_spatial;
  int64_t kernel_output_feature = 0, kernel_input_feature = 1;
  std::vector<int64_t> kernel_spatial;
  int64_t output_batch = 0, output_feature = 1;
  std::vector<int64_t> output_spatial;
  /// NCHW: the spatial dimensions are the most minor ones.
  static ConvDimensions Default(int64_t spatial_rank);
};
/// Optional attributes of convolutions.
struct ConvOptions {
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<Precision> precision = {};
  std::optional<ElementType> preferred_element_type = {};
  std::vector<bool> window_reversal = {};
};
/// Window lists are empty (stride 1, no padding, no dilation) or have one entry per spatial dimension.
Op Conv(Operand lhs, Op rhs, Dims strides, Padding padding, const ConvOptions& options = {});
Op ConvWithGeneralPadding(Operand lhs, Op rhs, Dims strides, Pairs padding, const ConvOptions& options = {});
Op ConvWithGeneralDimensions(Operand lhs, Op rhs, Dims strides, Padding padding,
                             const ConvDimensions& dimensions, const ConvOptions& options = {});
Op ConvGeneral(Operand lhs, Op rhs, Dims strides, Pairs padding, const ConvDimensions& dimensions,
               const ConvOptions& options = {});
Op ConvGeneralDilated(Operand lhs, Op rhs, Dims strides, Pairs padding, Dims lhs_dilation, Dims rhs_dilation,
                      const ConvDimensions& dimensions, const ConvOptions& options = {});
Op Fft(Operand operand, FftType type, Dims lengths);
Op Cholesky(Operand a, bool lower);
Op TriangularSolve(Operand a, Op b, bool left_side, bool lower, bool unit_diagonal, TransposeA transpose_a);
Op BatchNormTraining(Operand operand, Op scale, Op offset, double epsilon, int64_t feature_index);
Op BatchNormInference(Operand operand, Op scale, Op offset, Op mean, Op variance, double epsilon,
                      int64_t feature_index);
Op BatchNormGrad(Operand operand, Op scale, Op mean, Op variance, Op grad_output, double epsilon,
                 int64_t feature_index);

// Reductions, windows, sorting and random numbers.
Op Reduce(const Operands& operands, const Operands& inits, Function computation, Dims dimensions);
Op ReduceAll(const Operands& operands, const Operands& inits, Function computation);
Op ReduceWindow(const Operands& operands, const Operands& inits, Function computation, Dims window,
                Dims strides, Padding padding);
Op ReduceWindowWithGeneralPadding(Operands operands, const Operands& inits, Function computation, Dims window,
                                  Dims strides, Dims base_dilation, Dims window_dilation, Pairs padding);
Op SelectAndScatter(Operand operand, Function select, Dims window, Dims strides, Padding padding, Op source,
                    Op init, Function scatter);
Op SelectAndScatterWithGeneralPadding(Operand operand, Function select, Dims window, Dims strides,
                                      Pairs padding, Op source, Op init, Function scatter);
/// Returns a tuple of the outputs followed by the final carries.
Op Scan(const Operands& inputs, const std::vector<Op>& inits, Function computation, int64_t dimension,
        bool is_reverse = false, bool is_associative = false);
Op Map(Operands operands, Function computation, Dims dimensions);
Op Sort(Operands operands, Function comparator, int64_t dimension = -1, bool is_stable = false);
Op TopK(Operand operand, int64_t k, bool largest = true, bool is_stable = true);
Op RngNormal(Operand mu, Op sigma, const Shape& shape);
Op RngUniform(Operand a, Op b, const Shape& shape);
/// Returns the tuple (new state, unsigned integers).
Op RngBitGenerator(RngAlgorithm algorithm, Operand state, const Shape& shape);

// Tuples, control flow and transfers.
Op GetTupleElement(Operand tuple, int64_t index);
std::vector<Op> Elements(Operand tuple);  ///< Returns no elements after an error.
Op While(Function condition, Function body, Operand init);
Op Conditional(Operand pred, Op true_operand, Function on_true, Op false_operand, Function on_false);
Op Conditional(Operand branch_index, const std::vector<Function>& branches, const std::vector<Op>& operands);
Op Call(Function computation, const Operands& operands);
Op CompositeCall(Function computation, const Operands& operands, std::string_view name,
                 std::string_view attributes = "{}", int64_t version = 0);
Op InfeedWithToken(Operand token, const Shape& shape, std::string_view config = "");
Op Outfeed(Operand operand, std::string_view config = "");  ///< Returns an empty tuple.
Op OutfeedWithToken(Operand operand, Op token, std::string_view config = "");
void Send(Operand operand, int64_t channel_id);
Op SendWithToken(Operand operand, Op token, int64_t channel_id);
/// Returns the tuple (data, token).
Op RecvWithToken(Operand token, const Shape& shape, int64_t channel_id);
Op SendToHost(Operand operand, Op token, const Shape& shape_with_layout, int64_t channel_id);
Op RecvFromHost(Operand token, const Shape& shape, int64_t channel_id);

// Collectives. A tuple operand stands for its elements; the result is then a tuple as well.
struct Participants {
  Groups replica_groups = {};
  std::optional<int64_t> channel_id = {};
  bool use_global_device_ids = false;
};
Op AllGather(Operand operand, int64_t dimension, int64_t shard_count, const Participants& participants = {});
Op AllReduce(Operand operand, Function computation, const Participants& participants = {});
Op CrossReplicaSum(Operand operand, const Groups& replica_groups = {});
Op ReduceScatter(Operand operand, Function computation, int64_t dimension, int64_t shard_count,
                 const Participants& participants = {});
Op AllToAll(Operand operand, int64_t split_dimension, int64_t concat_dimension, int64_t split_count,
            const Participants& participants = {});
Op AllToAllTuple(Operands operands, const Participants& participants = {});
Op CollectiveBroadcast(Operand operand, const Groups& replica_groups, std::optional<int64_t> channel_id = {});
Op CollectivePermute(Operands operands, Pairs source_target_pairs, std::optional<int64_t> channel_id = {});
Op RaggedAllToAll(Operand input, Op input_offsets, Op send_sizes, Op output, Op output_offsets, Op recv_sizes,
                  const Participants& participants = {});

}  // namespace hlo::build
#pragma GCC visibility pop
