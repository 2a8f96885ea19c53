#include "programs.h"

namespace hlo::build {
namespace {

constexpr ElementType kF32 = ElementType::kF32, kS32 = ElementType::kS32, kPred = ElementType::kPred;

Shape F32(Dims dims) { return Shape::Array(kF32, dims); }
Shape S32(Dims dims) { return Shape::Array(kS32, dims); }

// Applies every unary function to an operand of a suitable type.
Op Unary(Builder& b) {
  const Op x = b.Parameter(0, F32({4}), "x"), i = b.Parameter(1, S32({4}), "i"),
           c = b.Parameter(2, "c64[4]", "c");
  return b.Tuple({Abs(x),
                  Acos(x),
                  Acosh(x),
                  Asin(x),
                  Asinh(x),
                  Atan(x),
                  Atanh(x),
                  Cbrt(x),
                  Ceil(x),
                  Clz(i),
                  Conj(c),
                  Copy(x),
                  Cos(x),
                  Cosh(x),
                  Erf(x),
                  Exp(x),
                  Exp2(x),
                  Expm1(x),
                  Floor(x),
                  Imag(c),
                  IsFinite(x),
                  Log(x),
                  Log1p(x),
                  Log2(x),
                  Logistic(x),
                  Neg(x),
                  Not(i),
                  PopulationCount(i),
                  Real(c),
                  Round(x),
                  RoundNearestEven(x),
                  Rsqrt(x),
                  Sign(i),
                  Sin(x),
                  Sinh(x),
                  Sqrt(x),
                  Square(x),
                  Tan(x),
                  Tanh(x),
                  -x,
                  ~i,
                  OptimizationBarrier(x),
                  RoundNearestAfz(x)});
}

Op Binary(Builder& b) {
  const Op x = b.Parameter(0, F32({4}), "x"), y = b.Parameter(1, F32({4}), "y");
  const Op i = b.Parameter(2, S32({4}), "i"), j = b.Parameter(3, S32({4}), "j");
  const Op u = b.Parameter(4, "u8[4]", "u");
  return b.Tuple({Add(x, y),
                  And(i, j),
                  Atan2(x, y),
                  Complex(x, y),
                  Div(x, y),
                  Max(x, y),
                  Min(x, y),
                  Mul(x, y),
                  Mulhi(i, j),
                  Or(i, j),
                  Pow(x, y),
                  Rem(x, y),
                  ShiftLeft(i, j),
                  ShiftRightArithmetic(i, j),
                  ShiftRightLogical(i, j),
                  Sub(x, y),
                  Xor(i, j),
                  x + y,
                  x - y,
                  x * y,
                  x / y,
                  x % y,
                  i & j,
                  i | j,
                  i ^ j,
                  i << j,
                  i >> j,
                  u >> u});
}

Op Comparisons(Builder& b) {
  const Op x = b.Parameter(0, F32({4}), "x"), y = b.Parameter(1, F32({4}), "y"),
           i = b.Parameter(2, S32({4}), "i");
  return b.Tuple({Eq(x, y), Ne(x, y), Ge(x, y), Gt(x, y), Le(x, y), Lt(x, y), EqTotalOrder(x, y),
                  NeTotalOrder(x, y), GeTotalOrder(x, y), GtTotalOrder(x, y), LeTotalOrder(x, y),
                  LtTotalOrder(i, i), Compare(x, y, ComparisonDirection::kLt)});
}

Op Conversions(Builder& b) {
  const Op x = b.Parameter(0, F32({4}), "x"), c = b.Parameter(1, "c64[4]", "c"),
           u = b.Parameter(2, "u32[4]", "u");
  return b.Tuple({ConvertElementType(x, ElementType::kBF16), ConvertElementType(c, ElementType::kF64),
                  BitcastConvertType(x, kS32), BitcastConvertType(x, ElementType::kU8),
                  BitcastConvertType(x, ElementType::kU32),
                  BitcastConvertType(Reshape(x, {2, 2}), ElementType::kF64),
                  StochasticConvertType(x, u, ElementType::kS8), ReducePrecision(x, 5, 10), ScalarLike(x, 2),
                  FullLike(x, 0.5)});
}

Op Constants(Builder& b) {
  return b.Tuple({b.Constant("f32[2,2] {{1,2},{3,4}}"), b.Constant("s32[3] {7,7,7}"), b.Constant(kPred, 1),
                  b.Constant(ElementType::kBF16, 0.1), b.Constant(ElementType::kC64, 2),
                  b.Iota(S32({2, 3}), 1), b.Iota(ElementType::kU8, 4), b.ReplicaId(), b.PartitionId()});
}

Op Broadcasts(Builder& b) {
  const Op x = b.Parameter(0, F32({3}), "x"), column = b.Parameter(1, F32({2, 1}), "column");
  return b.Tuple({Broadcast(x, {2}), BroadcastInDim(x, {3, 2}, {0}), BroadcastInDim(column, {2, 3}, {0, 1}),
                  BroadcastInDim(column, {4, 2, 3}, {1, 2})});
}

Op Reshapes(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 2, 3}), "x"), d = b.Parameter(1, "f32[<=6,4]", "d");
  const Op s0 = b.Parameter(2, "s32[]", "s0"), s1 = b.Parameter(3, "s32[]", "s1");
  return b.Tuple({Reshape(x, {24}), Reshape(F32({8, 3}), x), ReshapeWithInferredDimension(x, {6, 4}, 1),
                  Collapse(x, {0, 1, 2}), Collapse(x, {1, 2}), Collapse(x, {1}), Reshape(d, {24}),
                  Reshape(d, {1, 6, 2, 2}), DynamicReshape(x, {s0, s1}, {6, 4}, {true, false})});
}

