// Shape rule of convolution (shape-rules 3.14).

#include "base/counted.h"
#include "check/contraction.h"
#include "check/support.h"
#include "check/window.h"

namespace hlo::check {
namespace {

constexpr std::string_view kConvolutionRule = "3.14";

struct Groups {
  int64_t feature = 1;
  int64_t batch = 1;
};

bool ReadGroups(RuleContext& c, Groups* groups) {
  groups->feature = c.Get<attr::feature_group_count>(1);
  groups->batch = c.Get<attr::batch_group_count>(1);
  if (groups->feature > 0 && groups->batch > 0 && (groups->feature == 1 || groups->batch == 1)) return true;
  const SourceRange at =
      groups->batch != 1 ? c.range_of<attr::batch_group_count>() : c.range_of<attr::feature_group_count>();
  c.Error(at, kConvolutionRule,
          "group counts are positive and one of them is 1, but feature_group_count is {} and "
          "batch_group_count is {}",
          groups->feature, groups->batch);
  return false;
}

// Checks that the dimension numbers of one array are a permutation of 0..rank-1.
bool IsPermutation(RuleContext& c, std::string_view what, int64_t a, int64_t b, IntList spatial) {
  absl::InlinedVector<int64_t, 6> numbers = {a, b};
  numbers.insert(numbers.end(), spatial.begin(), spatial.end());
  return RequireDistinctDimensions(c, c.range_of<attr::dim_labels>(), kConvolutionRule, what, numbers,
                                   static_cast<int64_t>(numbers.size()));
}

bool CheckLabels(RuleContext& c, const DimLabels& labels) {
  const size_t n = labels.input_spatial.size();
  const SourceRange at = c.range_of<attr::dim_labels>();
  if (labels.kernel_spatial.size() != n || labels.output_spatial.size() != n) {
    c.Error(at, kConvolutionRule, "dim_labels {} names {}, {} and {} spatial dimensions", labels.text, n,
            labels.kernel_spatial.size(), labels.output_spatial.size());
    return false;
  }
  if (c.Get<attr::window>().size() != n) {
    c.Error(c.range_of<attr::window>(), kConvolutionRule,
            "the window has {}, but dim_labels {} names {} spatial ones",
            Counted(c.Get<attr::window>().size(), "dimension"), labels.text, n);
    return false;
  }
  bool ok = true;
  for (int64_t i : {0, 1}) {
    if (c.operand(i).rank() == static_cast<int64_t>(n) + 2) continue;
    c.OperandError(i, kConvolutionRule, "dim_labels {} is for arrays of {}, but operand {} is {}",
                   labels.text, Counted(n + 2, "dimension"), i, Text(c.operand(i)));
    ok = false;
  }
  return ok &&
         IsPermutation(c, "input dimensions", labels.input_batch, labels.input_feature,
                       labels.input_spatial) &&
         IsPermutation(c, "kernel dimensions", labels.kernel_input_feature, labels.kernel_output_feature,
                       labels.kernel_spatial) &&
         IsPermutation(c, "output dimensions", labels.output_batch, labels.output_feature,
                       labels.output_spatial);
}

// Sets the block size by which the kernel input features of a sparse kernel count.
bool SparseFactor(RuleContext& c, int64_t* factor) {
  *factor = 1;
  const SparsityConfig* sparsity = c.Get<attr::sparsity_config>();
  if (sparsity == nullptr || !sparsity->rhs.present) return true;
  if (sparsity->rhs.nonzeros == 1 && sparsity->rhs.block > 0) {
    *factor = sparsity->rhs.block;
    return true;
  }
  c.Error(c.range_of<attr::sparsity_config>(), kConvolutionRule,
          "a sparse kernel keeps 1 of each block, but sparsity is {}x{}", sparsity->rhs.nonzeros,
          sparsity->rhs.block);
  return false;
}

bool CheckFeatures(RuleContext& c, const DimLabels& labels, const Groups& groups) {
  const Shape& input = c.operand(0);
  const Shape& kernel = c.operand(1);
  const int64_t batch = input.dim(labels.input_batch), features = input.dim(labels.input_feature);
  const int64_t kernel_in = kernel.dim(labels.kernel_input_feature),
                out = kernel.dim(labels.kernel_output_feature);
  bool ok = true;
  auto divides = [&](std::string_view what, int64_t size, int64_t count, std::string_view kind) {
    if (size == Shape::kUnbounded || size % count == 0) return;
    c.Error({}, kConvolutionRule, "{} {} do not divide into {} {} groups", size, what, count, kind);
    ok = false;
  };
  divides("output features", out, groups.batch, "batch");
  divides("output features", out, groups.feature, "feature");
  divides("elements of the input batch", batch, groups.batch, "batch");
  divides("input features", features, groups.feature, "feature");
  int64_t factor = 1, needed = 0;
  if (!SparseFactor(c, &factor)) return false;
  if (!ok || features == Shape::kUnbounded || kernel_in == Shape::kUnbounded) return ok;
  if (__builtin_mul_overflow(kernel_in, factor, &needed) || features / groups.feature != needed) {
    c.NoteOperand(c.NoteOperand(c.Error({}, kConvolutionRule,
                                        "the input has {} features in {} groups, but the kernel takes {}",
                                        features, groups.feature, needed),
                                0),
                  1);
    ok = false;
  }
  if (kernel.IsDynamic(labels.kernel_output_feature)) {
    c.OperandError(1, kConvolutionRule, "the output features of the kernel must not be dynamic: {}",
                   Text(kernel));
    ok = false;
  }
  return ok;
}

}  // namespace

Inferred Convolution(RuleContext& c) {
  if (!RequireArray(c, 0, kConvolutionRule) || !RequireArray(c, 1, kConvolutionRule)) return Failed();
  const bool extra = CheckExtraOperands(c, kConvolutionRule);
  const DimLabels& labels = *c.Get<attr::dim_labels>();
  const Window window = c.Get<attr::window>();
  Groups groups;
  if (!ReadGroups(c, &groups) || !CheckLabels(c, labels)) return Failed();
  const Shape& input = c.operand(0);
  const Shape& kernel = c.operand(1);
  bool ok = CheckFeatures(c, labels, groups) && extra;
  absl::InlinedVector<int64_t, 6> sizes(input.rank(), 0);
  Shape result = Shape::Array(ContractionType(c), sizes);
  const int64_t batch = input.dim(labels.input_batch);
  result.set_dim(labels.output_batch, batch == Shape::kUnbounded ? batch : batch / groups.batch,
                 input.IsDynamic(labels.input_batch));
  result.set_dim(labels.output_feature, kernel.dim(labels.kernel_output_feature));
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t in = labels.input_spatial[i], k = labels.kernel_spatial[i];
    int64_t size = 0;
    if (!SizesMatch(window[i].size, kernel.dim(k))) {
      c.NoteOperand(c.Error(c.range_of<attr::window>(), kConvolutionRule,
                            "dimension {} of the window has size {}, but the kernel has {}", i,
                            window[i].size, kernel.dim(k)),
                    1);
      ok = false;
    }
    ok &= WindowOutputSize(c, c.range_of<attr::window>(), "3.16", static_cast<int64_t>(i), input.dim(in),
                           window[i], &size);
    result.set_dim(labels.output_spatial[i], size, input.IsDynamic(in) || kernel.IsDynamic(k));
  }
  return ok ? Inferred(std::move(result)) : Failed();
}

}  // namespace hlo::check
