// Shape rules of dot, ragged-dot and scaled-dot (shape-rules 3.11 to 3.13). Any result type is accepted,
// since it selects the accumulation type.

#include <algorithm>
#include <bitset>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "check/contraction.h"
#include "check/support.h"

namespace hlo::check {
namespace {

using DimensionSet = std::bitset<Shape::kMaxRank>;

// Marks the batch and contracting dimensions of one side. Each must be in range and occur once.
bool MarkDimensions(RuleContext& c, std::string_view rule, int64_t side, SourceRange at,
                    std::string_view what, IntList numbers, DimensionSet* used) {
  const Shape& x = c.operand(side);
  for (int64_t d : numbers) {
    if (!InRange(d, x.rank())) {
      c.NoteOperand(c.Error(at, rule, "{} {} names dimension {}, which {} does not have", what, Text(numbers),
                            d, Text(x)),
                    side);
      return false;
    }
    if ((*used)[d]) {
      c.Error(at, rule, "{} {} uses dimension {} of operand {} a second time", what, Text(numbers), d, side);
      return false;
    }
    used->set(d);
  }
  return true;
}

bool PairedSizesAgree(RuleContext& c, std::string_view rule, SourceRange at, std::string_view what,
                      IntList lhs, IntList rhs) {
  if (lhs.size() != rhs.size()) {
    c.Error(at, rule, "the {} dimensions pair up, but they are {} and {}", what, Text(lhs), Text(rhs));
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t a = c.operand(0).dim(lhs[i]), b = c.operand(1).dim(rhs[i]);
    if (SizesMatch(a, b)) continue;
    c.NoteOperand(
        c.NoteOperand(
            c.Error(at, rule,
                    "{} dimension {} of the left side has size {}, dimension {} of the right side has {}",
                    what, lhs[i], SizeText(a), rhs[i], SizeText(b)),
            0),
        1);
    ok = false;
  }
  return ok;
}

struct DotDimensions {
  IntList lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
  DimensionSet lhs_used, rhs_used;
};

bool CheckDotDimensions(RuleContext& c, std::string_view rule, DotDimensions* dims) {
  if (!RequireArray(c, 0, rule) || !RequireArray(c, 1, rule)) return false;
  dims->lhs_batch = c.Get<attr::lhs_batch_dims>();
  dims->lhs_contracting = c.Get<attr::lhs_contracting_dims>();
  dims->rhs_batch = c.Get<attr::rhs_batch_dims>();
  dims->rhs_contracting = c.Get<attr::rhs_contracting_dims>();
  bool ok = MarkDimensions(c, rule, 0, c.range_of<attr::lhs_batch_dims>(), "lhs_batch_dims", dims->lhs_batch,
                           &dims->lhs_used);
  ok &= MarkDimensions(c, rule, 0, c.range_of<attr::lhs_contracting_dims>(), "lhs_contracting_dims",
                       dims->lhs_contracting, &dims->lhs_used);
  ok &= MarkDimensions(c, rule, 1, c.range_of<attr::rhs_batch_dims>(), "rhs_batch_dims", dims->rhs_batch,
                       &dims->rhs_used);
  ok &= MarkDimensions(c, rule, 1, c.range_of<attr::rhs_contracting_dims>(), "rhs_contracting_dims",
                       dims->rhs_contracting, &dims->rhs_used);
  if (!ok) return false;
  ok = PairedSizesAgree(c, rule, c.range_of<attr::lhs_contracting_dims>(), "contracting",
                        dims->lhs_contracting, dims->rhs_contracting);
  return PairedSizesAgree(c, rule, c.range_of<attr::lhs_batch_dims>(), "batch", dims->lhs_batch,
                          dims->rhs_batch) &&
         ok;
}

// Appends the batch, lhs free and rhs free dimensions.
bool AppendDotResult(RuleContext& c, std::string_view rule, const DotDimensions& dims, Shape* result) {
  const Shape& lhs = c.operand(0);
  const Shape& rhs = c.operand(1);
  const int64_t rank = result->rank() + lhs.rank() - static_cast<int64_t>(dims.lhs_contracting.size()) +
                       rhs.rank() - static_cast<int64_t>(dims.rhs_used.count());
  if (rank > Shape::kMaxRank) {
    c.Error({}, rule, "the result would have {}; at most {} are possible", Counted(rank, "dimension"),
            Shape::kMaxRank);
    return false;
  }
  for (int64_t d : dims.lhs_batch) result->AppendDim(lhs.dim(d), lhs.IsDynamic(d));
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!dims.lhs_used[d]) result->AppendDim(lhs.dim(d), lhs.IsDynamic(d));
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!dims.rhs_used[d]) result->AppendDim(rhs.dim(d), rhs.IsDynamic(d));
  }
  return true;
}

}  // namespace

