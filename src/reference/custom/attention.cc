// The attention of cuDNN and TransformerEngine (semantics 9.7), forward and backward. For each of B sequences
// and N heads, with queries t and keys s:
//   p[t, s] = softmax over s of (scale * q[t] . k[s] + bias[t, s]) for the keys s that the mask allows
//   o[t] = sum over s of p[t, s] v[s]

#include "reference/custom/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

// Returns an array in the order [B, N, rows, width] as f64.
absl::StatusOr<Literal> Ordered(const Literal& array, const Index& order, const Index& dims) {
  HLO_ASSIGN_OR_RETURN(Literal wide, Widened(array, ElementType::kF64));
  return Pick(array.dims(), order) == dims ? Transposed(wide, order) : wide;
}

// Copies between an array and its part with this number in a packed array, a slice of the dimension
// `packed_dim`.
template <class Copy>
void EachPackedRun(const Literal& packed, int64_t packed_dim, int64_t number, Copy&& copy) {
  const int64_t parts = packed.dim(packed_dim);
  const int64_t run = Product(packed.dims().subspan(static_cast<size_t>(packed_dim) + 1));
  const int64_t runs = run == 0 ? 0 : packed.element_count() / (parts * run);
  for (int64_t i = 0; i < runs; ++i) copy((i * parts + number) * run, i * run, run);
}

// Returns q, k or v in the order [B, N, rows, width] as f64.
absl::StatusOr<Literal> OrderedInput(const OpContext& context, const Attention& a, int number) {
  const Attention::Place place = a.input(number);
  const Literal& operand = context.operands[place.array];
  const Index& order = a.order(number);
  if (place.slice < 0) return Ordered(operand, order, a.sizes(number));
  HLO_ASSIGN_OR_RETURN(const Literal packed, Widened(operand, ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(Literal part, WideZeros(Pick(a.sizes(number), Inverse(order))));
  EachPackedRun(packed, a.packed_dim, place.slice, [&](int64_t from, int64_t to, int64_t count) {
    std::copy_n(packed.span<double>().data() + from, count, part.mutable_span<double>().data() + to);
  });
  return Transposed(part, order);
}

absl::StatusOr<Literal> AsResult(const Attention& a, const Literal& wide, const Index& order,
                                 const Shape& shape) {
  if (a.IsCanonicalResult(shape.dims(), Index(wide.dims()))) return Rounded(wide, shape);
  HLO_ASSIGN_OR_RETURN(const Literal written, Transposed(wide, Inverse(order)));
  return Rounded(written, shape);
}

// Returns result `array` of a backward call, which holds the gradients of the operand with this number.
absl::StatusOr<Literal> GradientResult(const Attention& a, absl::Span<const Literal* const> gradients,
                                       int array, const Shape& shape) {
  Literal packed;
  for (int number = 0; number < 3; ++number) {
    const Attention::Place place = a.input(number);
    if (place.array != array) continue;
    const Literal& gradient = *gradients[static_cast<size_t>(number)];
    if (place.slice < 0) return AsResult(a, gradient, a.order(number), shape);
    if (place.slice == 0) {
      HLO_ASSIGN_OR_RETURN(packed, WideZeros(Index(shape.dims())));
    }
    HLO_ASSIGN_OR_RETURN(const Literal part, Transposed(gradient, Inverse(a.order(number))));
    EachPackedRun(packed, a.packed_dim, place.slice, [&](int64_t to, int64_t from, int64_t count) {
      std::copy_n(part.span<double>().data() + from, count, packed.mutable_span<double>().data() + to);
    });
  }
  return a.packed == 0 || packed.element_count() == 0 ? Literal::CreateZeros(shape) : Rounded(packed, shape);
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
    HLO_ASSIGN_OR_RETURN(arrays.q, OrderedInput(context, a, 0));
    HLO_ASSIGN_OR_RETURN(arrays.k, OrderedInput(context, a, 1));
    HLO_ASSIGN_OR_RETURN(arrays.v, OrderedInput(context, a, 2));
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
  DeadlineChecker deadline;
  const int64_t queries_a_key = a.heads() / a.k[1];
  int64_t at = 0;
  for (int64_t b = 0; b < a.batches(); ++b) {
    for (int64_t n = 0; n < a.heads(); ++n) {
      for (int64_t t = 0; t < a.queries(); ++t, ++at) {
        HLO_RETURN_IF_ERROR(deadline.Spend(a.keys() * (a.q[3] + a.v[3] + 16)));
        visit(AttentionRow{b, n, t, at, (b * a.k[1] + n / queries_a_key) * a.keys()});
      }
    }
  }
  return absl::OkStatus();
}

int64_t LengthOf(const Attention& a, const Literal& lengths, int64_t sequence) {
  const absl::Span<const int32_t> values = lengths.span<int32_t>();
  const auto at = static_cast<size_t>(sequence);
  return a.cumulative ? int64_t{values[at + 1]} - values[at] : values[at];
}

// Computes the scores of a query; minus infinity for masked keys.
void Scores(const Attention& a, const Arrays& arrays, const AttentionRow& row, std::vector<double>* scores) {
  const double* q = arrays.q.span<double>().data() + row.at * a.q[3];
  const int64_t queries = a.lengths < 0 ? a.queries() : LengthOf(a, arrays.query_lengths, row.b);
  const int64_t keys = a.lengths < 0 ? a.keys() : LengthOf(a, arrays.key_lengths, row.b);
  const int64_t aligned = row.t + a.shift;
  for (int64_t s = 0; s < a.keys(); ++s) {
    const bool allowed = s < keys && row.t < queries && (!a.causal || s <= aligned) &&
                         (a.window <= 0 || s > aligned - a.window);
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
    HLO_ASSIGN_OR_RETURN(Literal result, i == 0     ? AsResult(a, o, a.q_order, shapes[i])
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
  const Literal* const gradients[] = {&dq, &dk, &dv};
  const absl::Span<const Shape> shapes = ResultShapes(context.instruction);
  std::vector<Literal> results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool is_dbias = i == 3 && a.bias >= 0 && shapes[i].IsArray() && shapes[i].dims() == dbias.dims();
    HLO_ASSIGN_OR_RETURN(Literal result, i < 3 ? GradientResult(a, gradients, static_cast<int>(i), shapes[i])
                                         : is_dbias ? Rounded(dbias, shapes[i])
                                                    : Literal::CreateZeros(shapes[i]));
    results.push_back(std::move(result));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace hlo::reference::custom