Op Movement(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 3}), "x"), v = b.Parameter(1, F32({}), "v"),
           i = b.Parameter(2, S32({}), "i");
  const Op update = b.Parameter(3, F32({2, 1}), "update");
  return b.Tuple({Transpose(x, {1, 0}), Rev(x, {0, 1}), Slice(x, {1, 0}, {4, 2}, {2, 1}),
                  Slice(x, {0, 0}, {2, 3}), SliceInDim(x, 1, 3, 1, 0), DynamicSlice(x, {i, i}, {2, 2}),
                  DynamicUpdateSlice(x, update, {i, i}),
                  Pad(x, v, {{.low = 1, .high = -1, .interior = 1}, {}}), PadInDim(x, v, 1, 0, 2),
                  ConcatInDim({x, x}, 1)});
}

Op DynamicSizes(Builder& b) {
  const Op d = b.Parameter(0, "f32[<=6,4]", "d"), n = b.Parameter(1, S32({}), "n");
  return b.Tuple({GetDimensionSize(d, 0), GetDimensionSize(d, 1), SetDimensionSize(d, n, 1),
                  RemoveDynamicDimension(d, 0)});
}

Op GatherScatter(Builder& b) {
  const Op x = b.Parameter(0, F32({5, 4}), "x"), at = b.Parameter(1, S32({3, 1}), "at");
  const Op updates = b.Parameter(2, F32({3, 4}), "updates");
  return b.Tuple(
      {Gather(
           x, at,
           {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1},
           {1, 4}, true),
       Scatter(x, at, updates, b.Scalar(Opcode::kAdd, kF32),
               {.update_window_dims = {1},
                .inserted_window_dims = {0},
                .scatter_dims_to_operand_dims = {0},
                .index_vector_dim = 1},
               false, true)});
}

Op Dots(Builder& b) {
  const Op v = b.Parameter(0, F32({3}), "v"), m = b.Parameter(1, F32({2, 3}), "m"),
           n = b.Parameter(2, F32({3, 4}), "n");
  const Op p = b.Parameter(3, "bf16[5,2,3]", "p"), q = b.Parameter(4, "bf16[5,3,4]", "q");
  const Op r = b.Parameter(5, F32({11, 5}), "r"), s = b.Parameter(6, F32({3, 5, 7}), "s");
  const Op groups = b.Parameter(7, S32({3}), "groups");
  return b.Tuple(
      {Dot(v, v), Dot(m, v), Dot(m, n, {.precision = {Precision::kHighest, Precision::kHighest}}),
       DotGeneral(p, q, {.lhs_contracting = {2}, .rhs_contracting = {1}, .lhs_batch = {0}, .rhs_batch = {0}},
                  {.algorithm = PrecisionAlgorithm::kBF16BF16F32, .preferred_element_type = kF32}),
       RaggedDot(r, s, groups, {.lhs_contracting = {1}, .rhs_contracting = {1}}, {0}, {0})});
}

