// cuDNN's attention, forward and backward.
//
// Several heads of queries may share one of keys and values. So the queries of these heads are the rows of
// one matrix: [B, heads of keys, heads of queries a head of keys * queries, width].

#include "reference/custom/attention.h"

#include <limits>
#include <utility>
#include <vector>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "plan/calls/replacement.h"
#include "types/index.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Attention;

// The reference computes row by row what would need more memory than this.
constexpr double kMaxScores = 0x1p31;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<int64_t> Vector(const Index& index) { return {index.begin(), index.end()}; }

class AttentionExpander {
 public:
  explicit AttentionExpander(const Instruction& call) : b_(call) {
    is_valid_ = reference::custom::ReadAttention(call, &a_).empty() && a_.keys() > 0 && a_.queries() > 0 &&
                static_cast<double>(a_.keys()) * static_cast<double>(hlo::Product(a_.output_dims())) <
                    kMaxScores * static_cast<double>(a_.v[3]);
    if (!is_valid_) return;
    q_ = Rows(Ordered(b_.Raw(0), a_.q_order, a_.q));
    k_ = Ordered(b_.Raw(1), a_.k_order, a_.k);
    v_ = Ordered(b_.Raw(2), a_.v_order, a_.v);
    allowed_ = Allowed();
  }

  // The reference skips the values of keys that the mask excludes for a query. A product adds 0 * v for
  // them, so values beyond the sequence, which may be anything, are cleared.
  Expansion Forward() {
    if (!is_valid_) return std::nullopt;
    const Op scores = Scores(), largest = b_.Max(scores, {3});
    const Op shift =
        build::Select(build::Eq(largest, b_.Number(-kInfinity)), build::FullLike(largest, 0), largest);
    const Op power = build::Exp(scores - shift), sum = b_.Sum(power, {3});
    const Op zero = build::FullLike(sum, 0);
    const Op divisor = build::Select(build::Eq(sum, zero), build::FullLike(sum, 1), sum);
    const Op o = b_.Named(Product(Rows(power / divisor), ValidValues(), 3, 2));
    std::vector<Op> results = {Result(Heads(o), a_.output_dims(), a_.q_order, 0)};
    const auto shapes = b_.results();
    if (shapes.size() > 1 && shapes[1].IsArray(ElementType::kF32) &&
        shapes[1].ElementCount() == sum.shape().ElementCount())
      results.push_back(shift + build::Log(sum));
    return b_.Finish(results);
  }

  // With p = exp(score - statistic), dp = do . v and ds = p (dp - do . o):
  //   dv = p^T do, dq = scale ds k, dk = scale ds^T q, dbias = ds.
  Expansion Backward() {
    if (!is_valid_ || a_.stats < 0) return std::nullopt;
    std::vector<int64_t> rows = Vector(a_.score_dims());
    rows[3] = 1;
    const Op statistic = build::Reshape(b_.Wide(a_.stats), rows);
    const Op scores = Scores();
    const Op p = build::Select(build::Eq(scores, b_.Number(-kInfinity)), build::FullLike(scores, 0),
                               build::Exp(scores - statistic));
    const Op d_o = Ordered(b_.Raw(a_.gradient), a_.q_order, a_.output_dims());
    const Op o = Ordered(b_.Raw(a_.output), a_.q_order, a_.output_dims());
    const Op along = b_.Sum(Wide(d_o) * Wide(o), {3});
    const Op dp = Heads(Product(Rows(d_o), ValidValues(), 3, 3));
    const Op ds = build::Select(build::Eq(p, build::FullLike(p, 0)), build::FullLike(p, 0), p * (dp - along));
    const Op scaled = Rows(CallBuilder::Scaled(ds, a_.scale));
    const Op dq = b_.Named(Heads(Product(scaled, k_, 3, 2)));
    std::vector<Op> results = {Result(dq, a_.q, a_.q_order, 0),
                               Result(Product(scaled, q_, 2, 2), a_.k, a_.k_order, 1),
                               Result(Product(Rows(p), Rows(d_o), 2, 2), a_.v, a_.v_order, 2)};
    const auto shapes = b_.results();
    if (a_.bias >= 0 && shapes.size() > 3 && SameDimensions(shapes[3], b_.shape_of(a_.bias)))
      results.push_back(SumLikeBias(ds));
    return b_.Finish(results);
  }

