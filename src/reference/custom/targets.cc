// The table of known custom-call targets (semantics 9).

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/diagnostic.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/signature.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "reference/program.h"
#include "reference/sort.h"

namespace hlo::reference {
namespace custom {
namespace {

struct Target {
  std::string_view pattern;    // ? matches a letter, * any part of a name, {a,b} a or b.
  std::string_view signature;  // See signature.h; empty if `misfit` checks all.
  ReferenceOp op;
  std::string (*misfit)(const Instruction& call) = nullptr;  // Further checks; returns "" if the call fits.
  // Attributes that the configuration must have to be unambiguous; a|b requires one of the two.
  std::string_view attributes = {};
};

absl::StatusOr<Literal> Callback(OpContext& context);
// Returns "" if the call has no results, so that it only informs the host.
std::string CallbackMismatch(const Instruction& call);

// clang-format off
constexpr Target kTargets[] = {
    // Defined in markers.cc: markers and identities.
    {"Sharding",                              "", Identity, OtherShape},
    {"InspectSharding",                       "_ -> ...", Zeros},
    {"{,local_}xla.sdy.FuncResultSharding",   "", Identity, OtherShape},
    {"{,local_}xla.sdy.PropagationBarrier",   "", Identity, OtherShape},
    {"{,local_}xla.sdy.ShardingGroup",        "_ -> ...", Zeros},
    {"CustomSPMDPartitioning",                "", Identity, OtherShape},
    {"LayoutConstraint",                      "", Identity, OtherShape},
    {"ShardBarrierFrom",                      "", Identity, OtherShape},
    {"ShardBarrierTo",                        "", Identity, OtherShape},
    {"MoveToHost",                            "", Identity, OtherShape},
    {"MoveToDevice",                          "", Identity, OtherShape},
    {"PinToDevice",                           "", Identity, OtherShape},
    {"PinToDeviceSram",                       "", Identity, OtherShape},
    {"annotate_device_placement",             "", Identity, OtherShape},
    {"AssumeGatherIndicesInBound",            "", Identity, OtherShape},
    {"GatherScatterIndicesBitpacked",         "", Identity, OtherShape},
    {"__xla_internal_call_marker_before",     "", Identity, OtherShape},
    {"__xla_internal_call_marker_after",      "", Identity, OtherShape},
    {"Pin",                                   "", Identity, OtherShape},
    {"Unpin",                                 "", Identity, OtherShape},
    {"SetBound",                              "", Identity, OtherShape},
    {"AllocateBuffer",                        "... -> ...", Zeros},
    {"CreateBuffer",                          "... -> ...", Zeros},
    {"__custom_kernel_fusion$workspace",      "... -> ...", Zeros},
    {"NopReturnToken",                        "... -> ...", Zeros},
    {"__nop",                                 "... -> ...", Zeros},
    {"xla.debug.Log",                         "... -> ...", Zeros},
    {"__xla_gpu_debug_print",                 "... -> ...", Zeros},
    {"__xla_gpu_assert",                      "pred[...] -> _?", Assert},
    {"xla_*python_*callback",                 "", Callback, CallbackMismatch},
    {"ConcatBitcast",                         "X[...], ... -> X[...]", ConcatBitcast, ConcatBitcastMismatch},
    {"_SPMDInternalOp_RotateRight",           "", Rotate, RotateMismatch},
    {"{HostExecute,_xla_multi_module_call}",  "... -> ...", CallEmbedded, CalleeMismatch},
    {"GetRngSeed",                            "-> u64[]", Seed},
    {"X64SplitLow",                           "I[*] -> u32[*]", SplitLow,  SplitWordMismatch},
    {"X64SplitHigh",                          "I[*] -> u32[*]", SplitHigh, SplitWordMismatch},
    {"X64Combine",                            "u32[*], u32[*] -> I[*]", Combine, SplitWordMismatch},

    // Defined in regions.cc: the boundaries of manual regions.
    {"{,local_}xla.sdy.GlobalToLocalShape",   "", ConvertShapes, ConvertShapesMismatch},
    {"{,local_}xla.sdy.LocalToGlobalShape",   "", ConvertShapes, ConvertShapesMismatch},
    {"SPMDFullToShardShape",                  "", ConvertShapes, ConvertShapesMismatch},
    {"SPMDShardToFullShape",                  "", ConvertShapes, ConvertShapesMismatch},

    // Defined in dynamic.cc: run-time sizes.
    {"PadToStatic",                           "X[...] -> X[...], ...", PadToStatic, PadToStaticMismatch},
    {"SliceToDynamic",                        "X[...], ... -> X[...]", SliceToDynamic, SliceToDynamicMismatch},

    // Defined in frameworks.cc and special.cc: operations of frameworks.
    {"{mhlo,stablehlo}.dynamic_reshape",      "X[...], I[n] -> X[...]", DynamicReshapeCall, DynamicReshapeMismatch},
    {"{mhlo,stablehlo}.dynamic_broadcast_in_dim", "X[...], I[n] -> X[...]", DynamicBroadcast, DynamicBroadcastMismatch, "broadcast_dimensions"},
    {"{mhlo,stablehlo}.real_dynamic_slice",   "X[...], I[n], I[n], I[n] -> X[...]", RealDynamicSlice, RealDynamicSliceMismatch},
    {"stablehlo.dynamic_reduce_window",       "X[...], ... -> _, ...", DynamicReduceWindow, DynamicReduceWindowMismatch},
    {"stablehlo.dynamic_rng_bit_generator",   "u64[s], I[n] -> u64[s], X[...]", DynamicRng, DynamicRngMismatch},
    {"{stablehlo,chlo}.dynamic_top_k",        "X[*,n], I[...] -> X[*,k], s32[*,k]", DynamicTopk},
    {"stablehlo.dynamic_approx_top_k",        "X[...], ... -> _, ...", ApproxTopK, DynamicApproxTopKMismatch, "reduction_dim"},
    {"{stablehlo.,}shape_assertion",          "pred[], ... -> ...", ShapeAssertion},
    {"{mhlo,stablehlo}.uniform_quantize",     "F[*] -> I[*]", UniformQuantize, UniformMismatch, "scale zero_point"},
    {"{mhlo,stablehlo}.uniform_dequantize",   "I[*] -> F[*]", UniformDequantize, UniformMismatch, "scale zero_point"},
    {"mhlo.topk",                             "X[*,n] -> X[*,k], s32[*,k]", NamedTopk, NamedTopkMismatch, "largest"},
    {"chlo.top_k",                            "X[*,n] -> X[*,k], s32[*,k]", NamedTopk, NamedTopkMismatch},
    {"{mhlo,chlo}.atan",                      "T[*] -> T[*]", Atan},
    {"{mhlo,chlo}.bessel_i1e",                "F[*] -> F[*]", BesselI1e},
    {"{mhlo,chlo}.conj",                      "T[*] -> T[*]", Conj},
    {"{mhlo,chlo}.digamma",                   "F[*] -> F[*]", Digamma},
    {"{mhlo,chlo}.erf_inv",                   "F[*] -> F[*]", ErfInv},
    {"{mhlo,chlo}.erfc",                      "F[*] -> F[*]", Erfc},
    {"{mhlo,chlo}.is_inf",                    "F[*] -> pred[*]", IsInf},
    {"{mhlo,chlo}.is_neg_inf",                "F[*] -> pred[*]", IsNegInf},
    {"{mhlo,chlo}.is_pos_inf",                "F[*] -> pred[*]", IsPosInf},
    {"{mhlo,chlo}.lgamma",                    "F[*] -> F[*]", Lgamma},
    {"{mhlo,chlo}.next_after",                "F[*], F[*] -> F[*]", NextAfter, NextAfterMismatch},
    {"{mhlo,chlo}.polygamma",                 "F[*], F[*] -> F[*]", Polygamma},
    {"{mhlo,chlo}.square",                    "X[*] -> X[*]", Square},
    {"{mhlo,chlo}.zeta",                      "F[*], F[*] -> F[*]", Zeta},
    {"{mhlo,stablehlo,chlo}.*",               "X[...], ... -> _", NamedElementwise, NamedElementwiseMismatch},

    // Defined in selection.cc: selection and sorting.
    {"TopK",                                  "X[*,n] -> X[*,k], s32[*,k]", TopkByComparator, TopKByComparatorMismatch},
    {"__gpu$TopK",                            "X[*,n] -> X[*,k], s32[*,k]", TopkByComparator, TopKByComparatorMismatch},
    {"ApproxTopK",                            "X[...], ... -> _, ...", ApproxTopK, ApproxTopKMismatch, "reduction_dim top_k"},
    {"PartialReduce",                         "X[...], ... -> _, ...", ApproxTopK, PartialReduceMismatch, "reduction_dim"},
    {"xla.gpu.ext.cub_sort_keys*",            "X[*,n] -> X[*,n], _?", SortKeys, NoOrder, "descending"},
    {"xla.gpu.ext.cub_sort_pairs*",           "X[*,n], Y[*,n] -> X[*,n], Y[*,n], _?", SortPairs, NoOrder, "descending"},
    {"__cub$DeviceRadixSort*",                "X[*,n], Y[*,n]? -> X[*,n], ...", RadixSort, RadixSortMismatch, "descending"},
    {"{xla.gpu.ext.cub_scan*,__cub$DeviceScan}", "X[*] -> X[*], _?", RunningSum, nullptr, "row_length column_length is_reverse"},
    {"{cu,hip}_threefry2x32*",                "u32[*], u32[*], u32[*], u32[*] -> u32[*], u32[*]", ThreeFryBlocks},

    // Defined in lapack.cc: linear algebra.
    {"Qr",                                    "T[*,m,n] -> T[*,m,n], T[*,k]", Geqrf},
    {"ProductOfElementaryHouseholderReflectors", "T[*,m,n], T[*,r] -> T[*,m,n]", Orgqr},
    {"Eigh",                                  "T[*,n,n] -> T[*,n,n], R[*,n]", Eigh, EighMismatch},
    {"LuDecomposition",                       "T[*,m,n] -> T[*,m,n], s32[*,k], s32[*,m]", LuDecomposition},
    {"{lapack_?,cusolver_,hipsolver_}potrf_ffi", "T[*,n,n] -> T[*,n,n], s32[*]", Potrf, nullptr, "uplo|lower"},
    {"{lapack_?,cusolver_,hipsolver_}getrf_ffi", "T[*,m,n] -> T[*,m,n], s32[*,k], s32[*]", Getrf},
    {"{lapack_?,cusolver_,hipsolver_}geqrf_ffi", "T[*,m,n] -> T[*,m,n], T[*,k]", Geqrf},
    {"lapack_?geqp3_ffi",                     "T[*,m,n], s32[*,n] -> T[*,m,n], s32[*,n], T[*,k]", Geqp3},
    {"{lapack_?or,lapack_?un,cusolver_or,hipsolver_or}gqr_ffi", "T[*,m,n], T[*,r] -> T[*,m,n]", Orgqr},
    {"{lapack_?or,lapack_?un,cusolver_or,hipsolver_or}mqr_ffi", "T[*,m,n], T[*,r], T[*,p,q] -> T[*,p,q]", Ormqr, OrmqrMismatch, "left transpose"},
    {"lapack_?trsm_ffi",                      "T[*,l,l], T[*,m,n], T[]? -> T[*,m,n]", Trsm, TrsmMismatch, "side uplo trans_x diag"},
    {"lapack_?{gesdd,gesvd}_ffi",             "T[*,m,n] -> T[*,m,n], R[*,k], T[*,p,q], T[*,r,s], s32[*]", Gesdd, GesddMismatch, "mode"},
    {"{cu,hip}solver_gesvd_ffi",              "T[*,m,n] -> T[*,m,n], R[*,k], T[*,p,q], T[*,r,s], s32[*]", Gesvd, GesddMismatch, "compute_uv"},
    {"{cu,hip}solver_{gesvdj,gesvdp}_ffi",    "T[*,m,n] -> T[*,m,n], R[*,k], T[*,p,q], T[*,r,s], s32[*]", Gesvdj, GesddMismatch, "compute_uv"},
    {"{lapack_?sy,lapack_?he,cusolver_sy,hipsolver_sy}evd_ffi", "T[*,n,n] -> T[*,n,n], R[*,n], s32[*]", Syevd, nullptr, "uplo|lower"},
    {"lapack_{s,d}geev_ffi",                  "T[*,n,n] -> R[*,n], R[*,n], C[*,n,n], C[*,n,n], s32[*]", RealGeev, nullptr, "compute_left compute_right"},
    {"lapack_{c,z}geev_ffi",                  "T[*,n,n] -> C[*,n], C[*,n,n], C[*,n,n], s32[*]", ComplexGeev, nullptr, "compute_left compute_right"},
    {"{cu,hip}solver_geev_ffi",               "T[*,n,n] -> T[*,n,n], C[*,n], C[*,n,n], C[*,n,n], s32[*]", CusolverGeev, nullptr, "left right"},
    {"lapack_{s,d}gees_ffi",                  "T[*,n,n] -> T[*,n,n], T[*,n,n], R[*,n], R[*,n], s32[*], s32[*]", RealGees},
    {"lapack_{c,z}gees_ffi",                  "T[*,n,n] -> T[*,n,n], T[*,n,n], C[*,n], s32[*], s32[*]", ComplexGees},
    {"lapack_?gehrd_ffi",                     "T[*,n,n] -> T[*,n,n], T[*,n-1], s32[*]", Gehrd, nullptr, "low high"},
    {"{lapack_?sy,lapack_?he,cusolver_sy,hipsolver_sy}trd_ffi", "T[*,n,n] -> T[*,n,n], R[*,n], R[*,n-1], T[*,n-1], s32[*]", Sytrd, nullptr, "uplo|lower"},
    {"lapack_?gtsv_ffi",                      "T[*,n], T[*,n], T[*,n], T[*,n,r] -> T[*,n], T[*,n], T[*,n], T[*,n,r], s32[*]", Gtsv},
    {"{cu,hip}solver_syrk_ffi",               "T[*,m,n], T[*,r,r], T[], T[] -> T[*,r,r]", Syrk, SyrkMismatch, "transpose"},
    {"{cu,hip}solver_csrlsvqr_ffi",           "T[z], s32[z], s32[p], T[n] -> T[n]", Csrlsvqr, CsrMismatch},
    {"cpu_csr_sparse_dense_ffi",              "X[z], I[p], I[z], X[...] -> X[...]", CsrTimesDense, CsrTimesDenseMismatch},
    {"tridiagonal_solve_perturbed_ffi",       "T[*,n], T[*,n], T[*,n], T[*,n,r] -> T[*,n,r]", TridiagonalSolvePerturbed},
    {"{cu,hip}sparse_gtsv2_ffi",              "T[*,n], T[*,n], T[*,n], T[*,n,r] -> T[*,n,r]", Gtsv2},
    {"cu_cholesky_update_ffi",                "F[n,n], F[n] -> F[n,n], F[n]", CholeskyUpdate},
    {"{cu,hip}_lu_pivots_to_permutation*",    "s32[*,n] -> s32[*,m]", PivotsToPermutation},
    {"__cublas$triangularSolve",              "T[*,l,l], T[*,m,n] -> T[*,m,n], _?", CublasTrsm, CublasTrsmMismatch, "left_side lower unit_diagonal transpose_a"},
    {"__cusolver$cholesky",                   "T[*,n,n] -> T[*,n,n], _, s32[*]", CusolverCholesky, nullptr, "lower"},
    // Older forms, with sizes and flags as operands and a workspace after the results.
    {"lapack_?potrf",                         "s32[], s32[], s32[], T[*,n,n] -> T[*,n,n], s32[*]", PotrfByOperands},
    {"lapack_?getrf",                         "s32[], s32[], s32[], T[*,m,n] -> T[*,m,n], s32[*,k], s32[*]", GetrfByOperands},
    {"lapack_?geqrf",                         "s32[], s32[], s32[], s32[], T[*,m,n] -> T[*,m,n], T[*,k], s32[*], ...", GeqrfByOperands},
    {"lapack_?{or,un}gqr",                    "s32[], s32[], s32[], s32[], s32[], T[*,m,n], T[*,r] -> T[*,m,n], s32[*], ...", OrgqrByOperands},
    {"blas_?trsm",                            "s32[], s32[], s32[], s32[], s32[], s32[], s32[], T[], T[*,l,l], T[*,m,n] -> T[*,m,n]", TrsmByOperands},
    {"lapack_?gesdd",                         "s32[], s32[], s32[], s32[], s32[], s32[], T[*,m,n] -> T[*,m,n], R[*,k], T[*,p,q], T[*,r,s], s32[*], ...", GesddByOperands, OldGesddMismatch},
    {"lapack_?{sy,he}evd",                    "s32[], s32[], s32[], T[*,n,n] -> T[*,n,n], R[*,n], s32[*], ...", SyevdByOperands},
    {"{cu,hip}solver_{syevd,syevj}",          "T[*,n,n] -> T[*,n,n], R[*,n], s32[*], ...", SyevdByRecord, SyevdRecordMismatch},
    {"lapack_{s,d}geev",                      "s32[], s32[], u8[], u8[], T[*,n,n] -> _, _, _, R[*,n], R[*,n], C[*,n,n], C[*,n,n], s32[*]", RealGeevByOperands},
    {"lapack_{c,z}geev",                      "s32[], s32[], u8[], u8[], T[*,n,n] -> _, _, C[*,n], C[*,n,n], C[*,n,n], s32[*]", ComplexGeevByOperands},
    {"lapack_{s,d}gees",                      "s32[], s32[], u8[], u8[], T[*,n,n] -> T[*,n,n], R[*,n], R[*,n], T[*,n,n], s32[*], s32[*]", RealGeesByOperands},
    {"lapack_{c,z}gees",                      "s32[], s32[], u8[], u8[], T[*,n,n] -> T[*,n,n], _, C[*,n], T[*,n,n], s32[*], s32[*]", ComplexGeesByOperands},
    {"lapack_?gehrd",                         "s32[], s32[], s32[], s32[], s32[], s32[], T[*,n,n] -> T[*,n,n], T[*,n-1], s32[*], ...", GehrdByOperands},
    {"lapack_?{sy,he}trd",                    "s32[], s32[], s32[], s32[], s32[], T[*,n,n] -> T[*,n,n], R[*,n], R[*,n-1], T[*,n-1], s32[*], ...", SytrdByOperands},

    // Defined in ducc_fft.cc: FFTs.
    {"dynamic_ducc_fft",                      "u8[b], X[...], I[n], I[n], I[n], f64[s], I[n]? -> Y[...]", DuccFft, DuccFftMismatch},

    // Defined in matmul.cc: matrix products.
    {"__cublas$gemm",                         "X[...], Y[...], ... -> _, ...", Gemm, GemmMismatch, "lhs_contracting_dimensions alpha_real beta"},
    {"__cublas$lt$matmul{,$f8}",              "X[...], Y[...], ... -> _, ...", Gemm, GemmMismatch, "lhs_contracting_dimensions alpha_real beta epilogue"},
    {"__cublas$lt$groupedMatmul",             "X[...], Y[...], I[...], ... -> _, ...", GroupedMatmul, GroupedMatmulMismatch, "lhs_contracting_dimensions"},
    {"__onednn$matmul",                       "X[...], Y[...], ... -> _, ...", OnednnMatmul, OnednnMatmulMismatch, "onednn_matmul_config"},

    // Defined in scaling.cc: block-scaled narrow floats.
    {"__cublas$lt$matmul$mx",                 "X[...], Y[...], V[...], W[...] -> _, ...", BlockScaledDot, BlockScaledDotMismatch, "lhs_contracting_dimensions"},
    {"{__op$block_scaled_dot,__cudnn$blockScaledDot}", "X[...], Y[...], V[...], W[...]?, F[]? -> _, ...", BlockScaledDot, BlockScaledDotMismatch},
    {"__op$quantize",                         "X[...] -> Y[...], V[...]", Quantize, QuantizeMismatch},
    {"__op$dequantize",                       "X[*], V[...] -> Y[*]", Dequantize, DequantizeMismatch},

    // Defined in attention.cc: attention.
    {"__cudnn$fmha{,ScaleBias}Softmax{,Dropout}", "X[...], Y[...], Z[...], ... -> _, ...", AttentionForward, AttentionMismatch, "fmha_scale mask_type|is_causal_mask"},
    {"__cudnn$fmha{,ScaleBias}Softmax{,Dropout}Backward", "X[...], Y[...], Z[...], ... -> _, _, _, ...", AttentionBackward, AttentionMismatch, "fmha_scale mask_type|is_causal_mask"},
    {"te_fused_attn_forward_ffi",             "F[...], F[...], F[...], F[...], ... -> F[...], ...", AttentionForward, AttentionMismatch, "qkv_layout mask_type scaling_factor"},
    {"te_fused_attn_backward_ffi",            "F[...], F[...], F[...], F[...], ... -> F[...], F[...], F[...], ...", AttentionBackward, AttentionMismatch, "qkv_layout mask_type scaling_factor"},

    // Defined in convolutions.cc: convolutions.
    {"__cudnn$convForward",                   "X[...], Y[...] -> Z[...], _?", ConvForward, ConvForwardMismatch, "conv_result_scale"},
    {"__cudnn$convBackwardInput",             "X[...], Y[...] -> Z[...], _?", ConvBackwardInput, ConvBackwardInputMismatch, "conv_result_scale"},
    {"__cudnn$convBackwardFilter",            "X[...], Y[...] -> Z[...], _?", ConvBackwardFilter, ConvBackwardFilterMismatch, "conv_result_scale"},
    {"__cudnn$convBiasActivationForward",     "X[...], Y[...], Z[...], W[...]? -> V[...], _?", ConvBiasActivation, ConvBiasActivationMismatch, "conv_result_scale activation_mode"},
    {"__cudnn$convForwardGraph",              "X[...], Y[...], ... -> V[...], ...", ConvGraph, ConvGraphMismatch, "serialized_graph"},
    {"__cudnn$convReorderFilter",             "", Identity, OtherShape},
    {"__cudnn$convReorderFilterAndBias",      "X[...], Y[...] -> X[...], Y[...], _?", Operands, OtherShapes},
    {"__onednn$convolution",                  "X[...], Y[...], ... -> V[...], ...", OnednnConv, OnednnConvMismatch, "onednn_conv_config"},

    // Defined in normalisation.cc: normalisation layers.
    {"__cudnn$norm",                          "F[...], ... -> _, ...", Norm, NormMismatch, "kind epsilon"},
    {"__onednn$layernorm",                    "F[*,n], F[n], F[n] -> F[*,n]", OnednnLayerNorm, nullptr, "epsilon|epsilon_typecast"},
    {"__onednn$softmax",                      "F[*] -> F[*]", OnednnSoftmax, SoftmaxMismatch, "softmax_axis"},
};

// Code that only its own runtime can execute.
struct Opaque {
  std::string_view pattern;
  std::string_view what;
};
constexpr Opaque kOpaque[] = {
    {"__gpu$xla.gpu.triton",          "a Triton kernel"},
    {"triton_kernel_call*",           "a Triton kernel"},
    {"__gpu$xla.gpu.ptx",             "PTX code"},
    {"mosaic_gpu*",                   "a Mosaic kernel"},
    {"tpu_custom_call",               "a Mosaic kernel"},
    {"te_*",                          "a TransformerEngine kernel"},
    {"xla_*python_*callback",         "a Python callback"},
    {"*HostCallback*",                "a callback of the host"},
    {"cusparse_*",                    "a sparse matrix operation whose arrays are opaque"},
    {"__cudnn$fmha*F8*",              "an attention in 8 bits whose operands are not documented"},
    {"{MultiSlice,MultiPad,Wrap,_SPMDInternalOp_*}", "a step inside XLA's partitioner"},
    {"xla_builder*",                  "a placeholder of XLA's own tests"},
    {"cudnn_rnn*",                    "a recurrent network whose weights are opaque"},
};
// clang-format on

bool Matches(std::string_view pattern, std::string_view name);

// Matches `{a,b}rest`: one of the words, then the rest.
bool MatchesAlternative(std::string_view pattern, std::string_view name) {
  const size_t close = pattern.find('}');
  for (size_t begin = 1; begin <= close;) {
    const size_t end = std::min(close, pattern.find(',', begin));
    if (Matches(std::string(pattern.substr(begin, end - begin)).append(pattern.substr(close + 1)), name))
      return true;
    begin = end + 1;
  }
  return false;
}

bool Matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '{') return MatchesAlternative(pattern, name);
  if (pattern[0] == '*') {
    for (size_t skipped = 0; skipped <= name.size(); ++skipped) {
      if (Matches(pattern.substr(1), name.substr(skipped))) return true;
    }
    return false;
  }
  if (name.empty() || (pattern[0] != '?' && pattern[0] != name[0])) return false;
  return Matches(pattern.substr(1), name.substr(1));
}

template <class Row, size_t kCount>
const Row* FindRow(const Row (&rows)[kCount], std::string_view name) {
  constexpr size_t kLongestName = 128;  // Limits the time of matching stars.
  if (name.size() > kLongestName) return nullptr;
  const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const Row& row) { return Matches(row.pattern, name); });
  return found == std::end(rows) ? nullptr : found;
}

