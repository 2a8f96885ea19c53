// Reads the calls of attention of cuDNN (`__cudnn$fmha...`) and TransformerEngine (`te_fused_attn_..._ffi`).

#include <algorithm>
#include <array>
#include <limits>

#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/contraction.h"
#include "reference/custom/attention.h"
#include "reference/custom/options.h"
#include "types/index.h"

namespace hlo::reference::custom {
namespace {

bool Has(const Instruction& call, std::string_view word) {
  return call.Get<attr::custom_call_target>().find(word) != std::string_view::npos;
}

bool IsBackward(const Instruction& call) { return Has(call, "Backward") || Has(call, "_backward"); }

bool ArePositions(const Index& order) {
  uint64_t seen = 0;
  for (const int64_t d : order) {
    if (d < 0 || d >= 4 || (seen >> d & 1) != 0) return false;
    seen |= uint64_t{1} << d;
  }
  return order.rank() == 4;
}

// Returns the batch dimensions followed by the free and the contracting dimension; the contracting one is
// last if `contracting_last`.
Index OrderOf(const Options& numbers, std::string_view side, bool contracting_last) {
  const Index batch = numbers.Ints(fmt::format("{}_batch_dimensions", side));
  const Index contracting = numbers.Ints(fmt::format("{}_contracting_dimensions", side));
  const Index free = OtherDims(4, batch, contracting);
  return contracting_last ? Concat(batch, free, contracting) : Concat(batch, contracting, free);
}

bool Repeats(const Shape& shape, const Index& dims) {
  bool fits = shape.IsArray() && IsFloat(shape.type()) && shape.rank() == dims.rank();
  for (int64_t d = 0; fits && d < dims.rank(); ++d) fits = shape.dim(d) == 1 || shape.dim(d) == dims[d];
  return fits;
}

std::string ReadCudnnMask(const Options& options, Attention* a) {
  const std::string mask = options.Text("mask_type", "NO_MASK");
  a->causal = mask == "CAUSAL" || mask == "PADDING_CAUSAL" || options.Bool("is_causal_mask", false);
  a->padding = mask == "PADDING" || mask == "PADDING_CAUSAL";
  if (!a->causal && !a->padding && mask != "NO_MASK")
    return fmt::format("its mask_type is {}; known are NO_MASK, PADDING, CAUSAL and PADDING_CAUSAL", mask);
  a->window = options.Int("sliding_window_length", 0);
  if (options.Number("dropout_rate", 0) > 0)
    return "its dropout draws random numbers by a generator of cuDNN's own, which is not documented";
  a->scale = options.Number("fmha_scale", 1);
  return "";
}

// The configuration of a backward call describes the products of the gradients: ds^T q, ds k and do v^T.
std::string ReadCudnnOrders(const Options& options, Attention* a) {
  if (options.Has("bmm1_grad_gemm1_dot_dimension_numbers")) {
    a->q_order =
        OrderOf(options.Group("bmm1_grad_gemm1_dot_dimension_numbers"), "rhs", /*contracting_last=*/false);
    a->k_order =
        OrderOf(options.Group("bmm1_grad_gemm2_dot_dimension_numbers"), "rhs", /*contracting_last=*/false);
    a->v_order =
        OrderOf(options.Group("bmm2_grad_gemm2_dot_dimension_numbers"), "rhs", /*contracting_last=*/true);
  } else {
    a->q_order = OrderOf(options.Group("bmm1_dot_dimension_numbers"), "lhs", /*contracting_last=*/true);
    a->k_order = OrderOf(options.Group("bmm1_dot_dimension_numbers"), "rhs", /*contracting_last=*/true);
    a->v_order = OrderOf(options.Group("bmm2_dot_dimension_numbers"), "rhs", /*contracting_last=*/false);
  }
  if (ArePositions(a->q_order) && ArePositions(a->k_order) && ArePositions(a->v_order)) return "";
  return "attention takes arrays of rank 4, and dimension numbers for its products, bmm1... and bmm2...";
}

// Sets the operand numbers. The order is q, k, v; in backward calls the statistics and the gradient of o; the
// bias; in backward calls o; the sequence lengths of q and of kv.
std::string ReadCudnnOperands(const Instruction& call, Attention* a) {
  int next = 3;
  const bool backward = IsBackward(call);
  if (backward) {
    a->stats = next++;
    a->gradient = next++;
  }
  // The names of backward calls do not imply a bias, so its operand decides.
  const int lengths = a->padding ? 2 : 0;
  const bool has_bias = Has(call, "ScaleBias") && !(backward && call.operand_count() == next + 1 + lengths);
  if (has_bias) a->bias = next++;
  if (backward) a->output = next++;
  if (a->padding) {
    a->lengths = next;
    next += 2;
  }
  if (call.operand_count() == next) return "";
  return fmt::format(
      "with this name and mask it has {} operands, but there are {}; offsets and page tables "
      "are not known",
      next, call.operand_count());
}

std::string ReadCudnn(const Instruction& call, Attention* a) {
  const Options options = Options(call).Group("cudnn_fmha_backend_config");
  std::string misfit = ReadCudnnMask(options, a);
  if (misfit.empty()) misfit = ReadCudnnOrders(options, a);
  if (misfit.empty()) misfit = ReadCudnnOperands(call, a);
  return misfit;
}

// TransformerEngine's enumerations of layouts (B batch, S sequence, H heads, D width, T ragged sequences),
// masks and biases. Layouts of other orders belong to its other frameworks.
enum EngineLayout : int64_t { kBS3HD = 5, kBSH3D = 6, kBSHD_BS2HD = 7, kBSHD_BSH2D = 8, kBSHD_BSHD_BSHD = 9 };
enum EngineMask : int64_t { kNoMask, kPadding, kCausal, kPaddingCausal, kCausalBottomRight, kMasks };
enum EngineBias : int64_t { kNoBias, kPreScaleBias, kPostScaleBias };

std::string ReadEngineLayout(const Options& options, Attention* a) {
  const int64_t layout = options.Int("qkv_layout", -1);
  if (layout < kBS3HD || layout > kBSHD_BSHD_BSHD) {
    return fmt::format(
        "its qkv_layout is {}; known are 5 to 9, in which q, k and v are [batch, sequence, heads, width], "
        "separate or packed",
        layout);
  }
  a->packed = layout == kBS3HD || layout == kBSH3D ? 3 : layout == kBSHD_BSHD_BSHD ? 0 : 2;
  a->packed_dim = layout == kBSH3D || layout == kBSHD_BSH2D ? 3 : 2;
  a->q_order = a->k_order = a->v_order = {0, 2, 1, 3};
  a->has_ordered_results = true;
  return "";
}

std::string ReadEngineMask(const Options& options, Attention* a) {
  const int64_t mask = options.Int("mask_type", -1);
  if (mask < 0 || mask >= kMasks) {
    return fmt::format(
        "its mask_type is {}; known are 0 none, 1 padding, 2 causal, 3 padding and causal, 4 causal, aligned "
        "at the last key",
        mask);
  }
  a->padding = mask == kPadding || mask == kPaddingCausal;
  a->causal = mask == kCausal || mask == kPaddingCausal || mask == kCausalBottomRight;
  if (mask == kCausalBottomRight) a->shift = a->keys() - a->queries();
  const int64_t left = options.Int("window_size_left", -1), right = options.Int("window_size_right", -1);
  if (left >= 0 && (!a->causal || (mask != kCausalBottomRight && a->keys() != a->queries())))
    return "its window is not causal, or aligned to sequences of different lengths";
  if (right > 0 || (right == 0 && !a->causal))
    return fmt::format("its window_size_right is {}; known are -1, and 0 with a causal mask", right);
  a->window = left >= 0 ? std::min(left, std::numeric_limits<int64_t>::max() - 1) + 1 : 0;
  return "";
}

std::string ReadEngineOptions(const Options& options, Attention* a) {
  a->scale = options.Number("scaling_factor", 1);
  if (options.Number("dropout_probability", 0) > 0)
    return "its dropout draws random numbers by a generator of cuDNN's own, which is not documented";
  if (options.Int("softmax_type", 0) != 0)
    return fmt::format("its softmax_type is {}; known is 0", options.Int("softmax_type", 0));
  const int64_t bias = options.Int("bias_type", 0);
  if (bias != kNoBias && bias != kPostScaleBias)
    return fmt::format("its bias_type is {}; known are 0 none and 2 after the scale", bias);
  if (bias == kPostScaleBias) a->bias = 3;
  return "";
}

// The order of the operands is q, k, v, bias, in newer versions an offset of the softmax; in backward calls
// the statistics; the seed or state of the generator, whose type is u32; in backward calls o and its
// gradient; the cumulative lengths of q and of kv; others, which only ragged sequences use.
std::string ReadEngineOperands(const Instruction& call, Attention* a) {
  const bool backward = IsBackward(call);
  int next = backward ? 5 : 4;
  const auto is_state = [&](int i) {
    return i < call.operand_count() && call.operand(i)->shape().IsArray(ElementType::kU32);
  };
  if (!is_state(next)) ++next;
  const int expected = next + (backward ? 5 : 3);
  if (!is_state(next) || call.operand_count() < expected)
    return "its operands are not q, k, v, a bias, the seed of a generator and the lengths of the sequences";
  if (backward) {
    a->stats = next - 1;
    a->output = next + 1;
    a->gradient = next + 2;
  }
  if (a->padding) {
    a->lengths = expected - 2;
    a->cumulative = true;
  }
  return "";
}

// Returns the sizes of q, k or v in their own order; empty if the operand cannot hold it.
Index SizesOf(const Instruction& call, const Attention& a, int number) {
  const Attention::Place place = a.input(number);
  const Shape& shape = call.operand(place.array)->shape();
  if (!shape.IsArray() || !IsFloat(shape.type())) return {};
  Index sizes(shape.dims());
  if (place.slice >= 0) {
    if (sizes.rank() != 5 || sizes[a.packed_dim] != a.packed) return {};
    const int64_t packed_dim[] = {a.packed_dim};
    sizes = Pick(sizes, OtherDims(5, packed_dim));
  }
  return sizes.rank() == 4 ? sizes : Index();
}

std::string ReadSizes(const Instruction& call, Attention* a) {
  std::array<Index, 3> sizes;
  for (int number = 0; number < 3; ++number) {
    const Index own = SizesOf(call, *a, number);
    if (own.empty()) return "attention takes arrays of rank 4, and of rank 5 if they are packed";
    sizes[static_cast<size_t>(number)] = Pick(own, a->order(number));
  }
  std::tie(a->q, a->k, a->v) = std::tie(sizes[0], sizes[1], sizes[2]);
  const bool fits = a->k[0] == a->q[0] && a->v[0] == a->q[0] && a->v[1] == a->k[1] && a->v[2] == a->k[2] &&
                    a->k[3] == a->q[3] && a->k[1] > 0 && a->q[1] % a->k[1] == 0;
  return fits ? ""
              : fmt::format("queries {}, keys {} and values {} do not fit each other",
                            ToString(call.operand(a->input(0).array)->shape()),
                            ToString(call.operand(a->input(1).array)->shape()),
                            ToString(call.operand(a->input(2).array)->shape()));
}

std::string ReadEngine(const Instruction& call, Attention* a) {
  const Options options(call);
  std::string misfit = ReadEngineLayout(options, a);
  if (misfit.empty()) misfit = ReadSizes(call, a);  // Masks depend on sizes.
  if (misfit.empty()) misfit = ReadEngineMask(options, a);
  if (misfit.empty()) misfit = ReadEngineOptions(options, a);
  if (misfit.empty()) misfit = ReadEngineOperands(call, a);
  return misfit;
}

// Returns why an operand beyond q, k and v does not fit.
std::string CheckOperands(const Instruction& call, const Attention& a) {
  const auto shape = [&](int i) -> const Shape& { return call.operand(i)->shape(); };
  if (a.bias >= 0 && !Repeats(shape(a.bias), a.score_dims()))
    return fmt::format("the bias is {}", ToString(shape(a.bias)));
  const int64_t lengths = a.batches() + (a.cumulative ? 1 : 0);
  for (int i = a.lengths; i >= 0 && i < a.lengths + 2; ++i) {
    if (!shape(i).IsArray(ElementType::kS32) || shape(i).ElementCount() != lengths)
      return fmt::format("operand {} is {}, expected {} for each sequence", i, ToString(shape(i)),
                         a.cumulative ? "the end" : "a length");
  }
  if (a.stats < 0) return "";
  const Index stats(absl::MakeConstSpan(a.q).first(3));
  if (!shape(a.stats).IsArray(ElementType::kF32) || shape(a.stats).ElementCount() != Product(stats))
    return fmt::format("the statistics are {}", ToString(shape(a.stats)));
  for (const int i : {a.gradient, a.output}) {
    const Index written = Pick(a.output_dims(), Inverse(a.q_order));
    if (shape(i).IsArray() && IsFloat(shape(i).type()) &&
        (shape(i).dims() == absl::MakeConstSpan(written) ||
         shape(i).dims() == absl::MakeConstSpan(a.output_dims())))
      continue;
    return fmt::format("operand {} is {}, expected an array like the output", i, ToString(shape(i)));
  }
  return "";
}

// True if a result has the order [B, N, rows, width] or that of the corresponding operand.
bool IsResult(const Attention& a, const Shape& shape, const Index& dims, const Index& order) {
  return shape.IsArray() && IsFloat(shape.type()) &&
         (a.IsCanonicalResult(shape.dims(), dims) ||
          shape.dims() == absl::MakeConstSpan(Pick(dims, Inverse(order))));
}

bool AreResults(const Instruction& call, const Attention& a) {
  const absl::Span<const Shape> results = ResultShapes(call);
  if (a.stats < 0) return IsResult(a, results[0], a.output_dims(), a.q_order);
  if (results.size() < 3) return false;
  for (int number = 0; number < 3; ++number) {
    const Attention::Place place = a.input(number);
    const Shape& result = results[static_cast<size_t>(place.array)];
    const bool fits = place.slice < 0 ? IsResult(a, result, a.sizes(number), a.order(number))
                                      : result.IsArray() && IsFloat(result.type()) &&
                                            result.dims() == call.operand(place.array)->shape().dims();
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::string ReadAttention(const Instruction& call, Attention* a) {
  const bool engine = Has(call, "te_fused_attn");
  std::string misfit = engine ? ReadEngine(call, a) : ReadCudnn(call, a);
  if (misfit.empty() && !engine) misfit = ReadSizes(call, a);
  if (misfit.empty()) misfit = CheckOperands(call, *a);
  // A window that is as long as the sequences restricts nothing.
  if (misfit.empty() && a->window >= std::max(a->queries(), a->keys())) a->window = 0;
  if (!misfit.empty() || AreResults(call, *a)) return misfit;
  return fmt::format("attention of {} does not give {}", ToString(call.operand(0)->shape()),
                     ToString(call.shape()));
}

}  // namespace hlo::reference::custom
