#include "io/proto_attributes.h"

#include <algorithm>
#include <vector>

#include "base/append.h"
#include "fmt/format.h"
#include "io/proto_text.h"
#include "ir/printer.h"

namespace hlo::io {
namespace {

using OriginElements = std::vector<const proto::OriginalValueElementProto*>;

// Returns the tree of these sorted elements; `depth` indices of their paths are above it.
std::string OriginTree(const OriginElements& elements, int depth) {
  if (elements.size() == 1 && elements[0]->shape_index_size() == depth) {
    const proto::OriginalValueElementProto& leaf = *elements[0];
    if (!leaf.has_original_array()) return "{}";
    std::string text = "{\"";
    AppendEscaped(leaf.original_array().instruction_name(), &text);
    text += "\"";
    if (leaf.original_array().shape_index_size() > 0)
      text += " " + IntsText(leaf.original_array().shape_index());
    return text + "}";
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < elements.size();) {
    OriginElements same;
    const auto step = [&](size_t k) {
      return elements[k]->shape_index_size() > depth ? elements[k]->shape_index(depth) : -1;
    };
    const int64_t first = step(i);
    for (; i < elements.size() && step(i) == first; ++i) {
      if (first >= 0) same.push_back(elements[i]);
    }
    if (!same.empty()) parts.push_back(OriginTree(same, depth + 1));
  }
  return "(" + absl::StrJoin(parts, ", ") + ")";
}

}  // namespace

std::string WindowText(const proto::Window& window) {
  if (window.dimensions_size() == 0) return "";
  std::vector<std::string> fields;
  const auto field = [&](std::string_view name, auto text_of) {
    std::vector<std::string> parts;
    for (const proto::WindowDimension& d : window.dimensions()) parts.push_back(text_of(d));
    fields.push_back(fmt::format("{}={}", name, fmt::join(parts, "x")));
  };
  using Dim = proto::WindowDimension;
  field("size", [](const Dim& d) { return fmt::format("{}", d.size()); });
  field("stride", [](const Dim& d) { return fmt::format("{}", d.stride()); });
  field("pad", [](const Dim& d) { return fmt::format("{}_{}", d.padding_low(), d.padding_high()); });
  field("lhs_dilate", [](const Dim& d) { return fmt::format("{}", d.base_dilation()); });
  field("rhs_dilate", [](const Dim& d) { return fmt::format("{}", d.window_dilation()); });
  field("rhs_reversal", [](const Dim& d) { return std::string(d.window_reversal() ? "1" : "0"); });
  return "{" + absl::StrJoin(fields, " ") + "}";
}

absl::StatusOr<std::string> DimLabelsText(const proto::ConvolutionDimensionNumbers& d) {
  bool fits = true;
  // Absent positions are printed as `?`; of two labels at one position the later wins.
  const auto part = [&](int64_t first, char first_letter, int64_t second, char second_letter,
                        const auto& spatial) {
    std::string text;
    const auto put = [&](int64_t at, char letter) {
      if (at < 0 || at >= Shape::kMaxRank) {
        fits = false;
        return;
      }
      if (at >= static_cast<int64_t>(text.size())) text.resize(static_cast<size_t>(at) + 1, '?');
      text[static_cast<size_t>(at)] = letter;
    };
    put(first, first_letter);
    put(second, second_letter);
    for (int i = 0; i < spatial.size(); ++i) put(spatial[i], i < 10 ? static_cast<char>('0' + i) : '?');
    return text;
  };
  std::string text =
      part(d.input_batch_dimension(), 'b', d.input_feature_dimension(), 'f', d.input_spatial_dimensions());
  text += "_" + part(d.kernel_input_feature_dimension(), 'i', d.kernel_output_feature_dimension(), 'o',
                     d.kernel_spatial_dimensions());
  text += "->" + part(d.output_batch_dimension(), 'b', d.output_feature_dimension(), 'f',
                      d.output_spatial_dimensions());
  if (!fits)
    return absl::InvalidArgumentError("the dimension numbers of a convolution are not valid dimensions");
  return text;
}

std::string PaddingText(const proto::PaddingConfig& padding) {
  std::vector<std::string> dims;
  for (const auto& d : padding.dimensions())
    dims.push_back(
        fmt::format("{}_{}_{}", d.edge_padding_low(), d.edge_padding_high(), d.interior_padding()));
  return absl::StrJoin(dims, "x");
}

std::string AliasText(const proto::HloInstructionProto& p) {
  std::vector<std::string> aliases;
  for (const proto::OutputOperandAliasing& alias : p.output_operand_aliasing()) {
    aliases.push_back(fmt::format("{}: ({}, {})", IntsText(alias.output_shape_index()), alias.operand_index(),
                                  IntsText(alias.operand_shape_index())));
  }
  return aliases.empty() ? "" : "{" + absl::StrJoin(aliases, ", ") + "}";
}

std::string StatisticsText(const proto::StatisticsViz& statistics) {
  std::string out = fmt::format("{{visualizing_index={}", statistics.stat_index_to_visualize());
  for (const proto::Statistic& entry : statistics.statistics())
    out += fmt::format(",{}={}", NameText(entry.stat_name()), RealText(entry.stat_val(), /*as_xla=*/false));
  return out + "}";
}

std::string AccuracyText(const proto::ResultAccuracy& accuracy) {
  if (accuracy.has_tolerance()) {
    const auto& t = accuracy.tolerance();
    return fmt::format("{{tolerance={{atol={},rtol={},ulps={}}}}}", RealText(t.atol(), /*as_xla=*/false),
                       RealText(t.rtol(), /*as_xla=*/false), t.ulps());
  }
  return accuracy.mode() == proto::ResultAccuracy::HIGHEST ? "{mode=highest}" : "";
}

std::string SparsityText(const proto::SparsityConfig& config) {
  std::vector<std::string> sides;
  const auto side = [&](std::string_view name, const proto::SparsityConfig::TensorSparsityConfig& s) {
    sides.push_back(fmt::format("{}={{sparsity={}x{} dimension={} stride={} idx={}}}", name, s.num_non_zero(),
                                s.block_size(), s.dimension(), s.stride(), s.idx()));
  };
  if (config.has_lhs()) side("lhs", config.lhs());
  if (config.has_rhs()) side("rhs", config.rhs());
  return sides.empty() ? "" : "{" + absl::StrJoin(sides, " ") + "}";
}

std::string BlockScalingText(const proto::BlockScalingConfig& config) {
  std::vector<std::string> sides;
  if (config.has_lhs()) sides.push_back(fmt::format("lhs={{scale_idx={}}}", config.lhs().scale_idx()));
  if (config.has_rhs()) sides.push_back(fmt::format("rhs={{scale_idx={}}}", config.rhs().scale_idx()));
  return sides.empty() ? "" : "{" + absl::StrJoin(sides, " ") + "}";
}

std::string OriginText(const proto::OriginalValueProto& origin) {
  OriginElements elements;
  for (const proto::OriginalValueElementProto& element : origin.elements()) {
    constexpr int kDeepest = 100;  // The nesting limit of shapes in a message.
    if (element.shape_index_size() > kDeepest) return "";
    elements.push_back(&element);
  }
  std::stable_sort(elements.begin(), elements.end(), [](const auto* a, const auto* b) {
    return std::lexicographical_compare(a->shape_index().begin(), a->shape_index().end(),
                                        b->shape_index().begin(), b->shape_index().end());
  });
  std::string text = "{" + OriginTree(elements, 0);
  if (origin.is_synthetic_call() || !origin.call_hierarchy().empty()) {
    text += ",[\"";
    AppendEscaped(origin.call_hierarchy(), &text);
    text += "\"]";
  }
  return text + "}";
}

}  // namespace hlo::io
