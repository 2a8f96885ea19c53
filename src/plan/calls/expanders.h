#pragma once
// The functions that expand custom calls, by family. Each returns nullopt for configurations that only the
// reference supports.

#include <optional>

#include "hlo_run/check.h"

namespace hlo::plan::calls {

using Expansion = std::optional<CheckedModule>;

// Defined in products.cc.
Expansion Gemm(const Instruction& call);
Expansion GroupedMatmul(const Instruction& call);
Expansion OnednnMatmul(const Instruction& call);
Expansion BlockScaledDot(const Instruction& call);
Expansion Quantize(const Instruction& call);
Expansion Dequantize(const Instruction& call);
Expansion Syrk(const Instruction& call);

// Defined in linear_algebra.cc.
Expansion TriangularSolve(const Instruction& call);
Expansion ScaledTriangularSolve(const Instruction& call);
Expansion CholeskyUpdate(const Instruction& call);

// Defined in convolutions.cc.
Expansion ConvForward(const Instruction& call);
Expansion ConvBackwardInput(const Instruction& call);
Expansion ConvBackwardFilter(const Instruction& call);
Expansion ConvBiasActivation(const Instruction& call);
Expansion ConvGraph(const Instruction& call);
Expansion OnednnConv(const Instruction& call);

// Defined in attention.cc.
Expansion AttentionForward(const Instruction& call);
Expansion AttentionBackward(const Instruction& call);

// Defined in normalisation.cc.
Expansion Norm(const Instruction& call);
Expansion OnednnLayerNorm(const Instruction& call);
Expansion OnednnSoftmax(const Instruction& call);

// Defined in selection.cc.
Expansion Topk(const Instruction& call);
Expansion NamedTopk(const Instruction& call);
Expansion SortKeys(const Instruction& call);
Expansion SortPairs(const Instruction& call);
Expansion RadixSort(const Instruction& call);
Expansion RunningSum(const Instruction& call);
Expansion ApproxTopK(const Instruction& call);

// Defined in elementwise.cc.
Expansion Operands(const Instruction& call);
Expansion Named(const Instruction& call);
Expansion Square(const Instruction& call);
Expansion Conj(const Instruction& call);
Expansion Atan(const Instruction& call);
Expansion IsInf(const Instruction& call);
Expansion IsPosInf(const Instruction& call);
Expansion IsNegInf(const Instruction& call);
Expansion ThreeFryBlocks(const Instruction& call);
Expansion SplitLow(const Instruction& call);
Expansion SplitHigh(const Instruction& call);
Expansion Combine(const Instruction& call);
Expansion ConcatBitcast(const Instruction& call);
Expansion Rotate(const Instruction& call);
Expansion UniformQuantize(const Instruction& call);
Expansion UniformDequantize(const Instruction& call);

// Defined in run_time_sizes.cc.
Expansion DynamicReshape(const Instruction& call);
Expansion DynamicBroadcast(const Instruction& call);
Expansion RealDynamicSlice(const Instruction& call);
Expansion DynamicTopk(const Instruction& call);
Expansion DynamicReduceWindow(const Instruction& call);
Expansion DynamicRng(const Instruction& call);

// Defined in special.cc.
Expansion Erfc(const Instruction& call);
Expansion ErfInv(const Instruction& call);
Expansion Lgamma(const Instruction& call);
Expansion Digamma(const Instruction& call);
Expansion BesselI1e(const Instruction& call);
Expansion NextAfter(const Instruction& call);

}  // namespace hlo::plan::calls