ElementType ContractionType(RuleContext& c) {
  const ElementType type = WiderType(c, c.operand(0).type(), c.operand(1).type(), "1.2");
  return c.declared().IsArray() ? c.declared().type() : type;
}

bool CheckExtraOperands(RuleContext& c, std::string_view rule) {
  const SparsityConfig* sparsity = c.Get<attr::sparsity_config>();
  const BlockScalingConfig* scaling = c.Get<attr::block_scaling_config>();
  if (c.operand_count() == 2 && sparsity == nullptr && scaling == nullptr) [[likely]]
    return true;
  absl::InlinedVector<int64_t, 4> named;
  if (sparsity != nullptr) {
    if (sparsity->lhs.present) named.push_back(sparsity->lhs.operand);
    if (sparsity->rhs.present) named.push_back(sparsity->rhs.operand);
  }
  if (scaling != nullptr) {
    if (scaling->lhs.present) named.push_back(scaling->lhs.scale_operand);
    if (scaling->rhs.present) named.push_back(scaling->rhs.scale_operand);
  }
  const SourceRange at =
      sparsity ? c.range_of<attr::sparsity_config>() : c.range_of<attr::block_scaling_config>();
  bool ok = true;
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i] < 2 || named[i] >= c.operand_count()) {
      c.Error(at, rule, "operand {} is named, but the extra operands are 2..{}", named[i],
              c.operand_count() - 1);
      ok = false;
    } else if (std::find(named.begin(), named.begin() + i, named[i]) != named.begin() + i) {
      c.Error(at, rule, "operand {} is named twice", named[i]);
      ok = false;
    } else {
      ok &= RequireArray(c, named[i], rule);
    }
  }
  for (int64_t i = 2; i < c.operand_count(); ++i) {
    if (std::find(named.begin(), named.end(), i) != named.end()) continue;
    c.OperandError(i, rule, "nothing refers to operand {}: neither sparsity_config nor block_scaling_config",
                   i);
    ok = false;
  }
  return ok;
}

Inferred Dot(RuleContext& c) {
  constexpr std::string_view kRule = "3.11";
  DotDimensions dims;
  const bool extra = CheckExtraOperands(c, kRule);
  if (!CheckDotDimensions(c, kRule, &dims) || !extra) return Failed();
  Shape result = Shape::Scalar(ContractionType(c));
  if (!AppendDotResult(c, kRule, dims, &result)) return Failed();
  return result;
}

namespace {

constexpr std::string_view kRagged = "3.12";

// The dimensions of group_sizes before the groups, if it is not a vector.
using Prefix = absl::InlinedVector<int64_t, 4>;

bool GroupSizesFit(RuleContext& c, const Prefix& prefix) {
  const Shape& sizes = c.operand(2);
  if (sizes.rank() == 1) return true;
  bool fits = sizes.rank() == static_cast<int64_t>(prefix.size()) + 1;
  for (size_t i = 0; fits && i < prefix.size(); ++i) fits = sizes.dim(i) == prefix[i];
  if (!fits) {
    c.OperandError(2, kRagged, "group_sizes is [groups] or [{},groups], but it is {}",
                   absl::StrJoin(prefix, ","), Text(sizes));
  }
  return fits;
}

// Checks the group dimensions of the rhs: none, or exactly one free dimension.
bool CheckGroupDimensions(RuleContext& c, bool wanted, DotDimensions* dims) {
  const IntList groups = c.Get<attr::rhs_group_dims>();
  const SourceRange at = c.range_of<attr::rhs_group_dims>();
  if (static_cast<int64_t>(groups.size()) != (wanted ? 1 : 0)) {
    c.Error(at, kRagged, "this ragged dimension goes with {} group dimension{}, but rhs_group_dims is {}",
            wanted ? "one" : "no", wanted ? "" : "s", Text(groups));
    return false;
  }
  if (!wanted) return true;
  if (!MarkDimensions(c, kRagged, 1, at, "rhs_group_dims", groups, &dims->rhs_used)) return false;
  const Shape& sizes = c.operand(2);
  const int64_t count = sizes.dim(sizes.rank() - 1);
  if (SizesMatch(c.operand(1).dim(groups[0]), count)) return true;
  c.NoteOperand(c.Error(at, kRagged, "there are {} groups, but the group dimension has size {}",
                        SizeText(count), SizeText(c.operand(1).dim(groups[0]))),
                2);
  return false;
}

}  // namespace

