// Selects kernels for batch-norm-training, -inference and -grad (semantics 6.8).

#include <cmath>

#include "kernels/cpu/convolution/batch_norm.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "plan/select/library_kernels.h"

namespace hlo::plan {
namespace {

using Doubles = cpu::CachedVector<double>;

cpu::FeatureDims FeatureDimsOf(const Instruction& instruction) {
  const Shape& shape = instruction.operand(0)->shape();
  const int64_t feature = instruction.Get<attr::feature_index>();
  cpu::FeatureDims dims{.features = shape.dim(feature)};
  for (int64_t d = 0; d < feature; ++d) dims.outer *= shape.dim(d);
  for (int64_t d = feature + 1; d < shape.rank(); ++d) dims.inner *= shape.dim(d);
  return dims;
}

// The attribute is an f32 for all operand types.
double Epsilon(const Instruction& instruction) {
  return static_cast<float>(instruction.Get<attr::epsilon>());
}

cpu::FloatArray ArrayOf(const Instruction& instruction, absl::Span<const void* const> operands, int64_t k) {
  return {instruction.operand(k)->shape().type(), operands[k]};
}
Doubles PerFeature(const Instruction& instruction, absl::Span<const void* const> operands, int64_t k) {
  Doubles values(instruction.operand(k)->shape().dim(0));
  cpu::ToDoubles(ArrayOf(instruction, operands, k), static_cast<int64_t>(values.size()), values.data());
  return values;
}
void Store(const Instruction& instruction, const Doubles& values, int64_t k,
           absl::Span<void* const> results) {
  cpu::FromDoubles(values.data(), static_cast<int64_t>(values.size()), instruction.shape().element(k).type(),
                   results[k]);
}

absl::Status RunTraining(const Instruction& instruction, absl::Span<const void* const> operands,
                         absl::Span<void* const> results) {
  const cpu::FeatureDims dims = FeatureDimsOf(instruction);
  const cpu::FloatArray x = ArrayOf(instruction, operands, 0);
  const Doubles scale = PerFeature(instruction, operands, 1), offset = PerFeature(instruction, operands, 2);
  const auto n = static_cast<double>(dims.outer * dims.inner);
  Doubles mean(dims.features), variance(dims.features), factor(dims.features);
  const Doubles zeros(dims.features, 0.0);
  cpu::FeatureSums(dims, x, zeros.data(), x, mean.data(), variance.data());
  for (int64_t f = 0; f < dims.features; ++f) {
    mean[f] /= n;
    variance[f] = variance[f] / n - mean[f] * mean[f];
    factor[f] = scale[f] / std::sqrt(variance[f] + Epsilon(instruction));
  }
  cpu::FeatureLines(dims, x, nullptr, {mean.data(), factor.data(), offset.data()},
                    instruction.shape().element(0).type(), results[0]);
  Store(instruction, mean, 1, results);
  Store(instruction, variance, 2, results);
  return absl::OkStatus();
}

absl::Status RunInference(const Instruction& instruction, absl::Span<const void* const> operands,
                          absl::Span<void* const> results) {
  const cpu::FeatureDims dims = FeatureDimsOf(instruction);
  Doubles factor = PerFeature(instruction, operands, 1), offset = PerFeature(instruction, operands, 2);
  const Doubles mean = PerFeature(instruction, operands, 3), variance = PerFeature(instruction, operands, 4);
  const Doubles zeros(dims.features, 0.0);
  for (int64_t f = 0; f < dims.features; ++f) {
    factor[f] /= std::sqrt(variance[f] + Epsilon(instruction));
    offset[f] -= mean[f] * factor[f];
  }
  cpu::FeatureLines(dims, ArrayOf(instruction, operands, 0), nullptr,
                    {zeros.data(), factor.data(), offset.data()}, instruction.shape().type(), results[0]);
  return absl::OkStatus();
}

// Computes dx = s / n * (n * dy - doffset - (x - mean) * S / spread), s = scale / sqrt(spread), as a linear
// function of x and dy.
absl::Status RunGrad(const Instruction& instruction, absl::Span<const void* const> operands,
                     absl::Span<void* const> results) {
  const cpu::FeatureDims dims = FeatureDimsOf(instruction);
  const cpu::FloatArray x = ArrayOf(instruction, operands, 0), dy = ArrayOf(instruction, operands, 4);
  const Doubles scale = PerFeature(instruction, operands, 1), mean = PerFeature(instruction, operands, 2),
                variance = PerFeature(instruction, operands, 3);
  const auto n = static_cast<double>(dims.outer * dims.inner);
  Doubles sums(dims.features), products(dims.features), of_x(dims.features), of_dy(dims.features),
      offset(dims.features);
  cpu::FeatureSums(dims, x, mean.data(), dy, sums.data(), products.data());
  for (int64_t f = 0; f < dims.features; ++f) {
    const double spread = variance[f] + Epsilon(instruction), s = scale[f] / std::sqrt(spread) / n;
    of_dy[f] = s * n;
    of_x[f] = -s * products[f] / spread;
    offset[f] = -s * sums[f];
    products[f] /= std::sqrt(spread);
  }
  cpu::FeatureLines(dims, x, &dy, {mean.data(), of_x.data(), offset.data(), of_dy.data()},
                    instruction.shape().element(0).type(), results[0]);
  Store(instruction, products, 1, results);
  Store(instruction, sums, 2, results);
  return absl::OkStatus();
}

}  // namespace

LibraryKernel FindBatchNormTrainingKernel(const Instruction& /*instruction*/) {
  return {"batch-norm", &RunTraining};
}
LibraryKernel FindBatchNormInferenceKernel(const Instruction& /*instruction*/) {
  return {"batch-norm", &RunInference};
}
LibraryKernel FindBatchNormGradKernel(const Instruction& /*instruction*/) { return {"batch-norm", &RunGrad}; }

}  // namespace hlo::plan
