// batch-norm-training, -inference and -grad (semantics 6.8) as elementwise loops and reductions on the VM
// (vm.h), computed in f64 and rounded once.

#include "kernels/cuda/reduce/batch_norm_kernel.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/align.h"
#include "device/constants.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/reduce/lower_reduce.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

using loops::Strides;
using TileValue = loops::Value;

// Arguments of the programs: operands, results, constants, and f64 intermediates, in this order.
enum Argument : int32_t { kResult = 8, kConstants = 16, kHandedOn = 17 };
enum Constant : int64_t { kCount, kEpsilon, kZero };

// An array viewed as [outer, features, inner].
struct Dims {
  int64_t outer = 1, features = 1, inner = 1;
};

// The iteration space of a program: all elements, the features, or the elements of each feature (a
// reduction).
enum class Over : uint8_t { kElements, kFeatures, kElementsOfFeatures };

// Builder of a program that computes in f64.
class Loop {
 public:
  Loop(const Dims& dims, Over over) : dims_(dims), over_(over), program_(Outer(), Inner()) {}

  TileValue Element(int32_t argument, ElementType type) { return Load(ElementAccess(argument, type)); }
  TileValue OfFeature(int32_t argument, ElementType type = ElementType::kF64) {
    return Load(FeatureAccess(argument, type));
  }
  TileValue Number(Constant which) {
    loops::Access access{.argument = kConstants, .type = ElementType::kF64, .offset = which};
    access.outer.resize(Outer().size(), 0);
    access.inner.resize(Inner().size(), 0);
    return Load(std::move(access));
  }
  TileValue Op(Opcode opcode, std::vector<TileValue> operands) {
    return program_.Apply(*loops::FindScalarOperation(opcode, ElementType::kF64), loops::Lane::kF64,
                          operands);
  }
  void StoreElement(TileValue value, int32_t argument, ElementType type) {
    Store(value, ElementAccess(argument, type));
  }
  void StoreFeature(TileValue value, int32_t argument, ElementType type = ElementType::kF64) {
    Store(value, FeatureAccess(argument, type));
  }
  void Yield(TileValue value) { program_.Yield(value); }
  loops::LoopProgram Finish() {
    program_.Finish();
    return std::move(program_);
  }

 private:
  std::vector<int64_t> Outer() const {
    return over_ == Over::kElementsOfFeatures ? std::vector<int64_t>{dims_.features} : std::vector<int64_t>{};
  }
  std::vector<int64_t> Inner() const {
    if (over_ == Over::kFeatures) return {dims_.features};
    if (over_ == Over::kElements) return {dims_.outer, dims_.features, dims_.inner};
    return {dims_.outer, dims_.inner};
  }
  loops::Access ElementAccess(int32_t argument, ElementType type) const {
    loops::Access access{.argument = argument, .type = type};
    const int64_t row = dims_.features * dims_.inner;
    if (over_ == Over::kElementsOfFeatures)
      access.outer = {dims_.inner}, access.inner = {row, 1};
    else
      access.inner = {row, dims_.inner, 1};
    return access;
  }
  loops::Access FeatureAccess(int32_t argument, ElementType type) const {
    loops::Access access{.argument = argument, .type = type};
    if (over_ == Over::kElementsOfFeatures)
      access.outer = {1}, access.inner = {0, 0};
    else if (over_ == Over::kElements)
      access.inner = {0, 1, 0};
    else
      access.inner = {1};
    return access;
  }
  TileValue Load(loops::Access access) {
    const ElementType type = access.type;
    const TileValue value = program_.Load(std::move(access));
    if (type == ElementType::kF64) return value;
    return program_.Apply(*loops::FindConvert(type, ElementType::kF64), loops::Lane::kF64, {value});
  }
  void Store(TileValue value, loops::Access access) {
    const ElementType type = access.type;
    const loops::Lane lane = loops::LaneOf(type);
    if (type != ElementType::kF64)
      value = program_.Apply(*loops::FindConvert(ElementType::kF64, type), lane, {value});
    if (const auto round = loops::FindRounding(type); round.has_value())
      value = program_.Apply(*round, lane, {value});
    program_.Store(value, std::move(access));
  }

  Dims dims_;
  Over over_;
  loops::LoopProgram program_;
};

// Returns a reduction that computes the sums of two values for each feature.
loops::ReduceProgram SumsOfFeatures(Loop& loop, TileValue first, TileValue second) {
  loop.Yield(first);
  loop.Yield(second);
  const loops::Lane f64 = loops::Lane::kF64;
  const loops::Operation add = *loops::FindScalarOperation(Opcode::kAdd, ElementType::kF64);
  loops::ScalarFunction sums({f64, f64, f64, f64});
  for (int k = 0; k < 2; ++k) sums.Yield(sums.Apply(add, f64, {k, 2 + k}));
  const ElementType type = ElementType::kF64;
  return {{.combiner = std::move(sums),
           .results = {{kHandedOn + 2, kHandedOn, type, type}, {kHandedOn + 2, kHandedOn + 1, type, type}}},
          loop.Finish()};
}

