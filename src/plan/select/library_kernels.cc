#include "plan/select/library_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "base/status.h"
#include "ir/element_types.h"
#include "kernels/cpu/fft/fft.h"
#include "kernels/cpu/gemm/csr_product.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/ragged_dot.h"
#include "plan/select/conditions.h"
#include "reference/obstacles.h"

namespace hlo::plan {
namespace {

// True if a dot or convolution has a kernel. Operands beyond the second are metadata, such as sparsity.
bool SupportsProduct(const Instruction& product) {
  return product.operand_count() == 2 && HasGemmTypes(product);
}

// True if the convolution is pointwise: each element depends on one position of the input, features are minor
// in both, and the other dimensions have the same order.
bool IsPointwise(const Instruction& convolution) {
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const int64_t last = convolution.shape().rank() - 1;
  if (convolution.Get<attr::feature_group_count>(1) != 1 ||
      convolution.Get<attr::batch_group_count>(1) != 1 || labels.input_feature != last ||
      labels.output_feature != last || labels.input_batch != labels.output_batch ||
      !absl::c_equal(labels.input_spatial, labels.output_spatial))
    return false;
  return absl::c_all_of(convolution.Get<attr::window>(), [](const WindowDim& dim) {
    return dim.size == 1 && dim.stride == 1 && dim.padding_low == 0 && dim.padding_high == 0 &&
           dim.base_dilation == 1;
  });
}

// Returns the GEMM of a dot or a pointwise convolution.
loops::GemmProblem ProblemOf(const Instruction& product) {
  const Shape &lhs = product.operand(0)->shape(), &rhs = product.operand(1)->shape();
  const ElementType type = product.shape().type();
  if (product.opcode() == Opcode::kDot) return loops::DotProblem(product);
  const DimLabels& labels = *product.Get<attr::dim_labels>();
  const Index strides = RowMajorStrides(rhs.dims());
  const int64_t inputs = lhs.dims().back(), outputs = product.shape().dims().back();
  return {.m = Product(product.shape().dims().first(product.shape().rank() - 1)),
          .n = outputs,
          .k = inputs,
          .a = {.type = lhs.type(), .row_stride = inputs, .column_stride = 1, .batch_strides = {}},
          .b = {.type = rhs.type(),
                .row_stride = strides[labels.kernel_input_feature],
                .column_stride = strides[labels.kernel_output_feature],
                .batch_strides = {}},
          .c_type = type,
          .c_row_stride = outputs};
}

ProductFn MatrixProductOf(const Instruction& product) {
  return [layout = cpu::WithData(ProblemOf(product), nullptr, nullptr, nullptr)](
             const ProductArguments& arguments) {
    cpu::GemmProblem problem = layout;
    problem.a.data = arguments.operands[0];
    problem.b.data = arguments.operands[1];
    problem.c = arguments.result;
    problem.a.compute = arguments.compute[0];
    problem.b.compute = arguments.compute[1];
    problem.epilogue = arguments.epilogue;
    cpu::Gemm(problem);
    return absl::OkStatus();
  };
}

ProductFn ConvolutionOf(const Instruction& convolution) {
  return [&convolution](const ProductArguments& arguments) {
    return cpu::Convolution(Dense(convolution.operand(0)->shape(), arguments.operands[0]),
                            Dense(convolution.operand(1)->shape(), arguments.operands[1]),
                            ConvolutionDimsOf(convolution), arguments.result, convolution.shape().type(),
                            convolution.shape().dims(), arguments.epilogue);
  };
}

// Returns the function of a product on whole arrays.
KernelFn OnWholeArrays(ProductFn run) {
  return [run = std::move(run)](const Instruction&, auto operands, auto results) {
    return run({.operands = {operands[0], operands[1]}, .result = results[0]});
  };
}

// For shorter parts of rows, a fused loop costs more than a separate one.
constexpr int64_t kMinRowPiece = 256;
// The number of columns, or rows, of the result for which an operand is packed once.
constexpr int64_t kColumnsPerPacking = 1024;

// Returns the elements per row of an operand whose elements are each packed about once, by rows; 0 for
// others.
int64_t RowOf(const loops::MatrixLayout& x, int64_t rows, int64_t columns, int64_t other_side) {
  const bool is_nested = !x.row_sizes.empty() || !x.column_sizes.empty();
  if (is_nested || other_side > kColumnsPerPacking || std::min(x.row_stride, x.column_stride) != 1) return 0;
  const int64_t length = x.column_stride == 1 ? columns : rows, row = std::max(x.row_stride, x.column_stride);
  return length >= kMinRowPiece && row >= length ? row : 0;
}

absl::Status RunFft(const Instruction& fft, absl::Span<const void* const> operands,
                    absl::Span<void* const> results) {
  cpu::Fft(Dense(fft.operand(0)->shape(), operands[0]), fft.Get<attr::fft_type>(),
           fft.Get<attr::fft_length>(), results[0], fft.shape().type(), fft.shape().dims());
  return absl::OkStatus();
}

LibraryKernel FindCsrProductKernel(const Instruction& call) {
  const Shape& dense = call.operand(3)->shape();
  if (!reference::CustomCallUnsupportedReason(call, nullptr).empty() ||
      !cpu::CsrProductSupports(dense.type()))
    return {};
  const cpu::CsrShape shape = {.type = dense.type(),
                               .index_type = call.operand(1)->shape().type(),
                               .rows = call.shape().dim(0),
                               .values = call.operand(0)->shape().dim(0),
                               .dense_rows = dense.dim(0),
                               .dense_columns = dense.rank() == 1 ? 1 : dense.dim(1)};
  return {"csr product", [shape](const Instruction&, auto operands, auto results) {
            const bool valid =
                cpu::MultiplyCsr(shape, operands[0], operands[1], operands[2], operands[3], results[0]);
            return valid ? absl::OkStatus() : absl::UnimplementedError("a position is out of range");
          }};
}

}  // namespace

std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot) {
  return cpu::SmallDot::Make(ProblemOf(dot));
}

