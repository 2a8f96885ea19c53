#pragma once
// The functions in the table of targets, grouped by the file that defines them.

#include <string>

#include "reference/op.h"

namespace hlo::reference::custom {

// Defined in markers.cc.
std::string OtherShape(const Instruction& call);
absl::StatusOr<Literal> Identity(OpContext& context);
absl::StatusOr<Literal> Zeros(OpContext& context);
absl::StatusOr<Literal> Seed(OpContext& context);
absl::StatusOr<Literal> Assert(OpContext& context);
std::string SplitWordMismatch(const Instruction& call);
absl::StatusOr<Literal> SplitLow(OpContext& context);
absl::StatusOr<Literal> SplitHigh(OpContext& context);
absl::StatusOr<Literal> Combine(OpContext& context);
std::string OtherShapes(const Instruction& call);
absl::StatusOr<Literal> Operands(OpContext& context);
std::string ConcatBitcastMismatch(const Instruction& call);
absl::StatusOr<Literal> ConcatBitcast(OpContext& context);
std::string RotateMismatch(const Instruction& call);
absl::StatusOr<Literal> Rotate(OpContext& context);
std::string CalleeMismatch(const Instruction& call);
absl::StatusOr<Literal> CallEmbedded(OpContext& context);

// Defined in regions.cc.
std::string ConvertShapesMismatch(const Instruction& call);
absl::StatusOr<Literal> ConvertShapes(OpContext& context);

// Defined in dynamic.cc.
std::string PadToStaticMismatch(const Instruction& call);
absl::StatusOr<Literal> PadToStatic(OpContext& context);
std::string SliceToDynamicMismatch(const Instruction& call);
absl::StatusOr<Literal> SliceToDynamic(OpContext& context);

// Defined in frameworks.cc.
std::string NamedElementwiseMismatch(const Instruction& call);
absl::StatusOr<Literal> NamedElementwise(OpContext& context);
absl::StatusOr<Literal> Square(OpContext& context);
std::string NamedTopkMismatch(const Instruction& call);
absl::StatusOr<Literal> NamedTopk(OpContext& context);
absl::StatusOr<Literal> DynamicTopk(OpContext& context);
std::string DynamicReshapeMismatch(const Instruction& call);
absl::StatusOr<Literal> DynamicReshapeCall(OpContext& context);
std::string DynamicBroadcastMismatch(const Instruction& call);
absl::StatusOr<Literal> DynamicBroadcast(OpContext& context);
std::string RealDynamicSliceMismatch(const Instruction& call);
absl::StatusOr<Literal> RealDynamicSlice(OpContext& context);
std::string DynamicReduceWindowMismatch(const Instruction& call);
absl::StatusOr<Literal> DynamicReduceWindow(OpContext& context);
std::string DynamicRngMismatch(const Instruction& call);
absl::StatusOr<Literal> DynamicRng(OpContext& context);
absl::StatusOr<Literal> ShapeAssertion(OpContext& context);
std::string UniformMismatch(const Instruction& call);
absl::StatusOr<Literal> UniformQuantize(OpContext& context);
absl::StatusOr<Literal> UniformDequantize(OpContext& context);

// Defined in special.cc.
absl::StatusOr<Literal> Atan(OpContext& context);
absl::StatusOr<Literal> BesselI1e(OpContext& context);
absl::StatusOr<Literal> Conj(OpContext& context);
absl::StatusOr<Literal> Digamma(OpContext& context);
absl::StatusOr<Literal> ErfInv(OpContext& context);
absl::StatusOr<Literal> Erfc(OpContext& context);
absl::StatusOr<Literal> IsInf(OpContext& context);
absl::StatusOr<Literal> IsNegInf(OpContext& context);
absl::StatusOr<Literal> IsPosInf(OpContext& context);
absl::StatusOr<Literal> Lgamma(OpContext& context);
std::string NextAfterMismatch(const Instruction& call);
absl::StatusOr<Literal> NextAfter(OpContext& context);
absl::StatusOr<Literal> Polygamma(OpContext& context);
absl::StatusOr<Literal> Zeta(OpContext& context);

// Defined in ../random.cc.
absl::StatusOr<Literal> ThreeFryBlocks(OpContext& context);

// Defined in selection.cc.
std::string TopKByComparatorMismatch(const Instruction& call);
std::string NoOrder(const Instruction& call);
absl::StatusOr<Literal> SortKeys(OpContext& context);
absl::StatusOr<Literal> SortPairs(OpContext& context);
std::string RadixSortMismatch(const Instruction& call);
absl::StatusOr<Literal> RadixSort(OpContext& context);
absl::StatusOr<Literal> RunningSum(OpContext& context);
std::string ApproxTopKMismatch(const Instruction& call);
std::string PartialReduceMismatch(const Instruction& call);
std::string DynamicApproxTopKMismatch(const Instruction& call);
absl::StatusOr<Literal> ApproxTopK(OpContext& context);

// Defined in lapack.cc.
absl::StatusOr<Literal> CusolverCholesky(OpContext& context);
absl::StatusOr<Literal> Potrf(OpContext& context);
absl::StatusOr<Literal> PotrfByOperands(OpContext& context);
absl::StatusOr<Literal> Getrf(OpContext& context);
absl::StatusOr<Literal> GetrfByOperands(OpContext& context);
absl::StatusOr<Literal> LuDecomposition(OpContext& context);
absl::StatusOr<Literal> PivotsToPermutation(OpContext& context);
absl::StatusOr<Literal> Geqrf(OpContext& context);
absl::StatusOr<Literal> GeqrfByOperands(OpContext& context);
absl::StatusOr<Literal> Geqp3(OpContext& context);
absl::StatusOr<Literal> Orgqr(OpContext& context);
absl::StatusOr<Literal> OrgqrByOperands(OpContext& context);
std::string OrmqrMismatch(const Instruction& call);
absl::StatusOr<Literal> Ormqr(OpContext& context);
std::string TrsmMismatch(const Instruction& call);
absl::StatusOr<Literal> Trsm(OpContext& context);
std::string CublasTrsmMismatch(const Instruction& call);
absl::StatusOr<Literal> CublasTrsm(OpContext& context);
absl::StatusOr<Literal> TrsmByOperands(OpContext& context);
absl::StatusOr<Literal> Gtsv(OpContext& context);
absl::StatusOr<Literal> Syevd(OpContext& context);
absl::StatusOr<Literal> SyevdByOperands(OpContext& context);
std::string SyevdRecordMismatch(const Instruction& call);
absl::StatusOr<Literal> SyevdByRecord(OpContext& context);
std::string EighMismatch(const Instruction& call);
absl::StatusOr<Literal> Eigh(OpContext& context);
std::string GesddMismatch(const Instruction& call);
std::string OldGesddMismatch(const Instruction& call);
absl::StatusOr<Literal> Gesdd(OpContext& context);
absl::StatusOr<Literal> Gesvd(OpContext& context);
absl::StatusOr<Literal> Gesvdj(OpContext& context);
absl::StatusOr<Literal> GesddByOperands(OpContext& context);
absl::StatusOr<Literal> RealGeev(OpContext& context);
absl::StatusOr<Literal> ComplexGeev(OpContext& context);
absl::StatusOr<Literal> CusolverGeev(OpContext& context);
absl::StatusOr<Literal> RealGeevByOperands(OpContext& context);
absl::StatusOr<Literal> ComplexGeevByOperands(OpContext& context);
absl::StatusOr<Literal> RealGees(OpContext& context);
absl::StatusOr<Literal> ComplexGees(OpContext& context);
absl::StatusOr<Literal> RealGeesByOperands(OpContext& context);
absl::StatusOr<Literal> ComplexGeesByOperands(OpContext& context);
absl::StatusOr<Literal> Gehrd(OpContext& context);
absl::StatusOr<Literal> GehrdByOperands(OpContext& context);
absl::StatusOr<Literal> Sytrd(OpContext& context);
absl::StatusOr<Literal> SytrdByOperands(OpContext& context);
absl::StatusOr<Literal> Syrk(OpContext& context);
std::string SyrkMismatch(const Instruction& call);
absl::StatusOr<Literal> CholeskyUpdate(OpContext& context);
absl::StatusOr<Literal> TridiagonalSolvePerturbed(OpContext& context);
absl::StatusOr<Literal> Gtsv2(OpContext& context);

// Defined in sparse.cc.
std::string CsrMismatch(const Instruction& call);
absl::StatusOr<Literal> Csrlsvqr(OpContext& context);
std::string CsrTimesDenseMismatch(const Instruction& call);
absl::StatusOr<Literal> CsrTimesDense(OpContext& context);

// Defined in matmul.cc.
std::string GemmMismatch(const Instruction& call);
absl::StatusOr<Literal> Gemm(OpContext& context);
std::string GroupedMatmulMismatch(const Instruction& call);
absl::StatusOr<Literal> GroupedMatmul(OpContext& context);

// Defined in onednn.cc.
std::string OnednnMatmulMismatch(const Instruction& call);
absl::StatusOr<Literal> OnednnMatmul(OpContext& context);

// Defined in scaling.cc.
std::string QuantizeMismatch(const Instruction& call);
absl::StatusOr<Literal> Quantize(OpContext& context);
std::string DequantizeMismatch(const Instruction& call);
absl::StatusOr<Literal> Dequantize(OpContext& context);
std::string BlockScaledDotMismatch(const Instruction& call);
absl::StatusOr<Literal> BlockScaledDot(OpContext& context);

// Defined in attention.cc.
std::string AttentionMismatch(const Instruction& call);
absl::StatusOr<Literal> AttentionForward(OpContext& context);
absl::StatusOr<Literal> AttentionBackward(OpContext& context);

// Defined in convolutions.cc.
std::string ConvForwardMismatch(const Instruction& call);
std::string ConvBackwardInputMismatch(const Instruction& call);
std::string ConvBackwardFilterMismatch(const Instruction& call);
absl::StatusOr<Literal> ConvForward(OpContext& context);
absl::StatusOr<Literal> ConvBackwardInput(OpContext& context);
absl::StatusOr<Literal> ConvBackwardFilter(OpContext& context);
std::string ConvBiasActivationMismatch(const Instruction& call);
absl::StatusOr<Literal> ConvBiasActivation(OpContext& context);
std::string ConvGraphMismatch(const Instruction& call);
absl::StatusOr<Literal> ConvGraph(OpContext& context);
std::string OnednnConvMismatch(const Instruction& call);
absl::StatusOr<Literal> OnednnConv(OpContext& context);

// Defined in normalisation.cc.
std::string NormMismatch(const Instruction& call);
absl::StatusOr<Literal> Norm(OpContext& context);
absl::StatusOr<Literal> OnednnLayerNorm(OpContext& context);
std::string SoftmaxMismatch(const Instruction& call);
absl::StatusOr<Literal> OnednnSoftmax(OpContext& context);

// Defined in ducc_fft.cc.
std::string DuccFftMismatch(const Instruction& call);
absl::StatusOr<Literal> DuccFft(OpContext& context);

}  // namespace hlo::reference::custom
