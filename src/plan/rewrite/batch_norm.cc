#include "plan/rewrite/batch_norm.h"

#include <algorithm>
#include <vector>

#include "hlo_run/builder.h"
#include "ir/result_shapes.h"
#include "plan/calls/replacement.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

// f8e8m0fnu has the range of f32, which differences and products exceed.
bool ExceedsF32(ElementType type) { return type == ElementType::kF64 || type == ElementType::kF8E8M0FNU; }

// Builds the replacement of a batch normalisation.
class BatchNormExpander {
 public:
  explicit BatchNormExpander(const Instruction& batch_norm)
      : batch_norm_(batch_norm), shape_(batch_norm.operand(0)->shape()), builder_(batch_norm.name()) {
    const int64_t feature = batch_norm.Get<attr::feature_index>();
    outer_ = Product(shape_.dims().first(feature));
    features_ = shape_.dim(feature);
    inner_ = Product(shape_.dims().subspan(feature + 1));
    zero_ = builder_.Constant(ElementType::kF64, 0);
    count_ = builder_.Constant(ElementType::kF64, static_cast<double>(outer_ * inner_));
    // The attribute is an f32 for all operand types.
    epsilon_ = builder_.Constant(ElementType::kF64, static_cast<float>(batch_norm.Get<attr::epsilon>()));
    for (const Instruction* operand : batch_norm.operands()) {
      operands_.push_back(
          builder_.Parameter(static_cast<int64_t>(operands_.size()), operand->shape().WithoutLayouts()));
      if (ExceedsF32(operand->shape().type())) type_ = ElementType::kF64;
    }
  }

  // The mean is rounded to the type of the elements, and the offset makes up for its error.
  std::optional<CheckedModule> Training() {
    const Op mean = Sum(Term(0)) / count_;
    const Op variance = Sum(build::Square(Term(0))) / count_ - mean * mean;
    const Op factor = FeatureVector(1) / build::Sqrt(variance + epsilon_);
    const Op rounded = ConvertTo(mean, type_);
    const Op error =
        build::Select(build::IsFinite(factor), (mean - Wide(rounded)) * factor, build::FullLike(mean, 0));
    const Op centred = Element(0) - Broadcast(rounded);
    const Op y = centred * Broadcast(factor) + Broadcast(FeatureVector(2) - error);
    return Finish({y, mean, variance});
  }

  // Computes x * factor + (offset - mean * factor) for infinite factors, and (x - mean) * factor + offset,
  // which loses fewer digits, for others.
  std::optional<CheckedModule> Inference() {
    const Op mean = FeatureVector(3), offset = FeatureVector(2);
    const Op factor = FeatureVector(1) / build::Sqrt(FeatureVector(4) + epsilon_);
    const Op is_finite = build::IsFinite(ConvertTo(factor, type_));
    const Op shift = build::Select(is_finite, mean, build::FullLike(mean, 0));
    const Op rest = build::Select(is_finite, offset, offset - mean * factor);
    return Finish({(Element(0) - Broadcast(shift)) * Broadcast(factor) + Broadcast(rest)});
  }

  // Computes dx = s / n * (n * dy - doffset - (x - mean) * S / spread), s = scale / sqrt(spread), as a linear
  // function of x and dy. An infinite s multiplies the sum of the terms, which can have different signs.
  std::optional<CheckedModule> Grad() {
    const Op mean = FeatureVector(2), spread = FeatureVector(3) + epsilon_;
    const Op sum = Sum(Term(4)), product = Sum(Term(4, type_) * (Term(0, type_) - BroadcastToTerms(mean)));
    const Op scale = FeatureVector(1) / build::Sqrt(spread), one = build::FullLike(scale, 1);
    const Op is_finite = build::IsFinite(ConvertTo(scale, type_));
    const Op factor = build::Select(is_finite, scale, one), part = -(factor / count_);
    const Op from_x = (Element(0) - Broadcast(mean)) * Broadcast(part * product / spread);
    const Op dx = from_x + (Element(4) * Broadcast(factor) + Broadcast(part * sum));
    return Finish({dx * Broadcast(build::Select(is_finite, one, scale)), product / build::Sqrt(spread), sum});
  }

