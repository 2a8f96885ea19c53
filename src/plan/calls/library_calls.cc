#include "plan/calls/library_calls.h"

#include <algorithm>

#include "plan/calls/expanders.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/sort.h"

namespace hlo::plan {
namespace {

namespace custom = reference::custom;

struct Row {
  reference::ReferenceOp reference;
  calls::Expansion (*expand)(const Instruction& call);
  bool for_gpu_only = false;
};

constexpr Row kRows[] = {
    {custom::Gemm, calls::Gemm},
    {custom::GroupedMatmul, calls::GroupedMatmul},
    {custom::OnednnMatmul, calls::OnednnMatmul},
    {custom::BlockScaledDot, calls::BlockScaledDot},
    {custom::Quantize, calls::Quantize},
    {custom::Dequantize, calls::Dequantize},
    {custom::Syrk, calls::Syrk},
    {custom::CublasTrsm, calls::TriangularSolve, true},
    {custom::Trsm, calls::ScaledTriangularSolve, true},
    {custom::TrsmByOperands, calls::TriangularSolve, true},
    {custom::CholeskyUpdate, calls::CholeskyUpdate, true},
    {custom::ConvForward, calls::ConvForward},
    {custom::ConvBackwardInput, calls::ConvBackwardInput},
    {custom::ConvBackwardFilter, calls::ConvBackwardFilter},
    {custom::ConvBiasActivation, calls::ConvBiasActivation},
    {custom::ConvGraph, calls::ConvGraph},
    {custom::OnednnConv, calls::OnednnConv},
    {custom::AttentionForward, calls::AttentionForward},
    {custom::AttentionBackward, calls::AttentionBackward},
    {custom::Norm, calls::Norm},
    {custom::OnednnLayerNorm, calls::OnednnLayerNorm},
    {custom::OnednnSoftmax, calls::OnednnSoftmax},
    {reference::TopkByComparator, calls::Topk, true},
    {custom::NamedTopk, calls::NamedTopk},
    {custom::SortKeys, calls::SortKeys},
    {custom::SortPairs, calls::SortPairs},
    {custom::RadixSort, calls::RadixSort},
    {custom::RunningSum, calls::RunningSum},
    {custom::ApproxTopK, calls::ApproxTopK},
    {custom::ConvertShapes, calls::Operands},
    {custom::Operands, calls::Operands},
    {custom::NamedElementwise, calls::Named},
    {custom::Square, calls::Square},
    {custom::Conj, calls::Conj},
    {custom::Atan, calls::Atan},
    {custom::IsInf, calls::IsInf},
    {custom::IsPosInf, calls::IsPosInf},
    {custom::IsNegInf, calls::IsNegInf},
    {custom::ThreeFryBlocks, calls::ThreeFryBlocks},
    {custom::SplitLow, calls::SplitLow},
    {custom::SplitHigh, calls::SplitHigh},
    {custom::Combine, calls::Combine},
    {custom::ConcatBitcast, calls::ConcatBitcast},
    {custom::Rotate, calls::Rotate},
    {custom::UniformQuantize, calls::UniformQuantize},
    {custom::UniformDequantize, calls::UniformDequantize},
    {custom::DynamicReshapeCall, calls::DynamicReshape},
    {custom::DynamicBroadcast, calls::DynamicBroadcast},
    {custom::RealDynamicSlice, calls::RealDynamicSlice},
    {custom::DynamicTopk, calls::DynamicTopk},
    {custom::DynamicReduceWindow, calls::DynamicReduceWindow},
    {custom::DynamicRng, calls::DynamicRng},
    {custom::Erfc, calls::Erfc, true},
    {custom::ErfInv, calls::ErfInv, true},
    {custom::Lgamma, calls::Lgamma, true},
    {custom::Digamma, calls::Digamma, true},
    {custom::BesselI1e, calls::BesselI1e, true},
    {custom::NextAfter, calls::NextAfter, true},
};

bool IsStatic(const Shape& shape) { return shape.IsArray() && !shape.HasDynamicDim(); }

}  // namespace

std::optional<CheckedModule> ExpandLibraryCall(const Instruction& call, bool for_gpu) {
  const reference::ReferenceOp function = custom::FunctionOf(call);
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.reference == function; });
  if (function == nullptr || row == std::end(kRows) || (row->for_gpu_only && !for_gpu)) return std::nullopt;
  const auto operands = call.operands();
  if (!std::all_of(operands.begin(), operands.end(),
                   [](const Instruction* o) { return IsStatic(o->shape()); }))
    return std::nullopt;
  return row->expand(call);
}

}  // namespace hlo::plan
