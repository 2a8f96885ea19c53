// Builds reductions, windows, scans, sorts and random numbers.

#include <algorithm>
#include <numeric>

#include "base/arena.h"
#include "base/status.h"
#include "build/emit.h"

namespace hlo::build {
namespace {

bool Ok(const Function& f) { return f.computation != nullptr; }

std::optional<ElementType> UnsignedOfWidth(int64_t bits) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (IsUnsigned(type) && BitWidth(type) == bits) return type;
  }
  return std::nullopt;
}

Op EmitReduceWindow(const Operands& operands, const Operands& inits, const Function& f,
                    const std::optional<Window>& window) {
  if (!window || !Ok(f)) return Op(f.builder, nullptr);
  return Emit(operands.place, Opcode::kReduceWindow, Joined(operands.ops, inits.ops),
              {Attr<attr::window>(*window), Attr<attr::to_apply>(f.computation)});
}

// Returns the padding in pairs for SAME and VALID; records an error in the builder.
std::optional<std::vector<std::pair<int64_t, int64_t>>> PaddingOf(const Op& x, Place place, Dims window,
                                                                  Dims strides, Padding padding) {
  if (!ReadyArrays(place, "a window", {x})) return std::nullopt;
  auto pairs = MakePadding(x.dims(), window, strides, padding);
  if (pairs.ok()) return *std::move(pairs);
  Refuse(x, place, "{}", Message(pairs.status()));
  return std::nullopt;
}

Op Distribution(RandomDistribution distribution, const Operand& a, const Op& b, const Shape& shape) {
  return Emit(a.place, Opcode::kRng, {a, b}, {Attr<attr::distribution>(distribution)}, shape);
}

}  // namespace

absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> MakePadding(Dims sizes, Dims window, Dims strides,
                                                                     Padding padding) {
  if (sizes.size() != window.size() || (!strides.empty() && strides.size() != sizes.size())) {
    return absl::InvalidArgumentError(fmt::format("a window of {} sizes and {} strides over {} dimensions",
                                                  window.size(), strides.size(), sizes.size()));
  }
  std::vector<std::pair<int64_t, int64_t>> pairs(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t stride = strides.empty() ? 1 : strides[i];
    if (window[i] <= 0 || stride <= 0) {
      return absl::InvalidArgumentError(
          fmt::format("window sizes and strides are positive, not {} and {}", window[i], stride));
    }
    if (padding == Padding::kValid || sizes[i] <= 0) continue;
    // The last window starts below the size, so the sum does not exceed size + window.
    const int64_t last_start = (sizes[i] - 1) / stride * stride;
    const int64_t total = std::max<int64_t>(window[i] - (sizes[i] - last_start), 0);
    pairs[i] = {total / 2, total - total / 2};
  }
  return pairs;
}

std::optional<Window> MakeWindow(const Op& at, Place place, const WindowLists& lists) {
  const size_t rank = lists.sizes.size();
  const auto fits = [&](std::string_view what, size_t count) {
    if (count == 0 || count == rank) return true;
    Refuse(at, place, "a window of {} dimensions has {} {}", rank, count, what);
    return false;
  };
  if (at.builder() == nullptr || !fits("strides", lists.strides.size()) ||
      !fits("paddings", lists.padding.size()) || !fits("base dilations", lists.base_dilation.size()) ||
      !fits("dilations", lists.window_dilation.size()) || !fits("reversals", lists.reversal.size())) {
    return std::nullopt;
  }
  std::vector<WindowDim> window(rank);
  for (size_t i = 0; i < rank; ++i) {
    window[i].size = lists.sizes[i];
    if (!lists.strides.empty()) window[i].stride = lists.strides[i];
    if (!lists.padding.empty()) std::tie(window[i].padding_low, window[i].padding_high) = lists.padding[i];
    if (!lists.base_dilation.empty()) window[i].base_dilation = lists.base_dilation[i];
    if (!lists.window_dilation.empty()) window[i].window_dilation = lists.window_dilation[i];
    if (!lists.reversal.empty()) window[i].reversed = lists.reversal[i];
  }
  return at.builder()->module().arena().Copy(absl::Span<const WindowDim>(window));
}

Op Reduce(const Operands& operands, const Operands& inits, Function computation, Dims dimensions) {
  if (!Ok(computation)) return Op(computation.builder, nullptr);
  return Emit(operands.place, Opcode::kReduce, Joined(operands.ops, inits.ops),
              {Attr<attr::dimensions>(computation.builder->Keep(dimensions)),
               Attr<attr::to_apply>(computation.computation)});
}

Op ReduceAll(const Operands& operands, const Operands& inits, Function computation) {
  if (operands.ops.empty() || !ReadyArrays(operands.place, "reduce", operands.ops))
    return Op(computation.builder, nullptr);
  std::vector<int64_t> all(static_cast<size_t>(operands.ops[0].rank()));
  std::iota(all.begin(), all.end(), 0);
  return Reduce(operands, inits, computation, all);
}