const Target* Find(std::string_view name) { return FindRow(kTargets, name); }

// Returns the known targets with similar names.
std::string Nearest(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Target& target : kTargets) known.push_back(target.pattern);
  std::string list;
  for (int i = 0; i < 3; ++i) {
    const std::string_view near = ClosestName(name, known);
    if (near.empty()) break;
    list += fmt::format("{}'{}'", list.empty() ? "; did you mean " : ", ", near);
    std::erase(known, near);
  }
  return list;
}

std::string Unknown(const Instruction& call) {
  const std::string_view name = call.Get<attr::custom_call_target>();
  constexpr std::string_view kRemedy =
      "supply it with --custom-call-library LIBRARY or --custom-call '{}=FILE.hlo'";
  const std::string remedy = fmt::format(kRemedy, name);
  if (const Opaque* opaque = FindRow(kOpaque, name)) {
    return fmt::format("the target '{}' is {}, which only its own runtime executes; {}", name, opaque->what,
                       remedy);
  }
  return fmt::format("the target '{}' is not known{}; {}; hlo-run ops --custom-calls lists the {} that are",
                     name, Nearest(name), remedy, std::size(kTargets));
}

bool HasArrays(const Shape& shape) {
  if (!shape.IsTuple()) return !shape.IsToken();
  return std::any_of(shape.elements().begin(), shape.elements().end(), HasArrays);
}

