// Custom calls of frameworks: HLO operations under other names, and operations whose sizes are operands
// (semantics 9.3).

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/as_instruction.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/quantization.h"
#include "reference/custom/signature.h"
#include "reference/dynamic_sizes.h"
#include "types/index.h"

namespace hlo::reference::custom {

std::optional<Opcode> NamedOpcode(const Instruction& call) {
  std::string_view target = call.Get<attr::custom_call_target>();
  std::string name(target.substr(target.find('.') + 1));
  std::replace(name.begin(), name.end(), '_', '-');
  const std::optional<Opcode> opcode = ParseOpcode(name);
  if (!opcode || !Info(*opcode).has(kElementwise)) return std::nullopt;
  for (const AttrUse& use : Info(*opcode).attributes) {
    if (use.required) return std::nullopt;
  }
  return opcode;
}

namespace {

std::vector<Shape> OperandShapes(const Instruction& call) {
  std::vector<Shape> shapes;
  for (const Instruction* operand : call.operands()) shapes.push_back(operand->shape());
  return shapes;
}

std::vector<Literal> Moved(absl::Span<Literal> operands) {
  return {std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end())};
}

// Returns the integers in an operand.
absl::StatusOr<Index> Numbers(const Literal& operand) {
  HLO_ASSIGN_OR_RETURN(const Literal wide, AsIndices(operand));
  return Index(wide.span<int64_t>());
}

// Returns sizes from an operand; they must fit the declared shape.
absl::StatusOr<Index> SizesFrom(const Literal& operand, const Shape& declared) {
  HLO_ASSIGN_OR_RETURN(Index sizes, Numbers(operand));
  bool fits = sizes.rank() == declared.rank();
  for (int64_t d = 0; fits && d < sizes.rank(); ++d) {
    fits = 0 <= sizes[d] && sizes[d] <= declared.dim(d) &&
           (sizes[d] == declared.dim(d) || declared.IsDynamic(d));
  }
  if (fits) return sizes;
  return absl::FailedPreconditionError(
      fmt::format("its operand asks for the sizes {{{}}}, but the result is {}",
                  fmt::join(sizes.begin(), sizes.end(), ","), ToString(declared)));
}

Shape WithDims(const Shape& shape, const Index& dims) { return Shape::Array(shape.type(), dims); }

// Returns the value with the declared shape, whose dynamic dimensions may be smaller at run time.
absl::StatusOr<Literal> Fitted(const Literal& value, const Shape& declared) {
  const absl::Span<const Shape> parts =
      declared.IsTuple() ? declared.elements() : absl::MakeConstSpan(&declared, 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Literal& part = declared.IsTuple() ? value.element(static_cast<int64_t>(i)) : value;
    for (int64_t d = 0; d < std::max(part.rank(), parts[i].rank()); ++d) {
      const bool same_rank = part.rank() == parts[i].rank();
      if (same_rank && (part.dim(d) == parts[i].dim(d) || parts[i].IsDynamic(d))) continue;
      return absl::FailedPreconditionError(fmt::format("gives {} at run time, but its result is {}",
                                                       ToString(part.shape()), ToString(parts[i])));
    }
  }
  return PaddedToBounds(value, declared);
}

std::string NumericOperandMismatch(const Instruction& call, int64_t first) {
  for (int64_t i = first; i < call.operand_count(); ++i) {
    const Shape& shape = call.operand(i)->shape();
    if (!shape.IsArray() || !IsIntegral(shape.type()))
      return fmt::format("operand {} holds sizes or positions, but it is {}", i, ToString(shape));
  }
  return "";
}

}  // namespace

std::string NamedElementwiseMismatch(const Instruction& call) {
  const std::optional<Opcode> opcode = NamedOpcode(call);
  if (!opcode) {
    return fmt::format("the target '{}' names no elementwise operation that is known; hlo-run ops lists them",
                       call.Get<attr::custom_call_target>());
  }
  return FormMismatch({*opcode, {}, call.shape()}, OperandShapes(call));
}

