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

// Returns the options of __cublas$lt$groupedMatmul, whose operands are a, b, group_sizes[, c][, bias], and
// the attribute lists of its ragged dot.
Options GroupedOptions(const Instruction& call);
GemmOperands GroupedOperandsOf(const Options& options);
struct RaggedDims {
  Index l_batch, l_contracting, r_batch, r_contracting, ragged, groups;
};
RaggedDims RaggedDimsOf(const Instruction& call);

// The contracting dimensions of a block-scaled product: those of its configuration, or the last ones after
// equal batch dimensions. Defined in scaling.cc.
struct ProductForm {
  Index l_batch, l_contracting, r_batch, r_contracting;
};
ProductForm ProductFormOf(const Instruction& call);

// Returns the options of __cudnn$norm, and the elements of its rows. Defined in normalisation.cc.
Options NormOptions(const Instruction& call);
int64_t RowWidth(const Shape& x);
// Returns the options of oneDNN's normalisations.
struct OnednnRows {
  double epsilon = 0;  // For a layer norm.
  int64_t axis = 0;    // For a softmax.
};
OnednnRows OnednnRowsOf(const Instruction& call);

// Describes calls of ApproxTopK and PartialReduce: the number of arrays, which as many initial values and
// perhaps a number follow, and the sorted dimension. Defined in selection.cc.
struct Approximate {
  int64_t arrays, dimension;
};
Approximate ApproximateOf(const Instruction& call);

// Returns the elementwise opcode that a target such as `mhlo.log_plus_one` names. Defined in frameworks.cc.
std::optional<Opcode> NamedOpcode(const Instruction& call);

// Returns the options of __cudnn$conv... calls. Defined in convolutions.cc.
Options ConvOptions(const Instruction& call);
std::optional<Activation> ConvActivationOf(const Options& options);

}  // namespace hlo::reference::custom
