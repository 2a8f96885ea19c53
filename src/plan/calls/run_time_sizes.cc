// Calls with operands that state sizes or positions, if these are constants and fit the declared result. The
// reference reports the others.

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/result_shapes.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "reference/arrays.h"
#include "reference/custom/call_options.h"
#include "types/index.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Options;
using Numbers = std::vector<int64_t>;

// Returns the numbers of a constant operand.
std::optional<Numbers> ConstantNumbers(const Instruction& call, int64_t k) {
  const Instruction& operand = *call.operand(k);
  if (operand.opcode() != Opcode::kConstant || operand.is_elided()) return std::nullopt;
  const absl::StatusOr<Literal> wide = reference::AsIndices(*operand.Get<attr::literal>());
  if (!wide.ok()) return std::nullopt;
  return Numbers(wide->span<int64_t>().begin(), wide->span<int64_t>().end());
}

bool IsStatic(const Instruction& call) {
  const auto results = ResultShapes(call);
  return std::none_of(results.begin(), results.end(), [](const Shape& s) { return s.HasDynamicDim(); });
}

// True if operand k states the sizes of a static result.
bool StatesSizes(const Instruction& call, int64_t k, const Shape& result) {
  const std::optional<Numbers> sizes = ConstantNumbers(call, k);
  return IsStatic(call) && sizes.has_value() && absl::MakeConstSpan(*sizes) == result.dims();
}

}  // namespace

Expansion DynamicReshape(const Instruction& call) {
  CallBuilder b(call);
  if (!StatesSizes(call, 1, call.shape())) return std::nullopt;
  return b.Finish({build::Reshape(b.Raw(0), call.shape().dims())});
}

// Dimension k of the operand becomes dimension broadcast_dimensions[k]; dimensions of size 1 are repeated.
Expansion DynamicBroadcast(const Instruction& call) {
  CallBuilder b(call);
  const Shape& x = b.shape_of(0);
  const Index places = Options(call).Ints("broadcast_dimensions");
  if (!StatesSizes(call, 1, call.shape()) || places.rank() != x.rank()) return std::nullopt;
  Numbers sizes, dimensions;
  for (int64_t k = 0; k < x.rank(); ++k) {
    if (places[k] < 0 || places[k] >= call.shape().rank()) return std::nullopt;
    if (x.dim(k) == 1) continue;
    sizes.push_back(x.dim(k));
    dimensions.push_back(places[k]);
  }
  return b.Finish({build::BroadcastInDim(build::Reshape(b.Raw(0), sizes), call.shape().dims(), dimensions)});
}

// Returns the elements from start to limit with a stride; indices are not clamped.
Expansion RealDynamicSlice(const Instruction& call) {
  CallBuilder b(call);
  const std::optional<Numbers> starts = ConstantNumbers(call, 1), limits = ConstantNumbers(call, 2),
                               strides = ConstantNumbers(call, 3);
  if (!IsStatic(call) || !starts || !limits || !strides) return std::nullopt;
  const Op slice = build::Slice(b.Raw(0), *starts, *limits, *strides);
  if (!slice.ok() || !SameDimensions(slice.shape(), call.shape())) return std::nullopt;
  return b.Finish({slice});
}

Expansion DynamicTopk(const Instruction& call) {
  CallBuilder b(call);
  const std::optional<Numbers> count = ConstantNumbers(call, 1);
  const Shape& values = b.results()[0];
  if (!IsStatic(call) || !count || count->size() != 1 || (*count)[0] != values.dim(values.rank() - 1))
    return std::nullopt;
  return b.Finish(build::Elements(build::TopK(b.Raw(0), (*count)[0])));
}

// The operands are the inputs, the initial values, and the window's sizes, strides, base dilations, window
// dilations and padding[rank, 2].
Expansion DynamicReduceWindow(const Instruction& call) {
  constexpr int64_t kWindowOperands = 5;
  CallBuilder b(call);
  const int64_t arrays = b.operand_count() - kWindowOperands;
  std::vector<Numbers> window;
  for (int64_t k = arrays; k < b.operand_count(); ++k) {
    std::optional<Numbers> numbers = ConstantNumbers(call, k);
    if (!numbers.has_value()) return std::nullopt;
    window.push_back(*std::move(numbers));
  }
  std::vector<std::pair<int64_t, int64_t>> padding;
  for (size_t d = 0; d < window[0].size(); ++d) padding.emplace_back(window[4][2 * d], window[4][2 * d + 1]);
  std::vector<Op> inputs, inits;
  for (int64_t k = 0; k < arrays; ++k) (k < arrays / 2 ? inputs : inits).push_back(b.Raw(k));
  const build::Function code = Imported(b.builder(), *call.called_computations()[0]);
  if (!IsStatic(call) || code.computation == nullptr) return std::nullopt;
  const Op reduced = build::ReduceWindowWithGeneralPadding(inputs, inits, code, window[0], window[1],
                                                           window[2], window[3], padding);
  if (!reduced.ok()) return std::nullopt;
  std::vector<Op> results = inputs.size() == 1 ? std::vector<Op>{reduced} : build::Elements(reduced);
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].shape() != b.results()[k].WithoutLayouts()) return std::nullopt;
  }
  return b.Finish(std::move(results));
}

// Maps (state, sizes) to (next state, bits).
Expansion DynamicRng(const Instruction& call) {
  CallBuilder b(call);
  const std::string word = Options(call).Text("rng_algorithm", "");
  if (word == "DEFAULT" || !StatesSizes(call, 1, b.results()[1])) return std::nullopt;
  return b.Finish(build::Elements(
      build::RngBitGenerator(word == "PHILOX" ? RngAlgorithm::kPhilox : RngAlgorithm::kThreeFry, b.Raw(0),
                             b.results()[1].WithoutLayouts())));
}

}  // namespace hlo::plan::calls
