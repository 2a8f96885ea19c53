#pragma once
// Reference functions of custom calls, and the parsed configurations of products and convolutions of cuBLAS
// and cuDNN.

#include <optional>

#include "reference/custom/activations.h"
#include "reference/custom/options.h"
#include "reference/op.h"

namespace hlo::reference::custom {

// Returns the reference function of a call; nullptr for unknown targets. Defined in targets.cc.
ReferenceOp FunctionOf(const Instruction& call);

// Returns the options of __cublas$gemm and __cublas$lt$matmul. Defined in matmul.cc.
Options GemmOptions(const Instruction& call);
// Operand numbers; -1 means that the operand is absent.
struct GemmOperands {
  int c = -1, a_scale = -1, b_scale = -1, bias = -1, d_scale = -1;
  int count = 2;
};
GemmOperands GemmOperandsOf(const Instruction& call);

// Returns the options of __cudnn$conv... calls. Defined in convolutions.cc.
Options ConvOptions(const Instruction& call);
std::optional<Activation> ConvActivationOf(const Options& options);

}  // namespace hlo::reference::custom