Op ReduceWindow(const Operands& operands, const Operands& inits, Function computation, Dims window,
                Dims strides, Padding padding) {
  if (operands.ops.empty()) return Op(computation.builder, nullptr);
  const auto pairs = PaddingOf(operands.ops[0], operands.place, window, strides, padding);
  if (!pairs) return Op(computation.builder, nullptr);
  return ReduceWindowWithGeneralPadding(operands, inits, computation, window, strides, {}, {}, *pairs);
}

Op ReduceWindowWithGeneralPadding(Operands operands, const Operands& inits, Function computation, Dims window,
                                  Dims strides, Dims base_dilation, Dims window_dilation, Pairs padding) {
  if (operands.ops.empty()) return Op(computation.builder, nullptr);
  return EmitReduceWindow(operands, inits, computation,
                          MakeWindow(operands.ops[0], operands.place,
                                     {.sizes = window,
                                      .strides = strides,
                                      .padding = padding,
                                      .base_dilation = base_dilation,
                                      .window_dilation = window_dilation}));
}

Op SelectAndScatter(Operand operand, Function select, Dims window, Dims strides, Padding padding, Op source,
                    Op init, Function scatter) {
  const auto pairs = PaddingOf(operand, operand.place, window, strides, padding);
  if (!pairs) return Op(operand.builder(), nullptr);
  return SelectAndScatterWithGeneralPadding(operand, select, window, strides, *pairs, source, init, scatter);
}

Op SelectAndScatterWithGeneralPadding(Operand operand, Function select, Dims window, Dims strides,
                                      Pairs padding, Op source, Op init, Function scatter) {
  const std::optional<Window> dims =
      MakeWindow(operand, operand.place, {.sizes = window, .strides = strides, .padding = padding});
  if (!dims || !Ok(select) || !Ok(scatter)) return Op(operand.builder(), nullptr);
  return Emit(operand.place, Opcode::kSelectAndScatter, {operand, source, init},
              {Attr<attr::window>(*dims), Attr<attr::select>(select.computation),
               Attr<attr::scatter>(scatter.computation)});
}

Op Scan(const Operands& inputs, const std::vector<Op>& inits, Function computation, int64_t dimension,
        bool is_reverse, bool is_associative) {
  if (!Ok(computation)) return Op(computation.builder, nullptr);
  std::vector<AttrEntry> attributes = {Attr<attr::dimensions>(computation.builder->Keep(Dims({dimension}))),
                                       Attr<attr::num_carries>(static_cast<int64_t>(inits.size())),
                                       Attr<attr::to_apply>(computation.computation)};
  if (is_reverse) attributes.push_back(Attr<attr::is_reverse>(true));
  if (is_associative) attributes.push_back(Attr<attr::is_associative>(true));
  return Emit(inputs.place, Opcode::kScan, Joined(inputs.ops, inits), attributes);
}

Op Map(Operands operands, Function computation, Dims dimensions) {
  if (!Ok(computation) || !ReadyArrays(operands.place, "map", operands.ops))
    return Op(computation.builder, nullptr);
  std::vector<Op*> all;
  for (Op& op : operands.ops) all.push_back(&op);
  BroadcastScalars(operands.place, all);
  return Emit(operands.place, Opcode::kMap, operands.ops,
              {Attr<attr::dimensions>(computation.builder->Keep(dimensions)),
               Attr<attr::to_apply>(computation.computation)});
}

Op Sort(Operands operands, Function comparator, int64_t dimension, bool is_stable) {
  if (!Ok(comparator) || operands.ops.empty() || !ReadyArrays(operands.place, "sort", operands.ops))
    return Op(comparator.builder, nullptr);
  if (dimension == -1) dimension = operands.ops[0].rank() - 1;
  std::vector<AttrEntry> attributes = {Attr<attr::dimensions>(comparator.builder->Keep(Dims({dimension}))),
                                       Attr<attr::to_apply>(comparator.computation)};
  if (is_stable) attributes.push_back(Attr<attr::is_stable>(true));
  return Emit(operands.place, Opcode::kSort, operands.ops, attributes);
}

Op TopK(Operand operand, int64_t k, bool largest, bool is_stable) {
  return Emit(operand.place, Opcode::kTopk, {operand},
              {Attr<attr::k>(k), Attr<attr::largest>(largest), Attr<attr::is_stable>(is_stable)});
}

Op RngNormal(Operand mu, Op sigma, const Shape& shape) {
  return Distribution(RandomDistribution::kNormal, mu, sigma, shape);
}
Op RngUniform(Operand a, Op b, const Shape& shape) {
  return Distribution(RandomDistribution::kUniform, a, b, shape);
}

Op RngBitGenerator(RngAlgorithm algorithm, Operand state, const Shape& shape) {
  if (!Ready(state.place, {state})) return state;
  const std::optional<ElementType> bits = UnsignedOfWidth(BitWidth(shape.type()));
  if (!shape.IsArray() || !bits)
    return Refuse(state, state.place, "there is no unsigned integer as wide as the elements of {}",
                  ToString(shape));
  Shape result = shape;
  result.set_type(*bits);
  return Emit(state.place, Opcode::kRngBitGenerator, {state}, {Attr<attr::rng_algorithm>(algorithm)},
              Shape::Tuple({state.shape(), result}));
}

}  // namespace hlo::build