absl::StatusOr<Literal> NamedElementwise(OpContext& context) {
  return RunForm(context, {*NamedOpcode(context.instruction), {}, context.shape()}, Moved(context.operands));
}

absl::StatusOr<Literal> Square(OpContext& context) {
  return RunForm(context, {Opcode::kMultiply, {}, context.shape()},
                 {context.operands[0], context.operands[0]});
}

namespace {
InstructionForm TopkForm(int64_t k, bool largest, const Shape& shape) {
  return {Opcode::kTopk, {Attribute<attr::k>(k), Attribute<attr::largest>(largest)}, shape};
}
InstructionForm StaticTopk(const Instruction& call) {
  const Options options(call);
  const Shape& values = ResultShapes(call)[0];
  return TopkForm(options.Int("k", values.dim(values.rank() - 1)), options.Bool("largest", true),
                  call.shape());
}
}  // namespace

std::string NamedTopkMismatch(const Instruction& call) {
  return FormMismatch(StaticTopk(call), OperandShapes(call));
}
absl::StatusOr<Literal> NamedTopk(OpContext& context) {
  return RunForm(context, StaticTopk(context.instruction), Moved(context.operands));
}

// topk with k from operand 1.
absl::StatusOr<Literal> DynamicTopk(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const Index count, Numbers(context.operands[1]));
  const Literal& x = context.operands[0];
  const int64_t length = x.dim(x.rank() - 1);
  if (count.rank() != 1 && context.operands[1].rank() != 0)
    return absl::FailedPreconditionError("the number of elements to keep is a scalar");
  if (count[0] < 0 || count[0] > length)
    return absl::FailedPreconditionError(
        fmt::format("{} of {} are requested", count[0], Counted(length, "element")));
  Index dims = x.dims();
  dims.back() = count[0];
  const Shape shape = Shape::Tuple({WithDims(x.shape(), dims), Shape::Array(ElementType::kS32, dims)});
  HLO_ASSIGN_OR_RETURN(const Literal best,
                       RunForm(context, TopkForm(count[0], /*largest=*/true, shape), {x}));
  return Fitted(best, context.shape());
}

std::string DynamicReshapeMismatch(const Instruction& call) { return NumericOperandMismatch(call, 1); }
absl::StatusOr<Literal> DynamicReshapeCall(OpContext& context) {
  const Shape& shape = context.shape();
  HLO_ASSIGN_OR_RETURN(const Index sizes, SizesFrom(context.operands[1], shape));
  HLO_ASSIGN_OR_RETURN(Literal reshaped, RunForm(context, {Opcode::kReshape, {}, WithDims(shape, sizes)},
                                                 {context.operands[0]}));
  return Fitted(reshaped, shape);
}

// Dimension k of the operand becomes dimension broadcast_dimensions[k]; dimensions of size 1 are repeated.
absl::StatusOr<Literal> DynamicBroadcast(OpContext& context) {
  const Shape& shape = context.shape();
  HLO_ASSIGN_OR_RETURN(const Index sizes, SizesFrom(context.operands[1], shape));
  const Literal& x = context.operands[0];
  const Index places = Options(context.instruction).Ints("broadcast_dimensions");
  bool fits = places.rank() == x.rank();
  View from = View::Dense(x.dims());
  View repeated{sizes, hlo::Zeros(sizes.rank()), 0};
  for (int64_t k = 0; fits && k < x.rank(); ++k) {
    fits = 0 <= places[k] && places[k] < sizes.rank() && (x.dim(k) == 1 || x.dim(k) == sizes[places[k]]);
    if (fits && x.dim(k) != 1) repeated.strides[places[k]] = from.strides[k];
  }
  if (!fits) {
    return absl::FailedPreconditionError(fmt::format("broadcast_dimensions {{{}}} do not put {} into {}",
                                                     fmt::join(places.begin(), places.end(), ","),
                                                     ToString(x.shape()), ToString(WithDims(shape, sizes))));
  }
  HLO_ASSIGN_OR_RETURN(Literal result, Copied(x, repeated, WithDims(shape, sizes)));
  return Fitted(result, shape);
}
std::string DynamicBroadcastMismatch(const Instruction& call) {
  if (!Options(call).Has("broadcast_dimensions")) return "its configuration has no broadcast_dimensions";
  return NumericOperandMismatch(call, 1);
}

