// Builds tuples, control flow, calls and transfers.

#include "base/arena.h"
#include "build/emit.h"

namespace hlo::build {
namespace {

std::vector<AttrEntry> Channel(int64_t channel_id, bool is_host_transfer) {
  std::vector<AttrEntry> attributes = {Attr<attr::channel_id>(channel_id)};
  if (is_host_transfer) attributes.push_back(Attr<attr::is_host_transfer>(true));
  return attributes;
}

Shape Transfer(const Shape& data) {
  return Shape::Tuple({data, Shape::Scalar(ElementType::kU32), Shape::Token()});
}

Op SendAndWait(const Operand& operand, const Op& token, const Shape& data, int64_t channel_id, bool to_host) {
  const std::vector<AttrEntry> attributes = Channel(channel_id, to_host);
  const Op send = Emit(operand.place, Opcode::kSend, {operand, token}, attributes, Transfer(data));
  return Emit(operand.place, Opcode::kSendDone, {send}, attributes, Shape::Token());
}

Op RecvAndWait(const Operand& token, const Shape& shape, int64_t channel_id, bool from_host) {
  const std::vector<AttrEntry> attributes = Channel(channel_id, from_host);
  const Op recv = Emit(token.place, Opcode::kRecv, {token}, attributes, Transfer(shape));
  return Emit(token.place, Opcode::kRecvDone, {recv}, attributes, Shape::Tuple({shape, Shape::Token()}));
}

}  // namespace

Op GetTupleElement(Operand tuple, int64_t index) {
  return Emit(tuple.place, Opcode::kGetTupleElement, {tuple}, {Attr<attr::index>(index)});
}

std::vector<Op> Elements(Operand tuple) {
  std::vector<Op> elements;
  for (size_t i = 0; i < tuple.shape().elements().size(); ++i) {
    elements.push_back(GetTupleElement(tuple, static_cast<int64_t>(i)));
  }
  return elements;
}

Op While(Function condition, Function body, Operand init) {
  if (condition.computation == nullptr || body.computation == nullptr) return Op(init.builder(), nullptr);
  return Emit(init.place, Opcode::kWhile, {init},
              {Attr<attr::condition>(condition.computation), Attr<attr::body>(body.computation)});
}

Op Conditional(Operand pred, Op true_operand, Function on_true, Op false_operand, Function on_false) {
  if (on_true.computation == nullptr || on_false.computation == nullptr) return Op(pred.builder(), nullptr);
  return Emit(pred.place, Opcode::kConditional, {pred, true_operand, false_operand},
              {Attr<attr::true_computation>(on_true.computation),
               Attr<attr::false_computation>(on_false.computation)});
}

Op Conditional(Operand branch_index, const std::vector<Function>& branches, const std::vector<Op>& operands) {
  std::vector<Computation*> computations;
  for (const Function& branch : branches) computations.push_back(branch.computation);
  for (const Computation* computation : computations) {
    if (computation == nullptr) return Op(branch_index.builder(), nullptr);
  }
  if (!Ready(branch_index.place, {branch_index})) return branch_index;
  const auto kept =
      branch_index.builder()->module().arena().Copy(absl::Span<Computation* const>(computations));
  return Emit(branch_index.place, Opcode::kConditional, Joined({branch_index}, operands),
              {Attr<attr::branch_computations>(kept)});
}

Op Call(Function computation, const Operands& operands) {
  if (computation.computation == nullptr) return Op(computation.builder, nullptr);
  return computation.builder->Emit(Opcode::kCall, operands.ops,
                                   {Attr<attr::to_apply>(computation.computation)}, {}, {}, operands.place);
}

Op CompositeCall(Function computation, const Operands& operands, std::string_view name,
                 std::string_view attributes, int64_t version) {
  if (computation.computation == nullptr) return Op(computation.builder, nullptr);
  Builder& b = *computation.builder;
  // Values of frontend attributes are printed verbatim, so strings include their quotes.
  const auto quoted = [&](std::string_view text) {
    return b.Keep(std::string_view(fmt::format("\"{}\"", text)));
  };
  const std::vector<KeyValue> entries = {{"composite.attributes", b.Keep(attributes)},
                                         {"composite.name", quoted(name)},
                                         {"composite.version", quoted(std::to_string(version))}};
  const FrontendAttributes frontend = {b.module().arena().Copy(absl::Span<const KeyValue>(entries))};
  return b.Emit(Opcode::kCall, operands.ops,
                {Attr<attr::to_apply>(computation.computation), Attr<attr::is_composite>(true),
                 Attr<attr::frontend_attributes>(b.Keep(frontend))},
                {}, {}, operands.place);
}

Op Builder::Infeed(const Shape& shape, std::string_view config, Place place) {
  if (!infeed_token_.ok()) infeed_token_ = CreateToken(place);
  const Op infeed = InfeedWithToken({infeed_token_, place}, shape, config);
  infeed_token_ = GetTupleElement({infeed, place}, 1);
  return GetTupleElement({infeed, place}, 0);
}

Op InfeedWithToken(Operand token, const Shape& shape, std::string_view config) {
  std::vector<AttrEntry> attributes;
  if (!config.empty() && token.builder() != nullptr)
    attributes.push_back(Attr<attr::infeed_config>(token.builder()->Keep(config)));
  return Emit(token.place, Opcode::kInfeed, {token}, attributes, Shape::Tuple({shape, Shape::Token()}));
}

Op Outfeed(Operand operand, std::string_view config) {
  if (!Ready(operand.place, {operand})) return operand;
  Builder& b = *operand.builder();
  if (!b.outfeed_token_.ok()) b.outfeed_token_ = b.CreateToken(operand.place);
  b.outfeed_token_ = OutfeedWithToken(operand, b.outfeed_token_, config);
  return b.Tuple({}, operand.place);
}

Op OutfeedWithToken(Operand operand, Op token, std::string_view config) {
  if (!Ready(operand.place, {operand, token})) return Op(operand.builder(), nullptr);
  Builder& b = *operand.builder();
  const Shape* shape = b.module().arena().New<Shape>(operand.shape());
  std::vector<AttrEntry> attributes = {Attr<attr::outfeed_shape>(shape)};
  if (!config.empty()) attributes.push_back(Attr<attr::outfeed_config>(b.Keep(config)));
  return Emit(operand.place, Opcode::kOutfeed, {operand, token}, attributes, Shape::Token());
}

void Send(Operand operand, int64_t channel_id) {
  if (Ready(operand.place, {operand})) {
    SendWithToken(operand, operand.builder()->CreateToken(operand.place), channel_id);
  }
}
Op SendWithToken(Operand operand, Op token, int64_t channel_id) {
  return SendAndWait(operand, token, operand.shape(), channel_id, /*to_host=*/false);
}
Op SendToHost(Operand operand, Op token, const Shape& shape_with_layout, int64_t channel_id) {
  return SendAndWait(operand, token, shape_with_layout, channel_id, /*to_host=*/true);
}
Op Builder::Recv(const Shape& shape, int64_t channel_id, Place place) {
  return GetTupleElement({RecvWithToken({CreateToken(place), place}, shape, channel_id), place}, 0);
}
Op RecvWithToken(Operand token, const Shape& shape, int64_t channel_id) {
  return RecvAndWait(token, shape, channel_id, /*from_host=*/false);
}
Op RecvFromHost(Operand token, const Shape& shape, int64_t channel_id) {
  return RecvAndWait(token, shape, channel_id, /*from_host=*/true);
}

}  // namespace hlo::build