std::string CallbackMismatch(const Instruction& call) { return HasArrays(call.shape()) ? Unknown(call) : ""; }

absl::StatusOr<Literal> Callback(OpContext& context) {
  if (std::string reason = CallbackMismatch(context.instruction); !reason.empty())
    return absl::UnimplementedError(reason);
  return Zeros(context);
}

// Returns why the module supplied for a call does not fit; "" if it does.
std::string ModuleMismatch(const Instruction& call, const Computation& entry) {
  if (static_cast<size_t>(call.operand_count()) != entry.parameters().size()) {
    return fmt::format("has {}, but the module that computes '{}' has {}",
                       Counted(call.operand_count(), "operand"), call.Get<attr::custom_call_target>(),
                       Counted(entry.parameters().size(), "parameter"));
  }
  for (int64_t i = 0; i < call.operand_count(); ++i) {
    const Shape &given = call.operand(i)->shape(), &taken = entry.parameter(i)->shape();
    if (!Compatible(given, taken)) {
      return fmt::format("operand {} is {}, but parameter {} of the module that computes it is {}", i,
                         ToString(given), i, ToString(taken));
    }
  }
  if (Compatible(call.shape(), entry.root()->shape())) return "";
  return fmt::format("the module that computes it gives {}", ToString(entry.root()->shape()));
}

