#include "reference/custom/activations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hlo::reference::custom {
namespace {

using Kind = Activation::Kind;

struct Named {
  std::string_view word;
  Kind kind;
};
constexpr Named kEpilogues[] = {
    {"DEFAULT", Kind::kNone},      {"BIAS", Kind::kNone},
    {"RELU", Kind::kRelu},         {"BIAS_RELU", Kind::kRelu},
    {"GELU", Kind::kGeluTanh},     {"BIAS_GELU", Kind::kGeluTanh},
    {"GELU_AUX", Kind::kGeluTanh}, {"BIAS_GELU_AUX", Kind::kGeluTanh},
    {"SILU", Kind::kSilu},         {"BIAS_SILU", Kind::kSilu},
};
constexpr Named kOnednnOps[] = {
    {"RELU", Kind::kRelu},          {"ELU", Kind::kElu},    {"RELU6", Kind::kRelu6},
    {"SIGMOID", Kind::kSigmoid},    {"TANH", Kind::kTanh},  {"GELU_ERF", Kind::kGeluErf},
    {"GELU_TANH", Kind::kGeluTanh}, {"SWISH", Kind::kSilu},
};
constexpr Named kCudnnModes[] = {
    {"0", Kind::kNone},        {"kNone", Kind::kNone},
    {"1", Kind::kSigmoid},     {"kSigmoid", Kind::kSigmoid},
    {"2", Kind::kRelu},        {"kRelu", Kind::kRelu},
    {"3", Kind::kRelu6},       {"kRelu6", Kind::kRelu6},
    {"4", Kind::kClippedRelu}, {"kReluX", Kind::kClippedRelu},
    {"5", Kind::kTanh},        {"kTanh", Kind::kTanh},
    {"7", Kind::kElu},         {"kElu", Kind::kElu},
    {"8", Kind::kLeakyRelu},   {"kLeakyRelu", Kind::kLeakyRelu},
    {"9", Kind::kGeluErf},     {"kGeluExact", Kind::kGeluErf},
};

template <size_t kCount>
std::optional<Kind> FindKind(const Named (&table)[kCount], std::string_view word) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Named& n) { return n.word == word; });
  if (found == std::end(table)) return std::nullopt;
  return found->kind;
}

}  // namespace

double Activate(const Activation& activation, double x) {
  switch (activation.kind) {
    case Kind::kNone:
      return x;
    case Kind::kRelu:
      return x < 0 ? 0 : x;
    case Kind::kRelu6:
      return std::isnan(x) ? x : std::clamp(x, 0.0, 6.0);
    case Kind::kClippedRelu:
      return std::isnan(x) ? x : std::max(0.0, std::min(x, activation.alpha));
    case Kind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Kind::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Kind::kSilu:
      return x / (1 + std::exp(-x));
    case Kind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kElu:
      return x < 0 ? activation.alpha * std::expm1(x) : x;
    case Kind::kLeakyRelu:
      return x < 0 ? activation.alpha * x : x;
  }
  return x;
}

std::optional<Activation> FindEpilogue(std::string_view word) {
  const std::optional<Kind> kind = FindKind(kEpilogues, word);
  if (!kind) return std::nullopt;
  return Activation{*kind};
}

std::optional<Activation> FindOnednnOp(std::string_view word) {
  const std::optional<Kind> kind = FindKind(kOnednnOps, word);
  if (!kind) return std::nullopt;
  return Activation{*kind, 1};
}

std::optional<Activation> FindCudnnMode(std::string_view word, double alpha) {
  const std::optional<Kind> kind = FindKind(kCudnnModes, word);
  if (!kind) return std::nullopt;
  return Activation{*kind, *kind == Kind::kElu && alpha == 0 ? 1 : alpha};
}

}  // namespace hlo::reference::custom