Op ScaledDots(Builder& b) {
  const Op x = b.Parameter(0, "f8e4m3fn[2,64]", "x"), y = b.Parameter(1, "f8e4m3fn[4,64]", "y");
  const Op xs = b.Parameter(2, "f8e8m0fnu[2,2]", "xs"), ys = b.Parameter(3, "f8e8m0fnu[4,2]", "ys");
  return ScaledDot(x, xs, y, ys, {.lhs_contracting = {1}, .rhs_contracting = {1}},
                   {.preferred_element_type = kF32});
}

Op Convolutions(Builder& b) {
  const Op x = b.Parameter(0, F32({1, 2, 8, 8}), "x"), k = b.Parameter(1, F32({4, 2, 3, 3}), "k");
  const Op g = b.Parameter(2, F32({4, 1, 3, 3}), "g"), nhwc = b.Parameter(3, F32({1, 8, 8, 2}), "nhwc");
  const Op hwio = b.Parameter(4, F32({3, 3, 2, 4}), "hwio");
  ConvDimensions d;
  d.input_feature = d.output_feature = 3;
  d.input_spatial = d.output_spatial = {1, 2};
  d.kernel_spatial = {0, 1};
  d.kernel_input_feature = 2;
  d.kernel_output_feature = 3;
  return b.Tuple({Conv(x, k, {1, 1}, Padding::kSame), Conv(x, k, {2, 2}, Padding::kValid),
                  ConvWithGeneralPadding(x, g, {1, 1}, {{0, 1}, {2, 3}}, {.feature_group_count = 2}),
                  ConvWithGeneralDimensions(nhwc, hwio, {2, 1}, Padding::kSame, d),
                  ConvGeneral(nhwc, hwio, {}, {{1, 1}, {0, 0}}, d),
                  ConvGeneralDilated(nhwc, hwio, {1, 1}, {{1, 1}, {0, 0}}, {2, 1}, {1, 2}, d,
                                     {.precision = {Precision::kHigh, Precision::kDefault},
                                      .preferred_element_type = ElementType::kF64,
                                      .window_reversal = {true, false}})});
}

Op LinearAlgebra(Builder& b) {
  const Op a = b.Parameter(0, F32({2, 3, 3}), "a"), x = b.Parameter(1, F32({2, 3, 2}), "x");
  const Op c = b.Parameter(2, "c64[8]", "c"), r = b.Parameter(3, F32({8}), "r");
  return b.Tuple({Cholesky(a, true), TriangularSolve(a, x, true, false, true, TransposeA::kTranspose),
                  Fft(c, FftType::kFft, {8}), Fft(r, FftType::kRfft, {8}),
                  Fft(Fft(r, FftType::kRfft, {8}), FftType::kIrfft, {8})});
}

Op BatchNorms(Builder& b) {
  const Op x = b.Parameter(0, F32({2, 3}), "x"), scale = b.Parameter(1, F32({3}), "scale");
  const Op offset = b.Parameter(2, F32({3}), "offset");
  return b.Tuple({BatchNormTraining(x, scale, offset, 0.001, 1),
                  BatchNormInference(x, scale, offset, offset, scale, 0.001, 1),
                  BatchNormGrad(x, scale, offset, scale, x, 0.001, 1)});
}

Op Reductions(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 6}), "x"), i = b.Parameter(1, S32({4, 6}), "i");
  const Op zero = b.Constant(kF32, 0), none = b.Constant(kS32, 0);
  const Function add = b.Scalar(Opcode::kAdd, kF32);
  const Function argmax =
      b.Define("argmax", {F32({}), S32({}), F32({}), S32({})}, [&](const std::vector<Op>& p) {
        const Op keep = Ge(p[0], p[2]);
        return b.Tuple({Select(keep, p[0], p[2]), Select(keep, p[1], p[3])});
      });
  return b.Tuple(
      {Reduce(x, zero, add, {1}), ReduceAll(x, zero, add), Reduce({x, i}, {zero, none}, argmax, {0}),
       ReduceWindow(x, zero, add, {2, 3}, {2, 3}, Padding::kValid),
       ReduceWindow(x, zero, add, {3, 3}, {2, 1}, Padding::kSame),
       ReduceWindowWithGeneralPadding(x, zero, add, {2, 2}, {1, 1}, {2, 1}, {1, 2}, {{1, 0}, {0, 1}})});
}