// Returns the first required attribute that the configuration lacks; "" if there is none.
std::string MissingAttribute(const Instruction& call, std::string_view attributes) {
  if (attributes.empty()) return "";
  const Options options(call);
  const std::vector<std::string> choices =
      absl::StrSplit(absl::string_view(attributes.data(), attributes.size()), ' ');
  for (const std::string& choice : choices) {
    const std::vector<std::string> names = absl::StrSplit(choice, '|');
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return options.HasWithin(name); }))
      continue;
    return fmt::format("needs the attribute '{}' in its backend_config, which says what it computes",
                       absl::StrJoin(names, "' or '"));
  }
  return "";
}

}  // namespace

ReferenceOp FunctionOf(const Instruction& call) {
  const Target* target = Find(call.Get<attr::custom_call_target>());
  return target == nullptr ? nullptr : target->op;
}

}  // namespace custom

std::string CustomCallUnsupportedReason(const Instruction& call, const CustomCalls* custom_calls) {
  const std::string_view name = call.Get<attr::custom_call_target>();
  if (const Computation* supplied = SuppliedComputation(call, custom_calls))
    return custom::ModuleMismatch(call, *supplied);
  if (custom_calls != nullptr && custom_calls->FindFunction(name)) return "";
  const custom::Target* target = custom::Find(name);
  if (target == nullptr) return custom::Unknown(call);
  if (!target->signature.empty()) {
    std::string misfit = custom::Mismatch(call, target->signature);
    if (!misfit.empty()) return misfit;
  }
  if (std::string missing = custom::MissingAttribute(call, target->attributes); !missing.empty())
    return missing;
  return target->misfit == nullptr ? "" : target->misfit(call);
}

