// The attention of cuDNN and TransformerEngine, forward and backward.
//
// Several heads of queries may share one of keys and values. So the queries of these heads are the rows of
// one matrix: [B, heads of keys, heads of queries a head of keys * queries, width].

#include "reference/custom/attention.h"

#include <array>
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
    constexpr int64_t kMaxPosition = std::numeric_limits<int32_t>::max() / 4;
    is_valid_ = reference::custom::ReadAttention(call, &a_).empty() && a_.keys() > 0 && a_.queries() > 0 &&
                a_.keys() < kMaxPosition && a_.queries() < kMaxPosition &&
                static_cast<double>(a_.keys()) * static_cast<double>(hlo::Product(a_.output_dims())) <
                    kMaxScores * static_cast<double>(a_.v[3]);
    if (!is_valid_) return;
    q_ = Rows(Input(0));
    k_ = Input(1);
    v_ = Input(2);
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
    std::vector<Op> results = Gradients({dq, Product(scaled, q_, 2, 2), Product(Rows(p), Rows(d_o), 2, 2)});
    const auto shapes = b_.results();
    if (a_.bias >= 0 && shapes.size() > 3 && SameDimensions(shapes[3], b_.shape_of(a_.bias)))
      results.push_back(SumLikeBias(ds));
    return b_.Finish(results);
  }

 private:
  Op Wide(Op x) const { return CallBuilder::As(x, b_.type()); }

  // Returns an array in the order [B, N, rows, width].
  static Op Ordered(Op x, const Index& order, const Index& dims) {
    return !x.ok() || Pick(x.dims(), order) != dims ? x : build::Transpose(x, order);
  }
  // Returns q, k or v in this order.
  Op Input(int number) const {
    const Attention::Place place = a_.input(number);
    const Op x = b_.Raw(place.array);
    if (place.slice < 0) return Ordered(x, a_.order(number), a_.sizes(number));
    const Op slice = build::SliceInDim(x, place.slice, place.slice + 1, 1, a_.packed_dim);
    const Index& order = a_.order(number);
    return build::Transpose(build::Reshape(slice, Pick(a_.sizes(number), Inverse(order))), order);
  }
  // Returns the first three results of a backward call. If q, k and v are packed, so are their gradients, and
  // the remaining results are empty.
  std::vector<Op> Gradients(const std::array<Op, 3>& gradients) {
    std::array<std::vector<Op>, 3> slices;
    for (int number = 0; number < 3; ++number) {
      const Attention::Place place = a_.input(number);
      const auto array = static_cast<size_t>(place.array);
      const Index& sizes = a_.sizes(number);
      Op x = Result(gradients[static_cast<size_t>(number)], sizes, a_.order(number), array, place.slice < 0);
      if (place.slice >= 0) {
        std::vector<int64_t> slice(b_.shape_of(place.array).dims().begin(),
                                   b_.shape_of(place.array).dims().end());
        slice[static_cast<size_t>(a_.packed_dim)] = 1;
        x = build::Reshape(x, slice);
      }
      slices[array].push_back(x);
    }
    std::vector<Op> results;
    for (size_t i = 0; i < 3; ++i) {
      results.push_back(slices[i].empty()       ? build::Broadcast(b_.Number(0), b_.results()[i].dims())
                        : slices[i].size() == 1 ? slices[i][0]
                                                : build::ConcatInDim(slices[i], a_.packed_dim));
    }
    return results;
  }
  // Returns an array in the order of its operand, or in [B, N, rows, width] if result `number` has it.
  Op Result(Op x, const Index& dims, const Index& order, size_t number, bool may_keep = true) const {
    x = build::Reshape(x, dims);
    const bool keeps = may_keep && a_.IsCanonicalResult(b_.results()[number].dims(), dims);
    return keeps ? x : build::Transpose(x, Inverse(order));
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
  Op Length(int operand) {
    Op lengths = b_.Raw(operand);
    if (a_.cumulative) {
      const int64_t n = a_.batches();
      lengths = build::Reshape(lengths, {n + 1});
      lengths = build::SliceInDim(lengths, 1, n + 1, 1, 0) - build::SliceInDim(lengths, 0, n, 1, 0);
    }
    return build::Reshape(lengths, {a_.batches(), 1, 1, 1});
  }
  // Returns the mask of scores; invalid if all are allowed.
  Op Allowed() {
    Op mask;
    const auto restrict = [&](Op also) { mask = mask.ok() ? build::And(mask, also) : also; };
    const auto number = [&](int64_t value) {
      return b_.builder().Constant(ElementType::kS32, static_cast<double>(value));
    };
    const auto query = [&](int64_t shift) { return shift == 0 ? Position(2) : Position(2) + number(shift); };
    if (a_.causal) restrict(build::Le(Position(3), query(a_.shift)));
    if (a_.window > 0) restrict(build::Gt(Position(3), query(a_.shift - a_.window)));
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