// Lowers a batch-norm instruction to a sequence of programs.
class Normalisation {
 public:
  Normalisation(const Instruction& instruction, const DeviceProperties& device)
      : instruction_(instruction), device_(device) {
    const Shape& shape = instruction.operand(0)->shape();
    const int64_t feature = instruction.Get<attr::feature_index>();
    dims_.outer = hlo::Product(shape.dims().first(feature));
    dims_.features = shape.dim(feature);
    dims_.inner = hlo::Product(shape.dims().subspan(feature + 1));
  }

  absl::StatusOr<CudaKernel> Make() {
    switch (instruction_.opcode()) {
      case Opcode::kBatchNormTraining:
        HLO_RETURN_IF_ERROR(Training());
        break;
      case Opcode::kBatchNormInference:
        HLO_RETURN_IF_ERROR(Inference());
        break;
      default:
        HLO_RETURN_IF_ERROR(Grad());
    }
    return Kernel();
  }

 private:
  ElementType TypeOf(int64_t operand) const { return instruction_.operand(operand)->shape().type(); }
  ElementType ResultType(int64_t k) const { return ResultShapes(instruction_)[k].type(); }
  absl::Status Add(absl::StatusOr<LoweredProgram> program) {
    if (!program.ok()) return program.status();
    programs_.push_back(*std::move(program));
    return absl::OkStatus();
  }
  absl::Status Add(Loop& loop) { return Add(LowerTile(loop.Finish(), device_)); }
  // Returns scale / sqrt(spread + epsilon).
  TileValue Factor(Loop& loop, TileValue spread) {
    return loop.Op(Opcode::kDivide, {loop.OfFeature(1, TypeOf(1)), loop.Op(Opcode::kSqrt, {spread})});
  }

  // Computes (x - mean) * factor + offset.
  absl::Status Training() {
    Loop sums(dims_, Over::kElementsOfFeatures);
    const TileValue x = sums.Element(0, TypeOf(0));
    HLO_RETURN_IF_ERROR(
        Add(LowerReduce(SumsOfFeatures(sums, x, sums.Op(Opcode::kMultiply, {x, x})), device_)));
    Loop features(dims_, Over::kFeatures);
    const TileValue n = features.Number(kCount);
    const TileValue mean = features.Op(Opcode::kDivide, {features.OfFeature(kHandedOn), n}),
                    square = features.Op(Opcode::kDivide, {features.OfFeature(kHandedOn + 1), n});
    const TileValue variance =
        features.Op(Opcode::kSubtract, {square, features.Op(Opcode::kMultiply, {mean, mean})});
    const TileValue spread = features.Op(Opcode::kAdd, {variance, features.Number(kEpsilon)});
    features.StoreFeature(mean, kResult + 1, ResultType(1));
    features.StoreFeature(variance, kResult + 2, ResultType(2));
    features.StoreFeature(mean, kHandedOn + 3);
    features.StoreFeature(Factor(features, spread), kHandedOn + 4);
    HLO_RETURN_IF_ERROR(Add(features));
    Loop lines(dims_, Over::kElements);
    const TileValue centred =
        lines.Op(Opcode::kSubtract, {lines.Element(0, TypeOf(0)), lines.OfFeature(kHandedOn + 3)});
    const TileValue scaled = lines.Op(Opcode::kMultiply, {centred, lines.OfFeature(kHandedOn + 4)});
    lines.StoreElement(lines.Op(Opcode::kAdd, {scaled, lines.OfFeature(2, TypeOf(2))}), kResult,
                       ResultType(0));
    return Add(lines);
  }

  // Computes x * factor + (offset - mean * factor).
  absl::Status Inference() {
    Loop features(dims_, Over::kFeatures);
    const TileValue spread =
        features.Op(Opcode::kAdd, {features.OfFeature(4, TypeOf(4)), features.Number(kEpsilon)});
    const TileValue factor = Factor(features, spread);
    const TileValue moved = features.Op(Opcode::kMultiply, {features.OfFeature(3, TypeOf(3)), factor});
    features.StoreFeature(factor, kHandedOn + 3);
    features.StoreFeature(features.Op(Opcode::kSubtract, {features.OfFeature(2, TypeOf(2)), moved}),
                          kHandedOn + 4);
    HLO_RETURN_IF_ERROR(Add(features));
    Loop lines(dims_, Over::kElements);
    const TileValue scaled =
        lines.Op(Opcode::kMultiply, {lines.Element(0, TypeOf(0)), lines.OfFeature(kHandedOn + 3)});
    lines.StoreElement(lines.Op(Opcode::kAdd, {scaled, lines.OfFeature(kHandedOn + 4)}), kResult,
                       ResultType(0));
    return Add(lines);
  }