// Returns the elements from start to limit with a stride; indices are not clamped.
absl::StatusOr<Literal> RealDynamicSlice(OpContext& context) {
  std::vector<SliceRange> ranges;
  HLO_ASSIGN_OR_RETURN(const Index starts, Numbers(context.operands[1]));
  HLO_ASSIGN_OR_RETURN(const Index limits, Numbers(context.operands[2]));
  HLO_ASSIGN_OR_RETURN(const Index strides, Numbers(context.operands[3]));
  const Literal& x = context.operands[0];
  Index sizes;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool fits = starts.rank() == x.rank() && limits.rank() == x.rank() && strides.rank() == x.rank() &&
                      0 <= starts[d] && starts[d] <= limits[d] && limits[d] <= x.dim(d) && strides[d] > 0;
    if (!fits) {
      return absl::FailedPreconditionError(fmt::format(
          "there is no slice of {} from {{{}}} to {{{}}} in steps of {{{}}}", ToString(x.shape()),
          fmt::join(starts.begin(), starts.end(), ","), fmt::join(limits.begin(), limits.end(), ","),
          fmt::join(strides.begin(), strides.end(), ",")));
    }
    ranges.push_back({starts[d], limits[d], strides[d]});
    sizes.push_back((limits[d] - starts[d] - 1) / strides[d] + (limits[d] > starts[d] ? 1 : 0));
  }
  const InstructionForm form{Opcode::kSlice,
                             {Attribute<attr::slice>(absl::MakeConstSpan(ranges))},
                             WithDims(context.shape(), sizes)};
  HLO_ASSIGN_OR_RETURN(const Literal result, RunForm(context, form, {x}));
  return Fitted(result, context.shape());
}
std::string RealDynamicSliceMismatch(const Instruction& call) { return NumericOperandMismatch(call, 1); }

// The operands are (inputs..., inits..., window sizes, strides, base dilations, window dilations,
// padding[rank, 2]).
constexpr int64_t kWindowOperands = 5;

std::string DynamicReduceWindowMismatch(const Instruction& call) {
  const int64_t arrays = call.operand_count() - kWindowOperands;
  if (arrays < 2 || arrays % 2 != 0 || !call.operand(0)->shape().IsArray())
    return "takes inputs, as many initial values, and five operands that describe the window";
  if (call.called_computations().size() != 1) return "takes one computation that combines two elements";
  const int64_t rank = call.operand(0)->shape().rank();
  for (int64_t i = arrays; i < call.operand_count(); ++i) {
    const int64_t wanted = i + 1 == call.operand_count() ? 2 * rank : rank;
    if (call.operand(i)->shape().IsArray() && call.operand(i)->shape().ElementCount() == wanted) continue;
    return fmt::format("operand {} describes the window in {}, but it is {}", i, Counted(wanted, "number"),
                       ToString(call.operand(i)->shape()));
  }
  return NumericOperandMismatch(call, arrays);
}

absl::StatusOr<Literal> DynamicReduceWindow(OpContext& context) {
  const size_t arrays = context.operands.size() - kWindowOperands;
  std::vector<Index> numbers;
  for (const Literal& operand : context.operands.subspan(arrays)) {
    HLO_ASSIGN_OR_RETURN(Index each, Numbers(operand));
    numbers.push_back(std::move(each));
  }
  std::vector<WindowDim> window(numbers[0].size());
  for (size_t d = 0; d < window.size(); ++d) {
    window[d] = {numbers[0][d],         numbers[1][d], numbers[4][2 * d],
                 numbers[4][2 * d + 1], numbers[3][d], numbers[2][d]};
  }
  const InstructionForm form{Opcode::kReduceWindow,
                             {Attribute<attr::window>(absl::MakeConstSpan(window)),
                              Attribute<attr::to_apply>(context.instruction.called_computations()[0])},
                             context.shape()};
  return RunForm(context, form, Moved(context.operands.first(arrays)));
}

