#pragma once
// Activation functions that libraries apply to results.

#include <optional>
#include <string_view>

namespace hlo::reference::custom {

struct Activation {
  enum class Kind {
    kNone,
    kRelu,
    kRelu6,
    kClippedRelu,
    kGeluTanh,
    kGeluErf,
    kSilu,
    kSigmoid,
    kTanh,
    kElu,
    kLeakyRelu
  };
  Kind kind = Kind::kNone;
  double alpha = 0;  // The slope or height of the function.
};

double Activate(const Activation& activation, double x);

// Returns the activation of a cuBLASLt epilogue such as BIAS_RELU; nullopt for an unknown one.
std::optional<Activation> FindEpilogue(std::string_view word);
// Returns the activation with this oneDNN name.
std::optional<Activation> FindOnednnOp(std::string_view word);
// Returns the activation with this cuDNN mode number.
std::optional<Activation> FindCudnnMode(std::string_view word, double alpha);

}  // namespace hlo::reference::custom