  // Computes, with S = sum of (x - mean) * dy, D = sum of dy and s = scale / sqrt(spread):
  //   dx = s * dy - s / n * (D + (x - mean) * S / spread), dscale = S / sqrt(spread), doffset = D
  absl::Status Grad() {
    Loop sums(dims_, Over::kElementsOfFeatures);
    const TileValue dy = sums.Element(4, TypeOf(4));
    const TileValue centred =
        sums.Op(Opcode::kSubtract, {sums.Element(0, TypeOf(0)), sums.OfFeature(2, TypeOf(2))});
    HLO_RETURN_IF_ERROR(
        Add(LowerReduce(SumsOfFeatures(sums, dy, sums.Op(Opcode::kMultiply, {dy, centred})), device_)));
    Loop features(dims_, Over::kFeatures);
    const TileValue sum = features.OfFeature(kHandedOn), product = features.OfFeature(kHandedOn + 1);
    const TileValue spread =
        features.Op(Opcode::kAdd, {features.OfFeature(3, TypeOf(3)), features.Number(kEpsilon)});
    const TileValue factor = Factor(features, spread);
    const TileValue part =
        features.Op(Opcode::kNegate, {features.Op(Opcode::kDivide, {factor, features.Number(kCount)})});
    const TileValue of_x =
        features.Op(Opcode::kDivide, {features.Op(Opcode::kMultiply, {part, product}), spread});
    features.StoreFeature(features.Op(Opcode::kDivide, {product, features.Op(Opcode::kSqrt, {spread})}),
                          kResult + 1, ResultType(1));
    features.StoreFeature(sum, kResult + 2, ResultType(2));
    features.StoreFeature(of_x, kHandedOn + 3);
    features.StoreFeature(factor, kHandedOn + 4);
    features.StoreFeature(features.Op(Opcode::kMultiply, {part, sum}), kHandedOn + 5);
    HLO_RETURN_IF_ERROR(Add(features));
    Loop lines(dims_, Over::kElements);
    const TileValue away =
        lines.Op(Opcode::kSubtract, {lines.Element(0, TypeOf(0)), lines.OfFeature(2, TypeOf(2))});
    const TileValue from_x = lines.Op(Opcode::kMultiply, {away, lines.OfFeature(kHandedOn + 3)});
    const TileValue from_dy =
        lines.Op(Opcode::kMultiply, {lines.Element(4, TypeOf(4)), lines.OfFeature(kHandedOn + 4)});
    const TileValue rest = lines.Op(Opcode::kAdd, {from_dy, lines.OfFeature(kHandedOn + 5)});
    lines.StoreElement(lines.Op(Opcode::kAdd, {from_x, rest}), kResult, ResultType(0));
    return Add(lines);
  }

  CudaKernel Kernel() {
    // The epsilon attribute is an f32 regardless of the operand types.
    const double numbers[] = {static_cast<double>(dims_.outer * dims_.inner),
                              static_cast<double>(static_cast<float>(instruction_.Get<attr::epsilon>())),
                              0.0};
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers);
    const device::Constants constants(std::vector<std::byte>(bytes, bytes + sizeof numbers));
    int64_t workspace = 0;
    for (const LoweredProgram& program : programs_) workspace = std::max(workspace, program.workspace_bytes);
    const int64_t row = device::Aligned(8 * dims_.features);
    return {"batch-norm in f64", 5 * row + workspace,
            [programs = std::move(programs_), constants, row](absl::Span<const void* const> operands,
                                                              absl::Span<void* const> results, void* memory,
                                                              Stream stream) -> absl::Status {
              HLO_ASSIGN_OR_RETURN(const void* numbers_there, constants.On(stream));
              void* pointers[kHandedOn + 6] = {};
              for (size_t k = 0; k < operands.size(); ++k) pointers[k] = const_cast<void*>(operands[k]);
              for (size_t k = 0; k < results.size(); ++k) pointers[kResult + k] = results[k];
              pointers[kConstants] = const_cast<void*>(numbers_there);
              auto* at = static_cast<std::byte*>(memory);
              for (const int k : {0, 1, 3, 4, 5}) {
                pointers[kHandedOn + k] = at;
                at += row;
              }
              pointers[kHandedOn + 2] = static_cast<double*>(pointers[kConstants]) + kZero;
              for (const LoweredProgram& program : programs)
                HLO_RETURN_IF_ERROR(program.run(pointers, at, stream));
              return absl::OkStatus();
            }};
  }

  const Instruction& instruction_;
  const DeviceProperties& device_;
  Dims dims_;
  std::vector<LoweredProgram> programs_;
};

}  // namespace

std::optional<CudaKernel> FindBatchNormKernel(const Instruction& batch_norm, const DeviceProperties& device) {
  absl::StatusOr<CudaKernel> kernel = Normalisation(batch_norm, device).Make();
  return kernel.ok() ? std::optional<CudaKernel>(*std::move(kernel)) : std::nullopt;
}

}  // namespace hlo::cuda
