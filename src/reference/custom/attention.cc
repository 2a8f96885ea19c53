// cuDNN's attention (semantics 9.7), forward and backward. For each of B sequences and N heads, with queries
// t and keys s:
//   p[t, s] = softmax over s of (scale * q[t] . k[s] + bias[t, s]) for the keys s that the mask allows
//   o[t] = sum over s of p[t, s] v[s]

#include "reference/custom/attention.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/signature.h"
#include "types/index.h"

namespace hlo::reference::custom {
namespace {

bool Has(const Instruction& call, std::string_view word) {
  return call.Get<attr::custom_call_target>().find(word) != std::string_view::npos;
}

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

std::string ReadMask(const Options& options, Attention* a) {
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
void ReadOrders(const Options& options, Attention* a) {
  if (options.Has("bmm1_grad_gemm1_dot_dimension_numbers")) {
    a->q_order = OrderOf(options.Group("bmm1_grad_gemm1_dot_dimension_numbers"), "rhs", false);
    a->k_order = OrderOf(options.Group("bmm1_grad_gemm2_dot_dimension_numbers"), "rhs", false);
    a->v_order = OrderOf(options.Group("bmm2_grad_gemm2_dot_dimension_numbers"), "rhs", true);
  } else {
    a->q_order = OrderOf(options.Group("bmm1_dot_dimension_numbers"), "lhs", true);
    a->k_order = OrderOf(options.Group("bmm1_dot_dimension_numbers"), "rhs", true);
    a->v_order = OrderOf(options.Group("bmm2_dot_dimension_numbers"), "rhs", false);
  }
}

std::string ReadSizes(const Instruction& call, const Options& options, Attention* a) {
  ReadOrders(options, a);
  bool fits = ArePositions(a->q_order) && ArePositions(a->k_order) && ArePositions(a->v_order);
  for (int64_t i = 0; fits && i < 3; ++i) {
    const Shape& shape = call.operand(i)->shape();
    fits = shape.IsArray() && shape.rank() == 4 && IsFloat(shape.type());
  }
  if (!fits)
    return "attention takes arrays of rank 4, and dimension numbers for its products, bmm1... and bmm2...";
  a->q = Pick(call.operand(0)->shape().dims(), a->q_order);
  a->k = Pick(call.operand(1)->shape().dims(), a->k_order);
  a->v = Pick(call.operand(2)->shape().dims(), a->v_order);
  fits = a->k[0] == a->q[0] && a->v[0] == a->q[0] && a->v[1] == a->k[1] && a->v[2] == a->k[2] &&
         a->k[3] == a->q[3] && a->k[1] > 0 && a->q[1] % a->k[1] == 0;
  return fits ? ""
              : fmt::format("queries {}, keys {} and values {} do not fit each other",
                            ToString(call.operand(0)->shape()), ToString(call.operand(1)->shape()),
                            ToString(call.operand(2)->shape()));
}

// Sets the operand numbers. The order is q, k, v; in backward calls the statistics and the gradient of o; the
// bias; in backward calls o; the sequence lengths of q and of kv.
std::string ReadOperands(const Instruction& call, Attention* a) {
  int next = 3;
  const bool backward = Has(call, "Backward");
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
  if (call.operand_count() != next)
    return fmt::format(
        "with this name and mask it has {} operands, but there are {}; offsets and page tables "
        "are not known",
        next, call.operand_count());
  const auto shape = [&](int i) -> const Shape& { return call.operand(i)->shape(); };
  if (a->bias >= 0 && !Repeats(shape(a->bias), a->score_dims()))
    return fmt::format("the bias is {}", ToString(shape(a->bias)));
  for (int i = a->lengths; i >= 0 && i < next; ++i) {
    if (!shape(i).IsArray(ElementType::kS32) || shape(i).ElementCount() != a->batches())
      return fmt::format("operand {} is {}, expected a length for each sequence", i, ToString(shape(i)));
  }
  if (!backward) return "";
  const Index stats(absl::MakeConstSpan(a->q).first(3));
  if (!shape(a->stats).IsArray(ElementType::kF32) || shape(a->stats).ElementCount() != Product(stats))
    return fmt::format("the statistics are {}", ToString(shape(a->stats)));
  for (const int i : {a->gradient, a->output}) {
    const Index written = Pick(a->output_dims(), Inverse(a->q_order));
    if (shape(i).IsArray() && IsFloat(shape(i).type()) &&
        (shape(i).dims() == absl::MakeConstSpan(written) ||
         shape(i).dims() == absl::MakeConstSpan(a->output_dims())))
      continue;
    return fmt::format("operand {} is {}, expected an array like the output", i, ToString(shape(i)));
  }
  return "";
}

// True if a result has the order [B, N, rows, width] or that of the corresponding operand.
bool IsResult(const Shape& shape, const Index& dims, const Index& order) {
  return shape.IsArray() && IsFloat(shape.type()) &&
         (shape.dims() == absl::MakeConstSpan(dims) ||
          shape.dims() == absl::MakeConstSpan(Pick(dims, Inverse(order))));
}

}  // namespace

std::string ReadAttention(const Instruction& call, Attention* a) {
  const Options options = Options(call).Group("cudnn_fmha_backend_config");
  std::string misfit = ReadMask(options, a);
  if (misfit.empty()) misfit = ReadSizes(call, options, a);
  if (misfit.empty()) misfit = ReadOperands(call, a);
  if (!misfit.empty()) return misfit;
  const absl::Span<const Shape> results = ResultShapes(call);
  const bool fits = a->stats < 0 ? IsResult(results[0], a->output_dims(), a->q_order)
                                 : results.size() >= 3 && IsResult(results[0], a->q, a->q_order) &&
                                       IsResult(results[1], a->k, a->k_order) &&
                                       IsResult(results[2], a->v, a->v_order);
  return fits ? ""
              : fmt::format("attention of {} does not give {}", ToString(call.operand(0)->shape()),
                            ToString(call.shape()));
}

namespace {

// Returns an array in the order [B, N, rows, width] as f64.
absl::StatusOr<Literal> Ordered(const Literal& array, const Index& order, const Index& dims) {
  HLO_ASSIGN_OR_RETURN(Literal wide, Widened(array, ElementType::kF64));
  if (Index(array.dims()) == dims && Pick(array.dims(), order) != dims) return wide;
  return Transposed(wide, order);
}

absl::StatusOr<Literal> AsResult(const Literal& wide, const Index& order, const Shape& shape) {
  if (shape.dims() == wide.dims()) return Rounded(wide, shape);
  HLO_ASSIGN_OR_RETURN(const Literal written, Transposed(wide, Inverse(order)));
  return Rounded(written, shape);
}

double DotProduct(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The arrays of a call in this order.
struct Arrays {
  Literal q, k, v, bias, query_lengths, key_lengths;
  Index bias_strides;

  static absl::StatusOr<Arrays> Make(const OpContext& context, const Attention& a) {
    Arrays arrays;
    HLO_ASSIGN_OR_RETURN(arrays.q, Ordered(context.operands[0], a.q_order, a.q));
    HLO_ASSIGN_OR_RETURN(arrays.k, Ordered(context.operands[1], a.k_order, a.k));
    HLO_ASSIGN_OR_RETURN(arrays.v, Ordered(context.operands[2], a.v_order, a.v));
    if (a.bias >= 0) {
      HLO_ASSIGN_OR_RETURN(arrays.bias, Widened(context.operands[a.bias], ElementType::kF64));
      arrays.bias_strides = RowMajorStrides(arrays.bias.dims());
      for (int64_t d = 0; d < 4; ++d) {
        if (arrays.bias.dim(d) == 1) arrays.bias_strides[d] = 0;
      }
    }
    if (a.lengths >= 0) {
      arrays.query_lengths = context.operands[a.lengths];
      arrays.key_lengths = context.operands[a.lengths + 1];
    }
    return arrays;
  }
};

// One query of one head.
struct AttentionRow {
  int64_t b, n, t;
  int64_t at;      // The index of the query row.
  int64_t kv_row;  // The index of the first row of its keys and values.
};

// Calls visit(row) for every query.
template <class Visit>
absl::Status EachQuery(const Attention& a, Visit&& visit) {
  Pace pace;
  const int64_t queries_a_key = a.heads() / a.k[1];
  int64_t at = 0;
  for (int64_t b = 0; b < a.batches(); ++b) {
    for (int64_t n = 0; n < a.heads(); ++n) {
      for (int64_t t = 0; t < a.queries(); ++t, ++at) {
        HLO_RETURN_IF_ERROR(pace.Spend(a.keys() * (a.q[3] + a.v[3] + 16)));
        visit(AttentionRow{b, n, t, at, (b * a.k[1] + n / queries_a_key) * a.keys()});
      }
    }
  }
  return absl::OkStatus();
}

// Computes the scores of a query; minus infinity for masked keys.
void Scores(const Attention& a, const Arrays& arrays, const AttentionRow& row, std::vector<double>* scores) {
  const double* q = arrays.q.span<double>().data() + row.at * a.q[3];
  const int64_t queries = a.lengths < 0 ? a.queries() : arrays.query_lengths.span<int32_t>()[row.b];
  const int64_t keys = a.lengths < 0 ? a.keys() : arrays.key_lengths.span<int32_t>()[row.b];
  for (int64_t s = 0; s < a.keys(); ++s) {
    const bool allowed =
        s < keys && row.t < queries && (!a.causal || s <= row.t) && (a.window <= 0 || s > row.t - a.window);
    double& score = (*scores)[s] = -std::numeric_limits<double>::infinity();
    if (!allowed) continue;
    score = a.scale * DotProduct(q, arrays.k.span<double>().data() + (row.kv_row + s) * a.k[3], a.q[3]);
    if (a.bias >= 0) {
      const int64_t place[] = {row.b, row.n, row.t, s};
      score += arrays.bias.span<double>()[Offset(place, arrays.bias_strides)];
    }
  }
}

// Returns log of the sum of exp(score).
double LogSum(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double score : scores) largest = std::max(largest, score);
  if (std::isinf(largest) && largest < 0) return largest;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

}  // namespace

std::string AttentionMismatch(const Instruction& call) {
  Attention attention;
  return ReadAttention(call, &attention);
}

absl::StatusOr<Literal> AttentionForward(OpContext& context) {
  Attention a;
  ReadAttention(context.instruction, &a);
  HLO_ASSIGN_OR_RETURN(const Arrays arrays, Arrays::Make(context, a));
  HLO_ASSIGN_OR_RETURN(Literal o, WideZeros(a.output_dims()));
  HLO_ASSIGN_OR_RETURN(Literal stats, WideZeros({a.q[0], a.q[1], a.q[2]}));
  std::vector<double> scores(a.keys());
  HLO_RETURN_IF_ERROR(EachQuery(a, [&](const AttentionRow& row) {
    Scores(a, arrays, row, &scores);
    const double log_sum = stats.mutable_span<double>()[row.at] = LogSum(scores);
    double* out = o.mutable_span<double>().data() + row.at * a.v[3];
    for (int64_t s = 0; s < a.keys(); ++s) {
      if (std::isinf(scores[s]) && scores[s] < 0) continue;
      AddScaled(std::exp(scores[s] - log_sum), arrays.v.span<double>().data() + (row.kv_row + s) * a.v[3],
                a.v[3], out);
    }
  }));
  const absl::Span<const Shape> shapes = ResultShapes(context.instruction);
  std::vector<Literal> results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool is_stats =
        i == 1 && shapes[i].IsArray(ElementType::kF32) && shapes[i].ElementCount() == stats.element_count();
    HLO_ASSIGN_OR_RETURN(Literal result, i == 0     ? AsResult(o, a.q_order, shapes[i])
                                         : is_stats ? Rounded(stats, shapes[i])
                                                    : Literal::CreateZeros(shapes[i]));
    results.push_back(std::move(result));
  }
  return context.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

// With p = exp(score - statistic), dp = do . v and ds = p (dp - do . o):
//   dv = p^T do, dq = scale ds k, dk = scale ds^T q, dbias = ds.
absl::StatusOr<Literal> AttentionBackward(OpContext& context) {
  Attention a;
  ReadAttention(context.instruction, &a);
  HLO_ASSIGN_OR_RETURN(const Arrays arrays, Arrays::Make(context, a));
  HLO_ASSIGN_OR_RETURN(const Literal stats, Widened(context.operands[a.stats], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(const Literal gradient,
                       Ordered(context.operands[a.gradient], a.q_order, a.output_dims()));
  HLO_ASSIGN_OR_RETURN(const Literal o, Ordered(context.operands[a.output], a.q_order, a.output_dims()));
  HLO_ASSIGN_OR_RETURN(Literal dq, WideZeros(a.q));
  HLO_ASSIGN_OR_RETURN(Literal dk, WideZeros(a.k));
  HLO_ASSIGN_OR_RETURN(Literal dv, WideZeros(a.v));
  HLO_ASSIGN_OR_RETURN(Literal dbias, WideZeros(a.bias < 0 ? Index() : Index(arrays.bias.dims())));
  const auto row_of = [](auto& array, int64_t row) {
    return array.template span<double>().data() + row * array.dim(3);
  };
  const auto place_of = [](Literal& array, int64_t row) {
    return array.mutable_span<double>().data() + row * array.dim(3);
  };
  std::vector<double> scores(a.keys());
  HLO_RETURN_IF_ERROR(EachQuery(a, [&](const AttentionRow& row) {
    Scores(a, arrays, row, &scores);
    const double* d_o = row_of(gradient, row.at);
    const double along = DotProduct(d_o, row_of(o, row.at), a.v[3]);
    for (int64_t s = 0; s < a.keys(); ++s) {
      if (std::isinf(scores[s]) && scores[s] < 0) continue;
      const int64_t key = row.kv_row + s;
      const double p = std::exp(scores[s] - stats.span<double>()[row.at]);
      const double ds = p * (DotProduct(d_o, row_of(arrays.v, key), a.v[3]) - along);
      AddScaled(p, d_o, a.v[3], place_of(dv, key));
      AddScaled(a.scale * ds, row_of(arrays.k, key), a.q[3], place_of(dq, row.at));
      AddScaled(a.scale * ds, row_of(arrays.q, row.at), a.q[3], place_of(dk, key));
      const int64_t place[] = {row.b, row.n, row.t, s};
      if (a.bias >= 0) dbias.mutable_span<double>()[Offset(place, arrays.bias_strides)] += ds;
    }
  }));
  const absl::Span<const Shape> shapes = ResultShapes(context.instruction);
  std::vector<Literal> results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool is_dbias = i == 3 && a.bias >= 0 && shapes[i].IsArray() && shapes[i].dims() == dbias.dims();
    HLO_ASSIGN_OR_RETURN(Literal result, i == 0     ? AsResult(dq, a.q_order, shapes[i])
                                         : i == 1   ? AsResult(dk, a.k_order, shapes[i])
                                         : i == 2   ? AsResult(dv, a.v_order, shapes[i])
                                         : is_dbias ? Rounded(dbias, shapes[i])
                                                    : Literal::CreateZeros(shapes[i]));
    results.push_back(std::move(result));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace hlo::reference::custom
