#include "debug/shadow/layer_link.h"

#include <iterator>

#include "base/status.h"
#include "reference/apply.h"
#include "reference/program.h"

namespace hlo::debug {
namespace {

using spmd::Values;

// The status of a layer that waits for values.
absl::Status WaitStatus() { return absl::CancelledError("the layer waits for other devices"); }

absl::StatusOr<Literal> FlagLiteral(bool flag) {
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::CreateZeros(Shape::Scalar(ElementType::kPred)));
  literal.mutable_span<bool>()[0] = flag;
  return literal;
}

bool IsSet(const Literal& flag) { return flag.span<bool>()[0]; }

void Append(Values& all, Values& some) {
  all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
}

}  // namespace

absl::StatusOr<std::vector<Literal>> LayerLink::Run(absl::Span<const Layer> layers, bool& flag) {
  calls_.assign(layers.size(), {});
  std::vector<Literal> results(layers.size());
  bool waits = false;
  for (size_t k = 0; k < layers.size(); ++k) {
    absl::StatusOr<Literal> result = Apply(layers[k], Phase::kCollect, k);
    waits = calls_[k].meets || calls_[k].received.has_value();
    if (result.ok())
      results[k] = *std::move(result);
    else if (!waits)
      return result.status();
  }
  HLO_RETURN_IF_ERROR(SendAll(flag));
  if (!waits) return results;
  Values arrived;
  if (calls_[0].meets) {
    HLO_ASSIGN_OR_RETURN(arrived, MeetAll(layers, flag));
  } else {
    HLO_ASSIGN_OR_RETURN(arrived, devices_.Receive(*calls_[0].received));
  }
  flag = Unpack(std::move(arrived)) || flag;
  for (size_t k = 0; k < layers.size(); ++k) {
    HLO_ASSIGN_OR_RETURN(results[k], Apply(layers[k], Phase::kAnswer, k));
  }
  return results;
}

// The function may move its operands, but other phases need them.
absl::StatusOr<Literal> LayerLink::Apply(const Layer& layer, Phase phase, size_t number) {
  phase_ = phase;
  number_ = number;
  phase_is_declared_ = number == 0;
  std::vector<Literal> operands = layer.operands;
  reference::OpContext op{layer.instruction, absl::MakeSpan(operands), layer.caller};
  return reference::Apply(op, reference::Reference(layer.instruction.opcode()));
}

absl::Status LayerLink::SendAll(bool flag) {
  for (size_t s = 0; s < calls_[0].sent.size(); ++s) {
    Values packed;
    for (Calls& calls : calls_) Append(packed, calls.sent[s].second);
    HLO_ASSIGN_OR_RETURN(packed.emplace_back(), FlagLiteral(flag));
    HLO_RETURN_IF_ERROR(devices_.Send(calls_[0].sent[s].first, std::move(packed)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> LayerLink::MeetAll(absl::Span<const Layer> layers, bool flag) {
  const size_t count = calls_[0].values.size();  // The same for all layers.
  Values packed;
  for (Calls& calls : calls_) Append(packed, calls.values);
  HLO_ASSIGN_OR_RETURN(packed.emplace_back(), FlagLiteral(flag));
  const auto combine = [&](absl::Span<const Values> all) -> absl::StatusOr<std::vector<Values>> {
    std::vector<Values> results(all.size());
    for (size_t k = 0; k < layers.size(); ++k) {
      members_.clear();
      for (const Values& member : all) {
        const auto first = member.begin() + static_cast<std::ptrdiff_t>(k * count);
        members_.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
      }
      HLO_RETURN_IF_ERROR(Apply(layers[k], Phase::kCombine, k).status());
      for (size_t j = 0; j < all.size(); ++j) Append(results[j], combined_[j]);
    }
    bool any = false;
    for (const Values& member : all) any = any || IsSet(member.back());
    for (Values& result : results) {
      HLO_ASSIGN_OR_RETURN(result.emplace_back(), FlagLiteral(any));
    }
    return results;
  };
  return devices_.Meet(layers[0].instruction, std::move(packed), combine);
}

bool LayerLink::Unpack(Values packed) {
  const bool flag = IsSet(packed.back());
  const size_t count = (packed.size() - 1) / calls_.size();
  for (size_t k = 0; k < calls_.size(); ++k) {
    const auto first = packed.begin() + static_cast<std::ptrdiff_t>(k * count);
    calls_[k].answer.assign(std::make_move_iterator(first),
                            std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count)));
  }
  return flag;
}

absl::StatusOr<Values> LayerLink::Meet(const Instruction& /*collective*/, Values values, Combine combine) {
  Calls& calls = calls_[number_];
  switch (phase_) {
    case Phase::kCollect:
      calls.meets = true;
      calls.values = std::move(values);
      return WaitStatus();
    case Phase::kCombine: {
      HLO_ASSIGN_OR_RETURN(combined_, combine(members_));
      return combined_[0];
    }
    case Phase::kAnswer:
      break;
  }
  return std::move(calls.answer);
}

absl::Status LayerLink::Send(const spmd::Route& route, Values values) {
  if (phase_ == Phase::kCollect) calls_[number_].sent.emplace_back(route, std::move(values));
  return absl::OkStatus();
}

absl::StatusOr<Values> LayerLink::Receive(const spmd::Route& route) {
  Calls& calls = calls_[number_];
  if (phase_ == Phase::kAnswer) return std::move(calls.answer);
  calls.received = route;
  return WaitStatus();
}

void LayerLink::Warn(const Instruction& instruction, const std::string& message) {
  if (phase_is_declared_) devices_.Warn(instruction, message);
}

}  // namespace hlo::debug