 private:
  static Op ConvertTo(Op x, ElementType type) {
    return x.shape().type() == type ? x : build::ConvertElementType(x, type);
  }
  static Op Wide(Op x) { return ConvertTo(x, ElementType::kF64); }

  // Returns a vector operand in f64.
  Op FeatureVector(int64_t operand) {
    Op vector = operands_[operand];
    // In arrays of higher rank, the values of the features come first.
    if (vector.shape().rank() != 1) {
      vector = build::Reshape(vector, {Product(vector.shape().dims())});
      vector = build::Slice(vector, {0}, {features_});
    }
    return Wide(vector);
  }
  // Each user gets its own conversion of the operand, which is then fused into the user.
  Op Element(int64_t operand) { return ConvertTo(operands_[operand], type_); }
  Op Broadcast(Op vector) {
    return build::BroadcastInDim(ConvertTo(vector, type_), shape_.dims(),
                                 {batch_norm_.Get<attr::feature_index>()});
  }

  // Returns the number of partial sums per feature.
  int64_t Parts() const {
    if (inner_ > 1) return 1;
    const int64_t most = std::min(kPartialSums / std::max<int64_t>(features_, 1), outer_ / kMinTerms);
    for (int64_t parts = most; parts > 1; --parts) {
      if (outer_ % parts == 0) return parts;
    }
    return 1;
  }
  // The terms of a sum have dimensions [outer / parts, parts, features, inner].
  std::vector<int64_t> TermDims() const { return {outer_ / Parts(), Parts(), features_, inner_}; }
  Op Term(int64_t operand, ElementType type = ElementType::kF64) {
    return ConvertTo(build::Reshape(operands_[operand], TermDims()), type);
  }
  Op BroadcastToTerms(Op vector) { return build::BroadcastInDim(ConvertTo(vector, type_), TermDims(), {2}); }
  // Returns the sum of the terms of each feature. Rows of a few features are added to several partial sums.
  Op Sum(Op terms) {
    terms = Wide(terms);
    const build::Function add = builder_.Scalar(Opcode::kAdd, ElementType::kF64);
    if (Parts() == 1) return build::Reduce(terms, zero_, add, {0, 1, 3});
    return build::Reduce(build::Reduce(terms, zero_, add, {0, 3}), zero_, add, {0});
  }

  std::optional<CheckedModule> Finish(std::vector<Op> results) {
    const auto shapes = ResultShapes(batch_norm_);
    for (size_t k = 0; k < results.size(); ++k) {
      if (!results[k].ok()) return std::nullopt;
      results[k] = ConvertTo(results[k], shapes[k].type());
    }
    return BuildReplacement(builder_, results, batch_norm_);
  }

  static constexpr int64_t kPartialSums = 1024;  // Maximum number of partial sums.
  static constexpr int64_t kMinTerms = 32;       // Minimum number of terms of a partial sum.

  const Instruction& batch_norm_;
  const Shape& shape_;
  build::Builder builder_;
  std::vector<Op> operands_;
  ElementType type_ = ElementType::kF32;  // The type in which elements are computed.
  int64_t outer_, features_, inner_;
  Op zero_, count_, epsilon_;
};

}  // namespace

std::optional<CheckedModule> ExpandBatchNorm(const Instruction& batch_norm) {
  switch (batch_norm.opcode()) {
    case Opcode::kBatchNormTraining:
      return BatchNormExpander(batch_norm).Training();
    case Opcode::kBatchNormInference:
      return BatchNormExpander(batch_norm).Inference();
    default:
      return BatchNormExpander(batch_norm).Grad();
  }
}

}  // namespace hlo::plan
