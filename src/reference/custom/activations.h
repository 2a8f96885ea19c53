#pragma once
// The functions that libraries apply to a result on its way out.

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
  double alpha = 0;  // The slope or height that the function has.
};

double Activate(const Activation& activation, double x);

// That of an epilogue of cuBLASLt, such as BIAS_RELU; nullopt for a word that is none.
std::optional<Activation> FindEpilogue(std::string_view word);
// That of oneDNN's word.
std::optional<Activation> FindOnednnOp(std::string_view word);
// That of cuDNN's number.
std::optional<Activation> FindCudnnMode(std::string_view word, double alpha);

}  // namespace hlo::reference::custom