 private:
  Op Wide(Op x) const { return CallBuilder::As(x, b_.type()); }

  // Returns an array in the order [B, N, rows, width].
  static Op Ordered(Op x, const Index& order, const Index& dims) {
    if (!x.ok() || (Index(x.dims()) == dims && Pick(x.dims(), order) != dims)) return x;
    return build::Transpose(x, order);
  }
  // Returns a result in the order that it declares.
  Op Result(Op x, const Index& dims, const Index& order, size_t number) const {
    x = build::Reshape(x, dims);
    return b_.results()[number].dims() == absl::MakeConstSpan(dims) ? x : build::Transpose(x, Inverse(order));
  }
  // Joins the heads of queries that share a head of keys, and separates them again.
  Op Rows(Op x) const {
    if (!x.ok()) return x;
    return build::Reshape(x, {a_.batches(), a_.k[1], a_.heads() / a_.k[1] * a_.queries(), x.dims()[3]});
  }
  Op Heads(Op x) const {
    if (!x.ok()) return x;
    return build::Reshape(x, {a_.batches(), a_.heads(), a_.queries(), x.dims()[3]});
  }
  // Multiplies matrices in the last two dimensions, summing over these dimensions.
  Op Product(Op x, Op y, int64_t x_sum, int64_t y_sum) {
    if (x.type() != y.type()) std::tie(x, y) = std::pair(Wide(x), Wide(y));
    return build::DotGeneral(x, y, {{x_sum}, {y_sum}, {0, 1}, {0, 1}}, {.preferred_element_type = b_.type()});
  }

  // Returns position numbers along a dimension, and the length of each sequence, in the shape of the scores.
  Op Position(int64_t dimension) {
    const Index dims = a_.score_dims();
    return b_.builder().Iota(Shape::Array(ElementType::kS32, dims), dimension);
  }
  Op Length(int operand) { return build::Reshape(b_.Raw(operand), {a_.batches(), 1, 1, 1}); }
  // Returns the mask of scores; invalid if all are allowed.
  Op Allowed() {
    Op mask;
    const auto restrict = [&](Op also) { mask = mask.ok() ? build::And(mask, also) : also; };
    const auto number = [&](int64_t value) {
      return b_.builder().Constant(ElementType::kS32, static_cast<double>(value));
    };
    if (a_.causal) restrict(build::Le(Position(3), Position(2)));
    if (a_.window > 0) restrict(build::Gt(Position(3), Position(2) - number(a_.window)));
    if (a_.lengths >= 0) {
      restrict(build::Lt(Position(2), Length(a_.lengths)));
      restrict(build::Lt(Position(3), Length(a_.lengths + 1)));
    }
    return mask;
  }
  // Returns the scores; minus infinity where the mask excludes a key.
  Op Scores() {
    Op scores = CallBuilder::Scaled(Heads(Product(q_, k_, 3, 3)), a_.scale);
    if (a_.bias >= 0) scores = scores + b_.Wide(a_.bias);
    return allowed_.ok() ? build::Select(allowed_, scores, build::FullLike(scores, -kInfinity)) : scores;
  }
  Op ValidValues() {
    if (a_.lengths < 0) return v_;
    const Op position = b_.builder().Iota(Shape::Array(ElementType::kS32, a_.v), 2);
    return build::Select(build::Lt(position, Length(a_.lengths + 1)), v_, build::FullLike(v_, 0));
  }
  Op SumLikeBias(Op ds) {
    std::vector<int64_t> repeated;
    for (int64_t d = 0; d < 4; ++d) {
      if (b_.shape_of(a_.bias).dim(d) == 1 && ds.ok() && ds.dims()[static_cast<size_t>(d)] != 1)
        repeated.push_back(d);
    }
    return repeated.empty() ? ds : b_.Sum(ds, repeated);
  }

  CallBuilder b_;
  Attention a_;
  bool is_valid_ = false;
  Op q_, k_, v_, allowed_;
};

}  // namespace

Expansion AttentionForward(const Instruction& call) { return AttentionExpander(call).Forward(); }
Expansion AttentionBackward(const Instruction& call) { return AttentionExpander(call).Backward(); }

}  // namespace hlo::plan::calls