Inferred RaggedDot(RuleContext& c) {
  DotDimensions dims;
  if (!RequireArrays(c, kRagged) || !CheckDotDimensions(c, kRagged, &dims)) return Failed();
  const Shape& lhs = c.operand(0);
  const Shape& sizes = c.operand(2);
  const IntList ragged = c.Get<attr::lhs_ragged_dims>();
  const SourceRange at = c.range_of<attr::lhs_ragged_dims>();
  if (ragged.size() != 1 || !InRange(ragged[0], lhs.rank())) {
    c.NoteOperand(c.Error(at, kRagged, "lhs_ragged_dims must name one dimension of {}, but it is {}",
                          Text(lhs), Text(ragged)),
                  0);
    return Failed();
  }
  if (sizes.rank() == 0) {
    c.OperandError(2, kRagged, "group_sizes must have a dimension of groups, but it is {}", Text(sizes));
    return Failed();
  }
  const int64_t r = ragged[0];
  const bool in_batch = Contains(dims.lhs_batch, r);
  const bool contracting = Contains(dims.lhs_contracting, r);
  Prefix prefix;
  auto until_ragged = [&](IntList list) {
    for (int64_t d : list) {
      if (d == r) break;
      prefix.push_back(lhs.dim(d));
    }
  };
  until_ragged(dims.lhs_batch);
  if (contracting) until_ragged(dims.lhs_contracting);
  for (int64_t d = 0; !in_batch && !contracting && d < r; ++d) {
    if (!dims.lhs_used[d]) prefix.push_back(lhs.dim(d));
  }
  const bool free = !in_batch && !contracting;
  if (!GroupSizesFit(c, prefix) || !CheckGroupDimensions(c, free, &dims)) return Failed();
  Shape result = Shape::Scalar(ContractionType(c));
  if (contracting) result.AppendDim(sizes.dim(sizes.rank() - 1), sizes.IsDynamic(sizes.rank() - 1));
  if (!AppendDotResult(c, kRagged, dims, &result)) return Failed();
  return result;
}

namespace {

constexpr std::string_view kScaled = "3.13";

// True for a bf16 array with a bf16 scale of one element, which means that it is not scaled.
bool IsAbsentScale(const Shape& x, const Shape& scale) {
  const auto is_one = [](int64_t size) { return size == 1; };
  return x.type() == ElementType::kBF16 && scale.type() == ElementType::kBF16 &&
         std::all_of(scale.dims().begin(), scale.dims().end(), is_one) &&
         !std::all_of(x.dims().begin(), x.dims().end(), is_one);
}

bool ScaleFits(RuleContext& c, int64_t side, IntList contracting) {
  const Shape& x = c.operand(side);
  const Shape& scale = c.operand(side + 2);
  if (IsAbsentScale(x, scale)) return true;
  if (contracting.size() != 1) {
    c.Error({}, kScaled, "scaled-dot has one contracting dimension, but they are {}", Text(contracting));
    return false;
  }
  bool fits = scale.rank() == x.rank();
  for (int64_t d = 0; fits && d < x.rank(); ++d) {
    fits = x.IsUnbounded(d) || scale.IsUnbounded(d) || (scale.dim(d) != 0 && x.dim(d) % scale.dim(d) == 0);
  }
  if (!fits) {
    c.NoteOperand(c.OperandError(side + 2, kScaled, "the sizes of a scale divide those of {}, but it is {}",
                                 Text(x), Text(scale)),
                  side);
  }
  return fits;
}

}  // namespace

Inferred ScaledDot(RuleContext& c) {
  DotDimensions dims;
  if (!RequireArrays(c, kScaled) || !CheckDotDimensions(c, kScaled, &dims)) return Failed();
  bool ok = ScaleFits(c, 0, dims.lhs_contracting);
  ok &= ScaleFits(c, 1, dims.rhs_contracting);
  if (c.operand(2).IsScalar() && c.operand(3).IsScalar()) {
    c.OperandError(2, kScaled, "at least one scale must be an array");
    ok = false;
  }
  Shape result = Shape::Scalar(ContractionType(c));
  if (!ok || !AppendDotResult(c, kScaled, dims, &result)) return Failed();
  return result;
}

}  // namespace hlo::check
