#pragma once
// What custom calls mean, and what the configurations of products and convolutions of cuBLAS and cuDNN say,
// for whoever evaluates them.

#include <optional>

#include "reference/custom/activations.h"
#include "reference/custom/options.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// targets.cc: the reference's function for a call; nullptr: the target is not known.
ReferenceOp FunctionOf(const Instruction& call);

// matmul.cc: of __cublas$gemm and __cublas$lt$matmul.
Options GemmOptions(const Instruction& call);
// Which operand is what; -1: there is none.
struct GemmOperands {
  int c = -1, a_scale = -1, b_scale = -1, bias = -1, d_scale = -1;
  int count = 2;
};
GemmOperands GemmOperandsOf(const Instruction& call);

// convolutions.cc: of __cudnn$conv...
Options ConvOptions(const Instruction& call);
std::optional<Activation> ConvActivationOf(const Options& options);

}  // namespace hlo::reference::custom