// Maps (state, sizes) to (next state, bits).
std::string DynamicRngMismatch(const Instruction& call) {
  const std::string algorithm = Options(call).Text("rng_algorithm", "");
  if (algorithm != "THREE_FRY" && algorithm != "PHILOX" && algorithm != "DEFAULT")
    return fmt::format("its rng_algorithm is '{}'; known are THREE_FRY, PHILOX and DEFAULT", algorithm);
  return NumericOperandMismatch(call, 1);
}
absl::StatusOr<Literal> DynamicRng(OpContext& context) {
  const std::string word = Options(context.instruction).Text("rng_algorithm", "");
  const RngAlgorithm algorithm = word == "THREE_FRY" ? RngAlgorithm::kThreeFry
                                 : word == "PHILOX"  ? RngAlgorithm::kPhilox
                                                     : RngAlgorithm::kDefault;
  const Shape& bits = context.shape().element(1);
  HLO_ASSIGN_OR_RETURN(const Index sizes, SizesFrom(context.operands[1], bits));
  const InstructionForm form{Opcode::kRngBitGenerator,
                             {Attribute<attr::rng_algorithm>(algorithm)},
                             Shape::Tuple({context.shape().element(0), WithDims(bits, sizes)})};
  HLO_ASSIGN_OR_RETURN(const Literal result, RunForm(context, form, {context.operands[0]}));
  return Fitted(result, context.shape());
}

// Ends the run with `error_message` if operand 0 is false; {i} is replaced by operand i + 1.
absl::StatusOr<Literal> ShapeAssertion(OpContext& context) {
  if (context.operands[0].span<bool>()[0]) return Literal::CreateZeros(context.shape());
  std::string message = Options(context.instruction).Text("error_message", "(no message)");
  for (size_t i = 1; i < context.operands.size(); ++i) {
    const std::string place = fmt::format("{{{}}}", i - 1);
    for (size_t at = message.find(place); at != std::string::npos; at = message.find(place, at + 1))
      message.replace(at, place.size(), ToString(context.operands[i]));
  }
  return absl::FailedPreconditionError(fmt::format("the assertion does not hold: {}", message));
}

std::string UniformMismatch(const Instruction& call) {
  const Quantization quantization(Options(call), call.shape(), ElementType::kS8);
  return quantization.Fits(call.shape()) ? ""
                                         : "its configuration has no positive scale, nor one for each "
                                           "position along quantization_dimension";
}

// q = clamp(round(x / scale) + zero_point, storage_min, storage_max), with ties to even.
absl::StatusOr<Literal> UniformQuantize(OpContext& context) {
  const Quantization quantization(Options(context.instruction), context.shape(), context.shape().type());
  HLO_ASSIGN_OR_RETURN(Literal x, Widened(context.operands[0], ElementType::kF64));
  HLO_RETURN_IF_ERROR(x.MakeUnique());
  for (int64_t i = 0; i < x.element_count(); ++i) {
    double& v = x.mutable_span<double>()[i];
    v = std::nearbyint(v / quantization.scale(i)) + quantization.zero_point(i);
    v = std::min(std::max(v, quantization.low), quantization.high);
  }
  return Rounded(x, context.shape());
}

// x = (q - zero_point) * scale
absl::StatusOr<Literal> UniformDequantize(OpContext& context) {
  const Quantization quantization(Options(context.instruction), context.shape(), context.operands[0].type());
  HLO_ASSIGN_OR_RETURN(Literal q, WithType(context.operands[0], ElementType::kF64));
  HLO_RETURN_IF_ERROR(q.MakeUnique());
  for (int64_t i = 0; i < q.element_count(); ++i) {
    double& v = q.mutable_span<double>()[i];
    v = (v - quantization.zero_point(i)) * quantization.scale(i);
  }
  return Rounded(q, context.shape());
}

}  // namespace hlo::reference::custom
