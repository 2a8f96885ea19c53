// Registers the kernels of rng-bit-generator and rng.

#include "kernels/cuda/random/random_kernels.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/status.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/random/random_body.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr uint32_t kThreads = ThreeFryKernel::kThreads;

// Returns the dimension along which the two words of a block are adjacent: the first of even size, else the
// first of the largest size.
size_t SplitDimension(absl::Span<const int64_t> dims) {
  const auto even = std::find_if(dims.begin(), dims.end(), [](int64_t size) { return size % 2 == 0; });
  const auto* split = even != dims.end() ? even : std::max_element(dims.begin(), dims.end());
  return static_cast<size_t>(split - dims.begin());
}

RandomBitsArgs ArgsOf(const Shape& bits, bool three_fry) {
  RandomBitsArgs args;
  args.count = static_cast<uint64_t>(*bits.ElementCount());
  args.byte_count = static_cast<uint32_t>(ByteCount(bits.type()));
  args.kept_bits = static_cast<uint32_t>(BitWidth(bits.type()));
  if (args.byte_count == 1) args.kept_bits = std::min(args.kept_bits, 8u);
  args.is_signed = IsSigned(bits.type());
  const bool in_pairs = args.byte_count == 8;
  if (!three_fry) {
    args.blocks = in_pairs ? CeilDiv(args.count, 2) : CeilDiv(args.count, 4);
  } else if (in_pairs || bits.rank() == 0) {
    args.blocks = args.count;
  } else {
    const size_t split = SplitDimension(bits.dims());
    args.size = static_cast<uint64_t>(bits.dims()[split]);
    args.inner = static_cast<uint64_t>(hlo::Product(bits.dims().subspan(split + 1)));
    args.blocks = args.size == 0 ? 0 : args.count / args.size * CeilDiv(args.size, 2);
  }
  return args;
}

}  // namespace

std::optional<CudaKernel> FindRandomBitsKernel(const Instruction& instruction,
                                               const DeviceProperties& /*device*/) {
  const Shape &state = instruction.operand(0)->shape(), &shape = instruction.shape();
  const bool three_fry = instruction.Get<attr::rng_algorithm>() == RngAlgorithm::kThreeFry;
  const Shape& bits = shape.IsTuple() ? shape.element(1) : shape;
  const bool fits = state.IsArray(ElementType::kU64) && state.rank() == 1 &&
                    (state.dim(0) == 2 || (state.dim(0) == 3 && !three_fry));
  if (!fits || !bits.IsArray() || IsPred(bits.type()) || IsComplex(bits.type())) return std::nullopt;
  RandomBitsArgs args = ArgsOf(bits, three_fry);
  args.state_words = static_cast<uint32_t>(state.dim(0));
  const uint64_t grid = std::max<uint64_t>(1, CeilDiv(args.blocks, kThreads));
  if (grid >> 31 != 0) return std::nullopt;
  const LaunchShape launch{{static_cast<uint32_t>(grid)}, kThreads};
  const bool has_state = shape.IsTuple();
  return CudaKernel{three_fry ? "random bits threefry" : "random bits philox", 0,
                    [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void*,
                        Stream stream) mutable {
                      args.state = static_cast<const uint64_t*>(operands[0]);
                      args.next_state = has_state ? static_cast<uint64_t*>(results[0]) : nullptr;
                      args.bits = results[results.size() - 1];
                      return three_fry ? Launch<ThreeFryKernel>(launch, args, stream)
                                       : Launch<PhiloxKernel>(launch, args, stream);
                    }};
}

std::optional<CudaKernel> FindDrawKernel(const Instruction& rng, const DeviceProperties& /*device*/) {
  const Shape& shape = rng.shape();
  const int64_t count = hlo::Product(shape.dims());
  const int64_t blocks = CeilDiv(count, DrawKernel::kThreads);
  if (!(IsFloat(shape.type()) || IsIntegral(shape.type())) || blocks > INT32_MAX ||
      rng.operand(0)->shape().type() != shape.type() || rng.operand(1)->shape().type() != shape.type())
    return std::nullopt;
  DrawArgs draw;
  draw.count = static_cast<uint64_t>(count);
  draw.type = shape.type();
  draw.bits = static_cast<uint32_t>(BitWidth(shape.type()));
  draw.is_float = IsFloat(shape.type());
  draw.normal = rng.Get<attr::distribution>() == RandomDistribution::kNormal;
  CudaKernel kernel{.name = draw.normal ? "normal numbers" : "uniform numbers", .needs_run_state = true};
  kernel.run = [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void*,
                   Stream stream) mutable -> absl::Status {
    auto* state = static_cast<RunState*>(const_cast<void*>(operands[2]));
    draw.state = state;
    draw.a = operands[0];
    draw.b = operands[1];
    draw.result = results[0];
    if (count > 0) {
      const LaunchShape all{{static_cast<uint32_t>(blocks)}, DrawKernel::kThreads};
      HLO_RETURN_IF_ERROR(Launch<DrawKernel>(all, draw, stream));
    }
    return Launch<AdvanceKernel>({{1}, AdvanceKernel::kThreads}, {state, nullptr, count}, stream);
  };
  return kernel;
}

std::optional<CudaKernel> FindAdvanceKernel(const Instruction& instruction,
                                            const DeviceProperties& /*device*/) {
  if (!instruction.shape().IsArray(ElementType::kU64)) return std::nullopt;
  CudaKernel kernel{.name = "random state", .needs_run_state = true};
  kernel.run = [delta = instruction.Get<attr::delta>()](absl::Span<const void* const> operands,
                                                        absl::Span<void* const> results, void*,
                                                        Stream stream) {
    auto* state = static_cast<RunState*>(const_cast<void*>(operands[0]));
    return Launch<AdvanceKernel>({{1}, AdvanceKernel::kThreads},
                                 {state, static_cast<uint64_t*>(results[0]), delta}, stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
