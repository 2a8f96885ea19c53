#pragma once
// The functions that the table of targets names, by the file that holds them.

#include <string>

#include "reference/op.h"

namespace hlo::reference::custom {

// markers.cc
std::string OtherShape(const Instruction& call);
absl::StatusOr<Literal> Identity(OpContext& context);
absl::StatusOr<Literal> Zeros(OpContext& context);
absl::StatusOr<Literal> Seed(OpContext& context);
absl::StatusOr<Literal> Assert(OpContext& context);
std::string NotWords(const Instruction& call);
absl::StatusOr<Literal> SplitLow(OpContext& context);
absl::StatusOr<Literal> SplitHigh(OpContext& context);
absl::StatusOr<Literal> Combine(OpContext& context);

// ../random.cc
absl::StatusOr<Literal> ThreeFryBlocks(OpContext& context);

// selection.cc
std::string NotTopK(const Instruction& call);
absl::StatusOr<Literal> SortKeys(OpContext& context);
absl::StatusOr<Literal> SortPairs(OpContext& context);
absl::StatusOr<Literal> RunningSum(OpContext& context);

// lapack.cc
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
std::string OrmqrMisfit(const Instruction& call);
absl::StatusOr<Literal> Ormqr(OpContext& context);
std::string TrsmMisfit(const Instruction& call);
absl::StatusOr<Literal> Trsm(OpContext& context);
std::string CublasTrsmMisfit(const Instruction& call);
absl::StatusOr<Literal> CublasTrsm(OpContext& context);
absl::StatusOr<Literal> TrsmByOperands(OpContext& context);
absl::StatusOr<Literal> Gtsv(OpContext& context);
absl::StatusOr<Literal> Syevd(OpContext& context);
absl::StatusOr<Literal> SyevdByOperands(OpContext& context);
absl::StatusOr<Literal> Eigh(OpContext& context);
std::string GesddMisfit(const Instruction& call);
std::string OldGesddMisfit(const Instruction& call);
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
std::string SyrkMisfit(const Instruction& call);
absl::StatusOr<Literal> CholeskyUpdate(OpContext& context);

// matmul.cc
std::string GemmMisfit(const Instruction& call);
absl::StatusOr<Literal> Gemm(OpContext& context);

// convolutions.cc
std::string ConvForwardMisfit(const Instruction& call);
std::string ConvBackwardInputMisfit(const Instruction& call);
std::string ConvBackwardFilterMisfit(const Instruction& call);
absl::StatusOr<Literal> ConvForward(OpContext& context);
absl::StatusOr<Literal> ConvBackwardInput(OpContext& context);
absl::StatusOr<Literal> ConvBackwardFilter(OpContext& context);
std::string ConvBiasActivationMisfit(const Instruction& call);
absl::StatusOr<Literal> ConvBiasActivation(OpContext& context);

// normalisation.cc
std::string NormMisfit(const Instruction& call);
absl::StatusOr<Literal> Norm(OpContext& context);
absl::StatusOr<Literal> OnednnLayerNorm(OpContext& context);
std::string SoftmaxMisfit(const Instruction& call);
absl::StatusOr<Literal> OnednnSoftmax(OpContext& context);

}  // namespace hlo::reference::custom
