// Selects the kernel for scans whose to_apply can be lowered to a scalar function.

#include <cstring>

#include "ir/result_shapes.h"
#include "kernels/cpu/window/scan.h"
#include "kernels/cpu/window/slide_lines.h"
#include "plan/codegen/scan_code.h"
#include "plan/select/library_kernels.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

cpu::ScanDims ScanDimsOf(const Instruction& scan) {
  const Shape& shape = ScannedShape(scan);
  const int64_t dimension = scan.Get<attr::dimensions>()[0];
  return {Product(shape.dims().first(dimension)), shape.dim(dimension),
          Product(shape.dims().subspan(dimension + 1)), scan.Get<attr::is_reverse>()};
}

cpu::ScanArrays ArraysOf(const Instruction& scan, absl::Span<const void* const> operands,
                         absl::Span<void* const> results) {
  const auto carries = static_cast<size_t>(scan.Get<attr::num_carries>());
  cpu::ScanArrays arrays;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ElementType type = scan.operand(static_cast<int64_t>(i))->shape().type();
    (i < operands.size() - carries ? arrays.inputs : arrays.initial).push_back({type, operands[i]});
  }
  const absl::Span<const Shape> shapes = ResultShapes(scan);
  for (size_t i = 0; i < results.size(); ++i)
    (i < results.size() - carries ? arrays.outputs : arrays.carries)
        .push_back({shapes[i].type(), results[i]});
  return arrays;
}

// A scan by a single operation of x and carry, whose result is both output and next carry.
struct Line {
  cpu::ScanLineFn function = nullptr;
  cpu::LineLoops in_pieces;  // Used if the operation may be reassociated.
};
Line FindLine(const Instruction& scan) {
  const Instruction& root = *scan.Get<attr::to_apply>()->root();
  if (scan.operand_count() != 2 || scan.Get<attr::num_carries>() != 1 || root.opcode() != Opcode::kTuple ||
      root.operand_count() != 2 || root.operand(0) != root.operand(1))
    return {};
  const Instruction& step = *root.operand(0);
  if (step.operand_count() != 2 || step.operand(0)->opcode() != Opcode::kParameter ||
      step.operand(1)->opcode() != Opcode::kParameter || step.operand(0) == step.operand(1))
    return {};
  const ElementType type = step.shape().type();
  Line line{cpu::FindScanLine(step.opcode(), type, step.operand(0)->Get<attr::number>() == 1), {}};
  const bool is_exact =
      IsIntegral(type) || step.opcode() == Opcode::kMaximum || step.opcode() == Opcode::kMinimum;
  // Types narrower than their compute type are truncated after every step.
  if (loops::IsStoredAsComputed(type) && !IsSubByte(type) &&
      (is_exact || scan.Get<attr::is_associative>(false)))
    line.in_pieces = cpu::FindLineLoops(step.opcode(), loops::ComputeTypeOf(type));
  return line;
}

absl::Status RunScan(const Instruction& scan, const cpu::TileCode& code, const Line& line,
                     absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const cpu::ScanDims dims = ScanDimsOf(scan);
  if (dims.outer * dims.inner != 1 || line.function == nullptr) {
    cpu::Scan(dims, ArraysOf(scan, operands, results), code);
    return absl::OkStatus();
  }
  const int64_t width = ByteCount(scan.operand(0)->shape().type());
  constexpr int64_t kLong = 4096;
  if (dims.length >= kLong && line.in_pieces.run != nullptr) {
    std::memcpy(results[1], operands[1], width);
    line.in_pieces.run(dims.length, dims.reverse, operands[0], results[0], results[1]);
    return absl::OkStatus();
  }
  const int64_t first = dims.reverse && dims.length > 0 ? (dims.length - 1) * width : 0;
  std::memcpy(results[1], operands[1], width);
  line.function(dims.length, dims.reverse ? -1 : 1, static_cast<const std::byte*>(operands[0]) + first,
                static_cast<std::byte*>(results[0]) + first, results[1]);
  return absl::OkStatus();
}

}  // namespace

LibraryKernel FindScanKernel(const Instruction& scan) {
  const std::optional<loops::ScalarFunction> code = FindScanCode(scan);
  if (!code.has_value()) return {};
  return {"scan", [code = cpu::TileCode(*code), line = FindLine(scan)](const Instruction& node, auto operands,
                                                                       auto results) {
            return RunScan(node, code, line, operands, results);
          }};
}

}  // namespace hlo::plan
