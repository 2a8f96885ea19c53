// Selects the kernel for rng-bit-generator.

#include <cstring>

#include "kernels/cpu/elementwise/random_bits.h"
#include "plan/select/conditions.h"
#include "plan/select/library_kernels.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

absl::Status RunBits(const Instruction& instruction, absl::Span<const void* const> operands,
                     absl::Span<void* const> results) {
  const Shape& shape = instruction.shape();
  const Shape& bits = shape.IsTuple() ? shape.element(1) : shape;
  uint64_t state[3] = {};
  const auto words = static_cast<size_t>(instruction.operand(0)->shape().dim(0));
  std::memcpy(state, operands[0], words * sizeof(uint64_t));
  if (instruction.Get<attr::rng_algorithm>() == RngAlgorithm::kThreeFry)
    cpu::ThreeFryBits(bits.type(), bits.dims(), results.back(), state);
  else
    cpu::PhiloxBits(bits.type(), *bits.ElementCount(), results.back(), absl::MakeSpan(state, words));
  if (shape.IsTuple()) std::memcpy(results[0], state, words * sizeof(uint64_t));
  return absl::OkStatus();
}

}  // namespace

LibraryKernel FindRandomBitsKernel(const Instruction& instruction) {
  const Shape& state = instruction.operand(0)->shape();
  const Shape& shape = instruction.shape();
  const Shape& bits = shape.IsTuple() ? shape.element(1) : shape;
  const bool fits = HasU64State(instruction) && state.rank() == 1 &&
                    (state.dim(0) == 2 || (state.dim(0) == 3 && instruction.Get<attr::rng_algorithm>() !=
                                                                    RngAlgorithm::kThreeFry));
  if (!fits || !bits.IsArray() || IsPred(bits.type()) || IsComplex(bits.type())) return {};
  return {"random bits", &RunBits};
}

}  // namespace hlo::plan
