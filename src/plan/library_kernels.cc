#include "plan/library_kernels.h"

#include "base/status.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/dot_general.h"
#include "kernels/cpu/fft.h"

namespace hlo::plan {
namespace {

bool TakesDot(const Instruction& dot) {
  return dot.operand_count() == 2 && cpu::GemmSupports(dot.operand(0)->shape().type(),
                                                       dot.operand(1)->shape().type(), dot.shape().type());
}

absl::Status RunDotWith(const Instruction& dot, absl::Span<const void* const> operands, void* result,
                        const cpu::GemmEpilogue& epilogue) {
  cpu::DotGeneral(Dense(dot.operand(0)->shape(), operands[0]),
                  {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
                  Dense(dot.operand(1)->shape(), operands[1]),
                  {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()}, result,
                  dot.shape().type(), epilogue);
  return absl::OkStatus();
}

absl::Status RunDot(const Instruction& dot, absl::Span<const void* const> operands,
                    absl::Span<void* const> results) {
  return RunDotWith(dot, operands, results[0], {});
}

// The product of an instruction, for operands and a result that are still to come.
cpu::GemmProblem ProblemOf(const Instruction& dot) {
  return cpu::DotProblem(Dense(dot.operand(0)->shape(), nullptr),
                         {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
                         Dense(dot.operand(1)->shape(), nullptr),
                         {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()}, nullptr,
                         dot.shape().type());
}

LibraryKernel FindDotKernel(const Instruction& dot) {
  if (!TakesDot(dot)) return {};
  std::optional<cpu::SmallDot> small = FindSmallDot(dot);
  if (!small.has_value()) return {"dot", &RunDot};
  return {"small dot", [small = *std::move(small)](const Instruction&, auto operands, auto results) {
            small.Run(operands[0], operands[1], results[0]);
            return absl::OkStatus();
          }};
}

bool TakesConvolution(const Instruction& convolution) {
  return convolution.operand_count() == 2 &&
         cpu::GemmSupports(convolution.operand(0)->shape().type(), convolution.operand(1)->shape().type(),
                           convolution.shape().type());
}

cpu::ConvolutionDims DimsOf(const Instruction& convolution) {
  return {convolution.Get<attr::window>(), &*convolution.Get<attr::dim_labels>(),
          convolution.Get<attr::feature_group_count>(1), convolution.Get<attr::batch_group_count>(1)};
}

absl::Status RunConvolutionWith(const Instruction& convolution, absl::Span<const void* const> operands,
                                void* result, const cpu::GemmEpilogue& epilogue) {
  return cpu::Convolution(Dense(convolution.operand(0)->shape(), operands[0]),
                          Dense(convolution.operand(1)->shape(), operands[1]), DimsOf(convolution), result,
                          convolution.shape().type(), convolution.shape().dims(), epilogue);
}

absl::Status RunConvolution(const Instruction& convolution, absl::Span<const void* const> operands,
                            absl::Span<void* const> results) {
  return RunConvolutionWith(convolution, operands, results[0], {});
}

// Over shorter pieces of rows a loop costs more than reading and writing memory does.
constexpr int64_t kShortestPiece = 256;

bool TakesFft(const Instruction& fft) {
  return cpu::FftSupports(fft.Get<attr::fft_type>(), fft.operand(0)->shape().type(), fft.shape().type());
}

absl::Status RunFft(const Instruction& fft, absl::Span<const void* const> operands,
                    absl::Span<void* const> results) {
  return cpu::Fft(Dense(fft.operand(0)->shape(), operands[0]), fft.Get<attr::fft_type>(),
                  fft.Get<attr::fft_length>(), results[0], fft.shape().type(), fft.shape().dims());
}

}  // namespace

std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot) {
  return cpu::SmallDot::Make(ProblemOf(dot));
}

ProductKernel FindProductKernel(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const bool is_dot = opcode == Opcode::kDot && TakesDot(instruction);
  const bool is_convolution = opcode == Opcode::kConvolution && TakesConvolution(instruction);
  const Shape& shape = instruction.shape();
  if (!is_dot && !is_convolution) return {};
  cpu::ProductRows rows;
  if (is_dot) {
    const cpu::GemmProblem problem = ProblemOf(instruction);
    rows = {problem.n, problem.n, problem.k};
  } else {
    rows = cpu::ProductRowsOf(Dense(instruction.operand(0)->shape(), nullptr),
                              Dense(instruction.operand(1)->shape(), nullptr), DimsOf(instruction),
                              shape.type(), shape.dims());
  }
  const bool has_whole_rows = rows.stride == rows.columns && rows.columns <= cpu::EpilogueColumns(rows.depth);
  if (rows.columns == 0 || (!has_whole_rows && rows.columns < kShortestPiece)) return {};
  return {is_dot ? &RunDotWith : &RunConvolutionWith, has_whole_rows ? 0 : rows.stride};
}

LibraryKernel FindLibraryKernel(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return FindBatchNormKernel(instruction);
    case Opcode::kDot:
      return FindDotKernel(instruction);
    case Opcode::kConvolution:
      if (TakesConvolution(instruction)) return {"convolution", &RunConvolution};
      break;
    case Opcode::kFft:
      if (TakesFft(instruction)) return {"fft", &RunFft};
      break;
    case Opcode::kGather:
      return FindGatherKernel(instruction);
    case Opcode::kReduceWindow:
      return FindReduceWindowKernel(instruction);
    case Opcode::kSelectAndScatter:
      return FindSelectAndScatterKernel(instruction);
    case Opcode::kRngBitGenerator:
      return FindRandomBitsKernel(instruction);
    case Opcode::kScan:
      return FindScanKernel(instruction);
    case Opcode::kScatter:
      return FindScatterKernel(instruction);
    case Opcode::kSort:
      return FindSortKernel(instruction);
    case Opcode::kTopk:
      return FindTopkKernel(instruction, instruction.Get<attr::largest>(true));
    case Opcode::kCustomCall:
      if (const std::string_view target = instruction.Get<attr::custom_call_target>();
          target == "TopK" || target == "__gpu$TopK")
        return FindTopkCallKernel(instruction);
      break;
    default:
      break;
  }
  return {};
}

}  // namespace hlo::plan