ProductKernel FindProductKernel(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const bool is_dot = opcode == Opcode::kDot;
  const Shape& shape = instruction.shape();
  if ((!is_dot && opcode != Opcode::kConvolution) || !SupportsProduct(instruction)) return {};
  const bool is_matrix = is_dot || IsPointwise(instruction);
  ProductKernel kernel{is_matrix ? MatrixProductOf(instruction) : ConvolutionOf(instruction)};
  cpu::ProductRows rows;
  if (is_matrix) {
    const loops::GemmProblem p = ProblemOf(instruction);
    rows = {p.n, p.n, p.k};
    if (!cpu::GemmPrefersMemory(cpu::WithData(p, nullptr, nullptr, nullptr))) {
      kernel.operand_row[0] = RowOf(p.a, p.m, p.k, p.n);
      kernel.operand_row[1] = RowOf(p.b, p.k, p.n, p.m);
    }
  } else {
    rows = cpu::ProductRowsOf(Dense(instruction.operand(0)->shape(), nullptr),
                              Dense(instruction.operand(1)->shape(), nullptr), ConvolutionDimsOf(instruction),
                              shape.type(), shape.dims());
  }
  const bool has_whole_rows = rows.stride == rows.columns && rows.columns <= cpu::EpilogueColumns(rows.depth);
  kernel.supports_epilogue = rows.columns > 0 && (has_whole_rows || rows.columns >= kMinRowPiece);
  kernel.row = has_whole_rows ? 0 : rows.stride;
  return kernel;
}

cpu::ConvolutionDims ConvolutionDimsOf(const Instruction& convolution) {
  return {convolution.Get<attr::window>(), &*convolution.Get<attr::dim_labels>(),
          convolution.Get<attr::feature_group_count>(1), convolution.Get<attr::batch_group_count>(1)};
}

LibraryKernel FindDotKernel(const Instruction& dot) {
  if (!SupportsProduct(dot)) return {};
  std::optional<cpu::SmallDot> small = FindSmallDot(dot);
  if (!small.has_value()) return {"dot", OnWholeArrays(MatrixProductOf(dot))};
  return {"small dot", [small = *std::move(small)](const Instruction&, auto operands, auto results) {
            small.Run(operands[0], operands[1], results[0]);
            return absl::OkStatus();
          }};
}

LibraryKernel FindRaggedDotKernel(const Instruction& dot) {
  const auto operand = [&](int64_t k) { return Dense(dot.operand(k)->shape(), nullptr); };
  std::optional<cpu::RaggedDot> ragged =
      cpu::RaggedDot::Make(operand(0), operand(1), operand(2),
                           {.lhs = {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
                            .rhs = {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()},
                            .ragged = dot.Get<attr::lhs_ragged_dims>()[0],
                            .groups = dot.Get<attr::rhs_group_dims>()},
                           Dense(dot.shape(), nullptr));
  if (!ragged.has_value()) return {};
  return {"ragged dot", [ragged = *std::move(ragged)](const Instruction&, auto operands, auto results) {
            return ragged.Run(operands[0], operands[1], operands[2], results[0])
                       ? absl::OkStatus()
                       : absl::UnimplementedError("a group of negative size");
          }};
}

LibraryKernel FindConvolutionKernel(const Instruction& convolution) {
  if (!SupportsProduct(convolution)) return {};
  return {"convolution", OnWholeArrays(IsPointwise(convolution) ? MatrixProductOf(convolution)
                                                                : ConvolutionOf(convolution))};
}

LibraryKernel FindFftKernel(const Instruction& fft) {
  return HasFftTypes(fft) ? LibraryKernel{"fft", &RunFft} : LibraryKernel();
}

LibraryKernel FindCallKernel(const Instruction& call) {
  if (!CallsLibrary(call)) return {};
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (target == kCsrProductTarget) return FindCsrProductKernel(call);
  return target.ends_with("TopK") ? FindTopkCallKernel(call) : FindMatrixCallKernel(call);
}

LibraryKernel FindNoneKernel(const Instruction& /*instruction*/) { return {}; }

namespace {

using Find = LibraryKernel (*)(const Instruction& instruction);

// Indexed by opcode.
constexpr std::array<Find, kOpcodeCount> kKernels = [] {
  std::array<Find, kOpcodeCount> kernels;
  kernels.fill(&FindNoneKernel);
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  kernels[static_cast<size_t>(Opcode::k##opcode)] = &Find##cpu##Kernel;
#include "kernels/kernels.def"
  return kernels;
}();

}  // namespace

LibraryKernel FindLibraryKernel(const Instruction& instruction) {
  if (MixesTypes(instruction)) return {};
  return kKernels[static_cast<size_t>(instruction.opcode())](instruction);
}

}  // namespace hlo::plan