bool IsPythonCallback(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall && custom::FunctionOf(instruction) == &custom::Callback;
}

bool IsIdentityCall(const Instruction& call) { return custom::FunctionOf(call) == &custom::Identity; }

absl::StatusOr<Literal> CustomCall(OpContext& context) {
  const std::string_view name = context.instruction.Get<attr::custom_call_target>();
  const CustomCalls* custom_calls = context.caller.custom_calls();
  if (const Computation* supplied = SuppliedComputation(context.instruction, custom_calls))
    return context.caller.Call(*supplied, context.operands);
  if (custom_calls != nullptr) {
    if (const CustomCallFunction function = custom_calls->FindFunction(name)) {
      HLO_ASSIGN_OR_RETURN(Literal value, function(context.instruction, context.operands));
      if (Compatible(value.shape(), context.shape())) return value;
      return absl::FailedPreconditionError(fmt::format("the function of '{}' gives {}, expected {}", name,
                                                       ToString(value.shape()), ToString(context.shape())));
    }
  }
  const custom::Target* target = custom::Find(name);
  HLO_CHECK(target != nullptr);
  return target->op(context);
}

}  // namespace hlo::reference

namespace hlo {

std::vector<KnownCustomCall> KnownCustomCalls() {
  std::vector<KnownCustomCall> known;
  for (const auto& target : reference::custom::kTargets) known.push_back({target.pattern, target.signature});
  return known;
}

}  // namespace hlo
