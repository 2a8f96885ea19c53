// Custom calls that return or annotate their operand (semantics 9.2).

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/signature.h"
#include "types/index.h"
#include "types/view.h"

namespace hlo::reference::custom {
namespace {

const Shape& ArrayOf(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

constexpr uint64_t kLowHalf = 0xffffffff;

// Applies `half` to each 64-bit word; the result has 32 bits.
template <class Half>
absl::StatusOr<Literal> Halved(OpContext& context, Half&& half) {
  const Literal& operand = context.operands[0];
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  std::transform(operand.span<uint64_t>().begin(), operand.span<uint64_t>().end(),
                 result.mutable_span<uint32_t>().begin(), half);
  return result;
}

}  // namespace

std::string OtherShape(const Instruction& call) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (call.operand_count() == 0) return fmt::format("'{}' has no operand", target);
  const Shape& operand = call.operand(0)->shape();
  if (Compatible(ArrayOf(operand), ArrayOf(call.shape()))) return "";
  return fmt::format("'{}' of {} gives {}; with one device it keeps the shape", target, ToString(operand),
                     ToString(call.shape()));
}

// Returns operand 0.
absl::StatusOr<Literal> Identity(OpContext& context) { return std::move(context.operands[0]); }
// Returns zeros for unspecified values and tokens.
absl::StatusOr<Literal> Zeros(OpContext& context) { return Literal::CreateZeros(context.shape()); }

absl::StatusOr<Literal> Seed(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  result.mutable_span<uint64_t>()[0] = context.caller.seed();
  return result;
}

// Ends the run if the operand is not true everywhere.
absl::StatusOr<Literal> Assert(OpContext& context) {
  const auto holds = context.operands[0].span<bool>();
  if (std::all_of(holds.begin(), holds.end(), [](bool b) { return b; }))
    return Literal::CreateZeros(context.shape());
  return absl::FailedPreconditionError(fmt::format(
      "the assertion does not hold: {}", Options(context.instruction).Text("error_msg", "(no message)")));
}

// X64...: 64-bit integers as two halves.
std::string SplitWordMismatch(const Instruction& call) {
  const Shape& words = call.operand_count() == 2 ? call.shape() : call.operand(0)->shape();
  return BitWidth(words.type()) == 64 ? ""
                                      : fmt::format("takes integers of 64 bits, not {}", ToString(words));
}

absl::StatusOr<Literal> SplitLow(OpContext& context) {
  return Halved(context, [](uint64_t x) { return static_cast<uint32_t>(x & kLowHalf); });
}
absl::StatusOr<Literal> SplitHigh(OpContext& context) {
  return Halved(context, [](uint64_t x) { return static_cast<uint32_t>(x >> 32); });
}

// Returns low + high * 2^32.
absl::StatusOr<Literal> Combine(OpContext& context) {
  const auto low = context.operands[0].span<uint32_t>(), high = context.operands[1].span<uint32_t>();
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  for (size_t i = 0; i < low.size(); ++i)
    result.mutable_span<uint64_t>()[i] = low[i] | static_cast<uint64_t>(high[i]) << 32;
  return result;
}

// Returns the operands unchanged; the consumer undoes the change of memory order.
std::string OtherShapes(const Instruction& call) {
  const absl::Span<const Shape> results = ResultShapes(call);
  bool fits = static_cast<int64_t>(results.size()) >= call.operand_count();
  for (int64_t i = 0; fits && i < call.operand_count(); ++i)
    fits = Compatible(results[i], call.operand(i)->shape());
  return fits ? "" : fmt::format("gives {}, expected its operands", ToString(call.shape()));
}
absl::StatusOr<Literal> Operands(OpContext& context) {
  std::vector<Literal> results(context.operands.begin(), context.operands.end());
  for (size_t i = results.size(); i < context.shape().elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros,
                         Literal::CreateZeros(context.shape().element(static_cast<int64_t>(i))));
    results.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(results));
}

// Concatenates the operands' elements in memory.
std::string ConcatBitcastMismatch(const Instruction& call) {
  const Shape& shape = call.shape();
  int64_t count = 0;
  for (const Instruction* operand : call.operands()) {
    const Shape& piece = operand->shape();
    if (!piece.IsArray(shape.type()) || piece.layout() != nullptr || piece.HasDynamicDim())
      return fmt::format("joins static arrays of {} with default layouts, not {}", Name(shape.type()),
                         ToString(piece));
    count += piece.ElementCount().value_or(0);
  }
  if (shape.IsArray() && shape.layout() == nullptr && shape.ElementCount() == count) return "";
  return fmt::format("joins {}, but its result is {}", Counted(count, "element"), ToString(shape));
}
absl::StatusOr<Literal> ConcatBitcast(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  std::byte* out = result.mutable_data();
  for (const Literal& piece : context.operands) out = std::copy_n(piece.data(), piece.byte_count(), out);
  return result;
}

std::string RotateMismatch(const Instruction& call) {
  const Options options(call);
  const int64_t dimension = options.Int("dimension", -1);
  std::string misfit = OtherShape(call);
  if (!misfit.empty()) return misfit;
  const bool fits =
      call.shape().IsArray() && 0 <= dimension && dimension < call.shape().rank() && options.Has("amount");
  return fits ? "" : "its configuration is `dimension=d,amount=a`, with d a dimension of the operand";
}

// result[i] = x[(i - amount) mod n] along the dimension.
absl::StatusOr<Literal> Rotate(OpContext& context) {
  const Options options(context.instruction);
  const int64_t dimension = options.Int("dimension", 0);
  const Literal& x = context.operands[0];
  const int64_t size = x.dim(dimension);
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  if (x.element_count() == 0) return result;
  const int64_t amount = ((options.Int("amount", 0) % size) + size) % size;
  const View all = View::Dense(x.dims());
  const auto move = [&](int64_t from, int64_t to, int64_t count) {
    Index source = hlo::Zeros(x.rank()), target = hlo::Zeros(x.rank()), sizes = x.dims();
    source[dimension] = from;
    target[dimension] = to;
    sizes[dimension] = count;
    CopyElements(ByteCount(x.type()), x.data(), all.Window(source, sizes), result.mutable_data(),
                 all.Window(target, sizes));
  };
  move(0, amount, size - amount);
  move(size - amount, 0, amount);
  return result;
}

// Calls the computation of the call.
std::string CalleeMismatch(const Instruction& call) {
  if (call.called_computations().size() != 1) return "the module that it runs is not part of this one";
  const Computation& callee = *call.called_computations()[0];
  bool fits = static_cast<int64_t>(callee.parameters().size()) == call.operand_count() &&
              Compatible(callee.root()->shape(), call.shape());
  for (int64_t i = 0; fits && i < call.operand_count(); ++i)
    fits = Compatible(callee.parameter(i)->shape(), call.operand(i)->shape());
  return fits ? "" : fmt::format("its operands and result do not fit the computation '{}'", callee.name());
}
absl::StatusOr<Literal> CallEmbedded(OpContext& context) {
  return context.caller.Call(*context.instruction.called_computations()[0], context.operands);
}

}  // namespace hlo::reference::custom