Op Windows(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 6}), "x"), source = b.Parameter(1, F32({2, 2}), "source");
  const Op zero = b.Constant(kF32, 0);
  const Function add = b.Scalar(Opcode::kAdd, kF32);
  const Function ge =
      b.Define("ge", {F32({}), F32({})}, [](const std::vector<Op>& p) { return Ge(p[0], p[1]); });
  return b.Tuple(
      {SelectAndScatter(x, ge, {2, 3}, {2, 3}, Padding::kValid, source, zero, add),
       SelectAndScatterWithGeneralPadding(x, ge, {2, 3}, {2, 3}, {{0, 0}, {0, 0}}, source, zero, add)});
}

Op Scans(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 3}), "x"), init = b.Parameter(1, F32({3}), "init");
  const Function sum = b.Define("running_sum", {F32({3}), F32({3})}, [&](const std::vector<Op>& p) {
    const Op total = p[0] + p[1];
    return b.Tuple({total, total});
  });
  return Scan(x, {init}, sum, 0, true);
}

Op Maps(Builder& b) {
  const Op x = b.Parameter(0, F32({2, 3}), "x"), y = b.Parameter(1, F32({}), "y");
  return Map({x, y}, b.Scalar(Opcode::kMultiply, kF32), {0, 1});
}

Op Sorts(Builder& b) {
  const Op x = b.Parameter(0, F32({4, 3}), "x"), i = b.Parameter(1, S32({4, 3}), "i");
  return b.Tuple({Sort(x, b.Comparator(ComparisonDirection::kLt, {kF32})),
                  Sort({i, x}, b.Comparator(ComparisonDirection::kGt, {kS32, kF32}), 0, true)});
}

Op TopKs(Builder& b) { return TopK(b.Parameter(0, F32({4, 5}), "x"), 2, false); }

Op Randoms(Builder& b) {
  const Op low = b.Constant(kF32, 0), high = b.Constant(kF32, 1), state = b.Parameter(0, "u64[2]", "state");
  return b.Tuple({RngUniform(low, high, F32({4})), RngNormal(low, high, F32({2, 2})),
                  RngBitGenerator(RngAlgorithm::kThreeFry, state, F32({3})),
                  RngBitGenerator(RngAlgorithm::kPhilox, state, Shape::Array(ElementType::kS8, {5}))});
}

Op Selections(Builder& b) {
  const Op p = b.Parameter(0, "pred[3]", "p"), one = b.Parameter(1, "pred[]", "one");
  const Op x = b.Parameter(2, F32({3}), "x"), y = b.Parameter(3, F32({}), "y");
  return b.Tuple({Select(p, x, x), Select(one, x, y), Select(p, y, y),
                  Select(one, b.Tuple({x, y}), b.Tuple({x + x, y})), Clamp(y, x, y), Clamp(y, y, y),
                  Clamp(x, y, x)});
}

Op ControlFlow(Builder& b) {
  const Op n = b.Parameter(0, S32({}), "n"), p = b.Parameter(1, "pred[]", "p"),
           x = b.Parameter(2, F32({2}), "x");
  const Function below = b.Define("below_1000", {S32({})},
                                  [&](const std::vector<Op>& v) { return Lt(v[0], b.Constant(kS32, 1000)); });
  const Function twice = b.Define("twice", {S32({})}, [](const std::vector<Op>& v) { return v[0] + v[0]; });
  const Function sine = b.Define("sine", {F32({2})}, [](const std::vector<Op>& v) { return Sin(v[0]); });
  const Function cosine = b.Define("cosine", {F32({2})}, [](const std::vector<Op>& v) { return Cos(v[0]); });
  const Op pair = b.Tuple({n, x});
  return b.Tuple({While(below, twice, n), Conditional(p, x, sine, x, cosine),
                  Conditional(n, {sine, cosine, sine}, {x, x, x}), Call(sine, x),
                  CompositeCall(cosine, x, "my.cosine", "{}", 2), GetTupleElement(pair, 1),
                  Elements(pair)[0]});
}

Op CustomCalls(Builder& b) {
  const Op x = b.Parameter(0, F32({2}), "x");
  return b.Tuple(
      {b.CustomCall("myfunc", {x, x}, F32({3, 3})), b.CustomCall("other", {}, F32({}), "opaque text", true)});
}

