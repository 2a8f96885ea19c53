// Normalisation layers of cuDNN and oneDNN.

#include <string>
#include <vector>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "reference/custom/call_options.h"

namespace hlo::plan::calls {
namespace {

// Rows of an array: [row, element].
struct Normalised {
  Op y, mean, factor;  // factor = 1 / sqrt(variance + epsilon).
};

// y = (x - mean) * factor * scale + bias for each row of `width` elements.
Normalised NormaliseRows(CallBuilder& b, int64_t width, double epsilon) {
  const int64_t rows = *b.shape_of(0).ElementCount() / width;
  const std::vector<int64_t> dims = {rows, width};
  const Op x = build::Reshape(b.Wide(0), dims), count = b.Number(static_cast<double>(width));
  const auto parameter = [&](int64_t k) {
    return CallBuilder::Along(build::Reshape(b.Wide(k), {width}), dims, 1);
  };
  Normalised result;
  result.mean = b.Sum(x, {1}) / count;
  const Op centred = x - result.mean;
  result.factor = build::Rsqrt(b.Sum(centred * centred, {1}) / count + b.Number(epsilon));
  result.y = centred * result.factor * parameter(1) + parameter(2);
  return result;
}

// With g = dy * scale and z = (x - mean) * factor: dx = factor * (g - mean(g) - z * mean(g * z)); dscale and
// dbias are the sums over rows of dy * z and dy.
Expansion NormBackward(CallBuilder& b, int64_t width) {
  const int64_t rows = b.shape_of(0).dim(0);
  const std::vector<int64_t> dims = {rows, width};
  const Op x = build::Reshape(b.Wide(0), dims), dy = build::Reshape(b.Wide(2), dims);
  const Op scale = CallBuilder::Along(build::Reshape(b.Wide(1), {width}), dims, 1);
  const Op mean = build::Reshape(b.Wide(3), {rows, 1}), factor = build::Reshape(b.Wide(4), {rows, 1});
  const Op count = b.Number(static_cast<double>(width));
  const Op z = (x - mean) * factor, g = dy * scale;
  const Op dx = factor * (g - b.Sum(g, {1}) / count - z * (b.Sum(g * z, {1}) / count));
  return b.Finish({dx, b.Sum(dy * z, {0}), b.Sum(dy, {0})});
}

}  // namespace

Expansion Norm(const Instruction& call) {
  CallBuilder b(call);
  const reference::custom::Options options = reference::custom::NormOptions(call);
  const int64_t width = reference::custom::RowWidth(call.operand(0)->shape());
  const std::string kind = options.Text("kind", "");
  if (width == 0 || *call.operand(0)->shape().ElementCount() == 0) return std::nullopt;
  if (kind == "LAYER_BWD") return NormBackward(b, width);
  const Normalised rows = NormaliseRows(b, width, options.Number("epsilon", 1e-5));
  if (kind == "LAYER_FWD_INFER") return b.Finish({rows.y});
  return b.Finish({rows.y, rows.mean, rows.factor});
}

// Normalises the last dimension.
Expansion OnednnLayerNorm(const Instruction& call) {
  CallBuilder b(call);
  const Shape& x = call.operand(0)->shape();
  if (*x.ElementCount() == 0) return std::nullopt;
  return b.Finish({NormaliseRows(b, x.dim(x.rank() - 1), reference::custom::OnednnRowsOf(call).epsilon).y});
}

// exp(x - max) / sum of exp(x - max) along one dimension.
Expansion OnednnSoftmax(const Instruction& call) {
  CallBuilder b(call);
  const int64_t axis = reference::custom::OnednnRowsOf(call).axis;
  const Op x = b.Wide(0), power = build::Exp(x - b.Max(x, {axis}));
  return b.Finish({power / b.Sum(power, {axis})});
}

}  // namespace hlo::plan::calls