Op Feeds(Builder& b) {
  const Op x = b.Infeed(F32({2})), y = b.Infeed(F32({3}), "second");
  const Op pair = InfeedWithToken(b.CreateToken(), S32({}));
  const Op nothing = Outfeed(x), nothing_either = Outfeed(y, "config");
  const Op token = OutfeedWithToken(GetTupleElement(pair, 0), GetTupleElement(pair, 1));
  return b.Tuple({nothing, nothing_either, b.AfterAll({token, b.CreateToken()})});
}

Op Transfers(Builder& b) {
  const Op x = b.Parameter(0, F32({2}), "x");
  Send(x, 1);
  const Op received = b.Recv(F32({2}), 1);
  const Op sent = SendWithToken(received, b.CreateToken(), 2);
  const Op pair = RecvWithToken(sent, F32({2}), 2);
  const Op to_host = SendToHost(x, GetTupleElement(pair, 1), F32({2}), 3);
  return b.Tuple({pair, RecvFromHost(to_host, F32({2}), 4)});
}

Op Collectives(Builder& b) {
  b.module().mutable_header().replica_count = 4;
  const Op x = b.Parameter(0, F32({4, 16}), "x"), i = b.Parameter(1, S32({4}), "i");
  const Function add = b.Scalar(Opcode::kAdd, kF32);
  const Op pair = b.Tuple({x, x});
  return b.Tuple({AllGather(x, 0, 4), AllGather(pair, 1, 2, {.replica_groups = {{0, 2}, {1, 3}}}),
                  AllReduce(x, add, {.channel_id = 1, .use_global_device_ids = false}), AllReduce(pair, add),
                  AllReduce(b.Tuple({x}), add), CrossReplicaSum(i), CrossReplicaSum(Lt(i, i)),
                  ReduceScatter(x, add, 1, 4), AllToAll(x, 1, 0, 4), AllToAll(x, 0, 1, 4),
                  AllToAll(x, 0, 0, 4), AllToAllTuple({x, x, x, x}), CollectiveBroadcast(x, {{0, 1}, {2, 3}}),
                  CollectivePermute(x, {{0, 1}, {1, 2}}), CollectivePermute({x, i}, {{3, 0}}, 7),
                  RaggedAllToAll(x, i, i, x, i, i, {.replica_groups = {{0, 1, 2, 3}}})});
}

Op Attributes(Builder& b) {
  const Op x = b.Parameter(0, F32({2}), "a name, with blanks");
  const ResultAccuracy tight = {.has_tolerance = true, .atol = 0, .rtol = 0, .ulps = 2};
  const Op y = b.SetName(WithAccuracy(Exp(x), tight), "named");
  Metadata metadata;
  metadata.op_name = b.Keep(std::string_view("layer/add"));
  return b.SetAttribute(b.SetName(y + y, "named"), Attr<attr::metadata>(b.Keep(metadata)));
}

}  // namespace

const std::vector<Program>& Programs() {
  static const auto* const kPrograms = new std::vector<Program>{{"unary", Unary},
                                                                {"binary", Binary},
                                                                {"comparisons", Comparisons},
                                                                {"conversions", Conversions},
                                                                {"constants", Constants},
                                                                {"broadcasts", Broadcasts},
                                                                {"reshapes", Reshapes},
                                                                {"movement", Movement},
                                                                {"dynamic_sizes", DynamicSizes},
                                                                {"gather_scatter", GatherScatter},
                                                                {"dots", Dots},
                                                                {"scaled_dot", ScaledDots},
                                                                {"convolutions", Convolutions},
                                                                {"linear_algebra", LinearAlgebra},
                                                                {"batch_norms", BatchNorms},
                                                                {"reductions", Reductions},
                                                                {"windows", Windows},
                                                                {"scan", Scans},
                                                                {"map", Maps},
                                                                {"sorts", Sorts},
                                                                {"topk", TopKs},
                                                                {"randoms", Randoms},
                                                                {"selections", Selections},
                                                                {"control_flow", ControlFlow},
                                                                {"custom_calls", CustomCalls},
                                                                {"feeds", Feeds},
                                                                {"transfers", Transfers},
                                                                {"collectives", Collectives},
                                                                {"attributes", Attributes}};
  return *kPrograms;
}

}  // namespace hlo::build
